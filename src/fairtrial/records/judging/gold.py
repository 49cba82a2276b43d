"""An item with a known answer: what a judge should say of a recorded conversation."""

from __future__ import annotations

from fairtrial.records.case import EvalCase
from fairtrial.records.record import Record
from fairtrial.records.trace import Trace


class GoldItem(Record, frozen=True):
    """A conversation with its expectation, and its `label`: 1 for pass, 0 for fail, or a number of the range.

    `group` is a group of items in reports. For a canary it is its kind, with its `language` beside it.
    """

    criterion: str
    case: EvalCase
    trace: Trace
    label: float
    group: str = ""
    language: str = ""
