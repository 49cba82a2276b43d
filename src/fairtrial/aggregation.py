"""Case results -> Summary: how good, and how sure?"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any, get_args

from msgspec.structs import replace

from fairtrial.metrics.entries import CATALOG
from fairtrial.records.attempt_rule import (
    ALL,
    AttemptEvidence,
    AttemptRule,
    AttemptRules,
    case_verdict,
    evidence_of,
)
from fairtrial.records.average import mean
from fairtrial.records.ballot import Ballot, PairAgreement, sum_pairs
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.result import CaseResult, JudgeStats, Outcome, Verdict
from fairtrial.records.score import FaultSide, Range, bounds
from fairtrial.records.summary import CriterionSummary, Estimate, RunUsage, Summary, Valid
from fairtrial.stats.interval import (
    LOGARITHMIC,
    STUDENT,
    WILSON,
    bounded_interval,
    logarithmic_interval,
    student_interval,
)
from fairtrial.stats.pass_k import pass_k_table

_ALWAYS_COMPUTED = frozenset(entry.name for entry in CATALOG.values() if entry.always_computed)
_NO_THRESHOLDS = (
    "no thresholds: configurations of this kind state none; add `thresholds: {name: x}` or `--threshold NAME=X`"
)


def aggregate(
    results: Iterable[CaseResult],
    ballots: Iterable[Ballot] = (),
    *,
    informs: bool = False,
    rules: AttemptRules = AttemptRules(),  # noqa: B008  (a frozen record)
) -> Summary:
    """Return the numbers of a run from its results in file order, with the attempts of a case one after another.

    `ballots` are all ballots of the run. Several outcomes may use the same ballot, whose calls were made only once.
    `informs` is true if the configuration is of a kind that cannot state thresholds. The run is then informational if
    no criterion has one, and a criterion that was asked for has a value. Otherwise it is unscored, because its author
    may have meant to state thresholds, or because it informs about nothing. `rules` make the verdict of a case from
    its attempts, and the verdict of the run follows from the verdicts of its cases.

    Memory grows with the number of cases, by at most 32 bytes a case and criterion. Of the attempts, only those of one
    case are held.
    """
    builder = SummaryBuilder(rules)
    for result in results:
        builder.add(result)
    return builder.summary(ballots, informs=informs)


class SummaryBuilder:
    """The numbers of a run so far, from its results in file order, with the attempts of a case one after another.

    `is_in_file_order` is false as soon as a result comes too late. The numbers then say nothing about the run.
    """

    def __init__(self, rules: AttemptRules) -> None:
        self.is_in_file_order = True
        self._rules = rules
        self._run = _RunTally()
        self._tallies: dict[str, _CriterionTally] = {}
        self._place = (-1, 0)
        self._rule = ALL
        self._evidence: list[AttemptEvidence] = []

    def add(self, result: CaseResult) -> None:
        """Count the result of one attempt."""
        place = (result.position, result.attempt)
        self.is_in_file_order = self.is_in_file_order and place > self._place
        if self._evidence and result.position != self._place[0]:
            self._close_case()
        self._place = place
        verdicts = [outcome.verdict for outcome in result.outcomes]
        verdict = result.verdict_of(verdicts)
        self._run.add(result, verdict)
        self._rule = self._rules.of(result.eval_set, result.case_id)
        self._evidence.append(evidence_of(result, verdict, self._rule))
        for outcome, verdict in zip(result.outcomes, verdicts, strict=True):
            if outcome.criterion not in self._tallies:
                self._tallies[outcome.criterion] = _CriterionTally(outcome.criterion)
            self._tallies[outcome.criterion].add(result, outcome, verdict)

    def _close_case(self) -> None:
        self._run.close_case(self._rule, self._evidence)
        for tally in self._tallies.values():
            tally.close_case()
        self._evidence.clear()

    def summary(self, ballots: Iterable[Ballot] = (), *, informs: bool = False) -> Summary:
        """Return the numbers of all results. After this call, no result can be added."""
        if self._evidence:
            self._close_case()
        run, tallies = self._run, self._tallies
        unapplied = [name for name, tally in tallies.items() if tally.gates and not tally.applicable]
        # The always computed criteria have values without being asked for, so that their values do not count here.
        has_value = any(tally.has_value and name not in _ALWAYS_COMPUTED for name, tally in tallies.items())
        verdict, reasons = run.verdict(unapplied, informs=informs, has_value=has_value)
        judge = reduce(_sum, (ballot.model_usage for ballot in ballots), None)
        return Summary(
            verdict,
            tuple(tally.summary() for tally in tallies.values()),
            {verdict.value: run.cases[verdict] for verdict in Verdict if run.cases[verdict]},
            {side: run.invalid[side] for side in get_args(FaultSide) if run.invalid[side]},
            tuple(reasons),
            RunUsage(run.agent, judge, run.simulator, run.environment),
            pass_k_table(run.passes),
            case_verdicts={verdict.value: run.by_case[verdict] for verdict in Verdict if run.by_case[verdict]},
            attempt_rules=tuple(run.rules),
        )


def scaled_to_population(summary: Summary, drawn: int, population: int) -> Summary:
    """Return the numbers of a random sample with intervals about a finite population from which it was drawn.

    Both ends of an interval come closer to the estimate by the factor sqrt(1 - drawn / population): a sample of all
    would leave no doubt about them. Source: Cochran (1977), "Sampling Techniques", section 2.6.
    """
    factor = math.sqrt(1 - drawn / population)

    def scaled(estimate: Estimate) -> Estimate:
        value, low, high = estimate.value, estimate.low, estimate.high
        if value is None or low is None or high is None:
            return estimate
        return replace(estimate, low=value - (value - low) * factor, high=value + (high - value) * factor)

    def scaled_criterion(criterion: CriterionSummary) -> CriterionSummary:
        valid = criterion.valid
        if valid is not None:
            valid = replace(valid, mean=scaled(valid.mean), pass_rate=scaled(valid.pass_rate))
        return replace(criterion, mean=scaled(criterion.mean), pass_rate=scaled(criterion.pass_rate), valid=valid)

    return replace(summary, criteria=tuple(map(scaled_criterion, summary.criteria)))


class _RunTally:
    """The counts over all attempts of a run: verdicts, invalid attempts, errors, and the usage of models by side."""

    def __init__(self) -> None:
        self.cases: Counter[Verdict] = Counter()
        self.invalid: Counter[str] = Counter()
        self.by_case: Counter[Verdict] = Counter()
        self.rules: dict[str, None] = {}
        self.passes: Counter[tuple[int, int]] = Counter()
        self.agent: ModelUsage | None = None
        self.simulator: ModelUsage | None = None
        self.environment: ModelUsage | None = None
        self._valid_passes = 0
        self._agent_errors = 0
        self._other_errors = 0
        self._case_passed = 0
        self._case_attempts = 0

    def close_case(self, rule: AttemptRule, attempts: Sequence[AttemptEvidence]) -> None:
        """End a case: count how many of its attempts passed, and its verdict."""
        verdict = case_verdict(rule, attempts)
        self.by_case[verdict] += 1
        if len(attempts) > 1:
            self.rules[str(rule)] = None
        if verdict is Verdict.ERROR:
            by_agent = any(attempt.agent_failed for attempt in attempts)
            self._agent_errors += by_agent
            self._other_errors += not by_agent
        self.passes[self._case_passed, self._case_attempts] += 1
        self._case_passed = self._case_attempts = 0

    def add(self, result: CaseResult, verdict: Verdict) -> None:
        """Count one attempt."""
        self.cases[verdict] += 1
        self._valid_passes += verdict is Verdict.PASSED and not result.invalidations
        self._case_passed += verdict is Verdict.PASSED
        by_agent = verdict is Verdict.ERROR and result.failure is not None and result.failure.side == "agent"
        self._case_attempts += by_agent or verdict in (Verdict.PASSED, Verdict.FAILED)
        self.invalid.update(fault.side for fault in (result.invalidations or ())[:1])
        self.agent = _sum(self.agent, _agent_usage(result))
        self.simulator = _sum(self.simulator, result.simulator)
        self.environment = _sum(self.environment, result.environment)

    def verdict(self, unapplied: list[str], *, informs: bool, has_value: bool) -> tuple[Verdict, list[str]]:
        """Return the verdict of the run and its reasons: failed before unscored before passed.

        `unapplied` are the criteria with a threshold that applied to no case. `has_value` is true if a criterion that
        was asked for has a value.
        """
        failed = _counts(
            (self.by_case[Verdict.FAILED], "failed"), (self._agent_errors, "ended with an error of the agent")
        )
        if failed:
            return Verdict.FAILED, failed
        unscored = _counts(
            (self.by_case[Verdict.UNSCORED], "could not be scored"),
            (self._other_errors, "ended with an error that is not the agent's"),
        )
        unscored += [f"{name} has a threshold, and applied to no case" for name in unapplied]
        only_informs = set(self.by_case) == {Verdict.INFORMATIONAL}
        if only_informs and informs and not unscored and has_value:
            return Verdict.INFORMATIONAL, [_NO_THRESHOLDS]
        if only_informs and informs:
            unscored.append("no metric has a value, so that the run informs about nothing")
        elif only_informs:
            unscored.append("no criterion has a threshold, so that nothing decides")
        elif not self.by_case[Verdict.PASSED]:
            unscored.append("no case passed" if self.by_case else "there are no cases")
        elif not self._valid_passes:
            unscored.append("every attempt that passed is invalid, so that nothing is known about the agent")
        return (Verdict.UNSCORED, unscored) if unscored else (Verdict.PASSED, [])


def _counts(*counts: tuple[int, str]) -> list[str]:
    return [f"{number} {event}" for number, event in counts if number]


def _agent_usage(result: CaseResult) -> ModelUsage | None:
    usage = result.usage
    if usage is None:
        return None
    return ModelUsage(usage["inference_calls"], usage["input_tokens"], usage["output_tokens"], None)


def _sum(left: ModelUsage | None, right: ModelUsage | None) -> ModelUsage | None:
    return left + right if left is not None and right is not None else left or right


class _CriterionTally:
    """The counts of one criterion so far. It `gates` if it has a threshold."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.gates = False
        self.applicable = False
        self.has_value = False
        self._verdicts: Counter[Verdict] = Counter()
        self._errors = 0
        self._all = _Numbers()
        self._valid: _Numbers | None = _Numbers()
        self._possible = (_CaseMeans(), _CaseMeans())
        self._is_open = False
        self._latest: Outcome | None = None
        self._judges = _JudgeTally()

    def close_case(self) -> None:
        """End a case: its attempts make one value."""
        for numbers in (self._all, self._valid):
            if numbers is not None:
                numbers.close()
        for ends in self._possible:
            ends.close()

    def add(self, result: CaseResult, outcome: Outcome, verdict: Verdict) -> None:
        """Count the outcome of one attempt."""
        # The agent failed before it could be scored: an error that counts against its pass rate.
        is_error = result.failure is not None and result.failure.side == "agent" and verdict is Verdict.UNSCORED
        self._latest = outcome
        if outcome.judge_stats is not None:
            self._judges.add(outcome.judge_stats)
        self.gates = self.gates or outcome.threshold is not None
        if is_error:
            self._errors += 1
        else:
            self._verdicts[verdict] += 1
        if result.invalidations is None:
            self._valid = None
        if verdict is Verdict.NOT_APPLICABLE:
            return
        self.applicable = True
        self.has_value = self.has_value or outcome.score.value is not None
        passes = False if is_error else _passes(verdict)
        self._all.add(outcome.score.value, passes=passes)
        self._add_possible(outcome)
        if self._valid is not None and not result.invalidations:
            self._valid.add(outcome.score.value, passes=passes)

    def _add_possible(self, outcome: Outcome) -> None:
        """Add the lowest and the highest value that an outcome could have, which differ if it is unscored in part."""
        value = outcome.score.value
        ends = (value, value)
        if value is None or [part for part in outcome.score.parts if part.value is None or part.parts]:
            ends = bounds(outcome.score, outcome.range) or ends
        self._is_open = self._is_open or ends[0] != ends[1]
        low, high = self._possible
        if ends[0] is not None and ends[1] is not None:
            low.add(ends[0])
            high.add(ends[1])

    def _possible_means(self) -> tuple[float, float] | None:
        """Return both ends of the mean that all outcomes could have, or None if every outcome is scored."""
        low, high = (mean(numbers.means) if numbers.means else math.inf for numbers in self._possible)
        return (low, high) if self._is_open and math.isfinite(low) and math.isfinite(high) else None

    def summary(self) -> CriterionSummary:
        """Return the numbers."""
        latest = self._latest
        scale = latest.range if latest else Range()
        valid = self._valid
        return CriterionSummary(
            self.name,
            _mean(self._all.values, scale),
            _pass_rate(self._all.passes),
            self._verdicts[Verdict.PASSED],
            self._verdicts[Verdict.FAILED],
            self._verdicts[Verdict.UNSCORED],
            self._verdicts[Verdict.NOT_APPLICABLE],
            self._verdicts[Verdict.INFORMATIONAL],
            self._errors,
            threshold=latest.threshold if latest else None,
            lower_is_better=latest.lower_is_better if latest else False,
            **self._judges.summary(),
            range=scale,
            valid=None if valid is None else Valid(valid.n, _mean(valid.values, scale), _pass_rate(valid.passes)),
            possible=self._possible_means(),
        )


def _passes(verdict: Verdict) -> bool | None:
    """Return whether a verdict counts for or against the pass rate, or None if it does not count."""
    return verdict is Verdict.PASSED if verdict in (Verdict.PASSED, Verdict.FAILED) else None


class _Numbers:
    """The values and the passes of one criterion over some of the attempts, one number of each a case."""

    def __init__(self) -> None:
        self.n = 0
        self.values = _CaseMeans()
        self.passes = _CaseMeans()

    def add(self, value: float | None, *, passes: bool | None) -> None:
        """Count an outcome that applies."""
        self.n += 1
        if value is not None:
            self.values.add(value)
        if passes is not None:
            self.passes.add(float(passes))

    def close(self) -> None:
        """End a case."""
        self.values.close()
        self.passes.close()


class _CaseMeans:
    """The mean of each case over its attempts: 8 bytes a case."""

    def __init__(self) -> None:
        self.means = array("d")
        self.attempts = 0
        self._open: list[float] = []

    def add(self, value: float) -> None:
        """Add the value of an attempt at the case that is open."""
        self._open.append(value)

    def close(self) -> None:
        """End a case. A case without a value does not count."""
        if self._open:
            # Most cases have one attempt, and its value is the mean.
            self.means.append(self._open[0] if len(self._open) == 1 else mean(self._open))
            self.attempts += len(self._open)
            self._open.clear()


class _JudgeTally:
    """The calls, the cost and the agreement of judges so far."""

    def __init__(self) -> None:
        self._sums: Counter[str] = Counter()
        self._usage = ModelUsage()
        self._pairs: tuple[PairAgreement, ...] = ()
        self._agreement_sums: defaultdict[str, float] = defaultdict(float)
        self._agreements: Counter[str] = Counter()

    def add(self, stats: JudgeStats) -> None:
        """Count the judge calls of one outcome."""
        self._sums.update(outcomes=1, calls=stats.calls, calls_saved=stats.calls_saved, abstentions=stats.abstentions)
        self._usage += stats.model_usage
        self._pairs = sum_pairs([*self._pairs, *stats.pair_agreements])
        for name, rate in (("self_agreement", stats.self_agreement), ("panel_agreement", stats.panel_agreement)):
            if rate is not None:
                self._agreement_sums[name] += rate
                self._agreements[name] += 1

    def summary(self) -> dict[str, Any]:
        """Return fields of a criterion's summary, empty if no judge was asked. Agreement is the mean over outcomes."""
        if not self._sums["outcomes"]:
            return {}
        return {
            "calls": self._sums["calls"],
            "calls_saved": self._sums["calls_saved"],
            "abstentions": self._sums["abstentions"],
            "cost": self._usage.cost,
            "unpriced_calls": self._usage.unpriced_calls,
            "pair_agreements": self._pairs,
            **{name: self._agreement_sums[name] / number for name, number in self._agreements.items()},
        }


def _mean(values: _CaseMeans, scale: Range) -> Estimate:
    """Return the mean over cases with its interval, in the form that fits the range of the criterion."""
    if not values.means:
        return Estimate()
    low, high = scale.bounds
    if math.isfinite(low) and math.isfinite(high):
        interval, method = bounded_interval(values.means, low=low, high=high), WILSON
    elif scale.logarithmic and min(values.means) > 0:
        interval, method = logarithmic_interval(values.means), LOGARITHMIC
    else:
        interval, method = student_interval(values.means), STUDENT
    middle = mean(values.means)
    if interval is None:
        return Estimate(middle)
    return Estimate(middle, max(low, interval[0]), min(high, interval[1]), method)


def _pass_rate(passes: _CaseMeans) -> Estimate:
    if not passes.means:
        return Estimate()
    interval = bounded_interval(passes.means, attempts=passes.attempts)
    if interval is None:
        return Estimate(mean(passes.means))
    return Estimate(mean(passes.means), *interval, WILSON)
