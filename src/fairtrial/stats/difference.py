"""How much better is one run than another, if their cases are paired? The two extra cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairtrial.records.average import mean
from fairtrial.stats.interval import LEVEL, Interval
from fairtrial.stats.student import student_cdf, student_quantile

TWO_EXTRA_CASES = "two extra cases, t"
_ROUNDING = 1e-12
"""Differences up to this share of the range are rounding errors of equal means, such as 0.1 + 0.2 and 0.3."""


@dataclass(frozen=True)
class Difference:
    """The difference of two runs, candidate minus base, with everything that a test of it needs.

    `value` is the estimate, `centre` the middle of the interval, and `error` the standard error with `freedom` degrees
    of freedom. `width` is the width of the range of the measure, infinite for unbounded measures. Two measures in 0..1
    differ by at most 1, for example.
    """

    value: float
    centre: float
    error: float
    freedom: int
    width: float = math.inf

    def interval(self, level: float = LEVEL) -> Interval:
        """Return the two-sided interval. It holds the estimate, and it stays inside plus and minus the width."""
        half = student_quantile(0.5 + level / 2, self.freedom) * self.error
        return (
            min(self.value, max(-self.width, self.centre - half)),
            max(self.value, min(self.width, self.centre + half)),
        )

    @property
    def p(self) -> float:
        """The two-sided p value of no difference. It is below 0.05 exactly if the interval excludes 0."""
        return min(1.0, 2 * (1 - student_cdf(abs(self.centre) / self.error, self.freedom)))

    def p_above(self, limit: float) -> float:
        """Return the one-sided p value of the claim that the difference is above a limit."""
        return 1 - student_cdf((self.centre - limit) / self.error, self.freedom)

    def p_below(self, limit: float) -> float:
        """Return the one-sided p value of the claim that the difference is below a limit."""
        return 1 - student_cdf((limit - self.centre) / self.error, self.freedom)

    def detectable(self, power: float = 0.8) -> float:
        """Return the difference that such a comparison finds with this power, at a two-sided error of 5 %."""
        quantiles = student_quantile(0.5 + LEVEL / 2, self.freedom) + student_quantile(power, self.freedom)
        return quantiles * self.error


def paired_difference(differences: Sequence[float], *, width: float = 1.0) -> Difference | None:
    """Return the mean difference of cases that are a sample of all cases. None below two cases.

    Student's t on the differences and two extra cases, +M and -M, with M the largest absolute difference. Without
    them, cases that hardly differ would have an interval that is much too narrow. If all differences are 0, M is the
    width of the range; an unbounded measure then has no interval. For pass or fail with one attempt, this is the
    interval of Bonett and Price (2012, J. Educ. Behav. Stat. 37) with Student's quantile.
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
    squares = [(difference - centre) ** 2 for difference in differences]
    squares += [(largest - centre) ** 2, (largest + centre) ** 2]
    error = math.sqrt(math.fsum(squares) / (cases + 1) / (cases + 2))
    return Difference(mean(differences), centre, error, cases + 1, width)
