"""The records of failure modes along the runs of a series."""

from __future__ import annotations

from typing import Literal

from fairtrial.records.record import Displayed, Record
from fairtrial.records.run_history import HistoryRow

ModeState = Literal["new", "back", "seen", "absent", "gone"]


class ModeLine(Record, frozen=True):
    """A failure mode along the runs. `cases` holds the number of its cases in each run.

    A number is None if the run had none of the cases at which the mode was seen before, so that it says nothing.

    `first` and `last` are the ids of the first and the last run with the mode. `state` is that of the last run: `new`
    if only that run has the mode, `seen` if it was seen before, too, `back` if it was gone meanwhile. Without the mode,
    it is `absent`, or `gone` if chance hardly explains so many runs without it. `gone` is the first run of that time,
    or empty. `back` are the runs with which it came back.
    """

    name: str
    state: ModeState
    first: str
    last: str
    cases: tuple[int | None, ...]
    gone: str = ""
    back: tuple[str, ...] = ()


class ModeHistory(Displayed, frozen=True, tag_field="kind", tag="mode_history"):
    """The failure modes along the runs of a series, the oldest run first.

    `alone` counts the failed attempts that belong to no mode. Chance explains a mode that is gone in one of
    `false_every` times at most. `notes` say what is not known.
    """

    series: dict[str, str]
    runs: tuple[HistoryRow, ...]
    modes: tuple[ModeLine, ...]
    alone: int
    false_every: float
    earlier: int = 0
    notes: tuple[str, ...] = ()
