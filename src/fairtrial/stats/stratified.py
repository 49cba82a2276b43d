"""Population mean estimates from a stratified random sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from fairtrial.stats.interval import LEVEL, LIGHT, Interval, effective_trials, ends_of_rate, to_range
from fairtrial.stats.moments import Moments, Numbers, compute_moments
from fairtrial.stats.student import student_quantile


class Stratum(NamedTuple):
    """The sample of one stratum.

    `drawn` conversations of `population` were sampled. They are `cases` cases, and some of these have `values`, the
    means over their attempts. `attempts` is the number of passes and failures behind a pass rate.
    """

    population: float
    drawn: int
    cases: float
    values: Numbers
    attempts: float = math.inf

    @property
    def moments(self) -> Moments:
        """The value moments."""
        return compute_moments(self.values)

    @property
    def remaining(self) -> float:
        """The stratum share that is not sampled: the finite-population correction."""
        return 1 - self.drawn / self.population

    @property
    def size(self) -> float:
        """The estimated number of conversations in this stratum whose cases have values."""
        return self.population * self.moments.count / self.cases


_UNKNOWN = 2.0**60
"""The size of a stratum that stands for a class of equal probabilities. Its sample is no share that counts as known."""


def weight_class(probability: float, values: Numbers, attempts: float = math.inf) -> Stratum:
    """Return the cases that were sampled with a probability as a stratum of an unknown size.

    Each case stands for 1 / `probability` cases. The mean of such strata is Hajek's estimator, the sum of w y over the
    sum of w. Its variance is that of the linearised ratio with the case as the cluster of its attempts: the sum of
    w^2 (y - mean)^2 over the squared sum of w, as drawn with replacement, so that no share of the population counts as
    known. Within a class, this is its variance within, plus (mean of the class - mean)^2 / n.
    Sources: Hajek (1971), "Comment on an essay by D. Basu"; Sarndal, Swensson and Wretman (1992), "Model Assisted
    Survey Sampling", sections 5.7 and 5.8, result 5.8.1.
    """
    return Stratum(_UNKNOWN / probability, 0, _UNKNOWN, values, attempts)


def stratified_mean(strata: Sequence[Stratum]) -> float | None:
    """Return the mean of the whole: stratum means, weighted by their sizes. None if there are no values.

    Source: Cochran (1977), "Sampling Techniques", equation 5.1; section 5A.14 if some cases have no value.
    """
    shares = _shares(strata)
    return math.fsum(share * stratum.moments.mean for share, stratum in shares) if shares else None


def stratified_bounded_interval(
    strata: Sequence[Stratum], *, low: float = 0.0, high: float = 1.0, level: float = LEVEL
) -> Interval | None:
    """Return the interval for the stratified mean of values in [low, high], or None below two cases.

    It is Wilson's interval, as `bounded_interval` computes it, with the number of trials that says as much as the
    strata together. With a single stratum, both intervals are equal, except for the finite-population correction.
    """
    middle = stratified_mean(strata)
    if middle is None or sum(stratum.moments.count for stratum in strata) < 2 or not low < high:
        return None
    centres, errors = [], []
    shares = _shares(strata)
    for share, stratum in shares:
        scaled = stratum.moments.shares(low, high)
        centre = (scaled.count * scaled.mean + LIGHT) / (scaled.count + 2 * LIGHT)
        centres.append(share * centre)
        errors.append(centre * (1 - centre) / effective_trials(scaled, stratum.attempts))
    centre = math.fsum(centres)
    rate = (middle - low) / (high - low)
    between = [_between(stratum, middle) / (high - low) ** 2 for _, stratum in shares]
    variances = [
        share**2 * sum(pair) for (share, _), pair in zip(shares, zip(errors, between, strict=True), strict=True)
    ]
    trials = centre * (1 - centre) / math.fsum(variances)
    cases = sum(stratum.moments.count for stratum in strata)
    ends = ends_of_rate(min(1.0, max(0.0, rate)), trials, _quantile(shares, variances, level), cases, level)
    return _apply_correction(to_range(ends, middle, low, high), middle, shares, variances)


def stratified_student_interval(strata: Sequence[Stratum], level: float = LEVEL) -> Interval | None:
    """Return Student's t interval for the stratified mean. None below two cases, or if all values are equal.

    The variance is the sum of stratum variances: W² s² / n, of which the share that is not sampled counts. The degrees
    of freedom are Satterthwaite's. A stratum with a single value has no own variance, so that its squared distance from
    the overall mean takes its place. Source: Cochran (1977), "Sampling Techniques", equations 5.13 and 5.16; section
    5A.14 if some cases have no value.
    """
    return _interval(strata, level, logarithmic=False)


def stratified_logarithmic_interval(strata: Sequence[Stratum], level: float = LEVEL) -> Interval | None:
    """Return the t interval for the logarithm of the stratified mean of amounts, for example of seconds.

    None below two cases, if all values are equal, or if the mean is not above 0.
    """
    return _interval(strata, level, logarithmic=True)


def _interval(strata: Sequence[Stratum], level: float, *, logarithmic: bool) -> Interval | None:
    middle = stratified_mean(strata)
    if middle is None or sum(stratum.moments.count for stratum in strata) < 2 or (logarithmic and middle <= 0):
        return None
    shares = _shares(strata)
    variances = [share**2 * (_within(stratum, middle) + _between(stratum, middle)) for share, stratum in shares]
    error = math.sqrt(math.fsum(variances))
    if not error:
        return None
    half = _quantile(shares, variances, level) * error
    if logarithmic:
        factor = math.exp(half / middle)
        return _apply_correction((middle / factor, middle * factor), middle, shares, variances)
    return _apply_correction((middle - half, middle + half), middle, shares, variances)


_Shares = Sequence[tuple[float, Stratum]]
"""The strata that have values, with their shares in the whole."""


def _shares(strata: Sequence[Stratum]) -> _Shares:
    total = math.fsum(stratum.size for stratum in strata if stratum.moments.count)
    return [(stratum.size / total, stratum) for stratum in strata if stratum.moments.count]


def _within(stratum: Stratum, middle: float) -> float:
    """Return the variance of one stratum's mean, before the finite-population correction."""
    moments = stratum.moments
    if moments.count == 1:
        return (moments.mean - middle) ** 2
    return moments.squares / (moments.count - 1) / moments.count


def _between(stratum: Stratum, middle: float) -> float:
    """Return the variance that comes from not knowing how many cases in a stratum have a value."""
    count = stratum.moments.count
    return (1 - count / stratum.cases) * (stratum.moments.mean - middle) ** 2 / count


def _quantile(shares: _Shares, variances: Sequence[float], level: float) -> float:
    """Return Student's quantile with Satterthwaite's degrees of freedom, rounded down."""
    corrected = [variance * stratum.remaining for (_, stratum), variance in zip(shares, variances, strict=True)]
    if not any(corrected):
        corrected = list(variances)
    squares = math.fsum(
        variance**2 / max(1, stratum.moments.count - 1)
        for (_, stratum), variance in zip(shares, corrected, strict=True)
    )
    # The sum of equal terms may come out a little below a whole number.
    freedom = math.fsum(corrected) ** 2 / squares * (1 + 1e-12)
    return student_quantile(0.5 + level / 2, max(1, math.floor(freedom)))


def _apply_correction(ends: Interval, middle: float, shares: _Shares, variances: Sequence[float]) -> Interval:
    """Return an interval that is narrower because parts of finite strata are known."""
    remaining = math.fsum(
        variance * stratum.remaining for (_, stratum), variance in zip(shares, variances, strict=True)
    )
    factor = math.sqrt(remaining / math.fsum(variances))
    return middle - (middle - ends[0]) * factor, middle + (ends[1] - middle) * factor
