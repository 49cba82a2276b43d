"""From case results to the numbers and the verdict of a run."""

from __future__ import annotations

import pickle
import random
import tracemalloc
from collections.abc import Iterator
from math import exp

import msgspec
import pytest

from equal_numbers import assert_equal_numbers
from fairtrial.analysis.aggregation import SummaryBuilder, aggregate
from fairtrial.metrics.entries import CATALOG
from fairtrial.records.attempt import Failure, Side
from fairtrial.records.attempt_rule import MEAN, AttemptRule, AttemptRules, RuleName
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.result import CaseResult, Fault, JudgeStats, Outcome, Verdict
from fairtrial.records.score import Range, Score
from fairtrial.records.summary import CriterionSummary, Estimate
from fairtrial.stats.interval import wilson

T2, T3 = 4.302652729911275, 3.182446305284263
"""The quantile 0.975 of Student's t with 2 and 3 degrees of freedom."""


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
    found = only(*results).pass_rate
    assert (found.value, found.method) == (0.5, "Wilson with t")
    assert (found.low, found.high) == pytest.approx(wilson(0.5, 4, T3))


def test_the_mean_of_a_bounded_criterion_has_the_interval_of_its_pass_rate() -> None:
    """1, 0, 1 (and unscored) of a criterion that is 0 or 1: the same numbers, and the same method in both columns."""
    found = only(result(0, 1), result(1, 0), result(2, 1), result(3, None))
    assert found.mean == found.pass_rate
    assert found.mean.method == "Wilson with t, exact end"
    assert found.mean.value == pytest.approx(2 / 3, rel=1e-15)


def unbounded(*values: float, logarithmic: bool) -> Estimate:
    """The mean of a criterion without an upper bound."""
    scale = Range(0, None, logarithmic=logarithmic)
    return only(*(CaseResult(f"c{i}", i, (Outcome("m", Score(v), range=scale),)) for i, v in enumerate(values))).mean


def test_counts_have_students_interval() -> None:
    """10 and 14 calls: 12 plus and minus 12.706 times 2; below 0 there is nothing."""
    found = unbounded(10.0, 14.0, logarithmic=False)
    assert (found.value, found.low, found.method) == (12, 0, "t")
    assert found.high == pytest.approx(12 + 12.7062047361747 * 2)


def test_amounts_have_an_interval_of_ratios() -> None:
    """10 and 14 seconds: 12 divided and multiplied by exp(12.706 times 2 / 12)."""
    found = unbounded(10.0, 14.0, logarithmic=True)
    factor = exp(12.7062047361747 / 6)
    assert (found.value, found.method) == (12, "t on logarithms")
    assert (found.low, found.high) == pytest.approx((12 / factor, 12 * factor))


def test_an_amount_of_zero_has_no_logarithm() -> None:
    """An agent that reports no tokens in one case: the interval is Student's, and says so."""
    assert unbounded(0.0, 14.0, logarithmic=True).method == "t"


def test_equal_values_without_a_bound_have_no_interval() -> None:
    """Three times 2 calls: nothing shows how much calls vary, and an interval of width 0 would deny that they do."""
    assert unbounded(2.0, 2.0, 2.0, logarithmic=False) == Estimate(2.0)


def test_seconds_tokens_and_prices_are_the_amounts_of_the_catalog() -> None:
    """Calls are counts."""
    amounts = {name for name, entry in CATALOG.items() if entry.range.logarithmic}
    assert amounts == {"token_usage_v1", "invocation_duration_v1", "time_to_first_token_v1", "agent_cost_v1"}


def test_one_case_has_no_interval() -> None:
    """However often it is tried."""
    found = only(result(0, 1), result(0, 0, attempt=2))
    assert found.mean == Estimate(0.5)


def test_a_case_weighs_the_same_however_often_it_was_scored() -> None:
    """Case values 1/3 (of 1, 0, 0), 0 and 1: the mean is 4/9, where that of all attempts would be 2/5."""
    results = [result(0, 1), result(0, 0, attempt=2), result(0, 0, attempt=3), result(1, 0), result(2, 1)]
    found = only(*results)
    assert found.mean.value == found.pass_rate.value == pytest.approx(4 / 9, rel=1e-15)


def test_attempts_of_a_case_are_one_value() -> None:
    """11, 01, 00 are the cases 1, 1/2, 0, whose interval they have; never more trials than there are attempts."""
    values = ((1, 1), (0, 1), (0, 0))
    results = [result(i, v, attempt=k) for i, pair in enumerate(values) for k, v in enumerate(pair, 1)]
    found = only(*results)
    low, high = wilson(0.5, 3, T2)  # p (1 - p) / v = 0.25 / ((0.5 + 0.25) / (4 x 3)) = 4
    assert (found.mean.low, found.mean.high) == pytest.approx(wilson(0.5, 4, T2))
    assert (found.pass_rate.low, found.pass_rate.high) == pytest.approx(wilson(0.5, 4, T2))
    assert low < (found.mean.low or 0) < (found.mean.high or 1) < high


def test_nothing_scored_has_no_numbers() -> None:
    """There is no mean of nothing."""
    found = only(result(0, None), nothing(1))
    assert (found.mean, found.pass_rate) == (Estimate(), Estimate())


UNAPPLIED_ALONE = (
    " has a threshold, and applied to no case; no conversation holds what it checks: add a case with one that does, "
    "or remove it from the criteria"
)
UNAPPLIED = " has a threshold, and applied to no case; state in a case what it compares, or remove it from the criteria"


@pytest.mark.parametrize(
    ("name", "reason"), [("facts_grounded_v1", UNAPPLIED_ALONE), ("facts_match_v1", UNAPPLIED), ("m", UNAPPLIED)]
)
def test_a_criterion_that_applied_to_no_case_says_where_its_subject_is_missing(name: str, reason: str) -> None:
    """`facts_grounded_v1` compares a reply with its conversation, so that nothing is to be stated in a case."""
    unapplied = CaseResult("c", 0, (Outcome(name, Score(applicable=False), 0.5),))
    assert aggregate([unapplied]).reasons == (name + reason,)


@pytest.mark.parametrize(
    ("results", "verdict", "reason"),
    [
        ([result(0, 1), result(1, 0), result(2, None)], Verdict.FAILED, "1 case failed"),
        ([result(0, 1), result(1, None, broken="agent")], Verdict.FAILED, "1 case ended with an error of the agent"),
        ([result(0, 1), result(1, None)], Verdict.UNSCORED, "1 case could not be scored"),
        (
            [result(0, 1), result(1, None, broken="infrastructure")],
            Verdict.UNSCORED,
            "1 case ended with an error that is not the agent's",
        ),
        (
            [result(0, 1), result(1, None, broken="simulator")],
            Verdict.UNSCORED,
            "1 case ended with an error that is not the agent's",
        ),
        (
            [nothing(0)],
            Verdict.UNSCORED,
            f"m{UNAPPLIED}",
        ),
        ([result(0, 1, threshold=None)], Verdict.UNSCORED, "no criterion has a threshold, so that nothing decides"),
        ([], Verdict.UNSCORED, "there are no cases"),
        ([result(0, 1), result(1, 1, threshold=None), nothing(2)], Verdict.PASSED, None),
    ],
)
def test_run_verdicts(results: list[CaseResult], verdict: Verdict, reason: str | None) -> None:
    """Failed before unscored before passed, each with its reason; informational cases do not count."""
    found = aggregate(results)
    assert found.verdict is verdict
    assert reason in found.reasons if reason else found.reasons == ()


def test_a_threshold_that_applied_to_no_case_is_not_denied() -> None:
    """The reasons do not say that no criterion has a threshold beside one that has."""
    both = [CaseResult("a", 0, (*nothing(0).outcomes, Outcome("other", Score(1.0), None)))]
    assert aggregate(both).reasons == (f"m{UNAPPLIED}",)


def test_a_default_criterion_that_applies_to_no_case_does_not_count_if_another_decides() -> None:
    """Nobody asked for it. A note names it, and a criterion that somebody asked for still counts."""
    both = [CaseResult("a", 0, (*nothing(0).outcomes, Outcome("other", Score(1.0), 0.5)))]
    run = aggregate(both, defaults=["m", "other"])
    assert (run.verdict, run.reasons) == (Verdict.PASSED, ())
    (note,) = run.notes
    assert note.startswith("m is a default criterion that applied to no case, so that it does not count; state in a")
    assert aggregate(both, defaults=["other"]).verdict is Verdict.UNSCORED
    assert aggregate([nothing(0)], defaults=["m"]).verdict is Verdict.UNSCORED


def test_a_run_informs_only_if_its_configuration_cannot_state_thresholds() -> None:
    """It says how to state them; a failed, broken or unscored attempt counts as in any run."""
    informs = result(0, 1, threshold=None)
    run = aggregate([informs], informs=True)
    assert run.verdict is Verdict.INFORMATIONAL
    assert "add `thresholds: {name: x}` or `thresholds NAME=X`" in run.reasons[0]
    assert aggregate([informs, result(1, 0)], informs=True).verdict is Verdict.FAILED
    assert aggregate([informs, result(1, None, broken="simulator")], informs=True).verdict is Verdict.UNSCORED
    assert aggregate([], informs=True).verdict is Verdict.UNSCORED


def test_a_run_without_any_value_does_not_inform() -> None:
    """The counts of calls and tokens, which nobody asked for, are no information about the metrics."""
    counts = Outcome("tool_call_count_v1", Score(2.0))
    broken, inapplicable = Outcome("m", Score(None, "no answer")), Outcome("m", Score(applicable=False))
    for outcome in (broken, inapplicable):
        run = aggregate([CaseResult("a", 0, (outcome, counts))], informs=True)
        assert run.verdict is Verdict.UNSCORED
        assert run.reasons == ("no metric has a value, so that the run informs about nothing",)
    one_value = [CaseResult("a", 0, (broken, counts)), result(1, 0.0, threshold=None)]
    assert aggregate(one_value, informs=True).verdict is Verdict.INFORMATIONAL


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


def test_tokens_of_the_agent_are_at_least_those_that_are_known() -> None:
    """A report says "at least" if a model call of the agent has no tokens."""
    usage = {"input_tokens": 10, "output_tokens": 5, "inference_calls": 2, "unreported_calls": 1}
    assert aggregate([CaseResult("a", 0, (), usage=usage)]).spending.agent == ModelUsage(2, 10, 5, None, 1)


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
    assert spending.simulator == ModelUsage(3, 300, 60, 0.5, unpriced_calls=2)
    assert spending.environment == ModelUsage(1, 7, 3, 0.1)
    assert spending.judge is None


def test_attempts_do_not_wait_in_memory() -> None:
    """Of 400 attempts of 10 KB each at one case, not even 50 are there at once."""

    def attempts() -> Iterator[CaseResult]:
        for attempt in range(1, 401):
            outcome = Outcome("m", Score(float(attempt % 2), f"{attempt}" + "x" * 10_000), 0.5)
            yield CaseResult("a", 0, (outcome,), attempt)

    tracemalloc.start()
    try:
        found = aggregate(attempts())
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.cases == {"passed": 200, "failed": 200}
    assert most < 500_000


def test_the_interval_of_an_agreement_counts_each_case_once() -> None:
    """Three attempts at a case say as much as one with their mean. The interval is that of a pass rate."""
    rates = {0: (1.0, 1.0, 0.4), 1: (0.8, 0.6, 1.0), 2: (1.0, 1.0, 1.0), 3: (0.5, 0.3, 0.1)}
    found = only(
        *(
            CaseResult(
                f"c{case}", case, (Outcome("m", Score(1.0), 0.5, judge_stats=JudgeStats(3, 2, 0, None, own)),), n
            )
            for case, owns in rates.items()
            for n, own in enumerate(owns, 1)
        )
    )
    means = [0.8, 0.8, 1.0, 0.3]
    alone = only(*(result(case, own) for case, own in enumerate(means)))
    assert found.self_agreement == pytest.approx(0.725)
    assert found.self_agreement_interval == pytest.approx((alone.mean.low, alone.mean.high))
    assert found.panel_agreement_interval is None


def test_agreement_is_the_mean_over_outcomes_with_votes_to_compare() -> None:
    """Of a judge with itself 1.0 and 0.5; of the models of a panel 0.25 and, where it had one vote, unknown."""
    judged = (JudgeStats(3, 2, 0, None, 1.0, 0.25), JudgeStats(3, 2, 0, None, 0.5, None), JudgeStats(1, 0, 0))
    found = only(
        *(CaseResult(f"c{i}", i, (Outcome("m", Score(1.0), 0.5, judge_stats=one),)) for i, one in enumerate(judged))
    )
    assert (found.self_agreement, found.panel_agreement) == (0.75, 0.25)


def various(looked_for: bool) -> list[CaseResult]:
    """A result of each kind, in file order: several attempts, invalid, open in part, judged, broken, not applicable."""
    judged = Outcome("m", Score(0.6), 0.5, judge_stats=JudgeStats(3, 2, 0, 0.01, 1.0, 0.25, 100, 10))
    open_in_part = Outcome("m", Score(1.0, parts=(Score(1.0), Score(None, "no answer"))), 0.5)
    results = [
        *(result(0, 0.9), result(0, 0.2, attempt=2), result(1, None, broken="agent"), nothing(2)),
        msgspec.structs.replace(result(3, 0.75), invalidations=(Fault("judge", ("late",)),), usage=USAGE),
        CaseResult("c4", 4, (judged, Outcome("n", Score(3.0))), usage=USAGE),
        CaseResult("c5", 5, (open_in_part,)),
        *(result(6, 0.1), result(6, 0.4, attempt=2), result(7, 0.8)),
    ]
    return [
        each if not looked_for or each.invalidations else msgspec.structs.replace(each, invalidations=())
        for each in results
    ]


USAGE = {"inference_calls": 1, "input_tokens": 10, "output_tokens": 5}


@pytest.mark.parametrize("looked_for", [True, False])
@pytest.mark.parametrize("first_cases", range(9))
def test_the_numbers_of_cases_in_two_parts_are_those_of_all(first_cases: int, looked_for: bool) -> None:
    """Wherever the cases are divided. It does not matter that invalid attempts were looked for in no other part."""
    results = various(looked_for)
    first, second = SummaryBuilder(AttemptRules()), SummaryBuilder(AttemptRules())
    for each in results:
        (first if each.position < first_cases else second).add(each)
    first.merge(second)
    assert first.summary() == aggregate(results)


@pytest.mark.parametrize("looked_for", [True, False])
@pytest.mark.parametrize("rule", ["all", "any", "mean", "at_least", "rate"])
def test_the_numbers_of_attempts_in_any_order_are_those_in_file_order(rule: RuleName, looked_for: bool) -> None:
    """Also if the attempts at a case were counted in two parts."""
    results = various(looked_for)
    rules = AttemptRules({"": AttemptRule(rule, 0.5 if rule == "rate" else 1)})
    shuffled = random.Random(2).sample(results, len(results))
    first, second = SummaryBuilder(rules), SummaryBuilder(rules)
    for number, each in enumerate(shuffled):
        (second if number % 2 else first).count(each, each.verdicts)
    first.merge(second)
    found, expected = first.summary(), aggregate(results, rules=rules)
    by_name = {criterion.criterion: criterion for criterion in found.criteria}
    ordered = msgspec.structs.replace(found, criteria=tuple(by_name[each.criterion] for each in expected.criteria))
    assert_equal_numbers(msgspec.to_builtins(ordered), msgspec.to_builtins(expected))


@pytest.mark.long
def test_open_cases_do_not_grow_with_their_attempts() -> None:
    """A case with 20,000 attempts takes little more memory than a case with 500."""
    sizes = []
    for attempts in (500, 20_000):
        builder = SummaryBuilder(AttemptRules({"": MEAN}))
        for attempt in range(1, attempts + 1):
            each = result(0, attempt / attempts, attempt=attempt)
            builder.count(each, each.verdicts)
        sizes.append(len(pickle.dumps(builder)))
    assert sizes[1] < 2 * sizes[0]


def test_a_run_whose_passed_attempts_are_all_invalid_is_unscored() -> None:
    """For example, a fault was injected into each: nothing is known about the agent."""
    invalid = msgspec.structs.replace(result(0, 1), invalidations=(Fault("environment", ("an injected fault",)),))
    found = aggregate([invalid])
    assert found.verdict is Verdict.UNSCORED
    assert "every attempt that passed is invalid" in found.reasons[0]
    assert aggregate([invalid, result(1, 1)]).verdict is Verdict.PASSED


def test_a_criterion_that_is_unscored_in_part_has_a_range_that_its_mean_could_have() -> None:
    """Cases with 1.0, with nothing, and with parts 1.0 and nothing: the mean is between 1.5 / 3 and 3 / 3."""
    in_part = Score(1.0, parts=(Score(1.0), Score(None, "no vote")))
    results = [
        CaseResult(f"case_{position}", position, (Outcome("quality", score, 0.5),))
        for position, score in enumerate([Score(1.0), Score(None, "no judge"), in_part])
    ]
    (summary,) = aggregate(results).criteria
    assert summary.possible == (0.5, 1.0)
    (summary,) = aggregate(results[:1]).criteria
    assert summary.possible is None


def test_the_numbers_of_valid_attempts_are_those_of_all_attempts_but_the_invalid_ones() -> None:
    """The first invalid attempt is the second of a case whose first attempt is valid."""
    invalid = msgspec.structs.replace(result(1, 0, attempt=2), invalidations=(Fault("environment", ("a fault",)),))
    checked = [
        msgspec.structs.replace(each, invalidations=())
        for each in (result(0, 1), result(1, 1), result(2, 0.5, attempt=1))
    ]
    found = only(checked[0], checked[1], invalid, checked[2])
    assert found.valid is not None
    assert (found.mean.value, found.valid.mean.value, found.valid.n) == (2 / 3, 2.5 / 3, 3)
