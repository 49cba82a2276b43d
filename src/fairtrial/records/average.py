"""Means of numbers, free of rounding errors.

Numbers with few decimals count as the decimals that people read: 0.7 and 0.9 have the mean 0.8, although the float 0.7
is below 7/10. Otherwise a threshold of 0.8 would fail a mean of 0.8.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

_UNITS = 10**9
_SAMPLE = 8
_MOST = 1e6
"""Below this magnitude, a decimal with nine places has at most 15 digits, and no two of them are the same float."""


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
    if len(values) <= _SAMPLE and low > -_MOST and high < _MOST and not any([value % 1 for value in values]):  # noqa: C419
        return sum(values) / len(values)  # of whole numbers, only the quotient is rounded
    # Counting many numbers takes time, and most lists with a number that is not a decimal begin with such numbers.
    units = _sum_of_units((value, 1) for value in values[:_SAMPLE])
    if units is not None and len(values) > _SAMPLE:
        more = _sum_of_units(Counter(values[_SAMPLE:]).items())
        units = None if more is None else units + more
    if units is not None:
        return units / (_UNITS * len(values))
    return min(max(divide_sum(values, len(values)), low), high)


def mean_of_counts(counts: Sequence[tuple[float, int]]) -> float:
    """Return the mean of numbers of which each occurs a number of times, below 2^26: the same as `mean` of them all."""
    size = sum(count for _, count in counts)
    low, high = min(value for value, _ in counts), max(value for value, _ in counts)
    if low == high:
        return low
    units = _sum_of_units(counts)
    return min(max(divide_sum(products(counts), size), low), high) if units is None else units / (_UNITS * size)


@lru_cache(maxsize=4096)  # most values of a run are a few numbers
def _count_units(value: float) -> int | None:
    """Return a decimal with at most nine places in billionths, or None for any other number, for example 1/3."""
    if not -_MOST < value < _MOST:
        return None
    units = round(value * _UNITS)
    return units if units / _UNITS == value else None


def _sum_of_units(counts: Iterable[tuple[float, int]]) -> int | None:
    """Return the sum of numbers that occur a number of times in billionths, or None if a number is not a decimal."""
    total = 0
    for value, count in counts:
        units = _count_units(value)
        if units is None:
            return None
        total += units * count
    return total


class RunningMean:
    """The mean of numbers that come one after another: the same as `mean` of all of them, in little memory."""

    __slots__ = ("_addends", "_high", "_low", "_units", "count")

    def __init__(self, value: float) -> None:
        self.count = 1
        self._low = self._high = value
        self._addends = array("d", (value,))
        self._units = _count_units(value)

    def add(self, value: float) -> None:
        """Add a number."""
        self.count += 1
        if value < self._low:
            self._low = value
        elif value > self._high:
            self._high = value
        if self._units is not None:
            units = _count_units(value)
            self._units = None if units is None else self._units + units
        self._addends.append(value)
        if len(self._addends) >= _MOST_ADDENDS:
            self._shorten()

    def merge(self, running: RunningMean) -> None:
        """Add the numbers behind another mean."""
        self.count += running.count
        self._low, self._high = min(self._low, running._low), max(self._high, running._high)
        own, other = self._units, running._units
        self._units = None if own is None or other is None else own + other
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
        copied._units = self._units
        return copied

    @property
    def value(self) -> float:
        """The mean so far."""
        if self._low == self._high:
            return self._low
        if self._units is not None:
            return self._units / (_UNITS * self.count)
        return min(max(divide_sum(self._addends, self.count), self._low), self._high)


_MOST_ADDENDS = 32
"""So many numbers are held before their sum takes their place."""


def divide_sum(values: Sequence[float], count: int) -> float:
    """Return the sum of numbers divided by `count`, rounded once."""
    try:
        total = math.fsum(values)
        if not count & (count - 1) and _SMALLEST < abs(total) < math.inf:
            return total / count  # a power of two divides without rounding
        lost = math.fsum((*values, -total)) if math.isfinite(total) else 0.0
        # The quotient of a rounded sum is not the mean: 2.4 / 3 is below 0.8, the mean of 0.7, 0.8 and 0.9.
        return total / count if not lost else float((Fraction(total) + Fraction(lost)) / count)
    except OverflowError:  # the sum is out of range, but the mean is not
        return math.fsum(value / count for value in values)


_SMALLEST = 1e-290
"""Below this magnitude, a quotient may have fewer bits than the sum."""


def products(counts: Iterable[tuple[float, int]]) -> list[float]:
    """Return numbers with exactly the sum of the products: those of half of a value's bits are exact (Dekker 1971)."""
    products: list[float] = []
    for value, count in counts:
        scaled = value * _SPLITTER
        upper_half = scaled - (scaled - value)
        products += (upper_half * count, (value - upper_half) * count)
    return products


_SPLITTER = 2.0**27 + 1
