"""A property that a reply, a tool use or a conversation should have."""

from __future__ import annotations

from fairtrial.records.record import Extra, Record


class Rubric(Record, frozen=True):
    """A yes/no property, for example "The reply names the order".

    `type` names the criterion of the rubric. An empty `type` means the criterion of final responses.
    """

    id: str
    text: str
    description: str = ""
    type: str = ""
    extra: Extra = None
