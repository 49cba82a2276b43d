"""The tally of one criterion over the cases of a run."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NamedTuple

from fairtrial.records.average import RunningMean
from fairtrial.records.ballot import PairAgreement, sum_pairs
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.result import CascadeCounts, CaseResult, JudgeStats, Outcome, Verdict
from fairtrial.records.score import Bounds, Range, bounds, is_fully_scored
from fairtrial.records.summary import Cascade, CriterionSummary, Estimate, Valid
from fairtrial.stats.interval import (
    LOGARITHMIC,
    STUDENT,
    bounded_interval,
    bounded_method,
    logarithmic_interval,
    student_interval,
)
from fairtrial.stats.moments import Moments


class CriterionTally:
    """The counts of one criterion so far, from attempts in any order. It `gates` if it has a threshold.

    The cases whose attempts were added are open, until `close_cases` makes one value of the attempts at each of them.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.gates = False
        self.applicable = False
        self.has_value = False
        self._verdicts: Counter[Verdict] = Counter()
        self._errors = 0
        self._all = CaseNumbers()
        # Most runs have no invalid attempt and no outcome that is unscored in part. Until the first of them, the
        # numbers of the valid attempts are those of all attempts, and so are the possible values.
        self._valid: CaseNumbers | None = self._all
        self._possible: tuple[CaseMeans, CaseMeans] | None = None
        self._is_open = False
        self._is_unbounded = False
        self._latest: Outcome | None = None
        self._latest_open: tuple[Outcome, Bounds | None] | None = None
        self._judges = _JudgeTally()

    def close_cases(self) -> None:
        """End the open cases: the attempts at each of them make one value."""
        self._all.close()
        if self._valid is not None and self._valid is not self._all:
            self._valid.close()
        for ends in self._possible or ():
            ends.close()
        self._judges.close()

    def merge(self, tally: CriterionTally) -> None:
        """Add the numbers of more attempts, also at the cases that are open."""
        self.gates = self.gates or tally.gates
        self.applicable = self.applicable or tally.applicable
        self.has_value = self.has_value or tally.has_value
        self._is_open = self._is_open or tally._is_open
        self._is_unbounded = self._is_unbounded or tally._is_unbounded
        self._latest = tally._latest or self._latest
        self._verdicts.update(tally._verdicts)
        self._errors += tally._errors
        self._judges.merge(tally._judges)
        self._merge_possible(tally)
        if self._valid is None or tally._valid is None:
            self._valid = None
        elif self._valid is not self._all or tally._valid is not tally._all:
            self._valid = self._all.copy() if self._valid is self._all else self._valid
            self._valid.merge(tally._valid)
        self._all.merge(tally._all)

    def _merge_possible(self, tally: CriterionTally) -> None:
        if self._is_unbounded or (self._possible is None and tally._possible is None):
            self._possible = None
            return
        if self._possible is None:
            self._possible = self._all.values.copy(), self._all.values.copy()
        for own, means in zip(self._possible, tally.numbers.possible, strict=True):
            own.merge(means)

    def add(self, result: CaseResult, outcome: Outcome, verdict: Verdict) -> None:
        """Count the outcome of one attempt."""
        # The agent failed before it could be scored: an error that counts against its pass rate.
        is_error = result.failure is not None and result.failure.side == "agent" and verdict is Verdict.UNSCORED
        self._latest = outcome
        if outcome.judge_stats is not None:
            self._judges.add(result.position, outcome.judge_stats)
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
        if self._possible is not None or not is_fully_scored(outcome.score):
            self._add_possible(result.position, outcome)
        if result.invalidations and self._valid is self._all:
            self._valid = self._all.copy()
        self._all.add(result.position, outcome.score.value, passes=passes)
        if self._valid is not None and self._valid is not self._all and not result.invalidations:
            self._valid.add(result.position, outcome.score.value, passes=passes)

    def _add_possible(self, case: int, outcome: Outcome) -> None:
        """Add the lowest and the highest value that an outcome could have, which differ if it is unscored in part.

        If one of them is infinite, so is the mean of all outcomes, and the others do not matter.
        """
        if self._is_unbounded:
            return
        value = outcome.score.value
        ends = None if value is None else (value, value)
        if not is_fully_scored(outcome.score):
            ends = self._bounds(outcome) or ends
        if ends is not None:
            self._is_open = self._is_open or ends[0] != ends[1]
            if math.isinf(ends[0]) or math.isinf(ends[1]):
                self._is_unbounded, self._possible = True, None
                return
            if self._possible is None:
                if value is not None and ends == (value, value):
                    return
                self._possible = self._all.values.copy(), self._all.values.copy()
            low, high = self._possible
            low.add(case, ends[0])
            high.add(case, ends[1])

    def _bounds(self, outcome: Outcome) -> Bounds | None:
        """Return the bounds of an outcome. A criterion that finds nothing to measure has the same outcome each time."""
        if self._latest_open is None or self._latest_open[0] is not outcome:
            self._latest_open = outcome, bounds(outcome.score, outcome.range)
        return self._latest_open[1]

    @property
    def numbers(self) -> CriterionNumbers:
        """The numbers of the cases."""
        values = self._all.values
        return CriterionNumbers(self._all, self._valid or CaseNumbers(), self._possible or (values, values))

    def _possible_means(self) -> tuple[float, float] | None:
        """Return both ends of the mean that all outcomes could have, or None if every outcome is scored."""
        if self._possible is None or not self._is_open or not self._possible[0].moments.count:
            return None
        low, high = (ends.moments.mean for ends in self._possible)
        return low, high

    def summary(self) -> CriterionSummary:
        """Return the numbers."""
        latest = self._latest
        scale = latest.range if latest else Range()
        return CriterionSummary(
            self.name,
            *_estimates(self._all, scale),
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
            valid=None if self._valid is None else Valid(self._valid.n, *_estimates(self._valid, scale)),
            possible=self._possible_means(),
        )


def _passes(verdict: Verdict) -> bool | None:
    """Return whether a verdict counts for or against the pass rate, or None if it does not count."""
    return True if verdict is Verdict.PASSED else False if verdict is Verdict.FAILED else None


class CaseNumbers:
    """The values and the passes of one criterion over some of the attempts, one number of each a case."""

    def __init__(self) -> None:
        self.n = 0
        self.values = CaseMeans()
        self.passes = CaseMeans()

    def add(self, case: int, value: float | None, *, passes: bool | None) -> None:
        """Count an outcome that applies."""
        self.n += 1
        if value is not None:
            self.values.add(case, value)
        if passes is not None:
            self.passes.add(case, float(passes))

    def close(self) -> None:
        """End the open cases."""
        self.values.close()
        self.passes.close()

    def merge(self, numbers: CaseNumbers) -> None:
        """Add the numbers of more attempts, also at the cases that are open."""
        self.n += numbers.n
        self.values.merge(numbers.values)
        self.passes.merge(numbers.passes)

    def copy(self) -> CaseNumbers:
        """Return the same numbers, to which others can be added."""
        copied = CaseNumbers()
        copied.n, copied.values, copied.passes = self.n, self.values.copy(), self.passes.copy()
        return copied


class CaseMeans:
    """The moments of the cases, each of which counts by the mean over its attempts.

    Memory grows only with the open cases.
    """

    def __init__(self) -> None:
        self.moments = Moments()
        self.attempts = 0
        self._open: dict[int, float | RunningMean] = {}

    def add(self, case: int, value: float) -> None:
        """Add the value of an attempt at a case."""
        self.attempts += 1
        # Most cases have one attempt, and its value is the mean.
        earlier = self._open.get(case)
        if earlier is None:
            self._open[case] = value
        elif isinstance(earlier, RunningMean):
            earlier.add(value)
        else:
            total = self._open[case] = RunningMean(earlier)
            total.add(value)

    def close(self) -> None:
        """End the open cases."""
        self.moments.extend([value.value if isinstance(value, RunningMean) else value for value in self._open.values()])
        self._open.clear()

    def merge(self, values: CaseMeans) -> None:
        """Add more attempts, also at the cases that are open."""
        self.attempts += values.attempts
        self.moments.merge(values.moments)
        for case, value in values._open.items():
            earlier = self._open.get(case)
            if earlier is None:
                self._open[case] = value
            else:
                total = self._open[case] = earlier if isinstance(earlier, RunningMean) else RunningMean(earlier)
                total.merge(value if isinstance(value, RunningMean) else RunningMean(value))

    def copy(self) -> CaseMeans:
        """Return the same means, to which others can be added."""
        copied = CaseMeans()
        copied.moments, copied.attempts = self.moments.copy(), self.attempts
        copied._open = {
            case: value.copy() if isinstance(value, RunningMean) else value for case, value in self._open.items()
        }
        return copied


class CriterionNumbers(NamedTuple):
    """The values of the cases for one criterion: of all attempts, of the valid attempts, and both possible ends."""

    all: CaseNumbers
    valid: CaseNumbers
    possible: tuple[CaseMeans, CaseMeans]


class _JudgeTally:
    """The calls, the cost and the agreement of judges so far."""

    def __init__(self) -> None:
        self._sums: Counter[str] = Counter()
        self._usage = ModelUsage()
        self._pairs: tuple[PairAgreement, ...] = ()
        self._with_itself = CaseMeans()
        self._in_panel = CaseMeans()
        self._cascade: CascadeCounts | None = None
        self._overruled = CaseMeans()

    def add(self, case: int, stats: JudgeStats) -> None:
        """Count the judge calls of one outcome of a case."""
        self._sums.update(outcomes=1, calls=stats.calls, calls_saved=stats.calls_saved, abstentions=stats.abstentions)
        self._usage += stats.model_usage
        self._pairs = sum_pairs([*self._pairs, *stats.pair_agreements])
        for means, rate in ((self._with_itself, stats.self_agreement), (self._in_panel, stats.panel_agreement)):
            if rate is not None:
                means.add(case, rate)
        if stats.cascade is not None:
            self._add_cascade(stats.cascade)
            if stats.cascade.audited:
                self._overruled.add(case, stats.cascade.overruled / stats.cascade.audited)

    def _add_cascade(self, counts: CascadeCounts) -> None:
        self._cascade = counts if self._cascade is None else self._cascade + counts

    def close(self) -> None:
        """End the open cases."""
        self._with_itself.close()
        self._in_panel.close()
        self._overruled.close()

    def merge(self, tally: _JudgeTally) -> None:
        """Add the numbers of more outcomes."""
        self._sums.update(tally._sums)
        self._usage += tally._usage
        self._pairs = sum_pairs([*self._pairs, *tally._pairs])
        self._with_itself.merge(tally._with_itself)
        self._in_panel.merge(tally._in_panel)
        self._overruled.merge(tally._overruled)
        if tally._cascade is not None:
            self._add_cascade(tally._cascade)

    def summary(self) -> dict[str, Any]:
        """Return fields of a criterion's summary, empty if no judge was asked. Agreement is the mean over cases."""
        if not self._sums["outcomes"]:
            return {}
        return {
            "calls": self._sums["calls"],
            "calls_saved": self._sums["calls_saved"],
            "abstentions": self._sums["abstentions"],
            "cost": self._usage.cost,
            "unpriced_calls": self._usage.unpriced_calls,
            "pair_agreements": self._pairs,
            **_agreement("self_agreement", self._with_itself),
            **_agreement("panel_agreement", self._in_panel),
            "cascade": self._summarise_cascade(),
        }

    def _summarise_cascade(self) -> Cascade | None:
        if self._cascade is None:
            return None
        counts = self._cascade
        error = rate_estimate(self._overruled.moments, self._overruled.attempts)
        return Cascade(counts.criterion, counts.decisions, counts.questions, counts.audited, counts.overruled, error)


def _agreement(name: str, means: CaseMeans) -> dict[str, Any]:
    """Return the fields of an agreement: the mean over cases, and its interval."""
    moments = means.moments
    return {name: moments.mean, f"{name}_interval": bounded_interval(moments)} if moments.count else {}


def _estimates(numbers: CaseNumbers, scale: Range) -> tuple[Estimate, Estimate]:
    """Return the mean and the pass rate."""
    passes = numbers.passes
    return mean_estimate(numbers.values.moments, scale), rate_estimate(passes.moments, passes.attempts)


def mean_estimate(moments: Moments, scale: Range) -> Estimate:
    """Return the mean over cases with its interval, in the form that fits the range of the criterion."""
    if not moments.count:
        return Estimate()
    low, high = scale.bounds
    if math.isfinite(low) and math.isfinite(high):
        interval = bounded_interval(moments, low=low, high=high)
        method = bounded_method(moments, low=low, high=high)
    elif scale.logarithmic and moments.low > 0:
        interval, method = logarithmic_interval(moments), LOGARITHMIC
    else:
        interval, method = student_interval(moments), STUDENT
    if interval is None:
        return Estimate(moments.mean)
    return Estimate(moments.mean, max(low, interval[0]), min(high, interval[1]), method)


def rate_estimate(moments: Moments, attempts: int) -> Estimate:
    """Return the pass rate over cases with its interval."""
    if not moments.count:
        return Estimate()
    interval = bounded_interval(moments, attempts=attempts)
    if interval is None:
        return Estimate(moments.mean)
    return Estimate(moments.mean, *interval, bounded_method(moments, attempts=attempts))
