"""Changes of the board on which people sort the failures of a run."""

from __future__ import annotations

from typing import Literal

from fairtrial.records.record import Record


class BoardEvent(Record, frozen=True):
    """A change of the modes on a board: a mode was added, or all failures of a mode got another name.

    A mode that gets the name of another mode is merged into it. `at` is the time in ISO 8601.
    """

    action: Literal["add", "rename"]
    name: str
    to: str = ""
    author: str = ""
    at: str = ""
