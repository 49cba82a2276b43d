"""Sample sizes: the number of cases that a question needs, and the difference that cases can detect."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

from fairtrial.stats.interval import LEVEL, wilson
from fairtrial.stats.sign_flip import MOST_CASES
from fairtrial.stats.student import student_quantile

LARGEST = 10_000_000
"""The largest number of cases that a plan considers."""
_FEWEST = 6
"""Five signs are alike in one of 16 runs that do not differ, so that fewer cases show nothing."""
_FAR = 100
_STEPS = 50


def extra_distance(largest: float, width: float = 1.0) -> float:
    """Return how far the two extra cases are from 0, if the a case's largest difference is this far from it.

    In a range, they weigh at least as much as three quarters of two cases that move by the whole width.
    """
    return max(largest, width * math.sqrt(3 / 4)) if math.isfinite(width) else largest


def paired_error(cases: int, variance: float, largest: float, width: float = 1.0) -> float:
    """Return the standard error for a paired difference with two extra cases, whose differences have this variance."""
    return math.sqrt((cases * variance + 2 * extra_distance(largest, width) ** 2) / ((cases + 1) * (cases + 2)))


def shows(
    difference: float, cases: int, variance: float, largest: float, *, power: float = 0.8, width: float = 1.0
) -> bool:
    """Return whether a number of cases shows a difference with this power, at a two-sided error of 5 %.

    If cases move by the whole width, a difference adds variance itself: the share difference / width moves. Sign flips
    have the variance of cases that do not differ on average (Connor 1987, Biometrics 43, for McNemar's test).
    """
    if largest >= width:
        variance = max(variance, difference * (width - difference))
    if cases <= MOST_CASES:
        usual, unlucky = NormalDist().inv_cdf(0.5 + LEVEL / 2), NormalDist().inv_cdf(power)
        distance = usual * math.sqrt(variance + difference**2) + unlucky * math.sqrt(variance)
        return cases >= _FEWEST and distance <= difference * math.sqrt(cases)
    quantiles = student_quantile(0.5 + LEVEL / 2, cases + 1) + student_quantile(power, cases + 1)
    return quantiles * paired_error(cases, variance, largest, width) <= difference


def detectable(cases: int, variance: float, largest: float, *, power: float = 0.8, width: float = 1.0) -> float | None:
    """Return the difference that this number of cases shows with this power, or None if it shows none in the range."""
    most = width if math.isfinite(width) else largest * _FAR
    return least_value(lambda difference: shows(difference, cases, variance, largest, power=power, width=width), most)


def least_value(is_enough: Callable[[float], bool], most: float) -> float | None:
    """Return the least value in 0..most that is enough, by bisection, or None."""
    if not is_enough(most):
        return None
    low, high = 0.0, most
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def cases_to_detect(difference: float, variance: float, largest: float, *, power: float = 0.8) -> int | None:
    """Return the least number of cases that shows a difference, or None above ten million."""

    def is_enough(cases: int) -> bool:
        return shows(difference, cases, variance, largest, power=power)

    return least_cases(is_enough, 1 if is_enough(MOST_CASES) else MOST_CASES)


def cases_for_width(half_width: float, variance: float, largest: float, *, level: float = LEVEL) -> int | None:
    """Return the least number of cases whose paired difference has an interval of at most plus or minus this."""
    return least_cases(
        lambda cases: (
            student_quantile(0.5 + level / 2, cases + 1) * paired_error(cases, variance, largest) <= half_width
        )
    )


def cases_for_mean(half_width: float, variance: float, rate: float, *, most: float = math.inf) -> int | None:
    """Return the least number of cases whose mean in 0..1 has an interval of at most plus or minus this.

    `variance` is the variance between case values, `rate` the mean. No case is worth more trials than `most`, for
    example its attempt count if each attempt passes or fails.
    """
    worth = min(most, max(1.0, rate * (1 - rate) / variance if variance > 0 else math.inf))
    worth = 1.0 if math.isinf(worth) else worth

    def is_narrow(cases: int) -> bool:
        low, high = wilson(rate, cases * worth, student_quantile(0.5 + LEVEL / 2, cases - 1))
        return high - low <= 2 * half_width

    return least_cases(is_narrow)


def least_cases(is_enough: Callable[[int], bool], low: int = 1) -> int | None:
    """Return the least number of cases above `low` that is enough. More cases never make a plan worse."""
    high = low + 1
    while not is_enough(high):
        low, high = high, high * 2
        if high > LARGEST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
