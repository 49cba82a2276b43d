"""Report message keys that nobody reads. A call under a key of the writer's own must not be lost with its key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairtrial.formats.reading import Diagnostics, Place
from fairtrial.formats.value_shapes import holds_calls, holds_messages

_READ_KEYS = frozenset(
    (
        *("role", "content", "contents", "parts", "name", "author", "tool_calls", "tool_call_id", "function_call"),
        *("reasoning_content", "withheld", "beginning", "toolInvocations", "status", "isError", "is_error"),
        *("data", "kwargs", "additional_kwargs", "invalid_tool_calls", "tool_call_chunks", "lc", "type", "kind"),
    )
)
"""The keys that a dialect reads, or that repeat such keys."""
_SILENT_KEYS = frozenset(
    (
        *(
            "id",
            "refusal",
            "audio",
            "annotations",
            "logprobs",
            "index",
            "finish_reason",
            "stop_reason",
            "stop_sequence",
        ),
        *("usage", "usage_metadata", "response_metadata", "metadata", "model", "example", "artifact", "timestamp"),
        *("createdAt", "created_at", "created", "weight", "cache_control", "provider_specific_fields", "fairtrial"),
        *("object", "container", "context_management", "citations", "experimental_attachments", "revisionId"),
    )
)
"""The keys that carry nothing of the conversation."""


def note_unread_keys(messages: list[Any], at: Place, reading: Diagnostics) -> None:
    """Note an error for each key with calls or messages that is not read, and one warning for the other such keys."""
    covers = _READ_KEYS.issuperset
    places = [i for i, message in enumerate(messages) if type(message) is dict and not covers(message)]
    unread: dict[str, None] = {}
    for i in places:  # most messages have no other key
        message = messages[i]
        if "role" not in message:
            continue
        content_keys = note_held_contents(message, (at, i), reading)
        for key in message.keys() - _READ_KEYS - _SILENT_KEYS - content_keys:
            if _has_content(message[key]):
                unread[key] = None
    if unread:
        names = ", ".join(map(repr, sorted(unread)[:8]))
        reading.warning(at, f"has messages with keys that are not read: {names}")


def note_held_contents(message: Mapping[str, Any], at: Place, reading: Diagnostics) -> set[str]:
    """Note an error for each key of a message that holds calls or messages and is not read. Return these keys."""
    if _READ_KEYS.issuperset(message):
        return set()
    content_keys: set[str] = set()
    for key in message.keys() - _READ_KEYS:
        value = message[key]
        kind = _kind_of_contents(value) if isinstance(value, list | dict) else ""
        if kind:
            content_keys.add(key)
            reading.error((at, key), f"holds {kind} under a key that is not read; tool calls are 'tool_calls'")
    return content_keys


def _kind_of_contents(value: Any) -> str:
    """Return the word for calls or messages in a value, or an empty text."""
    if holds_calls(value, depth=1):
        return "calls"
    return "messages" if holds_messages(value, depth=1) else ""


def _has_content(value: Any) -> bool:
    """Whether a value is more than an id, a time or a number: an object, a list, or a text of some words."""
    return bool(value) and (isinstance(value, list | dict) or (isinstance(value, str) and value.count(" ") >= 3))
