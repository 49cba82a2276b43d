"""Moments: the few sums that intervals need, however many numbers there are."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fairtrial.records.average import mean, mean_of_counts, products

_AT_ONCE = 4096
"""So many numbers are held before they are summed up. The mean of fewer numbers is exact."""


class _Sums(NamedTuple):
    """The moments of numbers that are not held."""

    size: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    def plus(self, sums: _Sums) -> _Sums:
        """Return the moments of both. Source: Chan, Golub and LeVeque (1983), The American Statistician 37(3)."""
        if not self.size or not sums.size:
            return sums if sums.size else self
        size = self.size + sums.size
        distance = sums.mean - self.mean
        low, high = min(self.low, sums.low), max(self.high, sums.high)
        middle = self.mean + distance * (sums.size / size)
        squares = self.squares + sums.squares + distance * distance * (self.size * sums.size / size)
        return _Sums(size, min(max(middle, low), high), squares, low, high)


def _sums(values: Sequence[float]) -> _Sums:
    if not values:
        return _Sums()
    middle = mean(values)
    low, high = min(values), max(values)
    squares = 0.0 if low == high else math.fsum([(value - middle) ** 2 for value in values])
    return _Sums(len(values), middle, squares, low, high)


class Moments:
    """The number, the mean, the sum of squares around the mean, the minimum and the maximum of numbers.

    Memory does not grow with the numbers.
    """

    def __init__(self, values: Iterable[float] = ()) -> None:
        self._sums = _Sums()
        self._values = array("d")
        self.extend(values)

    @classmethod
    def from_counts(cls, counts: Iterable[tuple[float, int]]) -> Moments:
        """Return the moments of numbers of which each occurs a number of times, below 2^26."""
        pairs = list(counts)
        size = sum(count for _, count in pairs)
        low, high = min(value for value, _ in pairs), max(value for value, _ in pairs)
        middle = mean_of_counts(pairs)
        squares = 0.0 if low == high else math.fsum(products(((value - middle) ** 2, count) for value, count in pairs))
        moments = cls()
        moments._sums = _Sums(size, middle, squares, low, high)
        return moments

    def extend(self, values: Iterable[float]) -> None:
        """Add numbers."""
        self._values.extend(values)
        if len(self._values) >= _AT_ONCE:
            self._fold()

    def merge(self, moments: Moments) -> None:
        """Add the numbers behind other moments."""
        self._sums = self._sums.plus(moments._sums)
        self.extend(moments._values)

    def copy(self) -> Moments:
        """Return the same moments, to which other numbers can be added."""
        copied = Moments()
        copied._sums, copied._values = self._sums, self._values[:]
        return copied

    def shares(self, low: float, high: float) -> Moments:
        """Return moments of these numbers as shares of a range from `low` to `high`, in 0..1."""
        width = high - low
        copied = Moments([_share(value, low, width) for value in self._values])
        if self._sums.size:
            size, middle, squares, least, most = self._sums
            copied._sums = _Sums(
                size,
                _share(middle, low, width),
                squares / width / width,
                _share(least, low, width),
                _share(most, low, width),
            )
        return copied

    def counts(self, most: int) -> tuple[tuple[float, int], ...] | None:
        """Return the different numbers in order, each with how often it occurs, or None for more than `most` of them.

        Of 4,096 numbers or more, it is None, too.
        """
        if self._sums.size:
            return None
        counts = Counter(self._values)
        return tuple(sorted(counts.items())) if len(counts) <= most else None

    def _fold(self) -> None:
        self._sums = self._all
        self._values = array("d")

    @property
    def _all(self) -> _Sums:
        return self._sums.plus(_sums(self._values))

    @property
    def count(self) -> int:
        """How many numbers there are."""
        return self._sums.size + len(self._values)

    @property
    def mean(self) -> float:
        """The mean of at least one number."""
        return self._all.mean

    @property
    def squares(self) -> float:
        """The sum of squared distances from the mean."""
        return self._all.squares

    @property
    def low(self) -> float:
        """The smallest number, infinite if there is none."""
        return self._all.low

    @property
    def high(self) -> float:
        """The largest number, infinite below 0 if there is none."""
        return self._all.high


def _share(value: float, low: float, width: float) -> float:
    return min(1.0, max(0.0, (value - low) / width))


Numbers = Sequence[float] | Moments
"""Numbers, or their moments."""


def compute_moments(numbers: Numbers) -> Moments:
    """Return the moments of numbers."""
    return numbers if isinstance(numbers, Moments) else Moments(numbers)
