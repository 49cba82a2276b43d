"""Confidence intervals for the mean of cases."""

from __future__ import annotations

import math
from statistics import NormalDist

from fairtrial.stats.beta import beta_quantile
from fairtrial.stats.moments import Numbers, compute_moments
from fairtrial.stats.student import student_quantile

LEVEL = 0.95
WILSON = "Wilson with t"
WILSON_EXACT = "Wilson with t, exact end"
STUDENT = "t"
LOGARITHMIC = "t on logarithms"
LIGHT = 1 / 2
"""The weight of the two light cases, 0 and 1, that keep the variance from vanishing.

With a smaller weight, ten cases that all succeed nearly rule out that one case in ten fails wholly.
"""
FEW = 5
"""With fewer successes or failures than these, the end beside the rarer of them is at least the exact one."""

Interval = tuple[float, float]


def bounded_interval(
    cases: Numbers,
    *,
    low: float = 0.0,
    high: float = 1.0,
    attempts: float = math.inf,
    level: float = LEVEL,
) -> Interval | None:
    """Return the interval of the mean of case values in [low, high], or None below two cases.

    The rule is the same for means and for pass rates: Wilson's interval with an effective number of trials and
    Student's quantile, and an exact end beside few failures. `attempts` is the number of passes and failures behind a
    pass rate, which no effective number exceeds. The interval holds the mean, and its width is never 0. It ends exactly
    at `low` if all values are `low`, and at `high` if all are `high`.
    Sources: Wilson (1927), "Probable Inference", JASA 22(158); Dean and Pagano (2015), "Evaluating Confidence Interval
    Methods for Binomial Proportions in Clustered Surveys", J. Survey Statistics and Methodology 3(4).
    """
    moments = compute_moments(cases)
    if moments.count < 2 or not low < high:
        return None
    shares = moments.shares(low, high)
    quantile = _student(moments.count, level)
    ends = ends_of_rate(shares.mean, effective_trials(shares, attempts), quantile, moments.count, level)
    return to_range(ends, moments.mean, low, high)


def bounded_method(
    cases: Numbers, *, low: float = 0.0, high: float = 1.0, attempts: float = math.inf, level: float = LEVEL
) -> str:
    """Return the name of the method of `bounded_interval`, which says whether an end is the exact one."""
    moments = compute_moments(cases)
    if moments.count < 2 or not low < high:
        return WILSON
    shares, quantile = moments.shares(low, high), _student(moments.count, level)
    trials = effective_trials(shares, attempts)
    ends = ends_of_rate(shares.mean, trials, quantile, moments.count, level)
    return WILSON if ends == wilson(shares.mean, trials, quantile) else WILSON_EXACT


def ends_of_rate(rate: float, trials: float, quantile: float, cases: int, level: float = LEVEL) -> Interval:
    """Return Wilson's interval, with an exact end beside few successes or failures.

    Wilson's upper end is too low beside one failure: a rate of 0.9983 gives at least one failure of 100 in 16 % of the
    runs, and the interval then ends below it. The exact end is that of Clopper and Pearson (1934, Biometrika 26), for
    the trials that are left if Student's `quantile` replaces the normal one (Korn and Graubard 1998, Survey Methodology
    24), at least the number of cases.
    """
    low, high = wilson(rate, trials, quantile)
    error = (1 - level) / 2
    exact = max(min(trials, cases), trials * (NormalDist().inv_cdf(1 - error) / quantile) ** 2)
    if rate < 0.5 and trials * rate < FEW:
        low = min(low, beta_quantile(error, exact * rate, exact * (1 - rate) + 1))
    if rate > 0.5 and trials * (1 - rate) < FEW:
        high = max(high, beta_quantile(1 - error, exact * rate + 1, exact * (1 - rate)))
    return low, high


def to_range(ends: Interval, middle: float, low: float, high: float) -> Interval:
    """Return an interval in 0..1 as an interval in [low, high] around an estimate there."""
    # Rounding on the way to 0..1 and back must not move an end past the estimate.
    return (
        min(middle, low + (high - low) * ends[0]),
        high if ends[1] == 1 else max(middle, low + (high - low) * ends[1]),
    )


def effective_trials(shares: Numbers, attempts: float = math.inf) -> float:
    """Return how many independent yes-or-no trials say as much as these cases in 0..1: p (1 - p) / variance of p.

    At least the number of cases, at most `attempts`. Two light cases, 0 and 1, are added: without them, cases that
    are all alike would be worth infinitely many trials.
    """
    moments = compute_moments(shares)
    count, middle = moments.count, moments.mean
    weight = count + 2 * LIGHT
    p = (count * middle + LIGHT) / weight
    squares = moments.squares + count * (middle - p) ** 2 + LIGHT * (p**2 + (1 - p) ** 2)
    variance = squares / (weight * (weight - 1))
    return min(attempts, max(float(count), p * (1 - p) / variance))


def wilson(rate: float, trials: float, z: float) -> Interval:
    """Return the Wilson score interval of a rate in 0..1 for a number of trials above 0, which need not be whole.

    `z` is the quantile of the wanted level. The interval of a rate of 0 begins at exactly 0, and the interval of a
    rate of 1 ends at exactly 1.
    """
    z2 = z * z
    middle = (rate + z2 / (2 * trials)) / (1 + z2 / trials)
    half = z * math.sqrt(rate * (1 - rate) / trials + z2 / (4 * trials * trials)) / (1 + z2 / trials)
    low = 0.0 if rate <= 0 else max(0.0, middle - half)
    high = 1.0 if rate >= 1 else min(1.0, middle + half)
    return min(rate, low), max(rate, high)


def student_interval(cases: Numbers, level: float = LEVEL) -> Interval | None:
    """Return Student's t interval of the mean of unbounded values. None below two cases, or if all are equal."""
    moments = compute_moments(cases)
    error = standard_error(moments)
    if not error:
        return None
    middle, half = moments.mean, _student(moments.count, level) * error
    return middle - half, middle + half


def logarithmic_interval(cases: Numbers, level: float = LEVEL) -> Interval | None:
    """Return the t interval of the logarithm of the mean, as amounts: mean x exp(+-t SE / mean).

    For amounts such as seconds and tokens, whose errors are ratios: both ends are above 0, and the upper end is
    further from the mean. SE / mean is the standard error of the logarithm of the mean by the delta method (Oehlert
    1992, "A Note on the Delta Method", The American Statistician 46(1)). None below two cases, if all values are
    equal, or if the mean is not above 0.
    """
    moments = compute_moments(cases)
    error = standard_error(moments)
    if not error or (middle := moments.mean) <= 0:
        return None
    factor = math.exp(_student(moments.count, level) * error / middle)
    return middle / factor, middle * factor


def standard_error(cases: Numbers) -> float | None:
    """Return the standard error of the mean, from the standard deviation with n - 1. None below two cases."""
    moments = compute_moments(cases)
    if moments.count < 2:
        return None
    return math.sqrt(moments.squares / (moments.count - 1) / moments.count)


def _student(cases: int, level: float) -> float:
    return student_quantile(0.5 + level / 2, cases - 1)
