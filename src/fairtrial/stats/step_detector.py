"""Steps in a series of runs: changes of the mean over the same cases, with a stated rate of false alarms.

If nothing changed since a step, the values that the runs gave a case come in any order with the same probability. So
each split of the runs into earlier and later runs is a draw without replacement, and `exp(tilt * sum of the later
values)`, divided by its mean over all draws, is an e-value: its expectation is 1. The product over independent cases
and the mean over splits and tilts are e-values, too. By Markov's inequality, an e-value reaches N with a probability of
at most 1 / N, so that at most one run in N raises a false alarm.

Sources: Vovk and Wang, E-values: calibration, combination and applications, 2021. Shin, Ramdas and Rinaldo,
E-detectors, 2024. Hoeffding, Probability inequalities for sums of bounded random variables, 1963, section 6: the mean
of `exp` over draws without replacement is at most the mean over draws with replacement.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

RUNS_BETWEEN_FALSE_STEPS = 1000
"""On average, at most one of so many runs raises a false alarm."""
WINDOW = 60
"""The number of runs since the last step that are compared. Older runs are left out."""
_LENGTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
"""The numbers of later runs of the splits."""
_TILTS = (-4.0, -2.0, -1.0, -0.5, -0.25, 0.25, 0.5, 1.0, 2.0, 4.0)
"""The log odds ratios for which the tests are most powerful. Negative tilts look for a fall."""
_SPARSE = 0.2
"""The share of cases that change, for the half of the tests that expects most cases to stay as they are."""

_STAYS, _CHANGES = math.log(1 - _SPARSE), math.log(_SPARSE)

CaseValue = tuple[float, int]
"""The sum of the values of the attempts of a case in a run, in 0..1 each, and the number of attempts."""
Units = tuple[tuple[float, int], ...]
"""Values, each with how often it occurs."""


@dataclass(frozen=True)
class FoundStep:
    """A step. `start` is the number of the first run after it, and `evidence` the e-value, at least N.

    `alarm` is the number of the run that raised it.
    """

    start: int
    alarm: int
    evidence: float


@dataclass
class StepDetector:
    """Finds steps in a series of runs that come one after another.

    `false_every` is N: at most one run in N raises a false alarm if the cases are independent of each other, and if the
    runs since the last step are exchangeable, case by case. Attempts of a run may depend on each other as long as every
    run has as many. If their number differs between runs, the attempts of a case are taken as independent.
    """

    false_every: float = RUNS_BETWEEN_FALSE_STEPS
    _runs: deque[Mapping[Any, CaseValue]] = field(default_factory=deque)
    _first: int = 0
    _number: int = -1

    def restart(self) -> None:
        """Forget all runs so far, because later runs are not comparable with them."""
        self._runs.clear()
        self._first = self._number + 1

    def add(self, values: Mapping[Any, CaseValue]) -> FoundStep | None:
        """Add the values of the next run by case, and return the step that it shows, or None."""
        self._number += 1
        self._runs.append(values)
        if len(self._runs) > WINDOW:
            self._runs.popleft()
            self._first += 1
        tests = list(self._tests())
        if not tests:
            return None
        evidence = _mean_of_exp([test for _, test in tests])
        if evidence < self.false_every:
            return None
        best = max(tests, key=lambda test: test[1])[0]
        for _ in range(len(self._runs) - best):
            self._runs.popleft()
        self._first = self._number - best + 1
        return FoundStep(self._first, self._number, evidence)

    def _tests(self) -> Iterator[tuple[int, float]]:
        """Yield the number of later runs and the logarithm of the e-value of each test."""
        rows: dict[Hashable, list[tuple[int, CaseValue]]] = {}
        for place, values in enumerate(self._runs):
            for case, value in values.items():
                rows.setdefault(case, []).append((place, value))
        cases = [case for row in rows.values() if (case := _read_case(row)) is not None]
        for length in _LENGTHS:
            if length >= len(self._runs):
                return
            start = len(self._runs) - length
            splits = Counter(split for case in cases if (split := case.split(start)) is not None)
            totals = [0.0] * (2 * len(_TILTS))
            for split, number in splits.items():
                totals = [total + number * log for total, log in zip(totals, _weigh(split), strict=True)]
            for total in totals:
                yield length, total


@dataclass(frozen=True)
class _Case:
    """A case whose values differ: the places of its runs, the later sums, and the later numbers, from each place on.

    Without `units`, the values are 0 or 1, and `successes` of `number` are 1. `units` are the values with how often
    each occurs.
    """

    places: tuple[int, ...]
    sums: tuple[float, ...]
    numbers: tuple[int, ...]
    successes: int = 0
    units: Units = ()

    def split(self, start: int) -> _Split | None:
        """Return the split before the run at a place, or None if one side has no value of the case."""
        first = bisect_left(self.places, start)
        if first in (0, len(self.places)):
            return None
        return _Split(self.numbers[0], self.numbers[first], self.sums[first], self.successes, self.units)


class _Split(NamedTuple):
    """The values of a case before and after a split: their number, how many of them are later, and the later sum."""

    number: int
    later: int
    later_sum: float
    successes: int
    units: Units


@lru_cache(maxsize=1 << 16)
def _weigh(split: _Split) -> tuple[float, ...]:
    """Return the logarithms of the e-values of a case: for each tilt if all cases change, and if few do."""
    if split.units:
        means = [split.later * mean for mean in _log_means_exp(split.units)]
    else:
        means = _log_means_of_draws(split.successes, split.number, split.later)
    dense = [tilt * split.later_sum - mean for tilt, mean in zip(_TILTS, means, strict=True)]
    return (*dense, *(_log_sum_exp((_STAYS, _CHANGES + log)) for log in dense))


def _read_case(row: Sequence[tuple[int, CaseValue]]) -> _Case | None:
    """Return the values of a case, or None if all of them are equal, so that they show nothing."""
    sums, numbers = [value for _, (value, _) in row], [attempts for _, (_, attempts) in row]
    is_same_number = min(numbers) == max(numbers)
    successes, units = 0, Units()
    if all(map(float.is_integer, sums)) and (not is_same_number or numbers[0] == 1):
        successes = int(sum(sums))
        is_equal = successes in (0, sum(numbers))
    else:
        if not is_same_number:
            sums = [value / attempts for value, attempts in zip(sums, numbers, strict=True)]
        numbers, units = [1] * len(row), tuple(sorted(Counter(sums).items()))
        is_equal = len(units) == 1
    if is_equal:
        return None
    places = tuple(place for place, _ in row)
    return _Case(places, _sum_from_end(sums), tuple(map(int, _sum_from_end(numbers))), successes, units)


def _sum_from_end(values: Sequence[float]) -> tuple[float, ...]:
    """Return the sums of the values from each place to the end."""
    return tuple(accumulate(reversed(values)))[::-1]


def _log_means_of_draws(successes: int, number: int, size: int) -> list[float]:
    """Return the logarithm of the mean of `exp(tilt * X)` for each tilt, X being the successes among drawn values.

    X has the hypergeometric distribution.
    """
    low, high = max(0, size - (number - successes)), min(successes, size)
    draws = math.comb(number, size)
    chances = [math.comb(successes, x) * math.comb(number - successes, size - x) / draws for x in range(low, high + 1)]
    means = []
    for tilt in _TILTS:
        largest = tilt * (high if tilt > 0 else low)
        total = sum(chance * math.exp(tilt * x - largest) for x, chance in enumerate(chances, low))
        means.append(largest + math.log(total))
    return means


@lru_cache(maxsize=1 << 14)
def _log_means_exp(units: Units) -> tuple[float, ...]:
    """Return the logarithm of the mean of `exp(tilt * value)` for each tilt."""
    number = math.log(sum(count for _, count in units))
    return tuple(_log_sum_exp([tilt * value + math.log(count) for value, count in units]) - number for tilt in _TILTS)


def _log_sum_exp(terms: Sequence[float]) -> float:
    largest = max(terms)
    return largest + math.log(sum(math.exp(term - largest) for term in terms))


def _mean_of_exp(logarithms: Sequence[float]) -> float:
    """Return the mean of e-values, at most the largest float."""
    return math.exp(min(700.0, _log_sum_exp(logarithms) - math.log(len(logarithms))))
