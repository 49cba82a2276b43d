"""Read user turns from the messages to a model."""

from __future__ import annotations

from collections.abc import Sequence

from fairtrial.formats.chats.assembly import split_turns
from fairtrial.formats.message_entries import Entry, Instruction
from fairtrial.records.record import Record
from fairtrial.records.trace import Message, Step, Usage


class Turn(Record, frozen=True):
    """A turn of the user, and the steps after it. Messages that follow one another are one turn."""

    user: Message
    steps: tuple[Step, ...] = ()


class Turns(Record, frozen=True):
    """The turns in the input of a call. `opening` are the steps before the first turn."""

    opening: tuple[Step, ...]
    turns: tuple[Turn, ...]
    instructions: str

    @property
    def texts(self) -> list[str]:
        """The text of each turn."""
        return [turn.user.text for turn in self.turns]


def read_turns(entries: Sequence[Entry]) -> Turns:
    """Return the turns in the messages to a model."""
    before, *turns = split_turns(entry for entry in entries if not isinstance(entry, Usage))
    return Turns(
        tuple(before.steps),
        tuple([Turn(_join_items(turn.messages), tuple(turn.steps)) for turn in turns]),
        "\n".join([entry.text for entry in entries if isinstance(entry, Instruction) and entry.text]),
    )


def _join_items(messages: list[Message]) -> Message:
    if len(messages) == 1:
        return messages[0]
    text = "\n\n".join(message.text for message in messages if message.text)
    withheld = next((message.withheld for message in messages if message.withheld), "")
    return Message(text, parts=tuple(part for message in messages for part in message.parts), withheld=withheld)
