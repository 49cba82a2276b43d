"""How does a person judge one outcome, or one part of it?"""

from __future__ import annotations

from fairtrial.records.keys import CaseKey
from fairtrial.records.record import Record
from fairtrial.records.score import PartKey


class Label(Record, frozen=True):
    """One judgement by a person of one attempt.

    `part` is the key of the part of the score that is meant, or None if the label is about the whole outcome. A label
    with `value` None is a note without a judgement. `at` is the time in ISO 8601.
    """

    case: CaseKey
    attempt: int
    criterion: str
    part: PartKey | None = None
    value: float | None = None
    author: str = ""
    at: str = ""
    note: str = ""
