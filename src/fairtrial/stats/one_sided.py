"""One-sided confidence limits for claims, exact if every case passes or fails.

A claim states its error. So its limits are those of Clopper and Pearson (1934, Biometrika 26), for the effective number
of trials (Korn and Graubard 1998, Survey Methodology 24). Near 0 and 1, limits by Wilson err up to four times as often.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import NamedTuple

from fairtrial.stats.beta import beta_cdf, beta_quantile
from fairtrial.stats.fixed_cases import CaseSample, FixedTrials, fixed_trials
from fairtrial.stats.moments import Moments, Numbers, compute_moments
from fairtrial.stats.sample_size import least_cases
from fairtrial.stats.student import student_quantile

EXACT = "exact limits"
EXACT_WITHIN = "exact limits, these cases"

WHOLE = 1.0
"""The weight for two extra cases, 0 and 1, behind mean limits."""
WHOLE_DIFFERENCES = 3.0
"""The weight for two extra cases, -1 and 1, behind difference limits.

With a weight of 2, a claim about 2,000 cases of which some broke and one was fixed errs in 5.6 % instead of 5 %.
"""
_STEPS = 30
_POWER = 0.8
_ERROR = 0.05


class Limits(NamedTuple):
    """One-sided limits for a mean in 0..1, or for a difference in -1..1, and the p values on both sides of a limit.

    A p value is below alpha exactly if the limit of that alpha clears the claim. `trials` is the number of trials
    behind a mean.
    """

    low: float
    high: float
    p_above: Callable[[float], float]
    p_below: Callable[[float], float]
    trials: float


class Successes(NamedTuple):
    """A mean of values in 0..top as successes out of some trials. Neither need be whole."""

    successes: float
    trials: float
    top: float = 1.0

    def lower(self, alpha: float) -> float:
        """Return the lower limit for the mean."""
        return self.top * beta_quantile(alpha, self.successes, self.trials - self.successes + 1)

    def p_above(self, limit: float) -> float:
        """Return the p value of the claim that the mean is above a limit."""
        if self.successes <= 0 or limit >= self.top:
            return 1.0
        return beta_cdf(limit / self.top, self.successes, self.trials - self.successes + 1)


def mean_limits(shares: Numbers, alpha: float, *, attempts: float = math.inf) -> Limits | None:
    """Return the limits for the mean of case values in 0..1, or None below two cases.

    `attempts` is the number of passes and failures behind a pass rate, which no effective number exceeds. Graded values
    have the lower limit for a mean in 0..largest value, because no case was seen that could make up for a failure. The
    upper limit mirrors this.
    """
    sample = _sample(compute_moments(shares), attempts)
    return _limits(sample, alpha, WHOLE) if sample.cases > 1 else None


def difference_limits(differences: Sequence[float], alpha: float) -> Limits | None:
    """Return the limits for the mean difference of paired cases in -1..1, or None below two cases.

    They are the limits for the mean of (1 + difference) / 2. If no case got better, the lower limit is therefore the
    exact limit for the share of broken cases.
    """
    sample = _sample(_halves(differences))
    if sample.cases < 2:
        return None
    halves = _limits(sample, alpha, WHOLE_DIFFERENCES)
    return halves._replace(
        low=2 * halves.low - 1,
        high=2 * halves.high - 1,
        p_above=lambda limit: halves.p_above((1 + limit) / 2),
        p_below=lambda limit: halves.p_below((1 + limit) / 2),
    )


def _halves(differences: Sequence[float]) -> Moments:
    return Moments([(1 + difference) / 2 for difference in differences]).shares(0.0, 1.0)


class _Sample(NamedTuple):
    """Case values in 0..1: their number, mean, sum of squares, smallest and largest, and attempts per case."""

    cases: int
    mean: float
    squares: float
    low: float
    high: float
    attempts: float

    @property
    def mirrored(self) -> _Sample:
        return self._replace(mean=1 - self.mean, low=1 - self.high, high=1 - self.low)

    def resized(self, cases: int, power: float) -> _Sample:
        """Return as many cases that vary alike. Their mean is the worst one in some share of runs, the power."""
        variance = self.squares / self.cases
        unlucky = max(0.0, self.mean - NormalDist().inv_cdf(power) * math.sqrt(variance / cases))
        return self._replace(cases=cases, mean=unlucky, squares=variance * cases)

    def successes(self, alpha: float, weight: float) -> Successes:
        """Return the effective number of trials, at least the number of cases, with their successes.

        Student's quantile is larger than the normal one, so that fewer trials stand for few cases.
        """
        top = self.high or 1.0
        count, middle = self.cases, self.mean / top
        total = count + 2 * weight
        p = (count * middle + weight) / total
        squares = self.squares / top**2 + count * (middle - p) ** 2 + weight * (p**2 + (1 - p) ** 2)
        shrunk = (NormalDist().inv_cdf(1 - alpha) / student_quantile(1 - alpha, count - 1)) ** 2
        trials = min(count * self.attempts, max(float(count), p * (1 - p) * total * count / squares * shrunk))
        return Successes(trials * min(1.0, middle), trials, top)


def _sample(shares: Moments, attempts: float = math.inf) -> _Sample:
    if not shares.count:
        return _Sample(0, 0.0, 0.0, 0.0, 1.0, math.inf)
    ends = (0.0, 1.0) if math.isfinite(attempts) else (shares.low, shares.high)
    return _Sample(shares.count, shares.mean, shares.squares, *ends, attempts / shares.count)


def _limits(sample: _Sample, alpha: float, weight: float) -> Limits:
    return both_limits(sample.successes(alpha, weight), sample.mirrored.successes(alpha, weight), alpha)


def both_limits(below: Successes, above: Successes, alpha: float) -> Limits:
    """Return both limits from the successes of all values, and of their distances from 1."""
    return Limits(
        below.lower(alpha),
        1 - above.lower(alpha),
        below.p_above,
        lambda limit: above.p_above(1 - limit),
        below.trials,
    )


def cases_to_decide_mean(shares: Numbers, limit: float, alpha: float, *, attempts: float = math.inf) -> int | None:
    """Return the number of cases that would decide a claim about a mean with a power of 80 %, if the estimate stays.

    None if the estimate is the limit, or above ten million cases.
    """
    return _cases_to_decide(_sample(compute_moments(shares), attempts), limit, alpha, WHOLE)


def cases_to_decide_difference(differences: Sequence[float], limit: float, alpha: float) -> int | None:
    """Return the number of cases that would decide a claim about a difference with a power of 80 %, or None."""
    return _cases_to_decide(_sample(_halves(differences)), (1 + limit) / 2, alpha, WHOLE_DIFFERENCES)


def _cases_to_decide(sample: _Sample, limit: float, alpha: float, weight: float) -> int | None:
    if sample.mean == limit:
        return None
    if sample.mean < limit:
        sample, limit = sample.mirrored, 1 - limit
    return least_cases(lambda cases: sample.resized(cases, _POWER).successes(alpha, weight).lower(alpha) > limit)


def cases_for_margin(margin: float, variance: float, largest: float, *, power: float = _POWER) -> int | None:
    """Return the least number of cases that shows "not worse by a margin" for an equal run, at an error of 5 %."""
    return least_cases(lambda cases: margin_of_cases(cases, variance, largest, power=power) <= margin)


def margin_of_cases(cases: int, variance: float, largest: float, *, power: float = _POWER) -> float:
    """Return the margin by which an equal run is shown not to be worse, with this power and at an error of 5 %.

    `variance` is that of the case differences, of which the largest is `largest`.
    """
    move = min(1.0, largest) / 2 if variance else 0.0
    halves = _Sample(1, 0.5, variance / 4, 0.5 - move, 0.5 + move, math.inf)
    return 1 - 2 * halves.resized(cases, power).successes(_ERROR, WHOLE_DIFFERENCES).lower(_ERROR)


def fixed_limits(cases: Sequence[CaseSample], alpha: float) -> Limits | None:
    """Return the limits for the mean over these cases, for values in 0..1, or None if a case has one attempt."""
    worth = fixed_trials(cases)
    return None if worth is None else _fixed_limits(worth, alpha)


def _fixed_limits(worth: FixedTrials, alpha: float) -> Limits:
    shrunk = (NormalDist().inv_cdf(1 - alpha) / student_quantile(1 - alpha, worth.freedom)) ** 2
    trials = max(worth.least, worth.trials * shrunk)
    below, above = worth.rate * trials, (1 - worth.rate) * trials
    return both_limits(Successes(below, trials), Successes(above, trials), alpha)


def fixed_difference_limits(base: Sequence[CaseSample], candidate: Sequence[CaseSample], alpha: float) -> Limits | None:
    """Return the limits for the difference between two runs on these cases, candidate minus base, for values in 0..1.

    The runs are independent, so the distances of their limits add up as squares (MOVER: Donner and Zou 2012, Stat.
    Methods Med. Res. 21).
    """
    before, after = fixed_trials(base), fixed_trials(candidate)
    if before is None or after is None:
        return None
    value = after.rate - before.rate

    def ends(error: float) -> tuple[float, float]:
        ours, theirs = _fixed_limits(before, error), _fixed_limits(after, error)
        return (
            value - math.hypot(after.rate - theirs.low, ours.high - before.rate),
            value + math.hypot(theirs.high - after.rate, before.rate - ours.low),
        )

    low, high = ends(alpha)
    return Limits(
        low,
        high,
        lambda limit: _least_error(lambda error: ends(error)[0] > limit),
        lambda limit: _least_error(lambda error: ends(error)[1] < limit),
        math.inf,
    )


def _least_error(clears: Callable[[float], bool]) -> float:
    """Return the least error at which a limit clears a claim, or 1 if it does not at an error of one half."""
    low, high = 0.0, 0.499
    if not clears(high):
        return 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if clears(middle) else (middle, high)
    return high
