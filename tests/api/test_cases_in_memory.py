"""Cases that a program holds are an eval set: objects of the class Case, dicts, pairs, or objects of EvalCase."""

from __future__ import annotations

from typing import Any

import pytest

import fairtrial
from fairtrial import Case, Criterion, EvalCase, Invocation, Message, ToolCall, Trace, Verdict
from fairtrial.errors import FormatError, UsageError

QUESTION = "What is the capital of France?"


def capital(message: str) -> str:
    """Name the capital of a country."""
    return "Paris" if "France" in message else "Roma"


def verdicts(cases: Any, criteria: Any = None, agent: Any = capital) -> list[Verdict]:
    """The verdicts of the cases."""
    return [result.verdict for result in fairtrial.evaluate(cases, agent, criteria).cases]


@pytest.mark.parametrize(
    "cases",
    [
        [Case(QUESTION, expected="Paris"), Case("And of Italy?", expected="Rome")],
        [(QUESTION, "Paris"), ("And of Italy?", "Rome")],
        [{"question": QUESTION, "answer_id": 1, "expected": "Paris"}, {"question": "Italy?", "expected": "Rome"}],
        (Case(QUESTION, "Paris"), {"input": "And of Italy?", "expected": "Rome"}),
        [{"question": QUESTION, "expected": "Paris"}, ("And of Italy?", "Rome")],
        [(QUESTION, "Paris"), {"question": "And of Italy?", "ground_truth": "Rome"}],
        [Case(QUESTION, "Paris"), {"질문": "And of Italy?", "정답": "Rome"}],
        [
            EvalCase(name, (Invocation(Message(text), None, Message(reply)),))
            for name, text, reply in (("a", QUESTION, "Paris"), ("b", "And of Italy?", "Rome"))
        ],
    ],
)
def test_each_form_of_a_case_is_compared_with_its_reference(cases: Any) -> None:
    """The first reply is the reference, and the second is not."""
    assert verdicts(cases, {"exact_match": 1.0}) == [Verdict.PASSED, Verdict.FAILED]


def test_one_case_is_an_eval_set() -> None:
    """It needs no list, and it is named by its place."""
    run = fairtrial.evaluate(Case(QUESTION, "Paris"), capital, {"contains": 1.0})
    assert [result.case_id for result in run.cases] == ["cases-1"]


@pytest.mark.parametrize(
    ("calls", "verdict"),
    [
        ([ToolCall("look_up", {"place": "France"})], Verdict.PASSED),
        ([("look_up", {"place": "France"})], Verdict.PASSED),
        ([{"name": "look_up", "args": {"place": "France"}}], Verdict.PASSED),
        (["look_up"], Verdict.FAILED),
        ([], Verdict.FAILED),
    ],
)
def test_calls_of_a_case_are_expected(calls: Any, verdict: Verdict) -> None:
    """Every form of a call is compared with the calls of the agent, in a Case and in a dict."""

    def agent(conversation: Trace) -> Any:  # noqa: ARG001
        yield ToolCall("look_up", {"place": "France"})
        yield "Paris"

    criteria = {"tool_trajectory_avg_score": 1.0}
    assert verdicts([Case(QUESTION, calls=calls)], criteria, agent) == [verdict]
    if not any(isinstance(call, ToolCall | tuple) for call in calls):
        assert verdicts([{"input": QUESTION, "calls": calls}], criteria, agent) == [verdict]


def test_calls_of_a_case_and_of_a_dict_stand_side_by_side() -> None:
    """Neither hides the other."""

    def agent(conversation: Trace) -> Any:  # noqa: ARG001
        yield ToolCall("look_up")
        yield "Paris"

    cases = [Case("Spain?", calls=["look_up"]), {"input": "Italy?", "calls": []}, {"input": "Peru?"}]
    criteria = {"tool_trajectory_avg_score": 1.0}
    assert verdicts(cases, criteria, agent) == [Verdict.PASSED, Verdict.FAILED, Verdict.INFORMATIONAL]


def test_recordings_are_scored_against_cases_in_memory() -> None:
    """The id of a case finds its recording."""
    trace = Trace((Invocation(Message(QUESTION), (), Message("Paris")),), session_id="france")
    run = fairtrial.score([trace], [Case(QUESTION, "Paris", id="france")], {"exact_match": 1.0})
    assert run.verdict is Verdict.PASSED


def test_columns_name_the_keys_of_dicts() -> None:
    """A key that has two meanings is named by the caller."""
    rows = [{"q": QUESTION, "answer": "Paris"}]
    run = fairtrial.evaluate(rows, capital, {"exact_match": 1.0}, columns={"input": "q", "expected": "answer"})
    assert run.verdict is Verdict.PASSED


def test_columns_name_the_keys_of_dicts_beside_pairs() -> None:
    """What a pair holds has the same names."""
    cases: list[tuple[str, str] | dict[str, str]] = [("And of Italy?", "Rome"), {"q": QUESTION, "answer": "Paris"}]
    run = fairtrial.evaluate(cases, capital, {"exact_match": 1.0}, columns={"input": "q", "expected": "answer"})
    assert [result.verdict for result in run.cases] == [Verdict.FAILED, Verdict.PASSED]


def test_an_answer_beside_a_pair_is_not_taken_for_a_reply() -> None:
    """It may be what is expected, so that the caller must say it."""
    with pytest.raises(FormatError, match="'answer' may be what is expected, or what the agent replied"):
        verdicts([("And of Italy?", "Rome"), {"question": QUESTION, "answer": "Paris"}], {"exact_match": 1.0})


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        ([3], "got int as item 1"),
        ([Case(QUESTION), "shop.json"], "got list of Case, str"),
        ([], "eval_set must be an EvalSet"),
        (3, "got int"),
        ([(QUESTION, "Paris", "London")], "got tuple as item 1"),
    ],
)
def test_anything_else_is_refused_with_the_allowed_types(cases: Any, message: str) -> None:
    """Nothing runs."""
    with pytest.raises(UsageError, match=message):
        fairtrial.evaluate(cases, capital)


def test_a_case_without_a_message_is_refused_with_its_place() -> None:
    """The place is the index in the list."""
    with pytest.raises(FormatError, match="/1/input: is empty"):
        verdicts([Case(QUESTION), {"input": None}])


def test_a_metric_that_returns_a_bool_passes_or_fails() -> None:
    """It needs no threshold, and an annotation is not needed."""
    cases = [Case(QUESTION), Case("And of Italy?")]
    names_paris = {"names_paris": lambda trace, _: "Paris" in trace.invocations[0].reply}
    assert verdicts(cases, names_paris) == [Verdict.PASSED, Verdict.FAILED]


def test_a_bool_fails_if_lower_is_better() -> None:
    """True is then the worse of the two values."""
    flags = [Criterion("names_paris", lambda trace, _: "Paris" in trace.invocations[0].reply, lower_is_better=True)]
    assert verdicts([Case(QUESTION), Case("And of Italy?")], flags) == [Verdict.FAILED, Verdict.PASSED]


def test_a_score_with_a_bool_decides_too() -> None:
    """A metric may give its reason beside the bool."""
    criteria = {"polite": lambda *_: fairtrial.Score(False, "It does not greet.")}
    run = fairtrial.evaluate(Case(QUESTION), capital, criteria)
    assert run.verdict is Verdict.FAILED


def test_a_number_without_a_threshold_informs() -> None:
    """Nobody has said which number is enough."""
    assert verdicts(Case(QUESTION), {"length": lambda *_: 1.0}) == [Verdict.INFORMATIONAL]


def test_a_declared_bool_that_raises_is_unscored() -> None:
    """The annotation says that the metric decides, also if it never returns."""

    def polite(trace: Trace, case: EvalCase) -> bool:
        raise KeyError(case.id, trace.session_id)

    assert verdicts(Case(QUESTION), {"polite": polite, "contains": 1.0}) == [Verdict.UNSCORED]
