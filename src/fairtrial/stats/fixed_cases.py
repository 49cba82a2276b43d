"""Intervals for a fixed set of cases, in which only the attempts are random."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from fairtrial.records.average import mean
from fairtrial.stats.difference import Difference
from fairtrial.stats.interval import LEVEL, Interval, wilson
from fairtrial.stats.sample_size import least_value
from fairtrial.stats.student import student_quantile

WILSON_WITHIN = "Wilson with t, these cases"
STUDENT_WITHIN = "t, these cases"


class CaseSample(NamedTuple):
    """The attempts of one case: their mean, their variance with n - 1 (0 for one attempt), and their number."""

    mean: float
    variance: float
    attempts: int

    @property
    def passed(self) -> int:
        """How many attempts passed, if each of them has the value 0 or 1."""
        return round(self.mean * self.attempts)


def case_sample(values: Sequence[float]) -> CaseSample:
    """Return the sample from one case's attempts. It does not depend on attempt order."""
    if len(values) == 1:
        return CaseSample(values[0], 0.0, 1)
    middle, count = mean(values), len(values)
    squares = math.fsum((value - middle) ** 2 for value in values)
    return CaseSample(middle, squares / (count - 1) if count > 1 else 0.0, count)


def within_variance(cases: Sequence[CaseSample]) -> float:
    """Return the mean's variance over these cases, for values in 0..1. Every case needs two attempts.

    The last term, squared, stands for one more attempt that differs by the whole range, so that the variance never
    vanishes.
    """
    count = len(cases)
    return (math.fsum(case.variance / case.attempts for case in cases) + _mean_reciprocal(cases) ** 2) / count**2


def _mean_reciprocal(cases: Sequence[CaseSample]) -> float:
    """Return the mean of 1 / attempts. A case with few attempts adds most to the error, whatever the others have."""
    return math.fsum(1 / case.attempts for case in cases) / len(cases)


def attempts_freedom(cases: Sequence[CaseSample]) -> int:
    """Return Satterthwaite's degrees of freedom (1946, Biometrics 2) for the mean over cases that vary alike.

    With equal attempts, they are the number of attempts less the number of cases. If few attempts of some cases decide
    the error, they are about the degrees of freedom of these cases.
    """
    variance = math.fsum(1 / case.attempts for case in cases)
    squares = math.fsum(1 / case.attempts**2 / (case.attempts - 1) for case in cases)
    # The quotient of equal terms may come out a little below a whole number.
    return max(1, math.floor(variance**2 / squares * (1 + 1e-12)))


class FixedTrials(NamedTuple):
    """The mean over cases in 0..1, the number of trials that would tell as much, and its degrees of freedom.

    `least` is the number of trials if attempts at a case vary as much as attempts at different cases.
    """

    rate: float
    trials: float
    freedom: int
    least: float


def fixed_trials(cases: Sequence[CaseSample]) -> FixedTrials | None:
    """Return the trials behind the mean over these cases. None without cases, or if a case has only one attempt."""
    if not _find_repeated(cases):
        return None
    rate = mean([case.mean for case in cases])
    least = len(cases) / _mean_reciprocal(cases)
    return FixedTrials(rate, max(least, rate * (1 - rate) / within_variance(cases)), attempts_freedom(cases), least)


def fixed_interval(cases: Sequence[CaseSample], level: float = LEVEL) -> Interval | None:
    """Return the interval for the mean over these cases, for values in 0..1.

    Wilson's interval with the number of trials that would tell as much. None without cases, or if a case has only one
    attempt.
    """
    worth = fixed_trials(cases)
    if worth is None:
        return None
    return wilson(worth.rate, worth.trials, student_quantile(0.5 + level / 2, worth.freedom))


def fixed_difference(base: Sequence[CaseSample], candidate: Sequence[CaseSample]) -> Difference | None:
    """Return the difference of two runs of these cases, candidate minus base, for values in 0..1."""
    if not (_find_repeated(base) and _find_repeated(candidate)):
        return None
    value = mean([after.mean - before.mean for before, after in zip(base, candidate, strict=True)])
    variance = within_variance(base) + within_variance(candidate)
    freedom = attempts_freedom([*base, *candidate])
    quantiles = student_quantile(0.5 + LEVEL / 2, freedom) + student_quantile(0.8, freedom)
    noise = [_mean_reciprocal(cases) for cases in (base, candidate)]

    def shows(difference: float) -> bool:
        """Return whether the attempts show a difference, which adds variance itself: attempts that fail."""
        own = difference * (1 - difference) * noise[1] / len(base) + math.hypot(*noise) ** 2 / len(base) ** 2
        return quantiles * math.sqrt(max(variance, own)) <= difference

    return Difference(
        value,
        value,
        math.sqrt(variance),
        freedom,
        method=STUDENT_WITHIN,
        detectable=least_value(shows, 1.0),
    )


def _find_repeated(cases: Sequence[CaseSample]) -> bool:
    return bool(cases) and all(case.attempts >= 2 for case in cases)
