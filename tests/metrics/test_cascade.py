"""A criterion without a model decides clear replies, and the judge is asked about the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import fairtrial
from fairtrial import Case, Judges, ModelOptions, Verdict
from fairtrial.analysis.aggregation import aggregate
from fairtrial.errors import ConfigError
from fairtrial.judge.ballot_costs import judge_stats
from fairtrial.metrics.cascade import FirstCriterion
from fairtrial.metrics.response_judged import FinalResponseMatch
from fairtrial.records.case import EvalCase
from fairtrial.records.check import Check
from fairtrial.records.result import CaseResult, Outcome
from fairtrial.records.score import Quote, Score, average_parts
from fairtrial.records.summary import CriterionSummary
from fairtrial.records.trace import Trace
from fairtrial.testing import ScriptedModel
from judged import Bench, fenced, invocation, reply, score

REFERENCE = "Your parcel arrives on Friday."
WRONG = "It is lost for ever, sorry!"
CLOSE = "Your parcel arrives on Friday, I think."


def cascade(say: Any = lambda *_: "valid", **options: Any) -> tuple[Bench, FinalResponseMatch]:
    """A judge that records its questions, and the criterion with it."""
    bench = Bench(say)
    return bench, FinalResponseMatch(bench.judge, **options)


def pair(*replies: str | None, checks: tuple[Check, ...] = ()) -> tuple[Trace, EvalCase]:
    """A conversation with these replies, of which each has the same reference."""
    turns = tuple(invocation(f"Message {i}", REFERENCE) for i in range(len(replies)))
    return Trace(tuple(invocation(f"Message {i}", reply) for i, reply in enumerate(replies))), EvalCase(
        "c", turns, checks=checks
    )


def test_a_reply_that_the_first_criterion_fails_costs_no_call() -> None:
    """The reason names the criterion that decided."""
    bench, metric = cascade(first={"response_match_score": 0.3})
    (part,) = score(metric, *pair(WRONG)).parts
    assert bench.prompts == []
    assert (part.value, part.ballots) == (0.0, ())
    assert part.reason.startswith("decided by response_match_score without the judge: rouge1 F 0.")
    assert part.first is not None
    assert (part.first.criterion, part.first.decisive, part.first.saved) == ("response_match_score", True, 5)


def test_a_reply_that_the_first_criterion_passes_is_put_to_the_judge() -> None:
    """Nobody allowed that words alone pass a reply."""
    bench, metric = cascade(lambda *_: "invalid", first={"response_match_score": 0.3})
    (part,) = score(metric, *pair(REFERENCE)).parts
    assert len(bench.prompts) == 3
    assert part.value == 0.0
    assert part.first is not None
    assert not part.first.decisive


@pytest.mark.parametrize(("pass_at", "calls"), [(0.8, 0), (0.9, 3), (1.0, 3)])
def test_a_high_word_overlap_passes_a_reply_if_the_user_allows_it(pass_at: float, calls: int) -> None:
    """ROUGE-1 of 5 shared words of 7 and 5 is 2 * 5 / 12, about 0.83."""
    bench, metric = cascade(lambda *_: "invalid", first={"response_match_score": 0.3}, pass_at=pass_at)
    assert score(metric, *pair(CLOSE)).value == (0.0 if calls else 1.0)
    assert len(bench.prompts) == calls


def test_a_criterion_without_a_threshold_fails_no_reply() -> None:
    """An equal reply passes, and any other is put to the judge."""
    bench, metric = cascade(first={"exact_match": None}, pass_at=1.0)
    result = score(metric, *pair(REFERENCE, WRONG))
    assert [part.first.decisive for part in result.parts if part.first] == [True, False]
    assert len(bench.prompts) == 3


def test_checks_of_the_case_decide_first() -> None:
    """A case says what its reply may not lack."""
    checks = (Check("contains", "Friday"),)
    bench, metric = cascade(first="checks_v1")
    (part,) = score(metric, *pair("It comes on Monday.", checks=checks)).parts
    assert part.reason.endswith("expected the reply to contain 'Friday', got 'It comes on Monday.'")
    assert [quote.text for quote in part.quotes] == ["Friday", "It comes on Monday."]
    assert score(metric, *pair("On Friday.", checks=checks)).value == 1.0
    assert len(bench.prompts) == 3


def test_what_does_not_apply_decides_nothing() -> None:
    """A case without checks is put to the judge."""
    bench, metric = cascade(first="checks_v1", pass_at=0.0)
    assert score(metric, *pair(WRONG)).value == 1.0
    assert len(bench.prompts) == 3


@dataclass(frozen=True)
class _Facts:
    """A criterion that misses one fact, and may find another contradicted."""

    contradicted: bool

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002
        told, said = Quote("Friday", "expected"), Quote("Monday", "actual")
        missing = Score(0.0, "missing", quotes=(told,))
        return average_parts(
            [missing, Score(0.0, "contradicted", quotes=(told, said)) if self.contradicted else missing]
        )


@pytest.mark.parametrize(("contradicted", "calls"), [(True, 0), (False, 3)])
def test_a_missing_fact_is_put_to_the_judge_and_a_contradiction_is_not(contradicted: bool, calls: int) -> None:
    """A part that quotes the expectation alone says that something is missing."""
    bench, metric = cascade(first=FirstCriterion("facts", _Facts(contradicted), 1.0))
    score(metric, *pair("It does not arrive."))
    assert len(bench.prompts) == calls


def test_an_unrecorded_reply_is_unscored_and_no_turn_is_decided_twice() -> None:
    """The rules of the judged criterion about turns hold before the first criterion is asked."""
    _, metric = cascade(first={"response_match_score": 0.3})
    trace, case = pair(REFERENCE, REFERENCE)
    short = Trace(trace.invocations[:1])
    assert [part.value for part in score(metric, short, case).parts] == [1.0, 0.0]
    broken = Trace((invocation("Message 0", None),), broken="the agent crashed")
    assert [part.value for part in score(metric, broken, case).parts] == [None, None]


def test_an_audit_asks_the_judge_about_decisions_and_keeps_them() -> None:
    """The decision does not depend on the sample, and the answer of the judge is recorded beside it."""
    bench, metric = cascade(first={"response_match_score": 0.3}, audit=1.0)
    (part,) = score(metric, *pair(WRONG)).parts
    assert part.value == 0.0
    assert part.first is not None
    assert (part.first.audited, part.first.judged, part.first.saved) == (True, 1.0, 0)
    assert part.reason.endswith("; the judge was asked anyway: valid")
    assert len(part.ballots) == 1
    assert len(bench.prompts) == 3


def test_an_audit_takes_its_share_of_the_texts() -> None:
    """The same texts are asked about again in the next run."""
    replies = [f"{WRONG} {number}" for number in range(200)]
    bench, metric = cascade(first={"response_match_score": 0.3}, audit=0.25)
    audited = [part.first.audited for part in score(metric, *pair(*replies)).parts if part.first]
    assert 30 <= sum(audited) <= 70
    again = [part.first.audited for part in score(metric, *pair(*replies)).parts if part.first]
    assert audited == again
    assert len(bench.prompts) == 2 * 3 * sum(audited)


def summarise(metric: FinalResponseMatch, bench: Bench, *pairs: tuple[Trace, EvalCase]) -> CriterionSummary:
    """The numbers of a run of one criterion."""
    results = []
    for position, (trace, case) in enumerate(pairs):
        own = score(metric, trace, case)
        outcome = Outcome("match", own, 0.5, judge_stats=judge_stats(own, bench.ballots))
        results.append(CaseResult(f"c{position}", position, (outcome,)))
    summary = aggregate(results)
    assert [note for note in summary.notes if note.startswith("match:")] or metric.first is None
    return summary.criteria[0]


def test_a_run_says_how_many_calls_were_saved_and_how_often_the_judge_disagrees() -> None:
    """Of ten decisions, the judge would have decided those with an even number otherwise."""

    def say(_: str, prompt: Any) -> str:
        return "valid" if int(fenced(prompt, "reply").split()[-1]) % 2 == 0 else "invalid"

    bench, metric = cascade(say, first={"response_match_score": 0.3}, audit=1.0)
    pairs = [pair(f"{WRONG} {number}") for number in range(10)] + [pair(f"{REFERENCE} 2"), pair(f"{REFERENCE} 3")]
    cascade_numbers = summarise(metric, bench, *pairs).cascade
    assert cascade_numbers is not None
    assert (cascade_numbers.criterion, cascade_numbers.decisions, cascade_numbers.questions) == (
        "response_match_score",
        10,
        2,
    )
    assert (cascade_numbers.audited, cascade_numbers.overruled) == (10, 5)
    error = cascade_numbers.error
    assert error.value == 0.5
    assert error.low is not None
    assert error.high is not None
    # The interval of 5 of 10 by Clopper and Pearson is 0.19 to 0.81.
    assert error.low == pytest.approx(0.19, abs=0.06)
    assert error.high == pytest.approx(0.81, abs=0.06)


def test_decisions_without_an_audit_have_no_known_error() -> None:
    """Five votes are saved for each of them, though no vote was cast in the whole run."""
    bench, metric = cascade(first={"response_match_score": 0.3})
    summary = summarise(metric, bench, pair(WRONG), pair(f"{WRONG}!"))
    assert (summary.calls, summary.calls_saved) == (0, 10)
    assert summary.cascade is not None
    assert (summary.cascade.audited, summary.cascade.error.value) == (0, None)


def test_a_criterion_without_a_first_one_has_no_cascade() -> None:
    """Nothing is said about it."""
    bench, metric = cascade()
    assert summarise(metric, bench, pair(WRONG)).cascade is None


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"first": "hallucinations_v1"}, "first: must be a criterion that compares replies without a model"),
        ({"first": "exact_mach"}, "did you mean 'exact_match'?"),
        ({"first": "response_match_score"}, "first: needs a threshold below which a reply fails"),
        ({"first": {"response_match_score": 2}}, "first/response_match_score: must be a number"),
        ({"first": {"response_match_score": {"threshold": 0.3, "token": "x"}}}, "first/response_match_score/token"),
        ({"first": {"checks_v1": {"threshold": 1, "checks": [{"a": 1}]}}}, "first/checks_v1/checks/0"),
        ({"first": {"exact_match": 1, "contains": 1}}, "first: must be the name of a criterion"),
        ({"first": 3}, "first: must be the name of a criterion"),
        ({"pass_at": 0.9}, "first: must name a criterion, because pass_at or audit is given"),
        ({"audit": 0.1}, "first: must name a criterion, because pass_at or audit is given"),
        ({"first": "exact_match", "audit": 1.5}, "audit: must be a number"),
        ({"first": "exact_match", "include_intermediate_responses_in_final": True}, "first: compares the reply alone"),
    ],
)
def test_a_cascade_that_cannot_work_is_refused(options: dict[str, Any], problem: str) -> None:
    """Python and files say the same."""
    with pytest.raises(ConfigError) as caught:
        cascade(**options)
    assert problem in str(caught.value)


def test_a_run_with_a_cascade_says_what_it_decided_and_saved() -> None:
    """The note, the part and the numbers come from the stored run."""
    model = ScriptedModel(lambda prompt: reply(prompt, lambda *_: "valid"))
    judges = Judges(models=ModelOptions(custom_models={"mine": model}))
    options = {"judge_model": "mine", "num_samples": 3}
    criterion = {"threshold": 1.0, "first": "checks_v1", "judge_model_options": options}
    cases = [
        Case("a", expected="It arrives on Friday.", checks=[{"contains": "Friday"}]),
        Case("b", expected="It arrives on Monday.", checks=[{"contains": "Monday"}]),
    ]
    criteria = {"final_response_match_v2": criterion}
    run = fairtrial.evaluate(cases, lambda _: "You get it on Friday.", criteria, judges=judges)
    assert [case.verdict for case in run.cases] == [Verdict.PASSED, Verdict.FAILED]
    assert len(model.prompts) == 2
    assert run.summary.notes[-1] == (
        "final_response_match_v2: checks_v1 decided 1 of 2 invocations without the judge; the judge was asked about "
        "none of these, so their error is not known: a higher `audit` asks about more"
    )
    numbers = run.summary.criteria[0]
    assert (numbers.calls, numbers.calls_saved) == (2, 4)
    part = run.cases[1].outcomes[0].score.parts[0]
    assert part.reason == (
        "decided by checks_v1 without the judge: expected the reply to contain 'Monday', got 'You get it on Friday.'"
    )
