"""Monitors of the measures of production traffic along runs, conversation by conversation."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fairtrial.analysis.measured_run import CASES, Measure, measured_values
from fairtrial.records.judging.calibration import Calibration
from fairtrial.records.run_comparison import IntervalEstimate
from fairtrial.records.run_history import WatchedMeasure
from fairtrial.stats.mean_monitor import MeanMonitor
from fairtrial.text.display import count

if TYPE_CHECKING:
    from fairtrial.records.attempt_row import AttemptRow
    from fairtrial.records.record import Json
    from fairtrial.records.run import RunInfo

_LARGEST_LOG = 700.0

Place = tuple[int, int]
"""The position of a case in a run, and the number of an attempt."""
Correction = Callable[[Sequence[str], str, Collection[tuple[str, Place]]], Calibration | None]
"""Calibrates a criterion over runs, without the outcomes at some places."""


@dataclass
class _Watched:
    """A measure with its monitor, the terms on which its values were taken, and where each run begins."""

    monitor: MeanMonitor
    terms: Json
    starts: list[tuple[int, str]] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    repeated: set[tuple[str, Place]] = field(default_factory=set)
    left_out: int = 0
    weights: set[float] = field(default_factory=set)

    def is_new(self, run: str, place: Place, digest: str) -> bool:
        """Return whether no earlier run holds the recording with a digest. Without a digest, it is new."""
        if digest not in self.seen:
            return True
        self.repeated.add((run, place))
        return False

    def find_run(self, number: int) -> str:
        """Return the run that holds the value of a number."""
        return next((run for start, run in reversed(self.starts) if start < number), "")


@dataclass
class TrafficMonitor:
    """Monitors of all bounded measures. A measure that is taken in another way begins again, which `notes` say."""

    reference: int
    false_every: float
    notes: list[str] = field(default_factory=list)
    _watched: dict[str, _Watched] = field(default_factory=dict)
    _measures: dict[str, Measure] = field(default_factory=dict)

    def add(
        self, info: RunInfo, measures: Mapping[str, Measure], rows: Iterable[AttemptRow], digests: Mapping[Place, str]
    ) -> None:
        """Add the conversations of a run, in the order in which they came.

        `digests` are those of the recordings that other runs may have, too. A recording counts in its first run.
        """
        # The pass rate of a criterion says the same as its values, but for its threshold.
        watchable = {name: measure for name, measure in measures.items() if name in (CASES, measure.criterion)}
        for name, measure in watchable.items():
            if measure.is_bounded:
                self._begin(info, name, measure)
        for row in rows:
            place, weight = (row.position, row.attempt), 1 / row.probability if row.probability else 1.0
            values = dict(measured_values(row, watchable))
            for name in watchable.keys() & self._watched.keys():
                watched = self._watched[name]
                if name not in values:
                    watched.left_out += 1
                elif watched.is_new(info.id, place, digests.get(place, "")):
                    value = values[name]
                    watched.monitor.add(None if value is None else watchable[name].share(value), weight)
                    watched.weights.add(weight)
        for name in watchable.keys() & self._watched.keys():
            self._watched[name].seen.update(digests.values())

    def _begin(self, info: RunInfo, name: str, measure: Measure) -> None:
        terms: Json = dict(info.signatures) if name == CASES else info.signatures.get(name)
        watched = self._watched.get(name)
        if watched is None or watched.terms != terms:
            if watched is not None:
                parts = "a criterion, a threshold or a judge" if name == CASES else "its options, threshold or judge"
                self.notes.append(f"{name} begins again at {info.id}: {parts} changed")
            watched = self._watched[name] = _Watched(MeanMonitor(self.reference, self.false_every), terms)
        self._measures[name] = measure
        watched.starts.append((watched.monitor.count, info.id))

    def report(self, judges: Mapping[str, str], correct: Correction) -> list[WatchedMeasure]:
        """Return the state of each measure. `judges` says of each criterion whether its judge drifted.

        `correct` is asked for the corrected mean of each criterion.
        """
        return [self._report(name, watched, judges, correct) for name, watched in self._watched.items()]

    def _correct(self, name: str, watched: _Watched, correct: Correction) -> tuple[IntervalEstimate, int]:
        """Return the mean that people would give, and the number of labels from which it follows."""
        calibration = None
        if name != CASES:
            calibration = correct([run for _, run in watched.starts], name, watched.repeated)
        if calibration is None:
            return IntervalEstimate(None), 0
        if len(watched.weights) > 1:
            self.notes.append(
                f"{name}: the labels of people do not correct the mean, because the conversations were sampled with "
                "unequal probabilities"
            )
            return IntervalEstimate(None), calibration.labels
        estimate = calibration.corrected
        return IntervalEstimate(estimate.value, estimate.low, estimate.high), calibration.labels

    def _report(self, name: str, watched: _Watched, judges: Mapping[str, str], correct: Correction) -> WatchedMeasure:
        monitor, measure, alarm = watched.monitor, self._measures[name], watched.monitor.alarm
        state, since, seen_in = "steady" if monitor.interval else "reference", "", ""
        if monitor.interval and 2 * monitor.missing > monitor.count:
            state = "unknown"
        if alarm is not None:
            state = "higher" if alarm.is_rise != measure.lower_is_better else "lower"
            since, seen_in = watched.find_run(alarm.start), watched.find_run(alarm.number)
        if monitor.missing:
            self.notes.append(
                f"{name}: {monitor.missing:,} of {monitor.count:,} conversations have no value, and count as values "
                "that speak against an alarm"
            )
        if watched.repeated:
            self.notes.append(
                f"{name}: {count(len(watched.repeated), 'conversation')} left out, because the same recording was "
                "scored before, and counts once"
            )
        if watched.left_out:
            self.notes.append(
                f"{name}: {count(watched.left_out, 'conversation')} left out: no outcome, because the criterion "
                "does not apply or was not asked"
            )
        if monitor.large_weights:
            self.notes.append(
                f"{name}: {monitor.large_weights:,} values were sampled more rarely than any of the reference"
            )
        return WatchedMeasure(
            name,
            state,
            monitor.count,
            _in_unit(measure, monitor),
            None if monitor.recent is None else measure.value(monitor.recent),
            math.exp(min(_LARGEST_LOG, monitor.log_evidence)),
            since,
            seen_in,
            judges.get(name, "unknown"),
            *self._correct(name, watched, correct),
            len(watched.repeated),
            watched.left_out,
        )


def _in_unit(measure: Measure, monitor: MeanMonitor) -> IntervalEstimate:
    if monitor.mean is None or monitor.interval is None:
        return IntervalEstimate(None)
    ends: Sequence[float] = sorted(map(measure.value, monitor.interval))
    return IntervalEstimate(measure.value(monitor.mean), ends[0], ends[1])
