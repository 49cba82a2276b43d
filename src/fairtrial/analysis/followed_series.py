"""A series of runs as far as it was followed, in a form that a store keeps, so that only new runs are read again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairtrial.analysis.case_lines import CaseLines, CaseMarks
from fairtrial.analysis.run_series import RunFollower, Segment, Values
from fairtrial.records.keys import CaseKey
from fairtrial.records.record import Record
from fairtrial.records.run_history import HistoryRow, HistoryStep

if TYPE_CHECKING:
    from fairtrial.analysis.measured_run import MeasuredRun

PlacedValue = tuple[int, float, int]
"""The number of a case, the sum of the values of its attempts, and the number of attempts."""


class FollowedSeries(Record, frozen=True):
    """The rows of the runs of a series so far, the marks of their cases, and the segment of the last run.

    `members` are the ids of the runs with the versions that were read. `keys` are the cases to which the values of the
    segment belong, after the step and before it.
    """

    members: tuple[tuple[str, str], ...]
    is_rate: bool
    is_bounded: bool
    rows: tuple[HistoryRow, ...]
    marks: list[CaseMarks]
    keys: tuple[CaseKey, ...] = ()
    values: tuple[tuple[PlacedValue, ...], ...] = ()
    before: tuple[tuple[PlacedValue, ...], ...] = ()
    step: HistoryStep | None = None
    step_row: int = -1

    def begins(self, members: Sequence[tuple[str, str]]) -> bool:
        """Return whether these members are its own, and new ones after them."""
        return self.members == tuple(members[: len(self.members)])

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
        return CaseLines([run_id for run_id, _ in self.members], self.marks)

    def _by_case(self, placed: Sequence[PlacedValue]) -> Values:
        return {self.keys[place]: (total, attempts) for place, total, attempts in placed}


def keep_series(
    members: Sequence[tuple[str, str]], newest: MeasuredRun, measure_name: str, follower: RunFollower, lines: CaseLines
) -> FollowedSeries:
    """Return a series as far as a follower and the lines of its cases went. `newest` is its last run."""
    rows, segment = follower.finish()
    places: dict[CaseKey, int] = {}

    def place(runs: Sequence[Values]) -> tuple[tuple[PlacedValue, ...], ...]:
        return tuple(tuple((places.setdefault(key, len(places)), *value) for key, value in run.items()) for run in runs)

    values, before = place(segment.values), place(segment.before)
    measure = newest.measure(measure_name)
    return FollowedSeries(
        tuple(members),
        measure.is_rate,
        measure.is_bounded,
        tuple(rows),
        lines.marks,
        tuple(places),
        values,
        before,
        segment.step,
        segment.row,
    )
