"""Estimate population numbers, with intervals, from a stratified sample of results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from fairtrial.records.summary import CriterionSummary, Estimate, Summary
from fairtrial.stats.interval import LOGARITHMIC, STUDENT, WILSON
from fairtrial.stats.stratified import (
    Stratum,
    stratified_bounded_interval,
    stratified_logarithmic_interval,
    stratified_mean,
    stratified_student_interval,
    weight_class,
)

if TYPE_CHECKING:
    from fairtrial.analysis.criterion_tally import CaseMeans, CriterionNumbers
    from fairtrial.records.score import Range


class StratumResults(NamedTuple):
    """The numbers of one stratum, of whose `population` conversations `drawn` were sampled. They are `cases` cases."""

    population: int
    drawn: int
    numbers: Mapping[str, CriterionNumbers]
    cases: int

    def make_stratum(self, means: CaseMeans) -> Stratum:
        """Return the values of a criterion as the sample of the stratum."""
        return Stratum(self.population, self.drawn, self.cases, means.moments, means.attempts)


class WeightedResults(NamedTuple):
    """The numbers of the results that were sampled with a probability."""

    probability: float
    numbers: Mapping[str, CriterionNumbers]

    def make_stratum(self, means: CaseMeans) -> Stratum:
        """Return the values of a criterion as a class of equal weights."""
        return weight_class(self.probability, means.moments, means.attempts)


def with_strata(summary: Summary, strata: Iterable[StratumResults | WeightedResults]) -> Summary:
    """Return the numbers of a sample with estimates of the whole, each stratum or class weighted by its size.

    Counts and verdicts remain those of the sample. pass^k goes, because it has no stratified estimate here.
    Source: Cochran (1977), "Sampling Techniques", chapter 5.
    """
    numbers = [(stratum, stratum.numbers) for stratum in strata]

    def estimated(criterion: CriterionSummary) -> CriterionSummary:
        parts = [
            (stratum, of_stratum[criterion.criterion])
            for stratum, of_stratum in numbers
            if criterion.criterion in of_stratum
        ]

        def make_strata(values: Callable[[CriterionNumbers], CaseMeans]) -> list[Stratum]:
            return [stratum.make_stratum(values(part)) for stratum, part in parts]

        valid, possible = criterion.valid, criterion.possible
        if valid is not None:
            valid = replace(
                valid,
                mean=_mean(make_strata(lambda part: part.valid.values), criterion.range),
                pass_rate=_pass_rate(make_strata(lambda part: part.valid.passes)),
            )
        if possible is not None:
            low, high = (stratified_mean(make_strata(end)) for end in (_lowest, _highest))
            possible = None if low is None or high is None or not math.isfinite(high - low) else (low, high)
        return replace(
            criterion,
            mean=_mean(make_strata(lambda part: part.all.values), criterion.range),
            pass_rate=_pass_rate(make_strata(lambda part: part.all.passes)),
            valid=valid,
            possible=possible,
        )

    return replace(summary, criteria=tuple(map(estimated, summary.criteria)), pass_k=())


def _lowest(numbers: CriterionNumbers) -> CaseMeans:
    return numbers.possible[0]


def _highest(numbers: CriterionNumbers) -> CaseMeans:
    return numbers.possible[1]


def _mean(strata: list[Stratum], scale: Range) -> Estimate:
    """Return the mean with its interval, in the form that fits the range of the criterion."""
    strata = [stratum._replace(attempts=math.inf) for stratum in strata]
    low, high = scale.bounds
    middle = stratified_mean(strata)
    if middle is None:
        return Estimate()
    if math.isfinite(low) and math.isfinite(high):
        interval, method = stratified_bounded_interval(strata, low=low, high=high), WILSON
    elif scale.logarithmic and min(stratum.moments.low for stratum in strata) > 0:
        interval, method = stratified_logarithmic_interval(strata), LOGARITHMIC
    else:
        interval, method = stratified_student_interval(strata), STUDENT
    if interval is None:
        return Estimate(middle)
    return Estimate(middle, max(low, interval[0]), min(high, interval[1]), method)


def _pass_rate(strata: list[Stratum]) -> Estimate:
    middle, interval = stratified_mean(strata), stratified_bounded_interval(strata)
    return Estimate(middle) if interval is None else Estimate(middle, *interval, WILSON)
