"""Report message keys that nobody reads. A call under a key of the writer's own must not be lost with its key."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fairtrial.formats.value_shapes import holds_calls, holds_messages

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

_READ_KEYS = frozenset(
    (
        *("role", "content", "contents", "parts", "name", "author", "tool_calls", "tool_call_id", "function_call"),
        *("reasoning_content", "withheld", "beginning", "toolInvocations", "status", "isError", "is_error"),
        *("id", "data", "kwargs", "additional_kwargs", "invalid_tool_calls", "tool_call_chunks", "lc", "type", "kind"),
    )
)
"""The keys that a dialect reads, that repeat such keys, or that are only an id."""


def note_unread_keys(messages: list[Any], at: Place, reading: Diagnostics) -> None:
    """Note an error for each key of messages that holds calls or messages and is not read."""
    covers = _READ_KEYS.issuperset
    with suppress(TypeError):  # a message may be a number
        if all(map(covers, messages)):  # most messages have no other key
            return
    for i, message in enumerate(messages):
        if type(message) is dict and "role" in message and not covers(message):
            note_held_contents(message, (at, i), reading)


def note_held_contents(message: Mapping[str, Any], at: Place, reading: Diagnostics) -> None:
    """Note an error for each key of a message that holds calls or messages and is not read."""
    if _READ_KEYS.issuperset(message):
        return
    for key, value in message.items():
        kind = _kind_of_contents(value) if type(value) in (dict, list) and key not in _READ_KEYS else ""
        if kind:
            reading.error((at, key), f"holds {kind} under a key that is not read; tool calls are 'tool_calls'")


def _kind_of_contents(value: Any) -> str:
    """Return the word for calls or messages in a value, or an empty text."""
    if holds_calls(value, depth=1):
        return "calls"
    return "messages" if holds_messages(value, depth=1) else ""
