"""Between which values does the truth probably lie? 95 % intervals for the mean of cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

from fairtrial.records.average import mean

LEVEL = 0.95
WILSON = "Wilson with t"
STUDENT = "t"
LOGARITHMIC = "t on logarithms"
_LIGHT = 1 / 20
"""The weight of the two light cases, 0 and 1, that keep the variance from vanishing."""

Interval = tuple[float, float]


def bounded_interval(
    cases: Sequence[float], *, low: float = 0.0, high: float = 1.0, attempts: float = math.inf
) -> Interval | None:
    """Return the interval of the mean of case values in [low, high], or None below two cases.

    The rule is the same for means and for pass rates: Wilson's interval with an effective number of trials and
    Student's quantile. `attempts` is the number of passes and failures behind a pass rate, which no effective number
    exceeds. The interval holds the mean, and its width is never 0. It ends exactly at `low` if all values are `low`,
    and at `high` if all are `high`.
    Sources: Wilson (1927), "Probable Inference", JASA 22(158); Dean and Pagano (2015), "Evaluating Confidence Interval
    Methods for Binomial Proportions in Clustered Surveys", J. Survey Statistics and Methodology 3(4).
    """
    if len(cases) < 2 or not low < high:
        return None
    shares = [min(1.0, max(0.0, (value - low) / (high - low))) for value in cases]
    ends = wilson(mean(shares), effective_trials(shares, attempts), _student(len(cases)))
    middle = mean(cases)  # rounding on the way to 0..1 and back must not move an end past the mean
    return (
        min(middle, low + (high - low) * ends[0]),
        high if ends[1] == 1 else max(middle, low + (high - low) * ends[1]),
    )


def effective_trials(shares: Sequence[float], attempts: float = math.inf) -> float:
    """Return how many independent yes-or-no trials say as much as these cases in 0..1: p (1 - p) / variance of p.

    At least the number of cases, at most `attempts`. Two light cases, 0 and 1, are added: without them, cases that
    are all alike would be worth infinitely many trials.
    """
    weight = len(shares) + 2 * _LIGHT
    p = (math.fsum(shares) + _LIGHT) / weight
    squares = math.fsum((share - p) ** 2 for share in shares) + _LIGHT * (p**2 + (1 - p) ** 2)
    variance = squares / (weight * (weight - 1))
    return min(attempts, max(float(len(shares)), p * (1 - p) / variance))


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


def student_interval(cases: Sequence[float]) -> Interval | None:
    """Return Student's t interval of the mean of unbounded values. None below two cases, or if all are equal."""
    error = standard_error(cases)
    if not error:
        return None
    middle, half = mean(cases), _student(len(cases)) * error
    return middle - half, middle + half


def logarithmic_interval(cases: Sequence[float]) -> Interval | None:
    """Return the t interval of the logarithm of the mean, as amounts: mean x exp(+-t SE / mean).

    For amounts such as seconds and tokens, whose errors are ratios: both ends are above 0, and the upper end is
    further from the mean. SE / mean is the standard error of the logarithm of the mean by the delta method (Oehlert
    1992, "A Note on the Delta Method", The American Statistician 46(1)). None below two cases, if all values are
    equal, or if the mean is not above 0.
    """
    error = standard_error(cases)
    if not error or (middle := mean(cases)) <= 0:
        return None
    factor = math.exp(_student(len(cases)) * error / middle)
    return middle / factor, middle * factor


def standard_error(cases: Sequence[float]) -> float | None:
    """Return the standard error of the mean, from the standard deviation with n - 1. None below two cases."""
    if len(cases) < 2:
        return None
    middle = mean(cases)
    squares = math.fsum((value - middle) ** 2 for value in cases)
    return math.sqrt(squares / (len(cases) - 1) / len(cases))


def _student(cases: int) -> float:
    return student_quantile(0.5 + LEVEL / 2, cases - 1)


@lru_cache(maxsize=1024)
def student_quantile(p: float, df: int) -> float:
    """Return the quantile of Student's t for p in (0.5, 1) and whole degrees of freedom, to about 1e-12.

    Bisection on the closed form of the distribution for whole degrees of freedom (Abramowitz and Stegun 26.7.3-4).
    Above 1,000 degrees: the expansion around the normal quantile (26.7.5), whose error falls with df^-5.
    """
    if df > 1000:
        z = NormalDist().inv_cdf(p)
        terms: tuple[float, ...] = (
            (z**3 + z) / 4,
            (5 * z**5 + 16 * z**3 + 3 * z) / 96,
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
            (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
        )
        return z + math.fsum(term / df**k for k, term in enumerate(terms, 1))
    low, high = 0.0, 2.0
    while _student_cdf(high, df) < p:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_cdf(middle, df) < p else (low, middle)
    return (low + high) / 2


def _student_cdf(t: float, df: int) -> float:
    theta = math.atan(t / math.sqrt(df))
    cos2 = math.cos(theta) ** 2
    odd = df % 2
    term = math.cos(theta) if odd else 1.0
    total = 0.0 if df == 1 else term
    for k in range(3 if odd else 2, df - 1, 2):
        term *= cos2 * (k - 1) / k
        total += term
    tail = 2 / math.pi * (theta + math.sin(theta) * total) if odd else math.sin(theta) * total
    return 0.5 + tail / 2
