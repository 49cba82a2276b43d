"""Decisive steps from what a case expects: facts, sentences, the final state, quotes of a judge, and other attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from fairtrial import Criterion, EvalCase, EvalSet, Invocation, Message, Recording, ToolCall, Trace, score
from fairtrial.records.failure_mode import FailedAttempt
from fairtrial.records.score import PartKey, Quote, Score
from fairtrial.records.trace import Step, ToolResult


def solved(trace: Trace, case: EvalCase) -> bool:
    """Whether the benchmark rewarded the attempt."""
    del case
    return trace.reward == 1


def found_in(
    *recordings: Recording,
    criteria: Mapping[str, object] | Sequence[Criterion],
    reference: str | None = None,
    **expected: object,
) -> FailedAttempt:
    """What is found in the first attempt at a case of one turn."""
    turn = Invocation(Message("Please help."), None, None if reference is None else Message(reference))
    eval_set = EvalSet("set", (EvalCase("case", (turn,), **expected),))  # type: ignore[arg-type]
    return score(list(recordings), eval_set, criteria).failures().failed[0]  # type: ignore[arg-type]


def replied(reply: str, *steps: Step, number: int = 1, reward: float = 0.0, **trace: object) -> Recording:
    """An attempt of one turn with a reply."""
    turn = Invocation(Message("Please help."), steps, Message(reply))
    return Recording("case", Trace((turn,), reward=reward, **trace), number)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reply", "kind", "field", "reason"),
    [
        (
            "The room costs $140.",
            "value_differs",
            "amount",
            "contradicted: '$120' is expected, and the reply says '$140'",
        ),
        ("The room is yours.", "value_missing", "amount", "missing: '$120' is expected, and the reply does not say it"),
    ],
)
def test_a_fact_of_the_facts_criterion(reply: str, kind: str, field: str, reason: str) -> None:
    """The fact that a criterion on facts found wrong is the difference, with its kind and the words of both sides."""
    own = found_in(replied(reply), criteria={"facts_match_v1": 1.0}, reference="The room costs $120.")
    assert (own.signature.kind, own.signature.field, own.reason) == (kind, field, reason)
    assert own.step is not None
    assert own.step.kind == "reply"


def test_a_fact_without_support_of_the_grounding_criterion() -> None:
    """A fact that the grounding criterion did not find is a claim, at the reply that states it."""
    steps = (ToolCall("find", {}), ToolResult("find", {"price": 120}))
    own = found_in(replied("It costs $175.", *steps), criteria={"facts_grounded_v1": 1.0})
    assert (own.signature.kind, own.signature.field) == ("claim", "amount")


@pytest.mark.parametrize(
    ("reference", "reply", "reason"),
    [
        ("It leaves at 15:00.", "It leaves at 4 pm.", "the reply states 4 pm, expected 15:00"),
        ("총 35,000원입니다.", "총 53,000원입니다.", "the reply states 53,000원, expected 35,000원"),
    ],
)
def test_facts_that_any_criterion_on_replies_missed(reference: str, reply: str, reason: str) -> None:
    """If a criterion on the words of a reply failed, the facts of both texts say where they differ."""
    own = found_in(replied(reply), criteria={"exact_match": 1.0}, reference=reference)
    assert own.reason == reason


def test_equal_facts_in_other_words_are_no_difference() -> None:
    """If all facts agree, the sentence that the reply lacks is named."""
    reference = "It leaves at 15:00. Please bring your passport."
    own = found_in(replied("It leaves at 3 pm."), criteria={"exact_match": 1.0}, reference=reference)
    assert own.signature.kind == "criterion"
    assert own.reason.endswith("the reply does not say 'Please bring your passport.'")


def test_the_call_that_wrote_the_differing_value() -> None:
    """Of two calls that write, the one with the value that stands in the final state is the decisive step."""
    steps = (
        *(ToolCall("set_seat", {"seat": "12C"}), ToolResult("set_seat", "ok")),
        *(ToolCall("set_meal", {"meal": "vegan"}), ToolResult("set_meal", "ok")),
    )
    own = found_in(
        replied("Done.", *steps, final_state={"seat": "12C", "meal": "vegan"}),
        criteria={"final_state_match_v1": 1.0},
        final_session_state={"seat": "14A", "meal": "vegan"},
    )
    assert (own.signature.kind, own.signature.field) == ("state", "seat")
    assert own.step is not None
    assert own.step.place == "invocation 1, step 1"


def test_the_place_that_a_judge_quoted() -> None:
    """A rubric that failed is placed at the message that its judge quoted, not at the last reply."""
    words = "I will cancel it without asking you."

    def polite(trace: Trace, case: EvalCase) -> Score:
        del trace, case
        part = Score(0.0, "rude", quotes=(Quote(words, "actual"),), key=PartKey("rubric", id="asks"))
        return Score(0.0, parts=(part,))

    own = found_in(replied("Done.", Message(words)), criteria=[Criterion("polite", polite, 1.0)])
    assert (own.signature.kind, own.signature.field) == ("rubric", "asks")
    assert own.step is not None
    assert own.step.place == "invocation 1, step 1"


def test_equal_calls_after_normalisation_are_shared() -> None:
    """A call whose arguments differ in case, width, spaces and the form of a number is the call that passes made."""
    find = (ToolCall("find", {"city": "Oslo", "nights": 2}), ToolResult("find", "ok"))
    same = (ToolCall("find", {"nights": 2.0, "city": " OSLO "}), ToolResult("find", "ok"))
    pay, keep = (ToolCall("pay", {}), ToolResult("pay", "ok")), (ToolCall("keep", {}), ToolResult("keep", "ok"))
    passes = [replied("Done.", *find, *pay, number=number, reward=1.0) for number in (2, 3)]
    own = found_in(replied("Done.", *same, *keep), *passes, criteria={"solved": solved})
    assert own.evidence == "contrast"
    assert own.signature.tool in ("keep", "pay")


def test_a_fact_that_all_passing_replies_state() -> None:
    """What the passing replies share is compared by facts: "two hours" states what "2 hours" states."""
    passes = [
        replied(text, number=number, reward=1.0)
        for number, text in enumerate(("It takes 2 hours at gate B7.", "At gate B7, two hours long."), 2)
    ]
    own = found_in(replied("It takes two hours."), *passes, criteria={"solved": solved})
    assert own.evidence == "contrast"
    assert own.reason == "no reply states B7, which all 2 attempts that passed did"


def test_a_sum_of_given_values_is_no_claim() -> None:
    """A number that follows from two results has support, so that it is no symptom."""
    steps = (ToolCall("find", {}), ToolResult("find", {"room": 120.5, "breakfast": 17}))
    reply = replied("Together it costs $137.50.", *steps)
    own = found_in(reply, criteria={"solved": solved})
    assert own.signature.kind == "criterion"
