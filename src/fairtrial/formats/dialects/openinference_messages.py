"""Read OpenInference messages. Each message stands in numbered attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairtrial.formats.accounting import account
from fairtrial.formats.chats.assembly import (
    object_at,
    response,
    result,
    text_at,
    thoughts,
)
from fairtrial.formats.chats.langchain_messages import HANDOFF_BACK, is_handoff_back
from fairtrial.formats.chats.message_keys import note_held_contents
from fairtrial.formats.dialects.attributes import build_tree, note_unread, read_data
from fairtrial.formats.message_entries import Entry, Instruction, UserMessage, read_arguments
from fairtrial.records.trace import Message, Part, Step, ToolCall

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.formats.spans.span import Span

_INPUTS = "llm.input_messages"
_RESULTS = ("tool", "function", "tool-response")
"""The roles of results of tools. The last is of smolagents."""


def collect_messages(span: Span, prefix: str, reading: Diagnostics) -> tuple[Entry, ...] | None:
    """Return the entries of numbered messages, or None if none of them is recorded."""
    raw = build_tree(span.attributes, prefix)
    if not raw:
        return None
    messages = [object_at(item, "message") for item in raw if isinstance(item, dict)]
    if prefix == _INPUTS:
        written = _list_handoffs_back(span)
        messages = [message for message in messages if written.isdisjoint(_call_ids(message))]
    inner = reading.for_messages()
    for i, message in enumerate(messages):
        note_held_contents(message, ((), i), inner)
        if "role" not in message and message and prefix == _INPUTS:
            inner.error(((), i), "is a message without a role")
    entries = tuple(
        entry for i, message in enumerate(messages) for entry in account(message, _entries(message), ((), i), inner)
    )
    if inner.errors or inner.unread:
        note_unread([*inner.errors, *filter(None, [inner.unread])], reading)
    return entries


def _list_handoffs_back(span: Span) -> set[str]:
    """Return the ids of the calls that langgraph-supervisor wrote into the history. Only the raw input marks them."""
    if HANDOFF_BACK not in str(span.attributes.get("input.value")):
        return set()
    raw = read_data(span, "input.value")
    rows = raw.get("messages") if isinstance(raw, dict) else None
    messages = [object_at(message, "kwargs") for row in _as_list(rows) for message in _as_list(row, dict)]
    return {call_id for fields in messages if is_handoff_back(fields) for call_id in _call_ids(fields)}


def _call_ids(message: dict[str, Any]) -> set[str]:
    """Return the ids of the calls in a message, and the id of the call that it answers."""
    calls = _as_list(message.get("tool_calls"), dict)
    ids = (text_at(object_at(call, "tool_call") or call, "id") for call in calls)
    return {text_at(message, "tool_call_id"), *ids} - {""}


def _as_list(value: Any, kind: type = object) -> list[Any]:
    """Return the items of a kind in a list. Anything else has none."""
    return [item for item in value if isinstance(item, kind)] if isinstance(value, list) else []


def _entries(message: dict[str, Any]) -> list[Entry]:
    role = text_at(message, "role").lower()
    steps = _contents(message)
    texts = "".join(step.text for step in steps if isinstance(step, Message))
    if role in ("system", "developer"):
        return [Instruction(texts)]
    call_id = text_at(message, "tool_call_id")
    if role in _RESULTS or call_id:
        content = message.get("content")  # some exports decode the text of an answer
        answer = content if isinstance(content, dict) else response(texts)
        return [result(text_at(message, "name"), answer, call_id)]
    if role == "user":
        parts = tuple(part for step in steps if isinstance(step, Message) for part in step.parts)
        return [UserMessage(Message(texts, parts=parts))] if texts or parts else []
    return [*(step for step in steps if not _is_empty(step)), *_calls(message)]


def _is_empty(step: Step) -> bool:
    return isinstance(step, Message) and not step.text and not step.parts


def _calls(message: dict[str, Any]) -> list[Step]:
    calls: list[Step] = []
    for item in _list_at(message, "tool_calls"):
        call = object_at(item, "tool_call") if isinstance(item, dict) else {}
        function = object_at(call, "function")
        if name := text_at(function, "name"):
            calls.append(ToolCall(name, read_arguments(function.get("arguments")), text_at(call, "id")))
    if not calls and (name := text_at(message, "function_call_name")):
        calls.append(ToolCall(name, read_arguments(message.get("function_call_arguments_json"))))
    return calls


def _list_at(message: dict[str, Any], key: str) -> list[Any]:
    value = message.get(key)
    return value if isinstance(value, list) else []


def _contents(message: dict[str, Any]) -> list[Step]:
    """Return the texts, thoughts and media of a message. Some instrumentations write a text twice."""
    steps: list[Step] = []
    for item in _list_at(message, "contents"):
        content = object_at(item, "message_content") if isinstance(item, dict) else {}
        if text_at(content, "type") == "reasoning":
            steps += thoughts(content.get("text"))
        elif text_at(content, "text"):
            steps.append(Message(text_at(content, "text")))
        elif url := text_at(object_at(object_at(content, "image"), "image"), "url"):
            steps.append(Message("", parts=(Part(uri=url),)))
    if any(isinstance(step, Message) for step in steps):
        return steps
    text = message.get("content")
    if isinstance(text, list):
        text = "".join(part for part in text if isinstance(part, str))
    return [*steps, Message(text)] if isinstance(text, str) else steps
