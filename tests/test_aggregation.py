"""From case results to the numbers and the verdict of a run."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from math import sqrt

import pytest

from fairtrial.aggregation import aggregate
from fairtrial.records.attempt import Failure, Side
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.result import CaseResult, JudgeStats, Outcome, Verdict
from fairtrial.records.score import Range, Score
from fairtrial.records.summary import CriterionSummary, Estimate
from fairtrial.stats.interval import wilson


def result(
    position: int, value: float | None, *, threshold: float | None = 0.5, attempt: int = 1, broken: Side | None = None
) -> CaseResult:
    """The result of one attempt with one criterion."""
    outcome = Outcome("m", Score(value, "" if value is not None else "no answer"), threshold)
    failure = Failure(broken, "gone") if broken else None
    return CaseResult(f"c{position}", position, (outcome,), attempt, failure)


def nothing(position: int) -> CaseResult:
    """A case to which the criterion does not apply."""
    return CaseResult(f"c{position}", position, (Outcome("m", Score(applicable=False), 0.5),))


def only(*results: CaseResult) -> CriterionSummary:
    """The summary of the one criterion."""
    (found,) = aggregate(results).criteria
    return found


def test_every_verdict_is_counted() -> None:
    """Passed, failed, unscored, not applicable, informational."""
    found = only(result(0, 1), result(1, 0), result(2, None), nothing(3), result(4, 1, threshold=None))
    assert (found.passed, found.failed, found.unscored, found.not_applicable, found.informational) == (1, 1, 1, 1, 1)


def test_errors_are_attempts_whose_agent_failed_and_whose_outcome_is_unscored() -> None:
    """They are not counted in `unscored` again; those of another side are."""
    found = only(
        result(0, None, broken="agent"), result(1, None, broken="infrastructure"), result(2, 0, broken="agent")
    )
    assert (found.errors, found.unscored, found.failed) == (1, 1, 1)


def test_the_pass_rate_is_of_passed_failed_and_errors() -> None:
    """2 of 4: the unscored case and the one that does not apply are in neither number."""
    results = (result(0, 1), result(1, 1), result(2, 0), result(3, None, broken="agent"), result(4, None), nothing(5))
    low, high = wilson(0.5, 4)
    assert only(*results).pass_rate == Estimate(0.5, low, high, "Wilson")


def test_the_mean_is_of_what_was_scored_with_its_t_interval() -> None:
    """1, 0, 1 (and unscored): mean 2/3, standard error 1/3, t of two degrees 4.3027, cut at the ends of the range."""
    found = only(result(0, 1), result(1, 0), result(2, 1), result(3, None)).mean
    assert found == Estimate(found.value, 0.0, 1.0, "t")
    assert found.value == pytest.approx(2 / 3, rel=1e-15)


def test_the_interval_is_not_cut_where_the_range_is_unbounded() -> None:
    """10 and 14 tokens: 12 plus and minus 12.706 times 2; below 0 there is nothing."""
    results = [
        CaseResult(f"c{i}", i, (Outcome("m", Score(value), range=Range(0, None)),))
        for i, value in enumerate((10.0, 14.0))
    ]
    found = only(*results).mean
    assert (found.value, found.low) == (12, 0)
    assert found.high == pytest.approx(12 + 12.7062047361747 * 2)


def test_one_case_has_no_interval() -> None:
    """However often it is tried."""
    found = only(result(0, 1), result(0, 0, attempt=2))
    assert found.mean == Estimate(0.5)


def test_several_attempts_are_clustered_by_case() -> None:
    """11, 01, 00: SE^2 = 1/12 as worked in test_interval, so n_eff = (1/4) / (1/12) = 3, the number of cases."""
    values = ((1, 1), (0, 1), (0, 0))
    results = [result(i, v, attempt=k) for i, pair in enumerate(values) for k, v in enumerate(pair, 1)]
    found = only(*results)
    assert found.mean.method == "t, clustered by case"
    assert found.mean.low == 0
    assert (found.mean.high or 0) == pytest.approx(min(1, 0.5 + 4.302652729911275 / sqrt(12)))
    low, high = wilson(0.5, 3)
    assert found.pass_rate.method == "Wilson, 3.0 effective attempts"
    assert (found.pass_rate.low, found.pass_rate.high) == pytest.approx((low, high))


def test_nothing_scored_has_no_numbers() -> None:
    """There is no mean of nothing."""
    found = only(result(0, None), nothing(1))
    assert (found.mean, found.pass_rate) == (Estimate(), Estimate())


@pytest.mark.parametrize(
    ("results", "verdict", "reason"),
    [
        ([result(0, 1), result(1, 0), result(2, None)], Verdict.FAILED, "1 failed"),
        ([result(0, 1), result(1, None, broken="agent")], Verdict.FAILED, "1 ended with an error of the agent"),
        ([result(0, 1), result(1, None)], Verdict.UNSCORED, "1 could not be scored"),
        (
            [result(0, 1), result(1, None, broken="infrastructure")],
            Verdict.UNSCORED,
            "1 ended with an error that is not the agent's",
        ),
        (
            [result(0, 1), result(1, None, broken="simulator")],
            Verdict.UNSCORED,
            "1 ended with an error that is not the agent's",
        ),
        ([nothing(0)], Verdict.UNSCORED, "m has a threshold, and applied to no case"),
        ([result(0, 1, threshold=None)], Verdict.UNSCORED, "no case passed"),
        ([], Verdict.UNSCORED, "there are no cases"),
        ([result(0, 1), result(1, 1, threshold=None), nothing(2)], Verdict.PASSED, None),
    ],
)
def test_run_verdicts(results: list[CaseResult], verdict: Verdict, reason: str | None) -> None:
    """Failed before unscored before passed, each with its reason; informational cases do not count."""
    found = aggregate(results)
    assert found.verdict is verdict
    assert reason in found.reasons if reason else found.reasons == ()


def test_a_criterion_with_a_threshold_that_applies_to_no_case_blocks_a_pass() -> None:
    """A gate that nothing went through is no gate."""
    other = Outcome("other", Score(1.0), 0.5)
    one = nothing(0)
    found = aggregate([CaseResult("c0", 0, (*one.outcomes, other))])
    assert found.verdict is Verdict.UNSCORED


def test_cases_are_counted_by_verdict() -> None:
    """Attempts, each with its own."""
    found = aggregate([result(0, 1), result(0, 0, attempt=2), result(1, 1)])
    assert found.cases == {"passed": 2, "failed": 1}


def test_what_each_side_took_is_counted_apart() -> None:
    """Tokens add up over the attempts; the price of one call that is not known leaves the whole price unknown."""
    usage = {"input_tokens": 10, "output_tokens": 5, "inference_calls": 2}
    results = [
        CaseResult(
            "a", 0, (), usage=usage, simulator=ModelUsage(1, 100, 20, 0.5), environment=ModelUsage(1, 7, 3, 0.1)
        ),
        CaseResult("a", 0, (), attempt=2, usage=usage, simulator=ModelUsage(2, 200, 40, None)),
        CaseResult("b", 1, ()),
    ]
    spending = aggregate(results).spending
    assert spending.agent == ModelUsage(4, 20, 10, None)
    assert spending.simulator == ModelUsage(3, 300, 60, None)
    assert spending.environment == ModelUsage(1, 7, 3, 0.1)
    assert spending.judge is None


def test_attempts_do_not_wait_in_memory() -> None:
    """Of 2,000 attempts of 10 KB each at one case, not even 50 are there at once."""

    def attempts() -> Iterator[CaseResult]:
        for attempt in range(1, 2001):
            outcome = Outcome("m", Score(float(attempt % 2), f"{attempt}" + "x" * 10_000), 0.5)
            yield CaseResult("a", 0, (outcome,), attempt)

    tracemalloc.start()
    try:
        found = aggregate(attempts())
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.cases == {"passed": 1000, "failed": 1000}
    assert most < 500_000


def test_agreement_is_the_mean_over_outcomes_with_votes_to_compare() -> None:
    """Of a judge with itself 1.0 and 0.5; of the models of a panel 0.25 and, where it had one vote, unknown."""
    judged = (JudgeStats(3, 2, 0, None, 1.0, 0.25), JudgeStats(3, 2, 0, None, 0.5, None), JudgeStats(1, 0, 0))
    found = only(
        *(CaseResult(f"c{i}", i, (Outcome("m", Score(1.0), 0.5, judge_stats=one),)) for i, one in enumerate(judged))
    )
    assert (found.self_agreement, found.panel_agreement) == (0.75, 0.25)
