"""A property that a reply, a tool use or a conversation should have."""

from __future__ import annotations

from fairtrial.records.record import Extra, Record

_PREFIX = "The agent tells the user this: "


class Rubric(Record, frozen=True):
    """A yes/no property, for example "The reply names the order".

    `type` names the criterion of the rubric. An empty `type` means the criterion of final responses.
    """

    id: str
    text: str
    description: str = ""
    type: str = ""
    extra: Extra = None

    @property
    def statement(self) -> str:
        """What the agent has to tell the user, if a benchmark made the rubric of such a text. Otherwise empty."""
        return self.text.removeprefix(_PREFIX) if self.text.startswith(_PREFIX) else ""


def make_statement_rubric(name: str, text: str, description: str, criterion: str) -> Rubric:
    """Return the rubric that the agent tells the user a text."""
    return Rubric(name, f"{_PREFIX}{text}", description, criterion)
