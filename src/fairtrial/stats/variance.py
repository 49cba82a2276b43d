"""Variance components: between cases, between attempts at one case, and in the judge's votes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.records.average import mean

if TYPE_CHECKING:
    from fairtrial.stats.fixed_cases import CaseSample


class VarianceSplit(NamedTuple):
    """The variance between the cases, and between the attempts at one case.

    `attempt` is None if no case has two attempts. Then `case` is the sum of both.
    """

    case: float
    attempt: float | None

    @property
    def within(self) -> float:
        """The variance between attempts, as far as it is known."""
        return self.attempt or 0.0


def variance_split(cases: Sequence[CaseSample]) -> VarianceSplit | None:
    """Return the analysis of variance for attempts at cases, or None below two cases.

    The estimate between the cases is not below 0. With the same number of attempts of every case it is the mixed
    model's REML estimate. Source: Searle, Casella and McCulloch (1992), "Variance Components", section 3.6.
    """
    count, attempts = len(cases), sum(case.attempts for case in cases)
    if count < 2:
        return None
    middle = math.fsum(case.mean * case.attempts for case in cases) / attempts
    between = math.fsum(case.attempts * (case.mean - middle) ** 2 for case in cases) / (count - 1)
    if attempts == count:
        return VarianceSplit(between, None)
    within = math.fsum((case.attempts - 1) * case.variance for case in cases) / (attempts - count)
    size = (attempts - sum(case.attempts**2 for case in cases) / attempts) / (count - 1)
    return VarianceSplit(max(0.0, (between - within) / size), within)


def lasting_variance(differences: Sequence[float], noise: float) -> float:
    """Return the variance between case differences that no number of attempts removes, at least 0.

    `noise` is the variance that the attempts add to a case difference. For example, runs whose attempts vary by
    0.1, with 4 attempts of each case in both, add 0.1 / 4 + 0.1 / 4.
    """
    middle = mean(differences)
    variance = math.fsum((difference - middle) ** 2 for difference in differences) / (len(differences) - 1)
    return max(0.0, variance - noise)


def judge_noise(yes_rate: float, self_agreement: float, votes: int) -> float:
    """Return the variance that the a judge's votes add to one verdict, if the majority of k votes decides.

    A model: the chance for yes differs between the items as a Beta distribution, whose spread follows from how often
    two votes on the same item agree. If votes agree less often than that allows, every item has the same chance.
    """
    error = (1 - self_agreement) / 2
    if error <= 0 or not 0 < yes_rate < 1:
        return 0.0
    share = error / (yes_rate * (1 - yes_rate))
    if share >= 1:
        chance = math.fsum(
            math.comb(votes, i) * yes_rate**i * (1 - yes_rate) ** (votes - i) for i in range(votes // 2 + 1, votes + 1)
        )
        return chance * (1 - chance)
    size = share / (1 - share)
    a, b = yes_rate * size, (1 - yes_rate) * size
    majority = range(votes // 2 + 1, votes + 1)
    return math.fsum(
        math.comb(votes, i) * math.comb(votes, j) * math.exp(_log_beta(a + i + j, b + 2 * votes - i - j))
        for i in majority
        for j in range(votes // 2 + 1)
    ) / math.exp(_log_beta(a, b))


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
