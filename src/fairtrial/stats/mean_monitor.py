"""Monitors whether a bounded mean leaves its reference, looking after each value.

The first values are the reference. Their mean has an interval that holds with a probability of 99.9 % at any time
(bets on a bounded mean). Gamblers then bet that later values lie above its upper end, and others that they lie below
its lower end. Each value begins a new bet, too, and all bets add up to an e-detector of Shiryaev and Roberts: as long
as the mean lies inside of the interval, its expectation is at most the number of values. So N values pass on average
before a false alarm.

A value that was sampled with a probability p stands for 1 / p values: the bet on it is larger by that factor. Bets are
made smaller by the largest factor of the reference, so that no stake is exceeded. A larger factor is cut.

A missing value counts as 0 if the bet is on a rise, and as 1 if it is on a fall, which can only delay an alarm. So the
rate of false alarms holds whatever the missing values are, for example if a judge fails at hard conversations.

Sources: Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, 2023. Shin, Ramdas and
Rinaldo, E-detectors: a nonparametric framework for sequential change detection, 2024.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.stats.evidence import EVEN, Evidence

if TYPE_CHECKING:
    from fairtrial.stats.interval import Interval

VALUES_BETWEEN_FALSE_ALARMS = 100_000
REFERENCE = 300
_REFERENCE_ALPHA = 0.001
_BETS = tuple((k - 0.5) / 16 for k in range(1, 17))
_STEPS = 20
_RECENT = 100
"""The values of the recent mean."""


class WeighedValue(NamedTuple):
    """A value in 0..1, or None if it is missing, and the number of values for which it stands."""

    value: float | None
    weight: float


class MonitorAlarm(NamedTuple):
    """The number of the value that raised the alarm, that of the first value after the change, and the direction."""

    number: int
    start: int
    is_rise: bool


class _Bettor:
    """The e-detector of one direction: later values lie above a limit."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._logs = [-math.inf] * len(_BETS)
        self._sums = [0.0] * len(_BETS)
        self._starts = [0] * len(_BETS)

    def add(self, value: float, share: float, number: int) -> None:
        """Bet on a value. `share` makes the bet smaller."""
        if self._limit >= 1:
            return  # no value is above the limit
        surprise = share * (value - self._limit) / self._limit if self._limit > 0 else share * value
        for place, bet in enumerate(_BETS):
            gain = math.log1p(bet * surprise)
            self._logs[place] = _log_add_one(self._logs[place]) + gain
            if self._sums[place] <= 0:
                self._sums[place], self._starts[place] = 0.0, number
            self._sums[place] += gain

    @property
    def log(self) -> float:
        """The logarithm of the mean of the bets."""
        largest = max(self._logs)
        if math.isinf(largest):
            return largest
        return largest + math.log(sum(math.exp(log - largest) for log in self._logs) / len(_BETS))

    @property
    def start(self) -> int:
        """The number of the value from which on the best gambler won."""
        return self._starts[max(range(len(_BETS)), key=self._sums.__getitem__)]


@dataclass
class MeanMonitor:
    """The mean of values that come one after another. After an alarm, it counts values, and bets no more."""

    reference: int = REFERENCE
    false_every: float = VALUES_BETWEEN_FALSE_ALARMS
    count: int = 0
    mean: float | None = None
    interval: Interval | None = None
    alarm: MonitorAlarm | None = None
    large_weights: int = 0
    missing: int = 0
    _values: list[WeighedValue] = field(default_factory=list)
    _recent: list[WeighedValue] = field(default_factory=list)
    _most_weight: float = 1.0
    _rise: _Bettor | None = None
    _fall: _Bettor | None = None

    @property
    def recent(self) -> float | None:
        """The mean of the last 100 values after the reference, or None without one that is not missing."""
        return _mean(self._recent)

    @property
    def log_evidence(self) -> float:
        """The logarithm of the e-detector, which raises the alarm at the logarithm of N."""
        if self._rise is None or self._fall is None:
            return -math.inf
        high, low = max(self._rise.log, self._fall.log), min(self._rise.log, self._fall.log)
        return -math.inf if math.isinf(high) else high + math.log1p(math.exp(low - high)) - math.log(2)

    def add(self, value: float | None, weight: float = 1.0) -> None:
        """Add a value in 0..1, or None if it is missing, that stands for `weight` values."""
        self.count += 1
        self.missing += value is None
        if self._rise is None or self._fall is None:
            self._values.append(WeighedValue(value, weight))
            if len(self._values) >= self.reference:
                self._begin()
            return
        self._recent.append(WeighedValue(value, weight))
        del self._recent[:-_RECENT]
        if self.alarm is not None:
            return
        self.large_weights += weight > self._most_weight
        share = min(1.0, weight / self._most_weight)
        self._rise.add(_worst(value), share, self.count)
        self._fall.add(_worst(value, of_loss=True), share, self.count)
        if self.log_evidence >= math.log(self.false_every):
            is_rise = self._rise.log > self._fall.log
            self.alarm = MonitorAlarm(self.count, (self._rise if is_rise else self._fall).start, is_rise)

    def _begin(self) -> None:
        self._most_weight = max(weight for _, weight in self._values)
        self.mean = _mean(self._values)
        low = _refute(self._values, self._most_weight)
        losses = [WeighedValue(_worst(value, of_loss=True), weight) for value, weight in self._values]
        high = 1 - _refute(losses, self._most_weight)
        self.interval = (low, high)
        self._rise, self._fall = _Bettor(high), _Bettor(1 - low)
        self._values.clear()


def _refute(values: list[WeighedValue], most_weight: float) -> float:
    """Return the largest limit for which there is the evidence that the mean lies above it, or 0."""
    threshold, low, high = math.log(2 / _REFERENCE_ALPHA), 0.0, 1.0
    for _ in range(_STEPS):
        limit = (low + high) / 2
        evidence = Evidence(limit, len(values), EVEN)
        evidence.add([limit + weight / most_weight * (_worst(value) - limit) for value, weight in values])
        low, high = (limit, high) if evidence.log >= threshold else (low, limit)
    return low


def _worst(value: float | None, *, of_loss: bool = False) -> float:
    """Return a value, or 1 less the value if it is `of_loss`. If it is missing, return 0."""
    if value is None:
        return 0.0
    return 1 - value if of_loss else value


def _mean(values: list[WeighedValue]) -> float | None:
    """Return the mean of the values that are not missing, or None if there are none."""
    pairs = [(value, weight) for value, weight in values if value is not None]
    return math.fsum(value * weight for value, weight in pairs) / math.fsum(w for _, w in pairs) if pairs else None


def _log_add_one(log: float) -> float:
    """Return the logarithm of one more."""
    return log + math.log1p(math.exp(-log)) if log > 0 else math.log1p(math.exp(log))
