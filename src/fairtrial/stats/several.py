"""Tests of counts by McNemar and Fisher, and the correction of several p values by Holm or Benjamini and Hochberg."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p values corrected by Holm (1979, Scand. J. Statist. 6), in the order in which they came."""
    count = len(p_values)
    corrected = [0.0] * count
    largest = 0.0
    for rank, index in enumerate(sorted(range(count), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (count - rank) * p_values[index]))
        corrected[index] = largest
    return corrected


def mcnemar(fixed: int, broken: int) -> tuple[float, float]:
    """Return the exact p value and the mid-p value of McNemar's test (Fagerland et al. 2013).

    `fixed` cases failed in the base run and passed in the candidate, `broken` cases the other way round.
    """
    changed, fewer = fixed + broken, min(fixed, broken)
    ways = [math.comb(changed, k) for k in range(fewer + 1)]
    # Whole numbers are divided, because 2 ** changed is too large for a float.
    exact = min(1.0, 2 * sum(ways) / 2**changed)
    return exact, min(1.0, (2 * sum(ways) - ways[-1]) / 2**changed)


def fewest_changes(alpha: float, *, mid_p: bool) -> int:
    """Return how many cases must change, all in one way, before McNemar's p value is below `alpha`.

    For example, 6 for 0.05, and 5 by the mid-p value.
    """
    return next(changed for changed in itertools.count(1) if mcnemar(0, changed)[mid_p] < alpha)


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Return the q values of Benjamini and Hochberg (1995, J. R. Statist. Soc. B 57), in the order of the p values.

    Of the tests whose q value is at most 0.1, at most 10 % are false in the long run.
    """
    count = len(p_values)
    corrected = [1.0] * count
    least = 1.0
    for rank, index in enumerate(sorted(range(count), key=lambda i: (-p_values[i], i))):
        least = min(least, p_values[index] * count / (count - rank))
        corrected[index] = least
    return corrected


_EXACT_TOTAL = 4_000


def fisher(ours: int, our_total: int, theirs: int, their_total: int) -> float:
    """Return the two-sided p value of Fisher's exact test that two shares are equal (1935, J. R. Statist. Soc. 98).

    The p value is the probability of all tables with the same margins that are at most as probable as this one. Above
    4,000 units, it is that of the chi-square test with Yates's correction (1934), which is then as good.
    """
    total, successes = our_total + their_total, ours + theirs
    if not our_total or not their_total or successes in (0, total):
        return 1.0
    if total > _EXACT_TOTAL:
        gap = max(0.0, abs(ours * (their_total - theirs) - theirs * (our_total - ours)) - total / 2)
        square = total * gap**2 / (our_total * their_total * successes * (total - successes))
        return math.erfc(math.sqrt(square / 2))
    low, high = max(0, successes - their_total), min(successes, our_total)
    ways = [math.comb(our_total, k) * math.comb(their_total, successes - k) for k in range(low, high + 1)]
    seen = ways[ours - low]
    # Whole numbers are divided, because they are too large for a float.
    return min(1.0, sum(way for way in ways if way <= seen) / sum(ways))
