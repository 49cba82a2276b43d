"""A property that a reply, a tool use or a conversation should have."""

from __future__ import annotations

from fairtrial.records.record import Extra, Record


class Rubric(Record, frozen=True):
    """One yes/no property. `type` names the criterion it belongs to; empty: the final-response criterion."""

    id: str
    text: str
    description: str = ""
    type: str = ""
    extra: Extra = None
