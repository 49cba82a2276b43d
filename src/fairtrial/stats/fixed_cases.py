"""How sure is a number about exactly these cases, if only the attempts are random?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from fairtrial.records.average import mean
from fairtrial.stats.difference import Difference
from fairtrial.stats.interval import LEVEL, Interval, wilson
from fairtrial.stats.student import student_quantile

WILSON_WITHIN = "Wilson with t, these cases"
STUDENT_WITHIN = "t, these cases"


class CaseSample(NamedTuple):
    """The attempts of one case: their mean, their variance with n - 1 (0 for one attempt), and their number."""

    mean: float
    variance: float
    attempts: int


def case_sample(values: Sequence[float]) -> CaseSample:
    """Return the sample of the attempts of one case. It does not depend on the order of the attempts."""
    middle, count = mean(values), len(values)
    squares = math.fsum((value - middle) ** 2 for value in values)
    return CaseSample(middle, squares / (count - 1) if count > 1 else 0.0, count)


def within_variance(cases: Sequence[CaseSample]) -> float:
    """Return the variance of the mean over these cases, for values in 0..1. Every case needs two attempts.

    The 1 in the sum stands for one more attempt that differs by the whole range, so that the variance never vanishes.
    """
    count = len(cases)
    attempts = sum(case.attempts for case in cases) / count
    return (math.fsum(case.variance / case.attempts for case in cases) + 1 / attempts**2) / count**2


def fixed_interval(cases: Sequence[CaseSample], level: float = LEVEL) -> Interval | None:
    """Return the interval of the mean over these cases, for values in 0..1.

    Wilson's interval with the number of trials that would tell as much, at least the number of attempts. None without
    cases, or if a case has only one attempt.
    """
    if not _repeated(cases):
        return None
    rate = mean([case.mean for case in cases])
    attempts = sum(case.attempts for case in cases)
    trials = max(float(attempts), rate * (1 - rate) / within_variance(cases))
    return wilson(rate, trials, student_quantile(0.5 + level / 2, attempts - len(cases)))


def fixed_difference(base: Sequence[CaseSample], candidate: Sequence[CaseSample]) -> Difference | None:
    """Return the difference of two runs of these cases, candidate minus base, for values in 0..1."""
    if not (_repeated(base) and _repeated(candidate)):
        return None
    value = mean([after.mean - before.mean for before, after in zip(base, candidate, strict=True)])
    freedom = sum(case.attempts - 1 for case in (*base, *candidate))
    return Difference(value, value, math.sqrt(within_variance(base) + within_variance(candidate)), freedom)


def _repeated(cases: Sequence[CaseSample]) -> bool:
    return bool(cases) and all(case.attempts >= 2 for case in cases)
