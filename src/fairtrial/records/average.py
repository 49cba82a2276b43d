"""What is the mean of some numbers, free of rounding errors?"""

from __future__ import annotations

import math
from collections.abc import Sequence


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean of at least one number, in any order the same.

    The sum is rounded once (`math.fsum`), and the result is clamped to [min, max]: three values of 0.7 have the mean
    0.7, which a threshold of 0.7 passes.
    """
    low, high = min(values), max(values)
    if low == high:
        return low
    try:
        middle = math.fsum(values) / len(values)
    except OverflowError:  # the sum is out of range, but the mean is not
        middle = math.fsum(value / len(values) for value in values)
    return min(max(middle, low), high)
