"""The entries that every dialect finds in messages."""

from __future__ import annotations

import re

from fairtrial.records.record import Record
from fairtrial.records.trace import Message, Step, Usage

_QUOTE = re.compile(r"For context:\n?(?:\[|\Z)")
"""The beginning of a message in which ADK tells an agent what other agents did. Some dialects join its parts."""


class UserMessage(Record, frozen=True):
    """A message of the user.

    A result of a tool is not a message of the user, even if a provider gives it the user's role.
    """

    message: Message

    @property
    def quotes_agents(self) -> bool:
        """Whether the message only quotes other agents. No user wrote it, so that it is not a turn of the user."""
        return _QUOTE.match(self.message.text) is not None


class Instruction(Record, frozen=True):
    """A text that tells the agent how to behave, for example a system message."""

    text: str


Entry = UserMessage | Instruction | Step | Usage
"""One thing that a message holds. A usage is the usage of the model call that wrote the message."""
