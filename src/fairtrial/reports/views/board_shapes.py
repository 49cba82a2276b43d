"""The view model of the board on which people sort the failures of a run, and the requests of its page."""

from __future__ import annotations

from typing import Literal

from fairtrial.records.record import Record
from fairtrial.records.summary import Estimate
from fairtrial.reports.views.shape import ViewShape


class CardView(ViewShape, frozen=True):
    """A failed attempt on the board. `note` is the note of the last person, `authors` how many people read it.

    `split` says that they gave it different names. `queued` says that a queue of failures drew it.
    """

    position: int
    attempt: int
    name: str
    reason: str
    note: str = ""
    authors: int = 0
    split: bool = False
    queued: bool = False


class ColumnView(ViewShape, frozen=True):
    """A mode on the board. `key` is its name in small letters, and empty for failures without a mode.

    `total` failures are in it, of which people read `read`. `cards` are the first of them. `share` estimates its share
    of all failures from those that were drawn from a queue, of which `drawn` belong to it.
    """

    key: str
    name: str
    total: int
    read: int
    cards: list[CardView]
    drawn: int = 0
    share: Estimate = Estimate()


class PeopleView(ViewShape, frozen=True):
    """The people who read failures. Of `several` that two or more people read, all gave `equal` the same name.

    `alpha` is Krippendorff's, or null.
    """

    labelers: list[str]
    several: int = 0
    equal: int = 0
    alpha: float | None = None


class BoardView(ViewShape, frozen=True):
    """The board of a run. `seen` is the number of its last change, which a page sends with its own change.

    Of its `failures`, people read `read`, and `drawn` of these come from a queue with known probabilities. Queues
    of failures drew `queued`. `more` columns are left out.
    """

    run: str
    seen: int
    failures: int
    read: int
    drawn: int
    columns: list[ColumnView]
    people: PeopleView
    more: int = 0
    queued: int = 0


class NoteRequest(Record, frozen=True, forbid_unknown_fields=True):
    """A person's note about failed attempts, each a position and an attempt.

    `name` is the mode, and empty if it stays as it is. The first line of a `note` is a name, too. `step` corrects the
    decisive step, for example `2.3` or `2.reply`. With `is_failure` false, the expectation is wrong.
    """

    labeler: str
    attempts: list[tuple[int, int]]
    name: str = ""
    note: str = ""
    step: str = ""
    is_failure: bool = True


class BoardRequest(Record, frozen=True, forbid_unknown_fields=True):
    """A change of the modes. `seen` is the number of the last change that the page knows."""

    labeler: str
    seen: int
    action: Literal["add", "rename"]
    name: str
    to: str = ""
