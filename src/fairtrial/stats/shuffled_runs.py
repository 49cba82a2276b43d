"""Runs in which the values of each case come in any order, as they could if nothing changed.

The sums of the later values of a case are drawn for several lengths at once, if few sums are possible: of 60 values of
which two are 1, all nine sums are one of 53.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate, pairwise, repeat
from random import Random
from struct import Struct
from typing import Any, TypeVar

from fairtrial.stats.step_tests import (
    FIELDS,
    LENGTHS,
    NO_EVIDENCE,
    OFFSET,
    UNIT,
    CaseValue,
    Draws,
    Means,
    mix_tests,
    pack,
    read_case,
    weigh_draws,
    weigh_means,
)

T = TypeVar("T")

_ROUNDING = 1e-5
"""The share by which evidence may be smaller because logarithms of draws are rounded."""
_MOST_SUMS = 100
"""So many sums of a case are drawn with one random number at most, unless a single length has more."""


class ShuffledRuns:
    """Draws runs in which the values of each case come in any order. The draws are the same for the same runs."""

    def __init__(self, runs: Sequence[Mapping[Any, CaseValue]]) -> None:
        self._random = Random(0)  # noqa: S311  (draws that can be repeated, no secret)
        self._lengths = [length for length in LENGTHS if length < len(runs)]
        self._fields = Struct(f"<{len(self._lengths) * len(NO_EVIDENCE)}Q")
        lines: defaultdict[Hashable, list[tuple[int, CaseValue]]] = defaultdict(list)
        for place, values in enumerate(runs):
            for case, value in values.items():
                lines[case].append((len(runs) - place, value))
        cases = [case for line in sorted(lines.values()) if (case := self._read(line)) is not None]
        self._offset = len(cases) * OFFSET
        self._draws = [case for case in cases if isinstance(case, tuple)]
        self._means = [case for case in cases if isinstance(case, _ShuffledMeans)]

    def _read(self, line: Sequence[tuple[int, CaseValue]]) -> tuple[_Part, ...] | _ShuffledMeans | None:
        """Return a case, or None if it shows nothing. Each of its values has an age in runs, from 1."""
        case = read_case(tuple(Counter(value for _, value in line).items()))
        if case is None:
            return None
        if isinstance(case, Draws):
            sizes = (sum(attempts for age, (_, attempts) in line if age <= length) for length in self._lengths)
            return _divide(case, (0, *sizes))
        values = [total / attempts if case.is_share else total for _, (total, attempts) in line]
        return _ShuffledMeans(case, values, [sum(age <= length for age, _ in line) for length in self._lengths])

    def reach(self, evidence: float) -> bool:
        """Return whether the evidence of the next draw is as large as this, or can seem smaller by rounding alone."""
        total, random = 0, self._random.random
        for parts in self._draws:
            later_sum = 0
            for part in parts:
                chances, sums, packed = part[later_sum]
                place = bisect(chances, random())
                later_sum = sums[place][-1]
                total += packed[place]
        for case in self._means:
            total += case.draw(self._random)
        fields = self._fields.unpack(total.to_bytes(self._fields.size, "little"))
        limit, size = evidence * (1 - _ROUNDING), len(NO_EVIDENCE)
        if math.exp(min(700.0, max(fields) / UNIT - self._offset)) < limit:
            return False  # no mean is larger than the largest number
        logs = [field / UNIT - self._offset for field in fields]
        return mix_tests([logs[place : place + size] for place in range(0, len(logs), size)]) >= limit


class _Memo(dict[int, T]):
    """The results of a function of whole numbers."""

    def __init__(self, make: Callable[[int], T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: int) -> T:
        value = self[key] = self._make(key)
        return value


_Sums = tuple[list[float], list[tuple[int, ...]], _Memo[int]]
"""Sums for some lengths: the probabilities of so many first ones together, all of them, and their evidence."""
_Part = _Memo[_Sums]
"""The sums that a case can have for some lengths that follow each other, by its sum for the length before them."""


@lru_cache(maxsize=128)
def _divide(case: Draws, sizes: tuple[int, ...]) -> tuple[_Part, ...]:
    """Return the parts of a case with values of 0 and 1. `sizes` are its numbers of later values, after a 0."""
    ends = [*_find_ends(case, sizes), len(sizes) - 1]
    return tuple(_Memo(partial(_make_sums, case, sizes[first : end + 1], first)) for first, end in pairwise(ends))


def _find_ends(case: Draws, sizes: Sequence[int]) -> Iterator[int]:
    """Yield the numbers of the lengths at which another random number is drawn."""
    rarer = min(case.successes, case.number - case.successes)
    ways: list[int] = []  # the numbers of ways in which the steps of a part have 0, 1, 2, … of the rarer values
    for place, step in enumerate(size - before for before, size in pairwise(sizes)):
        longer = [sum(ways[max(0, x - step) : x + 1]) for x in range(rarer + 1)] if ways else []
        if not 0 < sum(longer) <= _MOST_SUMS:
            yield place
            longer = [int(x <= step) for x in range(rarer + 1)]
        ways = longer


def _make_sums(case: Draws, sizes: Sequence[int], first: int, found: int) -> _Sums:
    chances, sums = zip(*_list_sums(case, sizes, found), strict=True)

    def pack(place: int) -> int:
        fields = b"".join(map(_pack_draws, repeat(case), sizes[1:], map(float, sums[place])))
        return int.from_bytes(fields, "little") << first * FIELDS.size * 8

    return list(accumulate(chances[:-1])), list(sums), _Memo(pack)


@dataclass(frozen=True)
class _ShuffledMeans:
    """A case with values for whole runs, and how many of them are later ones for each length."""

    case: Means
    values: Sequence[float]
    sizes: Sequence[int]

    def draw(self, random: Random) -> int:
        """Return the logarithms of the e-values for each length, the values being in any order."""
        sums = list(accumulate(random.sample(self.values, self.sizes[-1]), initial=0.0))
        return int.from_bytes(b"".join([_pack_means(self.case, size, sums[size]) for size in self.sizes]), "little")


def _list_sums(case: Draws, sizes: Sequence[int], found: int) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Yield the probabilities of the sums for lengths, the first of which has the sum that was `found`."""
    before, size, *later = sizes
    number, successes, step = case.number - before, case.successes - found, size - before
    draws = math.comb(number, step)
    for x in range(max(0, step - (number - successes)), min(successes, step) + 1):
        chance = math.comb(successes, x) * math.comb(number - successes, step - x) / draws
        if not later:
            yield chance, (found + x,)
            continue
        for own, sums in _list_sums(case, sizes[1:], found + x):
            yield chance * own, (found + x, *sums)


@lru_cache(maxsize=1 << 16)
def _pack_draws(case: Draws, size: int, later_sum: float) -> bytes:
    return pack(weigh_draws(case, size, later_sum))


@lru_cache(maxsize=1 << 16)
def _pack_means(case: Means, size: int, later_sum: float) -> bytes:
    return pack(weigh_means(case, size, later_sum))
