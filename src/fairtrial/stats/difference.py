"""The paired difference of two runs, with its interval and p value. Two extra cases widen the interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from fairtrial.records.average import mean
from fairtrial.stats.interval import LEVEL, Interval
from fairtrial.stats.sample_size import detectable as detectable_difference
from fairtrial.stats.sample_size import extra_distance
from fairtrial.stats.sign_flip import MOST_CASES, least_shift, sign_flip_p
from fairtrial.stats.skewness import skewed_p
from fairtrial.stats.student import student_cdf, student_quantile

TWO_EXTRA_CASES = "two extra cases, t"
SIGN_FLIPS = "two extra cases, sign flips"
_ROUNDING = 1e-12
"""Differences up to this share of the range are rounding errors of equal means, such as 0.1 + 0.2 and 0.3."""


@dataclass(frozen=True)
class Difference:
    """The difference of two runs, candidate minus base, with everything that a test of it needs.

    `value` is the estimate, `centre` the interval's middle, and `error` the standard error with `freedom` degrees
    of freedom. `width` is the width of the measure's range, infinite for unbounded measures. Two measures in 0..1
    differ by at most 1, for example. `moves` are the sorted case differences, if their signs are to be flipped.
    The p value is then at least `least_p`. `detectable` is the difference that such a comparison
    finds with a power of 80 %, at a two-sided error of 5 %.
    """

    value: float
    centre: float
    error: float
    freedom: int
    width: float = math.inf
    method: str = TWO_EXTRA_CASES
    detectable: float | None = None
    moves: tuple[float, ...] = ()
    least_p: float = 0.0

    def interval(self, level: float = LEVEL) -> Interval:
        """Return the two-sided interval. It holds the estimate, and it stays inside plus and minus the width.

        The test of sign flips decides whether it holds 0. If it does not, the end beside 0 is the test's, unless
        Student's is nearer to 0.
        """
        half = student_quantile(0.5 + level / 2, self.freedom) * self.error
        low = min(self.value, max(-self.width, self.centre - half))
        high = max(self.value, min(self.width, self.centre + half))
        if not self.moves:
            return low, high
        if self.p >= 1 - level:
            return min(low, 0.0), max(high, 0.0)
        if self.value < 0:
            return low, high if high < 0 else -least_shift([-move for move in self.moves], self.width, 1 - level)
        return low if low > 0 else least_shift(self.moves, self.width, 1 - level), high

    @cached_property
    def p(self) -> float:
        """The two-sided p value of no difference. It is below 0.05 exactly if the interval excludes 0."""
        if self.moves:
            return max(self.least_p, sign_flip_p(self.moves, self.width))
        return _student_p(self.centre, self.error, self.freedom)


def paired_difference(differences: Sequence[float], *, width: float = 1.0) -> Difference | None:
    """Return the mean difference of cases that are a sample of all cases. None below two cases.

    Student's t on the differences and two extra cases, +M and -M, with M the largest absolute difference. Without them,
    cases that hardly differ would have an interval that is much too narrow. If all differences are 0, M is the range
    width; an unbounded measure then has no interval. For pass or fail with one attempt, this is the interval of Bonett
    and Price (2012, J. Educ. Behav. Stat. 37) with Student's quantile. The interval's M is at least 0.87 times the
    width: a case may fail wholly although no case did.

    Below 100 cases, the p value is that of sign flips. If few large differences are opposed to many small ones, signs
    are no coins, so it is at least the p value of Student's t without the skewness.
    """
    cases = len(differences)
    if cases < 2:
        return None
    largest = max(map(abs, differences))
    if largest <= (_ROUNDING * width if math.isfinite(width) else 0.0):
        largest = width
    if math.isinf(largest):
        return None
    centre = math.fsum(differences) / (cases + 2)
    squares = math.fsum((difference - centre) ** 2 for difference in differences)
    error = _error(squares, centre, extra_distance(largest, width), cases)
    value = mean(differences)
    variance = math.fsum((difference - value) ** 2 for difference in differences) / (cases - 1)
    detectable = detectable_difference(cases, variance, largest, width=width)
    if cases > MOST_CASES:
        return Difference(value, centre, error, cases + 1, width, TWO_EXTRA_CASES, detectable)
    moves = tuple(sorted(differences))
    return Difference(value, centre, error, cases + 1, width, SIGN_FLIPS, detectable, moves, skewed_p(moves))


def _error(squares: float, centre: float, largest: float, cases: int) -> float:
    """Return the standard error of a mean over the cases and two extra cases."""
    squares += (largest - centre) ** 2 + (largest + centre) ** 2
    return math.sqrt(squares / (cases + 1) / (cases + 2))


def _student_p(centre: float, error: float, freedom: int) -> float:
    return min(1.0, 2 * (1 - student_cdf(abs(centre) / error, freedom)))
