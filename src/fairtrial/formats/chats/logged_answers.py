"""Read the answer beside the messages of a request. A proxy logs both in one object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairtrial.errors import spell_columns
from fairtrial.formats.value_shapes import holds_messages

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

_ANSWERS = ("response", "choices", "candidates", "output", "completion", "result", "message", "generation", "answer")
"""The keys beside `messages` that hold the answer of a model, the first that is there."""
_INSIDE = ("choices", "candidates", "output", "message", "content", "body", "response")
"""The keys inside a response of a provider that lead to its message."""
_TEXTS = ("response", "completion", "output", "answer", "generation")
_DEPTH = 6


def with_answer(
    messages: list[Any], beside: dict[str, Any], at: Place, reading: Diagnostics
) -> tuple[list[Any], dict[str, Any]]:
    """Return messages with the answer beside them, and the other keys beside them.

    Notes an error for a key that holds messages and is not read, because a part of the conversation would be lost.
    """
    other_keys = dict(beside)
    for key in _ANSWERS:
        answer = _messages_in(other_keys[key], _DEPTH) if key in other_keys else []
        if answer:
            del other_keys[key]
            messages = messages if messages[-len(answer) :] == answer else [*messages, *answer]
            break
    for key, value in other_keys.items():
        if isinstance(value, list | dict) and holds_messages(value):
            problem = "holds messages beside the conversation, which are not read; keep one list of messages"
        elif key in _TEXTS and isinstance(value, str) and value.strip() and not _ends_with_agent(messages):
            problem = f"may be the reply or the reference; {spell_columns(('reply', key), ('expected', key))}"
        else:
            continue
        if reading.lenient:
            reading.warning((at, key), problem)
        else:
            reading.error((at, key), problem)
    return messages, other_keys


def _messages_in(value: Any, depth: int) -> list[Any]:
    """Return the messages in a response of a provider. The first of several choices counts."""
    if not depth:
        return []
    if isinstance(value, list):
        if value and all(map(_is_message, value)):
            return value
        return _messages_in(value[0], depth - 1) if value else []
    if not isinstance(value, dict):
        return []
    if _is_message(value):
        return [value]
    return next((messages for key in _INSIDE if (messages := _messages_in(value.get(key), depth - 1))), [])


def _is_message(value: Any) -> bool:
    """Whether a value is a message of the agent or an item of the Responses API."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    is_item = isinstance(kind, str) and (kind == "reasoning" or kind.endswith(("_call", "_call_output")))
    return is_item or value.get("role") in ("assistant", "model", "tool")


def _ends_with_agent(messages: list[Any]) -> bool:
    last = messages[-1] if messages else None
    return isinstance(last, dict) and last.get("role") in ("assistant", "model")
