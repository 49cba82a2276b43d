"""A series of runs as far as it was followed, in a form that a store keeps, so that only new runs are read again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.analysis.case_lines import CaseLines, CaseList, CaseMarks
from fairtrial.analysis.measured_run import CASES, Measure
from fairtrial.analysis.run_series import RunFollower, Segment, Values
from fairtrial.records.keys import CaseKey
from fairtrial.records.record import Record
from fairtrial.records.run_comparison import IntervalEstimate
from fairtrial.records.run_history import HistoryRow, HistoryStep
from fairtrial.stats.step_detector import WINDOW

if TYPE_CHECKING:
    from fairtrial.analysis.measured_run import MeasuredRun

PlacedValue = tuple[int, float, int]
"""The number of a case, the sum of the values of its attempts, and the number of attempts."""
Member = tuple[str, str]
"""The id of a run, and the version that was read."""


class FollowedSeries(Record, frozen=True):
    """The rows of the runs of a series so far, the marks of their cases, and the segment of the last run.

    `members` are the ids of the runs with the versions that were read. `keys` are the cases to which the values of the
    segment belong, after the step and before it. `lists` are those of CaseLines.
    """

    members: tuple[Member, ...]
    is_rate: bool
    is_bounded: bool
    rows: tuple[HistoryRow, ...]
    marks: list[CaseMarks]
    keys: tuple[CaseKey, ...] = ()
    values: tuple[tuple[PlacedValue, ...], ...] = ()
    before: tuple[tuple[PlacedValue, ...], ...] = ()
    step: HistoryStep | None = None
    step_row: int = -1
    lists: list[CaseList] | None = None

    def restrict(self, members: Sequence[Member], measure: str, false_every: float) -> FollowedSeries | None:
        """Return the series as far as the first of these members were followed one after the other, or None.

        No run is read: the marks hold the outcomes of the measure `cases`. If the first member is a later run than
        before, the steps are looked for again, because nothing before it counts.
        """
        if self.members == tuple(members[: len(self.members)]):
            return self
        if self.lists is None or measure != CASES or members[0] not in self.members:
            return None
        first = self.members.index(members[0])
        pairs = zip(self.members[first:], members, strict=False)
        end = first + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        lines, values = CaseLines(), list[Values]()
        for row, cases, counts in self._outcomes(first, end):
            lines.add_counts(row.id, cases.keys, cases.names, counts)
            pairs_of_run = zip(cases.keys, counts, strict=True)
            values.append({key: (float(passed), attempts) for key, (passed, attempts) in pairs_of_run if attempts})
        if not first:
            return _pack(self, members[:end], *self._rewind(end, values), lines)
        follower = RunFollower(measure, false_every)
        for row, own in zip(self.rows[first:end], values, strict=True):
            is_first = row.id == members[0][0]
            bare_row = replace(row, step=None, new_segment="" if is_first else row.new_segment)
            follower.recall(replace(bare_row, changed=() if is_first else row.changed), own, Measure(CASES))
        return _pack(self, members[: end - first], *follower.finish(), lines)

    def _outcomes(self, first: int, end: int) -> Iterator[tuple[HistoryRow, CaseList, list[tuple[int, int]]]]:
        """Yield the rows of runs with their cases, and how many attempts passed, and how many there were, for each."""
        counts: dict[tuple[str, str], dict[int, tuple[int, int]]] = {
            (own.eval_set, own.case): dict(zip(own.runs, zip(own.passed, own.attempts, strict=True), strict=True))
            for own in self.marks
        }
        starts = [*(cases.start for cases in self.lists or ()), end]
        for cases, start, stop in zip(self.lists or (), starts, starts[1:], strict=False):
            places = [counts[key.eval_set, key.case] for key in cases.keys]
            for number in range(max(first, start), min(end, stop)):
                yield self.rows[number], cases, [place.get(number, (0, 0)) for place in places]

    def _rewind(self, end: int, values: Sequence[Values]) -> tuple[list[HistoryRow], Segment]:
        """Return the rows and the segment after so many runs, whose values are given."""
        places = {row.id: place for place, row in enumerate(self.rows)}
        rows, starts = list(self.rows[:end]), [0]
        alarm = -1
        for place, row in enumerate(rows):
            if row.new_segment:
                starts, alarm = [place], -1
            elif row.step is not None:
                if places[row.step.seen_in] >= end:
                    rows[place] = replace(row, step=None)
                    continue
                starts.append(place)
                alarm = places[row.step.seen_in]
        start = max(starts[-1], end - WINDOW)
        segment = Segment([row.id for row in rows[start:end]], list(values[start:end]))
        step = rows[starts[-1]].step
        if step is not None:
            segment.before = list(values[max(starts[-2], alarm + 1 - WINDOW) : starts[-1]])
            segment.step, segment.row = replace(step, cases=0, change=IntervalEstimate(None)), starts[-1]
            rows[segment.row] = replace(rows[segment.row], step=segment.measure_step(Measure(CASES)))
        return rows, segment

    def resume(self, follower: RunFollower, previous: MeasuredRun) -> CaseLines:
        """Let a follower go on after the row of `previous`, which is the last, and return the lines of the cases."""
        segment = Segment(
            [run_id for run_id, _ in self.members[-len(self.values) :]],
            [self._by_case(run) for run in self.values],
            [self._by_case(run) for run in self.before],
            self.step,
            self.step_row,
        )
        follower.resume(self.rows, segment, previous)
        return self.lines()

    def lines(self) -> CaseLines:
        """Return the lines of the cases so far."""
        return CaseLines([run_id for run_id, _ in self.members], self.marks, self.lists)

    def _by_case(self, placed: Sequence[PlacedValue]) -> Values:
        return {self.keys[place]: (total, attempts) for place, total, attempts in placed}


def keep_series(
    members: Sequence[Member], newest: MeasuredRun, measure_name: str, follower: RunFollower, lines: CaseLines
) -> FollowedSeries:
    """Return a series as far as a follower and the lines of its cases went. `newest` is its last run."""
    measure = newest.measure(measure_name)
    return _pack(FollowedSeries((), measure.is_rate, measure.is_bounded, (), []), members, *follower.finish(), lines)


def _pack(
    kind: FollowedSeries, members: Sequence[Member], rows: Sequence[HistoryRow], segment: Segment, lines: CaseLines
) -> FollowedSeries:
    """Return a series of the same kind of measure, of these members."""
    places: dict[CaseKey, int] = {}

    def place(runs: Sequence[Values]) -> tuple[tuple[PlacedValue, ...], ...]:
        return tuple(tuple((places.setdefault(key, len(places)), *value) for key, value in run.items()) for run in runs)

    values, before = place(segment.values), place(segment.before)
    return FollowedSeries(
        tuple(members),
        kind.is_rate,
        kind.is_bounded,
        tuple(rows),
        lines.marks,
        tuple(places),
        values,
        before,
        segment.step,
        segment.row,
        lines.lists,
    )
