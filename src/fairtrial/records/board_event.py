"""Changes of the board on which people sort the failures of a run."""

from __future__ import annotations

from typing import Literal

from fairtrial.records.failure_mode import Signature
from fairtrial.records.record import Record


class BoardEvent(Record, frozen=True):
    """A change of the modes on a board: a mode was added, or all failures of a mode got another name.

    A mode that gets the name of another mode is merged into it. `at` is the time in ISO 8601. `signatures` are those of
    the found modes that had the name, at most 50 of each. They are None if the change was stored before it held any.
    """

    action: Literal["add", "rename"]
    name: str
    to: str = ""
    author: str = ""
    at: str = ""
    signatures: tuple[Signature, ...] | None = None
