"""Steps in a series of runs: changes of the mean over the same cases, with a stated rate of false alarms.

If nothing changed since a step, the values that the runs gave a case come in any order with the same probability. So
each split of the runs into earlier and later runs is a draw without replacement, and `exp(tilt * sum of the later
values)`, divided by its mean over all draws, is an e-value: its expectation is 1. The tilt of a case may depend on its
mean, which the order does not change: it is the log odds ratio if a share of its passes is lost, or of its failures.
The product over independent cases and the weighted mean over splits and shares are e-values, too. By Markov's
inequality, an e-value reaches N with a probability of at most 1 / N. In fact, it does so far more rarely. So a smaller
e-value raises an alarm, too, if it is among the three largest of enough draws in which the values of each case come in
another order: of 3 N numbers that come in any order, the first is among the three largest with a probability of 1 / N.
Both together raise a false alarm in at most one run in N.

Sources: Besag and Clifford, Generalized Monte Carlo significance tests, 1989. Vovk and Wang, E-values: calibration,
combination and applications, 2021. Shin, Ramdas and Rinaldo, E-detectors, 2024. Hoeffding, Probability inequalities for
sums of bounded random variables, 1963, section 6: the mean of `exp` over draws without replacement is at most the mean
over draws with replacement.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, compress
from operator import sub
from random import Random
from typing import Any, NamedTuple

RUNS_BETWEEN_FALSE_STEPS = 1000
"""On average, at most one of so many runs raises a false alarm."""
WINDOW = 60
"""The number of runs since the last step that are compared. Older runs are left out."""
_LENGTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
"""The numbers of later runs of the splits."""
_WEIGHTS = tuple(place**-1.5 for place in range(1, len(_LENGTHS) + 1))
"""The weights of the splits. A change is looked for in the last run most of all."""
_SHARES = (0.1, 0.2, 0.4, 0.6, 0.8)
"""The shares of the passes that a fall takes, and of the failures that a rise takes, in the most powerful tests."""
_SPARSE = 0.2
"""The share of cases that change, for the half of the tests that expects most cases to stay as they are."""

_CHANGES = math.log(_SPARSE)
_NO_EVIDENCE = (0.0,) * (4 * len(_SHARES))
"""The logarithms of the e-values of a case that shows nothing."""
_SCREEN = 10.0
"""An e-value below it is compared with no draws."""
_MARKOV = 0.01
"""The share of the false alarms that Markov's inequality may spend. The draws may spend the others."""
_LARGEST = 3
"""Evidence is rare if it is one of so many largest numbers. The more there are, the less depends on single draws."""
_EARLY = (0.1, 0.7, math.inf)
"""The draws end without a step if the first, second or third that reaches the evidence comes before so many times N."""
_MOST_RUNS = 10_000
"""If fewer runs raise a false alarm, or more than one in 10, Markov's inequality spends all of them."""
_ROUNDING = 1e-9
_LARGE = 600.0
"""Above it, `exp` is near the largest float."""

CaseValue = tuple[float, int]
"""The sum of the values of the attempts of a case in a run, in 0..1 each, and the number of attempts."""
Counts = tuple[tuple[CaseValue, int], ...]
"""The values of a case, each with the number of runs that have it."""


@dataclass(frozen=True)
class FoundStep:
    """A step. `start` is the number of the first run after it, and `evidence` the e-value.

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
    _number: int = -1
    _places: dict[Hashable, int] = field(default_factory=dict)
    _counts: list[Counter[CaseValue]] = field(default_factory=list)
    _sums: deque[_Sums] = field(default_factory=deque)
    _length: int = 0

    def restart(self) -> None:
        """Forget all runs so far, because later runs are not comparable with them."""
        self._keep(0)

    def resume(self, runs: Sequence[Mapping[Any, CaseValue]]) -> None:
        """Take the values of the runs since the last step, at most the last 60, in which no step was found."""
        for values in runs:
            self._number += 1
            self._append(values)

    def add(self, values: Mapping[Any, CaseValue]) -> FoundStep | None:
        """Add the values of the next run by case, and return the step that it shows, or None."""
        self._number += 1
        self._append(values)
        if len(self._runs) > WINDOW:
            self._remove_oldest()
        tests = list(self._tests())
        if not tests:
            return None
        evidence = _mix([own for _, own in tests])
        if not self._is_rare(evidence):
            return None
        later = max(tests, key=lambda test: max(test[1]))[0]
        self._keep(later)
        return FoundStep(self._number - later + 1, self._number, evidence)

    def _is_rare(self, evidence: float) -> bool:
        """Return whether evidence is so large in at most one run in N without a change."""
        if not _SCREEN <= self.false_every <= _MOST_RUNS:
            return evidence >= self.false_every
        if evidence >= self.false_every / _MARKOV:
            return True
        if evidence < _SCREEN:
            return False
        shuffled = _ShuffledRuns(list(self._runs))
        limit, reached = evidence * (1 - _ROUNDING), 0
        for number in range(math.ceil(_LARGEST * self.false_every / (1 - _MARKOV)) - 1):
            if shuffled.draw() >= limit:
                if number < _EARLY[reached] * self.false_every:
                    return False
                reached += 1
        return True

    def _append(self, values: Mapping[Any, CaseValue]) -> None:
        sums = self._sums[-1].copy() if self._sums else _Sums()
        for case, value in values.items():
            place = self._places.setdefault(case, len(self._places))
            if place == len(self._counts):
                self._counts.append(Counter())
                sums.extend()
            self._counts[place][value] += 1
            sums.add(place, *value)
        self._runs.append(values)
        self._sums.append(sums)
        self._length += 1

    def _remove_oldest(self) -> None:
        if self._length >= 2 * WINDOW:  # Cases that no run has any more are forgotten now and then.
            self._keep(WINDOW)
            return
        self._sums.popleft()
        for case, value in self._runs.popleft().items():
            counts = self._counts[self._places[case]]
            counts[value] -= 1
            if not counts[value]:
                del counts[value]

    def _keep(self, number: int) -> None:
        """Forget all runs but the last ones."""
        runs = list(self._runs)[len(self._runs) - number :]
        for state in (self._runs, self._places, self._counts, self._sums):
            state.clear()
        self._length = 0
        for values in runs:
            self._append(values)

    def _tests(self) -> Iterator[tuple[int, list[float]]]:
        """Yield the numbers of later runs, each with the logarithms of the e-values of its tests."""
        cases = [_read_case(tuple(counts.items())) if len(counts) > 1 else None for counts in self._counts]
        draws = [isinstance(case, _Draws) for case in cases]
        means = [isinstance(case, _Means) for case in cases]
        draw_cases = [case for case in cases if isinstance(case, _Draws)]
        mean_cases = [case for case in cases if isinstance(case, _Means)]
        now = self._sums[-1]
        for length in _LENGTHS:
            if length >= len(self._runs):
                return
            # A case that only later runs have is behind the end of the earlier sums, so that `map` leaves it out.
            before = self._sums[-1 - length]
            sums, attempts = now.sums_since(before), map(sub, now.attempts, before.attempts)
            weights = [_NO_EVIDENCE, *map(_weigh_draws, draw_cases, compress(attempts, draws), compress(sums, draws))]
            if mean_cases:
                pairs = compress(zip(now.sums_since(before), map(sub, now.shares, before.shares), strict=True), means)
                values = (pair[case.is_share] for case, pair in zip(mean_cases, pairs, strict=False))
                runs = map(sub, now.runs, before.runs)
                weights += map(_weigh_means, mean_cases, compress(runs, means), values)
            yield length, list(map(sum, zip(*weights, strict=True)))


@dataclass
class _Sums:
    """What the runs so far add up to, for each case: values, attempts, mean values of runs, and runs."""

    sums: list[float] = field(default_factory=list)
    attempts: list[int] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)

    def copy(self) -> _Sums:
        return _Sums(self.sums.copy(), self.attempts.copy(), self.shares.copy(), self.runs.copy())

    def extend(self) -> None:
        """Add a case."""
        self.sums.append(0.0)
        self.attempts.append(0)
        self.shares.append(0.0)
        self.runs.append(0)

    def add(self, place: int, total: float, attempts: int) -> None:
        self.sums[place] += total
        self.attempts[place] += attempts
        self.shares[place] += total / attempts
        self.runs[place] += 1

    def sums_since(self, before: _Sums) -> Iterator[float]:
        return map(sub, self.sums, before.sums)


class _Draws(NamedTuple):
    """A case with values of 0 and 1: the number of attempts, and how many of them are 1."""

    successes: int
    number: int


@dataclass(frozen=True, eq=False)
class _Means:
    """A case with values for whole runs: the number of runs, the tilts, and the logarithm of the mean of `exp` of each.

    If the runs have different numbers of attempts, the value of a run is the mean of its attempts, not their sum. It is
    compared by identity, so that its hash is cheap.
    """

    number: int
    is_share: bool
    tilts: tuple[float, ...]
    logs: tuple[float, ...]


@lru_cache(maxsize=1 << 14)
def _read_case(counts: Counts) -> _Draws | _Means | None:
    """Return the values of a case, or None if all of them are equal, so that they show nothing."""
    is_same_number = len({attempts for (_, attempts), _ in counts}) == 1
    if all(total.is_integer() for (total, _), _ in counts) and (not is_same_number or counts[0][0][1] == 1):
        successes = int(sum(total * runs for (total, _), runs in counts))
        number = sum(attempts * runs for (_, attempts), runs in counts)
        return _Draws(successes, number) if 0 < successes < number else None
    values = [(total if is_same_number else total / attempts, runs) for (total, attempts), runs in counts]
    low, high = min(values)[0], max(values)[0]
    if low == high:
        return None
    number = sum(runs for _, runs in values)
    tilts = _find_tilts(
        sum(total * runs for (total, _), runs in counts), sum(attempts * runs for (_, attempts), runs in counts)
    )
    logs = []
    for tilt in tilts:
        top = high if tilt > 0 else low
        mean = sum(runs * math.exp(tilt * (value - top)) for value, runs in values) / number
        logs.append(tilt * top + math.log(mean))
    return _Means(number, not is_same_number, tilts, tuple(logs))


@lru_cache(maxsize=1 << 14)
def _find_tilts(total: float, number: float) -> tuple[float, ...]:
    """Return the log odds ratios of a case if shares of its passes are lost, then if shares of its failures are."""
    rate = (total + 0.5) / (number + 1)
    falls = [math.log((1 - share) * (1 - rate) / (1 - rate * (1 - share))) for share in _SHARES]
    rises = [-math.log((1 - share) * rate / (1 - (1 - rate) * (1 - share))) for share in _SHARES]
    return (*falls, *rises)


@lru_cache(maxsize=1 << 16)
def _weigh_draws(case: _Draws, later: int, later_sum: float) -> tuple[float, ...]:
    """Return the logarithms of the e-values of a case: for each tilt if all cases change, and if few do."""
    if not 0 < later < case.number:
        return _NO_EVIDENCE
    tilts, means = _find_tilts(*case), _log_means_of_draws(case.successes, case.number, later)
    return _weigh([tilt * later_sum - mean for tilt, mean in zip(tilts, means, strict=True)])


@lru_cache(maxsize=1 << 16)
def _weigh_means(case: _Means, later: int, later_sum: float) -> tuple[float, ...]:
    """Return the logarithms of the e-values of a case as `_weigh_draws` does."""
    if not 0 < later < case.number:
        return _NO_EVIDENCE
    return _weigh([tilt * later_sum - later * mean for tilt, mean in zip(case.tilts, case.logs, strict=True)])


def _weigh(dense: Sequence[float]) -> tuple[float, ...]:
    exp, log, stays = math.exp, math.log, 1 - _SPARSE
    return (*dense, *[log(stays + _SPARSE * exp(own)) if own < _LARGE else own + _CHANGES for own in dense])


@lru_cache(maxsize=1 << 16)
def _log_means_of_draws(successes: int, number: int, size: int) -> tuple[float, ...]:
    """Return the logarithm of the mean of `exp(tilt * X)` for each tilt, X being the successes among drawn values.

    X has the hypergeometric distribution. Its polynomial is evaluated by Horner's rule, from the smallest term on.
    """
    low, high = max(0, size - (number - successes)), min(successes, size)
    draws = math.comb(number, size)
    chances = [math.comb(successes, x) * math.comb(number - successes, size - x) / draws for x in range(low, high + 1)]
    falling, means = chances[::-1], []
    for tilt in _find_tilts(successes, number):
        total, base = 0.0, math.exp(-abs(tilt))
        for chance in chances if tilt > 0 else falling:
            total = total * base + chance
        means.append(tilt * (high if tilt > 0 else low) + math.log(total))
    return tuple(means)


class _ShuffledRuns:
    """Draws runs in which the values of each case come in any order. The draws are the same for the same runs."""

    def __init__(self, runs: Sequence[Mapping[Any, CaseValue]]) -> None:
        self._random = Random(0)  # noqa: S311  (draws that can be repeated, no secret)
        self._lengths = [length for length in _LENGTHS if length < len(runs)]
        lines: defaultdict[Hashable, list[tuple[int, CaseValue]]] = defaultdict(list)
        for place, values in enumerate(runs):
            for case, value in values.items():
                lines[case].append((len(runs) - place, value))
        cases = (self._read(line) for line in sorted(lines.values()))
        self._cases = [case for case in cases if case is not None]

    def _read(self, line: Sequence[tuple[int, CaseValue]]) -> _ShuffledCase | None:
        """Return a case, or None if it shows nothing. Each of its values has an age in runs, from 1."""
        case = _read_case(tuple(Counter(value for _, value in line).items()))
        if case is None:
            return None
        if isinstance(case, _Draws):
            sizes = [sum(attempts for age, (_, attempts) in line if age <= length) for length in self._lengths]
            return _ShuffledCase(case, [1.0] * case.successes + [0.0] * (case.number - case.successes), sizes)
        values = [total / attempts if case.is_share else total for _, (total, attempts) in line]
        return _ShuffledCase(case, values, [sum(age <= length for age, _ in line) for length in self._lengths])

    def draw(self) -> float:
        """Return the evidence of the next draw."""
        weights = [case.weigh(self._random) for case in self._cases]
        return _mix([list(map(sum, zip(*own, strict=True))) for own in zip(*weights, strict=True)])


@dataclass(frozen=True)
class _ShuffledCase:
    """A case with its values, and how many of them are later ones for each length."""

    case: _Draws | _Means
    values: Sequence[float]
    sizes: Sequence[int]

    def weigh(self, rng: Random) -> list[tuple[float, ...]]:
        """Return the logarithms of the e-values for each length, the values being in any order."""
        sums = list(accumulate(rng.sample(self.values, self.sizes[-1]), initial=0.0))
        if isinstance(self.case, _Draws):
            return [_weigh_draws(self.case, size, sums[size]) for size in self.sizes]
        return [_weigh_means(self.case, size, sums[size]) for size in self.sizes]


def _mix(tests: Sequence[Sequence[float]]) -> float:
    """Return the weighted mean of the e-values of all lengths from their logarithms, at most the largest float."""
    largest = max(map(max, tests))
    weights = _WEIGHTS[: len(tests)]
    means = (sum(math.exp(log - largest) for log in own) / len(own) for own in tests)
    total = sum(weight * mean for weight, mean in zip(weights, means, strict=True)) / sum(weights)
    return math.exp(min(700.0, largest + math.log(total)))
