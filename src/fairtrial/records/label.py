"""How does a person judge one outcome, or one part of it?"""

from __future__ import annotations

from typing import Literal

from fairtrial.records.keys import CaseKey
from fairtrial.records.record import Record
from fairtrial.records.score import FaultSide, PartKey


class Label(Record, frozen=True):
    """One judgement by a person of one attempt.

    `part` is the key of the part of the score that is meant, or None if the label is about the whole outcome. A label
    with `value` None is a note without a judgement. `at` is the time in ISO 8601.

    `key` identifies the outcome by its criterion, its case and its recorded trace, so that the label also counts in
    other runs with the same outcome. It is empty if the label counts in its own run only. `weight` is the number of
    outcomes that the labelled one stands for in its sample.

    `seconds` is the time that the person took. `blind` says whether the verdict of the judge, and everything that hints
    at it, was hidden. None means that nobody knows. `probability` is the probability with which the sample took the
    outcome. `source` is the origin of the label, for example `view` or the name of a file. `side` is the side at fault
    in the person's opinion, and `reference` the reply that the person expects in place of the reference of the case.
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
    seconds: float | None = None
    blind: bool | None = None
    probability: float | None = None
    source: str = ""
    side: FaultSide | Literal[""] = ""
    reference: str = ""
