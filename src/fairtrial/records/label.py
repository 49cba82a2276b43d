"""How does a person judge one outcome, or one part of it?"""

from __future__ import annotations

from fairtrial.records.keys import CaseKey
from fairtrial.records.record import Record
from fairtrial.records.score import PartKey


class Label(Record, frozen=True):
    """One judgement by a person of one attempt.

    `part` is the key of the part of the score that is meant, or None if the label is about the whole outcome. A label
    with `value` None is a note without a judgement. `at` is the time in ISO 8601.

    `key` identifies the outcome by its criterion, its case and its recorded trace, so that the label also counts in
    other runs with the same outcome. It is empty if the label counts in its own run only. `weight` is the number of
    outcomes that the labelled one stands for in its sample.
    """

    case: CaseKey
    attempt: int
    criterion: str
    part: PartKey | None = None
    value: float | None = None
    author: str = ""
    at: str = ""
    note: str = ""
    key: str = ""
    weight: float = 1.0
