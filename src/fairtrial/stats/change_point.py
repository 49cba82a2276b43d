"""The commit from which on some cases pass more rarely or more often: its probability, and what to run next.

The model is a Bayesian change point with binary outcomes. A case passes with one unknown rate at all commits, or with
one rate at the commits without the change and another rate at those with it. Each rate has Jeffreys' Beta(1/2, 1/2)
prior and is integrated out, so that no rate has to be known. A case changes with a probability of 0.2, at least one
case changes, and the rate with the change is the lower one with a probability of 0.9, because its commits are called
bad. All commits are equally probable at first. The next commit and its cases are those whose outcomes tell most about
the change in expectation, in bits.

Sources: Horstein, Sequential transmission using noiseless feedback, 1963, and Waeber, Frazier and Henderson, Bisection
search with noisy responses, 2013, for the search over a posterior. Fearnhead, Exact and efficient Bayesian inference
for multiple changepoint problems, 2006, for the integrated likelihood.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from operator import mul
from typing import NamedTuple

_JEFFREYS = 0.5
_CHANGES = 0.2
"""The probability that a case is one of those that change."""
_FALLS = 0.9
"""The probability that a case that changes passes more rarely after the change."""
_POINTS = 64
"""The number of rates at which distributions of rates are compared."""
_LEAST_BITS = 1e-6
"""An outcome that tells less is not worth an attempt."""
_LEAST_CHANCE = 1e-300
_MOST_CASES = 20
_MOST_PLACES = 64
"""So many cases and commits are compared for the next attempt at most."""
GAP = 0.05
"""Ends whose pass rates differ by less in each case are alike: to find a smaller change is not worth its attempts."""
ALIKE = 0.98
"""The ends are taken for alike at this probability, or at that at which the search ends if it is larger."""
_WORTH = 0.5
"""A case runs beside the best one if it tells at least so much of what the best one tells."""

_ANGLES = tuple((point + 0.5) / _POINTS * math.pi / 2 for point in range(_POINTS))
_RATES = tuple(math.sin(angle) ** 2 for angle in _ANGLES)
_LOG_RATES = tuple((2 * math.log(math.sin(angle)), 2 * math.log(math.cos(angle))) for angle in _ANGLES)
"""The logarithms of rates that are equally probable by Jeffreys' prior, and those of their complements."""

GOOD = -1
"""The place of the good commit, which is none of those that may have brought the change."""


class Outcomes(NamedTuple):
    """How many attempts passed, and how many failed."""

    passed: int = 0
    failed: int = 0

    def plus(self, other: Outcomes) -> Outcomes:
        """Return the sum of both."""
        return Outcomes(self.passed + other.passed, self.failed + other.failed)


class NextTest(NamedTuple):
    """The place of the commit to run, the cases, and the expected information of the best case in bits."""

    place: int
    cases: tuple[str, ...]
    bits: float


class CaseRates(NamedTuple):
    """The expected pass rates of a case without and with the change, and the probability that they differ."""

    before: float
    after: float
    changed: float


class _Forecast:
    """The next outcome of a case: for each commit that may have brought the change, its pass rates without and with it.

    `chances` are the places of the commits, their probabilities, and both rates.
    """

    def __init__(self, chances: Sequence[tuple[int, float, float, float]]) -> None:
        self._parts = [
            (place, weight * before, weight * after, weight * _entropy(before), weight * _entropy(after))
            for place, weight, before, after in chances
        ]

    def information(self, history: int) -> float:
        """Return the bits that an outcome at a commit tells about which commit brought the change."""
        passes = entropy = 0.0
        for place, before, after, entropy_before, entropy_after in self._parts:
            contains = history >> place & 1
            passes += after if contains else before
            entropy += entropy_after if contains else entropy_before
        return max(0.0, _entropy(min(1.0, passes)) - entropy)


@dataclass
class ChangePoint:
    """The commits that may have brought a change, in an order in which no commit comes before its parents.

    `histories` has for each commit the bits of those commits that it contains, its own bit included. The last commit is
    the bad one and contains all. The good commit has the place -1 and contains none.
    """

    histories: Sequence[int]
    outcomes: dict[str, dict[int, Outcomes]] = field(default_factory=dict)
    untestable: set[int] = field(default_factory=set)

    def add(self, place: int, case: str, outcomes: Outcomes) -> None:
        """Add outcomes of a case at a commit."""
        row = self.outcomes.setdefault(case, {})
        row[place] = row.get(place, Outcomes()).plus(outcomes)

    def log_odds_of_change(self, posterior: Sequence[float]) -> float:
        """Return the log odds that any case changes between the good and the bad commit, from even prior odds."""
        chances = (rates.changed for rates in self.rates(posterior).values())
        return sum(math.log(1 - _CHANGES) - math.log(max(1 - chance, _LEAST_CHANCE)) for chance in chances)

    def chance_of_gap(self, posterior: Sequence[float]) -> float:
        """Return the probability that a pass rate differs by `GAP` or more between the good and the bad commit.

        Before all outcomes, it is as probable that any case changes as that none does.
        """
        prior = -math.expm1(-math.log(2) / max(1, len(self.outcomes)))
        log_none = sum(math.log1p(-self._chance_of_gap(row, posterior, prior)) for row in self.outcomes.values())
        return -math.expm1(log_none)

    def are_ends_alike(self, posterior: Sequence[float], confidence: float) -> bool:
        """Return whether it is known that no pass rate differs by `GAP` or more, and not known that any differs."""
        if self.log_odds_of_change(posterior) >= log_odds(confidence):
            return False
        return self.chance_of_gap(posterior) <= 1 - max(confidence, ALIKE)

    def posterior(self) -> list[float]:
        """Return the probability of each commit to be the first with the change."""
        logs = [0.0] * len(self.histories)
        ends = {GOOD, len(self.histories) - 1}
        for row in self.outcomes.values():
            total = _total(row, row)
            log_same = math.log(1 - _CHANGES) + _log_one(*total)
            # If a case ran at the ends alone, its outcomes are before or after the change, whichever commit brought it.
            places = range(1 if row.keys() <= ends else len(logs))
            afters = [self._after(row, place) for place in places]
            gains = [_gain(math.log(_CHANGES) + _log_split(_minus(total, after), after) - log_same) for after in afters]
            logs = [log + gain for log, gain in zip(logs, gains * (len(logs) // len(gains)), strict=True)]
        # Of the ways in which cases may change, the one in which no case changes is left out.
        logs = [log + math.log(max(-math.expm1(-log), _LEAST_CHANCE)) for log in logs]
        largest = max(logs)
        weights = [math.exp(log - largest) for log in logs]
        total_weight = math.fsum(weights)
        return [weight / total_weight for weight in weights]

    def rates(self, posterior: Sequence[float]) -> dict[str, CaseRates]:
        """Return the expected rates of each case."""
        return {case: self._rates(row, posterior) for case, row in self.outcomes.items()}

    def next_tests(self, posterior: Sequence[float], confidence: float) -> list[NextTest]:
        """Return what to run next, or nothing if the commit is found, or if nothing that can be tested tells more.

        Ends that are known to be alike tell nothing more.

        The ends run again if they may be alike and no commit tells anything, or if they are all that is left to run.
        """
        rates = self.rates(posterior)
        is_alike = self.log_odds_of_change(posterior) < log_odds(confidence)
        if max(posterior) >= confidence and not is_alike:
            return []
        if is_alike and self.are_ends_alike(posterior, confidence):
            return []
        if (len(rates) == 1 or not is_alike) and (test := self._choose(posterior, rates)) is not None:
            return [test]
        if not is_alike:
            return []
        most = max((rate.changed for rate in rates.values()), default=0.0)
        return self._run_ends(tuple(case for case, rate in rates.items() if rate.changed >= _WORTH * most))

    def _run_ends(self, cases: tuple[str, ...]) -> list[NextTest]:
        bad = len(self.histories) - 1
        places = [place for place in (GOOD, bad) if place not in self.untestable]
        return [NextTest(place, cases, 0.0) for place in places] if cases else []

    def _choose(self, posterior: Sequence[float], rates: Mapping[str, CaseRates]) -> NextTest | None:
        """Return the commit and the cases that tell most, or None if no commit that can be tested tells anything.

        An outcome at an end tells something, too, if it tells how to read the outcomes between the ends.
        """
        ranked = sorted(rates, key=lambda case: -rates[case].changed * _information(0.5, rates[case]))
        forecasts = {case: self._forecast(self.outcomes[case], posterior) for case in ranked[:_MOST_CASES]}
        best: NextTest | None = None
        for place, history, share in self._candidates(posterior):
            bits = {case: forecast.information(history) for case, forecast in forecasts.items()}
            most = max(bits.values(), default=0.0)
            if most > _LEAST_BITS and (best is None or most > best.bits):
                best = NextTest(place, _choose_cases(bits, _entropy(share)), most)
        return best

    def _candidates(self, posterior: Sequence[float]) -> list[tuple[int, int, float]]:
        """Return commits that may be tested next: place, history and the probability that it contains the change.

        Of many commits, those are left out that are as probable to contain it as another one.
        """
        places = [(GOOD, 0, 0.0)]
        for place, history in enumerate(self.histories):
            share = math.fsum(weight for bit, weight in enumerate(posterior) if history >> bit & 1)
            places.append((place, history, share))
        testable = [own for own in places if own[0] not in self.untestable]
        by_share = {round(own[2] * _MOST_PLACES): own for own in testable}
        return testable if len(testable) <= _MOST_PLACES else list(by_share.values())

    def _forecast(self, row: Mapping[int, Outcomes], posterior: Sequence[float]) -> _Forecast:
        """Return the pass rate of a case without and with the change, for each commit that may have brought it."""
        total, chances = _total(row, row), list[tuple[int, float, float, float]]()
        same_rate, log_same = _rate(*total), math.log(1 - _CHANGES) + _log_one(*total)
        for place, weight in enumerate(posterior):
            if weight < _LEAST_BITS:
                continue
            after = self._after(row, place)
            before = _minus(total, after)
            log_split = math.log(_CHANGES) + _log_split(before, after)
            changed = math.exp(log_split - _log_add(log_split, log_same))
            without, having = (changed * _rate(*own) + (1 - changed) * same_rate for own in (before, after))
            chances.append((place, weight, without, having))
        return _Forecast(tuple(chances))

    def _after(self, row: Mapping[int, Outcomes], first: int) -> Outcomes:
        """Return the outcomes of a case at the commits that contain a commit."""
        places = [place for place in row if place != GOOD and self.histories[place] >> first & 1]
        return _total(row, places)

    def _chance_of_gap(self, row: Mapping[int, Outcomes], posterior: Sequence[float], prior: float) -> float:
        total, log_split, log_gap = _total(row, row), -math.inf, -math.inf
        for place, weight in enumerate(posterior):
            if weight < _LEAST_BITS:
                continue
            after = self._after(row, place)
            log_weight = math.log(prior * weight)
            log_split = _log_add(log_split, log_weight + _log_split(_minus(total, after), after))
            log_gap = _log_add(log_gap, log_weight + _log_split(_minus(total, after), after, gap=GAP))
        log_all = _log_add(log_split, math.log1p(-prior) + _log_one(*total))
        return min(math.exp(log_gap - log_all), 1 - _LEAST_CHANCE)

    def _rates(self, row: Mapping[int, Outcomes], posterior: Sequence[float]) -> CaseRates:
        total, sums, log_split = _total(row, row), [0.0] * 4, -math.inf
        for place, weight in enumerate(posterior):
            if weight < _LEAST_BITS:
                continue
            after = self._after(row, place)
            before = _minus(total, after)
            sums = [old + weight * number for old, number in zip(sums, (*before, *after), strict=True)]
            log_split = _log_add(log_split, math.log(weight) + _log_split(before, after))
        split, same = math.log(_CHANGES) + log_split, math.log(1 - _CHANGES) + _log_one(*total)
        return CaseRates(_rate(*sums[:2]), _rate(*sums[2:]), math.exp(split - _log_add(split, same)))


def log_odds(chance: float) -> float:
    """Return the logarithm of the odds of a probability."""
    return math.log(chance / (1 - chance))


def _choose_cases(bits: Mapping[str, float], most: float) -> tuple[str, ...]:
    """Return the cases that tell most, until they tell as much as there is to know."""
    ranked = sorted(bits, key=lambda case: -bits[case])
    cases, total_bits = list[str](), 0.0
    for case in ranked:
        if cases and (bits[case] < _WORTH * bits[ranked[0]] or total_bits + bits[case] > most):
            break
        cases.append(case)
        total_bits += bits[case]
    return tuple(cases)


def _information(share: float, rates: CaseRates) -> float:
    """Return the bits that an outcome tells about whether a commit contains the change, of probability `share`."""
    mixed = share * rates.after + (1 - share) * rates.before
    return max(0.0, _entropy(mixed) - share * _entropy(rates.after) - (1 - share) * _entropy(rates.before))


def _entropy(chance: float) -> float:
    """Return the entropy of a binary outcome in bits."""
    return -sum(part * math.log2(part) for part in (chance, 1 - chance) if part > 0)


def _rate(passed: float, failed: float) -> float:
    return (passed + _JEFFREYS) / (passed + failed + 2 * _JEFFREYS)


def _total(row: Mapping[int, Outcomes], places: Sequence[int] | Mapping[int, Outcomes] | tuple[int, ...]) -> Outcomes:
    passed = failed = 0
    for place in places:
        if place in row:
            passed += row[place].passed
            failed += row[place].failed
    return Outcomes(passed, failed)


def _minus(total: Outcomes, part: Outcomes) -> Outcomes:
    return Outcomes(total.passed - part.passed, total.failed - part.failed)


@lru_cache(maxsize=1 << 16)
def _log_one(passed: int, failed: int) -> float:
    """Return the log probability of outcomes with one unknown rate."""
    a, b = passed + _JEFFREYS, failed + _JEFFREYS
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b) - math.log(math.pi)


@lru_cache(maxsize=1 << 16)
def _log_split(before: Outcomes, after: Outcomes, gap: float = 0.0) -> float:
    """Return the log probability of outcomes with two unknown rates, the second of which is probably the lower one.

    With a `gap`, it is the probability that the rates differ by so much or more, too.
    """
    higher = sum(map(mul, _chances(*before), _chances_below(*after, gap)))
    lower = sum(map(mul, _chances(*after), _chances_below(*before, gap))) if gap else 1 - higher
    direction = max(_LEAST_CHANCE, 2 * (_FALLS * higher + (1 - _FALLS) * lower))
    return _log_one(*before) + _log_one(*after) + math.log(direction)


@lru_cache(maxsize=1 << 14)
def _chances(passed: int, failed: int) -> list[float]:
    """Return the probabilities of rates after outcomes. Before them, all of these rates have the same probability."""
    logs = [passed * log_pass + failed * log_fail for log_pass, log_fail in _LOG_RATES]
    largest = max(logs)
    weights = [math.exp(log - largest) for log in logs]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


@lru_cache(maxsize=1 << 14)
def _chances_below(passed: int, failed: int, gap: float = 0.0) -> list[float]:
    """Return the probability that the rate is below each rate, with half of that of the rate itself.

    With a `gap`, it is the probability that the rate is lower by so much or more.
    """
    chances = _chances(passed, failed)
    sums = list(accumulate(chances, initial=0.0))
    if gap:
        return [sums[bisect_right(_RATES, rate - gap)] for rate in _RATES]
    return [total + chance / 2 for total, chance in zip(sums, chances, strict=False)]


def _gain(log_ratio: float) -> float:
    """Return `log(1 + exp(x))`."""
    return _log_add(0.0, log_ratio)


def _log_add(first: float, second: float) -> float:
    largest = max(first, second)
    return largest + math.log1p(math.exp(min(first, second) - largest))
