"""The dialect of OpenAI chat messages: the entries of a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairtrial.formats.chats.assembly import Dialect
from fairtrial.formats.chats.declared_shapes import ARGUMENTS, NAME, TEXT, Shape, Shapes, inside, list_leaf, text_or
from fairtrial.formats.message_entries import Entry, Instruction, UserMessage
from fairtrial.formats.messages import ROLES, extract_text, is_message, plain, read_media, steps_in
from fairtrial.records.trace import Message

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place


def _entries(message: dict[str, Any], at: Place, reading: Diagnostics) -> list[Entry]:
    """Return what a message holds. A result of a tool names only the id of its call."""
    message = plain(message)
    role = message.get("role")
    if role not in ROLES:
        reading.wrong_type((at, "role"), f"one of {', '.join(ROLES)}", role)
        return []
    text = extract_text(message.get("content"), (at, "content"), reading)
    if role in ("system", "developer"):
        return [Instruction(text)]
    if role == "user":
        return [UserMessage(Message(text, parts=read_media(message.get("content"))))]
    return list(steps_in(message, role, text, at, reading, {}))


_CONTENT = text_or(Shapes("type", dict.fromkeys(("", "text"), Shape({"text": TEXT}))))
_INPUT = Shape({"content": _CONTENT})
_CALL = Shape({"function": inside(Shape({"name": NAME, "arguments": ARGUMENTS}))})
_CALLS = list_leaf(Shapes("type", dict.fromkeys(("", "function"), _CALL)))
_ANSWER = Shape({"content": _CONTENT, "tool_calls": _CALLS})
_DECLARED = Shapes("role", {**dict.fromkeys(ROLES, _INPUT), "assistant": _ANSWER})
openai_entries = Dialect("chat messages", is_message, _entries, _DECLARED).entries
