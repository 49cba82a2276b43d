"""Runs in which the values of each case come in any order, as they could if nothing changed."""

from __future__ import annotations

import math
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from random import Random
from struct import Struct
from typing import Any, TypeVar

from fairtrial.stats.step_tests import (
    LENGTHS,
    NO_EVIDENCE,
    CaseValue,
    Draws,
    Means,
    mix_tests,
    read_case,
    weigh_draws,
    weigh_means,
)

T = TypeVar("T")

_FIELDS = Struct(f"<{len(NO_EVIDENCE)}Q")
_UNIT = 2.0**28
_OFFSET = 2.0**14
"""The logarithms of draws are whole numbers of this unit, with an offset that keeps them above 0."""
ROUNDING = 1e-5
"""The share by which evidence may be smaller because logarithms of draws are rounded."""


class ShuffledRuns:
    """Draws runs in which the values of each case come in any order. The draws are the same for the same runs."""

    def __init__(self, runs: Sequence[Mapping[Any, CaseValue]]) -> None:
        self._random = Random(0)  # noqa: S311  (draws that can be repeated, no secret)
        self._lengths = [length for length in LENGTHS if length < len(runs)]
        lines: defaultdict[Hashable, list[tuple[int, CaseValue]]] = defaultdict(list)
        for place, values in enumerate(runs):
            for case, value in values.items():
                lines[case].append((len(runs) - place, value))
        self._shuffled_draws: dict[tuple[Draws, tuple[int, ...]], _ShuffledDraws] = {}
        cases = (self._read(line) for line in sorted(lines.values()))
        self._cases = [case for case in cases if case is not None]

    def _read(self, line: Sequence[tuple[int, CaseValue]]) -> _ShuffledDraws | _ShuffledMeans | None:
        """Return a case, or None if it shows nothing. Each of its values has an age in runs, from 1."""
        case = read_case(tuple(Counter(value for _, value in line).items()))
        if case is None:
            return None
        if isinstance(case, Draws):
            sizes = tuple(sum(attempts for age, (_, attempts) in line if age <= length) for length in self._lengths)
            return self._shuffled_draws.setdefault((case, sizes), _ShuffledDraws(case, sizes))
        values = [total / attempts if case.is_share else total for _, (total, attempts) in line]
        return _ShuffledMeans(case, values, [sum(age <= length for age, _ in line) for length in self._lengths])

    def draw(self) -> float:
        """Return the evidence of the next draw."""
        totals = [0] * len(self._lengths)
        for case in self._cases:
            case.add_to(totals, self._random)
        offset = len(self._cases) * _OFFSET
        fields = (_FIELDS.unpack(total.to_bytes(_FIELDS.size, "little")) for total in totals)
        return mix_tests([[field / _UNIT - offset for field in own] for own in fields])


class _Memo(dict[int, T]):
    """The results of a function of whole numbers."""

    def __init__(self, make: Callable[[int], T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: int) -> T:
        value = self[key] = self._make(key)
        return value


class _ShuffledDraws:
    """Cases with the same values of 0 and 1, and with the same numbers of later values for each length."""

    def __init__(self, case: Draws, sizes: Sequence[int]) -> None:
        self._steps: list[tuple[_Memo[tuple[int, list[float]]], _Memo[int]]] = []
        for before, size in pairwise((0, *sizes)):
            more = partial(_chances_of_more, case, before, size)
            self._steps.append((_Memo(more), _Memo(partial(_pack_draws, case, size))))

    def add_to(self, totals: list[int], rng: Random) -> None:
        """Add the logarithms of the e-values for each length, the values being in any order."""
        later_sum = 0
        for place, (more, packed) in enumerate(self._steps):
            least, chances = more[later_sum]
            later_sum += least + bisect(chances, rng.random())
            totals[place] += packed[later_sum]


@dataclass(frozen=True)
class _ShuffledMeans:
    """A case with values for whole runs, and how many of them are later ones for each length."""

    case: Means
    values: Sequence[float]
    sizes: Sequence[int]

    def add_to(self, totals: list[int], rng: Random) -> None:
        """Add the logarithms of the e-values for each length, the values being in any order."""
        sums = list(accumulate(rng.sample(self.values, self.sizes[-1]), initial=0.0))
        for place, size in enumerate(self.sizes):
            totals[place] += _pack_means(self.case, size, sums[size])


def _chances_of_more(case: Draws, before: int, size: int, found: int) -> tuple[int, list[float]]:
    """Return the least number of successes among the next values, and the probabilities of at most so many and more.

    The values go on from `before`, among which some were `found`, to `size`. The last probability is left out.
    """
    number, successes, step = case.number - before, case.successes - found, size - before
    low, high = max(0, step - (number - successes)), min(successes, step)
    draws = math.comb(number, step)
    ways = (math.comb(successes, x) * math.comb(number - successes, step - x) for x in range(low, high))
    return low, [sum_of_ways / draws for sum_of_ways in accumulate(ways)]


def _pack_draws(case: Draws, size: int, later_sum: int) -> int:
    return _pack(weigh_draws(case, size, float(later_sum)))


@lru_cache(maxsize=1 << 16)
def _pack_means(case: Means, size: int, later_sum: float) -> int:
    return _pack(weigh_means(case, size, later_sum))


def _pack(logs: tuple[float, ...]) -> int:
    """Return logarithms as fields of one number, so that a single addition adds all of them."""
    return int.from_bytes(_FIELDS.pack(*(max(0, round((log + _OFFSET) * _UNIT)) for log in logs)), "little")
