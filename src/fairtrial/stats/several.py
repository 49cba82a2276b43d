"""Multiple tests by Holm's method, and McNemar's test of changed cases."""

from __future__ import annotations

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
