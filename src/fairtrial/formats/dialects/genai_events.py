"""Messages of OpenTelemetry's GenAI conventions that stand in events of a span, or in log records of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fairtrial.formats.chats.assembly import text_at
from fairtrial.formats.dialects.attributes import chat_entries, output_steps
from fairtrial.formats.dialects.genai_parts import read_answer, read_entries, read_instructions
from fairtrial.formats.spans.span_values import structured

if TYPE_CHECKING:
    from fairtrial.formats.message_entries import Entry
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.formats.spans.span import Span, SpanEvent
    from fairtrial.records.record import Json
    from fairtrial.records.trace import Step

_DETAILS = "gen_ai.client.inference.operation.details"
_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CONTENT_EVENTS = frozenset((*_ROLES, "gen_ai.choice"))
_KNOWN_FIELDS = frozenset(("content", "message", "role", "id", "name", "index", "finish_reason", "tool_calls", "type"))
"""The fields of an event that are read, or carry nothing for scoring."""


class SpanMessages(NamedTuple):
    """The messages that a span got, the steps of its answer, its instructions, and why the model stopped.

    None means "not recorded".
    """

    input: tuple[Entry, ...] | None = None
    output: tuple[Step, ...] | None = None
    instructions: str = ""
    finish_reason: str = ""


def read_content(span: Span, choices: int, reading: Diagnostics) -> SpanMessages:
    """Return the messages in the events of a span. Some instrumentations write an event for each of them."""
    inputs: list[Entry] = []
    answer: list[Step] = []
    has_input = has_output = False
    instructions = finish_reason = ""
    for event in span.events:
        fields = _fields(event)
        if not reading.unread and (key := _find_unread(event, fields)):
            reading.unread = f"span {span.span_id}: {key} of the event {event.name} was not read"
        reason = text_at(fields, "finish_reason")
        if event.name == _DETAILS:
            instructions = read_instructions(fields.get("gen_ai.system_instructions")) or instructions
            entries = read_entries(fields.get("gen_ai.input.messages"), reading)
            steps, reason = read_answer(fields.get("gen_ai.output.messages"), choices, reading)
        elif event.name in _ROLES or event.name == "gen_ai.content.prompt":
            entries, steps = tuple(chat_entries(_message(event, fields), reading)), None
        elif event.name in ("gen_ai.choice", "gen_ai.content.completion"):
            entries, steps = None, output_steps(chat_entries(_choice(event, fields), reading))
        else:
            continue
        has_input, has_output = has_input or entries is not None, has_output or steps is not None
        inputs += entries or ()
        answer += steps or ()
        finish_reason = finish_reason or reason
    outputs = tuple(answer) if has_output else None
    return SpanMessages(tuple(inputs) if has_input else None, outputs, instructions, finish_reason)


def _find_unread(event: SpanEvent, fields: dict[str, Any]) -> str:
    """Return the key of a value in an event whose content or message has another name, or an empty text.

    Without such a value, the contents were not recorded.
    """
    expected = "message" if event.name == "gen_ai.choice" else "content"
    if event.name not in _CONTENT_EVENTS or expected in fields or fields.get("tool_calls"):
        return ""
    return next((key for key, value in fields.items() if value and not _is_known(key)), "")


def _is_known(key: str) -> bool:
    return key in _KNOWN_FIELDS or key.startswith(("gen_ai.", "event."))


def arguments_in(span: Span) -> Json:
    """Return the arguments of a call of a tool that stand in an event, or None."""
    return next((_fields(event).get("content") for event in span.events if event.name == "gen_ai.tool.message"), None)


def result_in(span: Span) -> Json:
    """Return the answer of a tool that stands in an event, or None."""
    answer = next((_fields(event).get("message") for event in span.events if event.name == "gen_ai.choice"), None)
    return structured(answer)


def _fields(event: SpanEvent) -> dict[str, Any]:
    """Return the content of an event, which stands in its attributes, in its body, or as JSON in an attribute."""
    body, inner = structured(event.body), structured(event.attributes.get("gen_ai.event.content"))
    if body is None and inner is None:  # most events
        return event.attributes
    return {
        **(body if isinstance(body, dict) else {}),
        **(inner if isinstance(inner, dict) else {}),
        **event.attributes,
    }


def _message(event: SpanEvent, fields: dict[str, Any]) -> Json:
    """Return the message in an event as its provider would write it."""
    if event.name == "gen_ai.content.prompt":
        return structured(fields.get("gen_ai.prompt"))
    role, content = _ROLES[event.name], structured(fields.get("content"))
    if isinstance(content, list) and any(isinstance(part, dict) and "toolResult" in part for part in content):
        role = "user"  # Bedrock has results in messages of the user
    if not isinstance(content, list):
        content = fields.get("content")  # a text that happens to be JSON is a text
    message = {"role": role, "content": content}
    if calls := structured(fields.get("tool_calls")):
        message["tool_calls"] = calls
    if role == "tool":
        message["tool_call_id"] = fields.get("id")
    return message


def _choice(event: SpanEvent, fields: dict[str, Any]) -> Json:
    """Return the message of a choice. Only the first of several choices counts."""
    if event.name == "gen_ai.content.completion":
        return structured(fields.get("gen_ai.completion"))
    if fields.get("index") not in (None, 0, "0"):
        return []
    raw = fields.get("message")
    message = structured(raw)
    if isinstance(message, list):
        message = {"content": message}
    elif not isinstance(message, dict):
        message = {"content": raw}
    if "tool_calls" not in message and (calls := structured(fields.get("tool_calls"))):
        message = {**message, "tool_calls": calls}
    return {**message, "role": "assistant"}
