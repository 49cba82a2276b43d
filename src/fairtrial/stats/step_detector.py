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
from collections import Counter, deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import add, eq, itemgetter, sub, truediv
from typing import Any, TypeVar

from fairtrial.stats.shuffled_runs import ShuffledRuns
from fairtrial.stats.step_tests import (
    LENGTHS,
    NO_EVIDENCE,
    CaseValue,
    Draws,
    Means,
    bound_tests,
    mix_tests,
    pack,
    read_case,
    weigh_draws,
    weigh_means,
)

T = TypeVar("T")

RUNS_BETWEEN_FALSE_STEPS = 1000
"""On average, at most one of so many runs raises a false alarm."""
WINDOW = 60
"""The number of runs since the last step that are compared. Older runs are left out."""
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
        splits = list(self._split())
        least = min(_SCREEN, self.false_every)
        if all(split.bound() < least for split in splits):
            return None
        tests = [split.weigh() for split in splits]
        evidence = mix_tests(tests)
        if not self._is_rare(evidence):
            return None
        later = max(zip(tests, splits, strict=True), key=lambda test: max(test[0]))[1].length
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
        shuffled = ShuffledRuns(list(self._runs))
        reached = 0
        for number in range(math.ceil(_LARGEST * self.false_every / (1 - _MARKOV)) - 1):
            if shuffled.reach(evidence):
                if number < _EARLY[reached] * self.false_every:
                    return False
                reached += 1
        return True

    def _append(self, values: Mapping[Any, CaseValue]) -> None:
        self._runs.append(values)
        self._length += 1
        if values and self._sums and self._have_all_cases(values):
            pairs = list(values.values())
            self._sums.append(self._sums[-1].plus(pairs))
            for counts, value in zip(self._counts, pairs, strict=True):
                counts[value] += 1
            return
        sums = self._sums[-1].copy() if self._sums else _Sums()
        for case, value in values.items():
            place = self._places.setdefault(case, len(self._places))
            if place == len(self._counts):
                self._counts.append(Counter())
                sums.extend()
            self._counts[place][value] += 1
            sums.add(place, *value)
        self._sums.append(sums)

    def _have_all_cases(self, values: Mapping[Any, CaseValue]) -> bool:
        """Return whether a run has each case, in the order of their places. Then it is added and removed far faster."""
        return len(values) == len(self._places) and all(map(eq, values, self._places))

    def _remove_oldest(self) -> None:
        if self._length >= 2 * WINDOW:  # Cases that no run has any more are forgotten now and then.
            self._keep(WINDOW)
            return
        self._sums.popleft()
        values = self._runs.popleft()
        has_all = self._have_all_cases(values)
        places = self._counts if has_all else [self._counts[self._places[case]] for case in values]
        for counts, value in zip(places, values.values(), strict=True):
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

    def _split(self) -> Iterator[_Split]:
        """Yield the splits of the runs into earlier and later ones."""
        cases = [read_case(tuple(counts.items())) if len(counts) > 1 else None for counts in self._counts]
        draw_cases = [case for case in cases if isinstance(case, Draws)]
        mean_cases = [case for case in cases if isinstance(case, Means)]
        draws = [place for place, case in enumerate(cases) if isinstance(case, Draws)]
        means = [place for place, case in enumerate(cases) if isinstance(case, Means)]
        now = self._sums[-1]
        attempts, sums = _pick(now.attempts, draws), _pick(now.sums, draws)
        for length in LENGTHS:
            if length >= len(self._runs):
                return
            # A case that only later runs have is behind the end of the earlier sums, so that `map` leaves it out.
            before = self._sums[-1 - length]
            split = _Split(
                length,
                draw_cases,
                [*map(sub, attempts, _pick(before.attempts, draws))],
                [*map(sub, sums, _pick(before.sums, draws))],
            )
            if mean_cases:
                pairs = zip(now.sums_since(before), map(sub, now.shares, before.shares), strict=True)
                values = _pick([*pairs], means)
                split.mean_cases = mean_cases
                split.values = [pair[case.is_share] for case, pair in zip(mean_cases, values, strict=False)]
                split.runs = [*map(sub, _pick(now.runs, means), _pick(before.runs, means))]
            yield split


def _pick(values: Sequence[T], places: Sequence[int]) -> Sequence[T]:
    """Return the values at places, which rise, without those behind the end."""
    if not places or places[-1] >= len(values):
        return [values[place] for place in places if place < len(values)]
    return itemgetter(*places)(values) if len(places) > 1 else (values[places[0]],)


@dataclass
class _Split:
    """The cases that can show something, with the numbers and sums of their values in so many later runs.

    Cases at the end that only later runs have are without numbers.
    """

    length: int
    draw_cases: Sequence[Draws]
    attempts: Sequence[int]
    sums: Sequence[float]
    mean_cases: Sequence[Means] = ()
    runs: Sequence[int] = ()
    values: Sequence[float] = ()

    def bound(self) -> float:
        """Return a number that no e-value of the tests exceeds. It takes a fraction of the time of `weigh`."""
        total = sum(map(_pack_draws, self.draw_cases, self.attempts, self.sums))
        total += sum(map(_pack_means, self.mean_cases, self.runs, self.values))
        return bound_tests(total, len(self.attempts) + len(self.runs))

    def weigh(self) -> list[float]:
        """Return the logarithms of the e-values of the tests."""
        draws = map(weigh_draws, self.draw_cases, self.attempts, self.sums)
        means = map(weigh_means, self.mean_cases, self.runs, self.values)
        return list(map(sum, zip(NO_EVIDENCE, *draws, *means, strict=True)))


@lru_cache(maxsize=1 << 16)
def _pack_draws(case: Draws, later: int, later_sum: float) -> int:
    return int.from_bytes(pack(weigh_draws(case, later, later_sum)), "little")


@lru_cache(maxsize=1 << 16)
def _pack_means(case: Means, later: int, later_sum: float) -> int:
    return int.from_bytes(pack(weigh_means(case, later, later_sum)), "little")


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

    def plus(self, values: Sequence[CaseValue]) -> _Sums:
        """Return the sums with the values of a run that has each case."""
        totals, sizes = zip(*values, strict=True)
        shares = map(add, self.shares, map(truediv, totals, sizes))
        sums, attempts = map(add, self.sums, totals), map(add, self.attempts, sizes)
        return _Sums(list(sums), list(attempts), list(shares), [runs + 1 for runs in self.runs])

    def sums_since(self, before: _Sums) -> Iterator[float]:
        return map(sub, self.sums, before.sums)
