"""Report message keys that nobody reads. A call under a key of the writer's own must not be lost with its key."""

from __future__ import annotations

from typing import Any

from fairtrial.formats.reading import Diagnostics, Place
from fairtrial.formats.value_shapes import holds_calls, holds_messages

_READ_KEYS = frozenset(
    (
        *("role", "content", "parts", "name", "author", "tool_calls", "tool_call_id", "function_call"),
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
        for key in message.keys() - _READ_KEYS:
            value = message[key]
            if isinstance(value, list | dict) and (holds_calls(value, depth=1) or holds_messages(value, depth=1)):
                kind = "calls" if holds_calls(value, depth=1) else "messages"
                reading.error(((at, i), key), f"holds {kind} under a key that is not read; tool calls are 'tool_calls'")
            elif key not in _SILENT_KEYS and _has_content(value):
                unread[key] = None
    if unread:
        names = ", ".join(map(repr, sorted(unread)[:8]))
        reading.warning(at, f"has messages with keys that are not read: {names}")


def _has_content(value: Any) -> bool:
    """Whether a value is more than an id, a time or a number: an object, a list, or a text of some words."""
    return bool(value) and (isinstance(value, list | dict) or (isinstance(value, str) and value.count(" ") >= 3))
