"""Means of numbers, free of rounding errors."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from fractions import Fraction


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean of at least one number, in any order the same.

    Only the result is rounded, and clamped to [min, max]: three values of 0.7 have the mean 0.7, which a threshold of
    0.7 passes.
    """
    if len(values) == 1:
        return values[0]
    low, high = min(values), max(values)
    if low == high:
        return low
    return min(max(divide_sum(values, len(values)), low), high)


class RunningMean:
    """The mean of numbers that come one after another: the same as `mean` of all of them, in little memory."""

    __slots__ = ("_addends", "_high", "_low", "count")

    def __init__(self, value: float) -> None:
        self.count = 1
        self._low = self._high = value
        self._addends = array("d", (value,))

    def add(self, value: float) -> None:
        """Add a number."""
        self.count += 1
        if value < self._low:
            self._low = value
        elif value > self._high:
            self._high = value
        self._addends.append(value)
        if len(self._addends) >= _MOST_ADDENDS:
            self._shorten()

    def merge(self, running: RunningMean) -> None:
        """Add the numbers behind another mean."""
        self.count += running.count
        self._low, self._high = min(self._low, running._low), max(self._high, running._high)
        self._addends.extend(running._addends)
        self._shorten()

    def _shorten(self) -> None:
        """Replace the numbers by fewer that have exactly the same sum: the rounded sum, and what rounding took away.

        Source: Shewchuk (1997), "Adaptive Precision Floating-Point Arithmetic", Discrete & Computational Geometry 18.
        """
        addends, parts = self._addends, array("d")
        try:
            while part := math.fsum(addends):
                parts.append(part)
                if math.isinf(part):
                    break
                addends.append(-part)
        except OverflowError:  # such numbers stay as they are
            self._addends = addends[: len(addends) - len(parts)]
        else:
            self._addends = parts

    def copy(self) -> RunningMean:
        """Return the same mean, to which other numbers can be added."""
        copied = RunningMean(0.0)
        copied.count, copied._low, copied._high, copied._addends = self.count, self._low, self._high, self._addends[:]
        return copied

    @property
    def value(self) -> float:
        """The mean so far."""
        if self._low == self._high:
            return self._low
        return min(max(divide_sum(self._addends, self.count), self._low), self._high)


_MOST_ADDENDS = 32
"""So many numbers are held before their sum takes their place."""


def divide_sum(values: Sequence[float], count: int) -> float:
    """Return the sum of numbers divided by `count`, rounded once."""
    try:
        total = math.fsum(values)
        lost = math.fsum((*values, -total)) if math.isfinite(total) else 0.0
        # The quotient of a rounded sum is not the mean: 2.4 / 3 is below 0.8, the mean of 0.7, 0.8 and 0.9.
        return total / count if not lost else float((Fraction(total) + Fraction(lost)) / count)
    except OverflowError:  # the sum is out of range, but the mean is not
        return math.fsum(value / count for value in values)
