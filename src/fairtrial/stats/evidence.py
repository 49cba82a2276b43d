"""Sequential evidence that a mean is above a limit. It may be read after every wave of attempts.

A wave is one attempt of every case. If the mean is not above the limit, then the evidence ever reaches 20 in at most
5 % of all runs, however many waves are looked at (Ville's inequality).
Sources: Waudby-Smith and Ramdas (2023, JRSS-B 86) for bets on bounded means; Orabona and Jun (2021, arXiv 2110.14099)
for the mixture over bets.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fairtrial.stats.interval import Interval

Wave = Sequence[float | None]
"""One value in 0..1 for each case, in the same order in every wave. None is a missing value."""


class Gambler(NamedTuple):
    """A stake fraction that is bet, and how far the a case's earlier values are trusted."""

    bet: float
    trust: float


class Strategy(NamedTuple):
    """The gamblers.

    If their bets `grow`, they are fractions taken from the limit instead, up to nearly the whole stake.
    """

    gamblers: tuple[Gambler, ...]
    grow: bool = False


EVEN = Strategy(tuple(Gambler((k - 0.5) / 32, 1.0) for k in range(1, 33)))
_SMALL = 0.45
"""Below this limit, bets are tuned. A mean hardly above a small limit can multiply the stake, so that few bets win."""
_LOOKS = (1, 2, 4, 8)
_TRUSTS = (0.0, 0.5, 1.0)
_LARGE_BETS = (0.125, 0.375, 0.625, 0.875)
"""Bets on values that hardly vary, in the hands of gamblers that trust them."""
_MOST = 0.98
_PROOF = math.log(20)
_STEPS = 30
"""The search steps for an interval end, which halve the error each time."""


class Evidence:
    """The evidence for "the mean over the cases is above the limit", attempt by attempt."""

    def __init__(self, limit: float, cases: int, strategy: Strategy = EVEN) -> None:
        self._limit = limit
        self._grow = strategy.grow
        self._waves = 0
        self._sums = [0.0] * cases
        self._bets: dict[float, list[float]] = {}
        for bet, trust in strategy.gamblers:
            self._bets.setdefault(trust, []).append(bet)
        self._log_wealths = {trust: [0.0] * len(bets) for trust, bets in self._bets.items()}

    def add(self, wave: Sequence[float]) -> None:
        """Bet on every value in a wave. The bets depend on earlier waves alone."""
        expected = self._make_expected()
        middle = math.fsum(expected) / len(expected)
        for trust in self._bets:
            self._bet(wave, [trust * (value - middle) for value in expected], trust)
        self._sums = [total + value for total, value in zip(self._sums, wave, strict=True)]
        self._waves += 1

    def _bet(self, wave: Sequence[float], shifts: Sequence[float], trust: float) -> None:
        stake = self._limit + max(0.0, *shifts)
        growth = stake / self._limit if self._grow else 1.0
        # Values that are alike win alike. With passes and failures, hardly any two cases need two logarithms.
        surprises = Counter(value - shift - self._limit for value, shift in zip(wave, shifts, strict=True))
        log_wealths = self._log_wealths[trust]
        for k, bet in enumerate(self._bets[trust]):
            part = min(_MOST, bet * growth) if self._grow else bet
            log_wealths[k] += _sum([count * _log_gain(part, surprise, stake) for surprise, count in surprises.items()])

    def _make_expected(self) -> list[float]:
        """Return the value that each case is thought to give next: its mean so far, drawn to the grand mean."""
        if not self._waves:
            return [0.0] * len(self._sums)
        grand = math.fsum(self._sums) / (self._waves * len(self._sums))
        return [(total + 2 * grand) / (self._waves + 2) for total in self._sums]

    @property
    def log(self) -> float:
        """The natural logarithm of evidence after a wave: of the gamblers' mean wealth."""
        logs = [log for log_wealths in self._log_wealths.values() for log in log_wealths]
        largest = max(logs)
        if math.isinf(largest):
            return largest
        return largest + math.log(math.fsum(math.exp(log - largest) for log in logs) / len(logs))


def _log_gain(bet: float, surprise: float, stake: float) -> float:
    if stake > 0:
        return math.log1p(bet * surprise / stake)
    return math.inf if surprise > 0 else 0.0  # a limit of 0: the first value above it is proof


def _sum(logarithms: Sequence[float]) -> float:
    return math.inf if math.inf in logarithms else math.fsum(logarithms)


def evidence_above(waves: Sequence[Wave], limit: float) -> list[float]:
    """Return the log evidence that the mean is above a limit, after each wave.

    A missing value counts as 0, which can only delay the evidence.
    """
    return _logs(_wins(waves), limit)


def evidence_below(waves: Sequence[Wave], limit: float) -> list[float]:
    """Return the log evidence that the mean is below a limit, after each wave. A missing value is a 1."""
    return _logs(_losses(waves), 1 - limit)


def choose_strategy(limit: float, cases: int) -> Strategy:
    """Return the gamblers that bet on a mean above a limit. They are chosen by the claim and the number of cases alone.

    Below a small limit, each bets what would win most if it took 1, 2, 4 or 8 waves to prove the mean.
    """
    if not 0 < limit < _SMALL:
        return EVEN
    tuned = [_rise(limit, cases * looks) / (1 - limit) for looks in _LOOKS]
    careful = [Gambler(bet, trust) for bet in tuned for trust in _TRUSTS]
    return Strategy((*careful, *(Gambler(bet, 1.0) for bet in _LARGE_BETS)), grow=True)


def _rise(limit: float, values: int) -> float:
    """Return by how much a pass rate is above a limit if this number of passes and failures proves it on average."""
    return _bisect(lambda rise: values * _divergence(limit + rise, limit) < _PROOF, 1 - limit)


def _divergence(rate: float, limit: float) -> float:
    """Return by how much an attempt raises the best log evidence on average (Kullback and Leibler)."""
    fails = 0.0 if rate >= 1 else (1 - rate) * math.log((1 - rate) / (1 - limit))
    return rate * math.log(rate / limit) + fails


def _wins(waves: Sequence[Wave]) -> list[list[float]]:
    return [[0.0 if value is None else value for value in wave] for wave in waves]


def _losses(waves: Sequence[Wave]) -> list[list[float]]:
    return [[0.0 if value is None else 1 - value for value in wave] for wave in waves]


def _logs(waves: Sequence[Sequence[float]], limit: float, strategy: Strategy | None = None) -> list[float]:
    if not waves:
        return []
    evidence = Evidence(limit, len(waves[0]), strategy or choose_strategy(limit, len(waves[0])))
    logs: list[float] = []
    for wave in waves:
        evidence.add(wave)
        logs.append(evidence.log)
    return logs


def evidence_interval(waves: Sequence[Wave], alpha: float) -> Interval:
    """Return the interval for the mean that holds at any time: both ends have the evidence 2 / alpha against them.

    The same gamblers bet against every mean, because their evidence then falls as the mean rises.
    """
    needed = math.log(2 / alpha)
    wins, losses = _wins(waves), _losses(waves)
    low = _bisect(lambda limit: _logs(wins, limit, EVEN)[-1] >= needed)
    high = 1 - _bisect(lambda limit: _logs(losses, limit, EVEN)[-1] >= needed)
    return low, high


def _bisect(is_refuted: Callable[[float], bool], most: float = 1.0) -> float:
    """Return the largest limit in 0..most that is refuted, to within 1e-9, or 0 if none is."""
    low, high = 0.0, most
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_refuted(middle) else (low, middle)
    return low
