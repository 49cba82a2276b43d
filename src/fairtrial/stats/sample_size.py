"""How many cases does a question need?"""

from __future__ import annotations

import math
from collections.abc import Callable

from fairtrial.stats.interval import LEVEL, wilson
from fairtrial.stats.student import student_quantile

LARGEST = 10_000_000
"""The largest number of cases that a plan considers."""


def paired_error(cases: int, variance: float, largest: float) -> float:
    """Return the standard error of a paired difference with two extra cases, `largest` away from 0.

    `variance` is the variance of the differences of the cases.
    """
    return math.sqrt((cases * variance + 2 * largest**2) / ((cases + 1) * (cases + 2)))


def detectable(cases: int, variance: float, largest: float, *, power: float, level: float = LEVEL) -> float:
    """Return the difference that this number of cases shows with this power."""
    quantiles = student_quantile(0.5 + level / 2, cases + 1) + student_quantile(power, cases + 1)
    return quantiles * paired_error(cases, variance, largest)


def cases_to_detect(
    difference: float, variance: float, largest: float, *, power: float = 0.8, level: float = LEVEL
) -> int | None:
    """Return the least number of cases that shows a difference, or None above ten million.

    A claim of "not worse" is one-sided. For example, an error of 5 % needs level 0.9.
    """
    return least_cases(lambda cases: detectable(cases, variance, largest, power=power, level=level) <= difference)


def cases_for_width(half_width: float, variance: float, largest: float, *, level: float = LEVEL) -> int | None:
    """Return the least number of cases whose paired difference has an interval of at most plus or minus this."""
    return least_cases(
        lambda cases: (
            student_quantile(0.5 + level / 2, cases + 1) * paired_error(cases, variance, largest) <= half_width
        )
    )


def cases_for_mean(half_width: float, variance: float, rate: float, *, most: float = math.inf) -> int | None:
    """Return the least number of cases whose mean in 0..1 has an interval of at most plus or minus this.

    `variance` is the variance of the case values, `rate` the mean. No case is worth more trials than `most`, for
    example the number of its attempts if each attempt passes or fails.
    """
    worth = min(most, max(1.0, rate * (1 - rate) / variance if variance > 0 else math.inf))
    worth = 1.0 if math.isinf(worth) else worth

    def is_narrow(cases: int) -> bool:
        low, high = wilson(rate, cases * worth, student_quantile(0.5 + LEVEL / 2, cases - 1))
        return high - low <= 2 * half_width

    return least_cases(is_narrow)


def least_cases(is_enough: Callable[[int], bool]) -> int | None:
    """Return the least number of cases, at least 2, that is enough. More cases never make a plan worse."""
    low, high = 1, 2
    while not is_enough(high):
        low, high = high, high * 2
        if high > LARGEST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
