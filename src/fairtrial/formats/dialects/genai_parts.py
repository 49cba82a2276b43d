"""Which entries do messages of OpenTelemetry's GenAI conventions hold? Each message is a role and parts."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from fairtrial.formats.chats.assembly import Entry, UserMessage, input_entries, joined_texts, text_at, thoughts
from fairtrial.formats.dialects.attributes import arguments, chat_entries, output_steps, response, tool_result
from fairtrial.formats.dialects.repeated_json import RepeatedJson, repeated_items
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.spans.span_values import structured
from fairtrial.records.record import Json
from fairtrial.records.trace import Message, Part, Step, ToolCall

SWITCH = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
HIDDEN = (
    f"a part of a message stands in the span without its content; set {SWITCH}, or include_content=True of "
    "Pydantic AI, where the agent runs"
)
_CALLS = ("tool_call", "server_tool_call")
_RESULTS = ("tool_call_response", "server_tool_call_response")
_MEDIA = ("blob", "uri", "file")


def entries_of(raw: Json, reading: Diagnostics) -> tuple[Entry, ...] | None:
    """Return the entries of messages, or None if the messages are absent."""
    messages = repeated_items(raw)
    if not isinstance(messages, list):
        return None
    entries: list[Entry] = []
    for message in messages:
        is_repeated = type(message) is RepeatedJson
        entries += message.entries_by(_entries, reading=reading) if is_repeated else _entries(message, reading)
    return tuple(entries)


def answer_of(raw: Json, choices: int, reading: Diagnostics) -> tuple[tuple[Step, ...] | None, str]:
    """Return the steps of an answer, or None if the messages are absent, and why the model stopped.

    If the agent asked for several choices, each message is an alternative, and the first counts.
    """
    messages = structured(raw)
    if not isinstance(messages, list):
        return None, ""
    counting = messages[:1] if choices > 1 else messages
    reasons = (text_at(message, "finish_reason") for message in counting if isinstance(message, dict))
    steps = output_steps(entry for message in counting for entry in _entries(message, reading))
    return steps, next(filter(None, reasons), "")


def instructions_of(raw: Json) -> str:
    """Return instructions: a text, or parts with texts."""
    value = structured(raw)
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else []
    texts = [part.get("content", part.get("text")) for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _entries(message: Any, reading: Diagnostics) -> list[Entry]:
    parts = structured(message.get("parts")) if isinstance(message, dict) else None
    if not isinstance(parts, list):
        return chat_entries(message, reading)
    steps = [step for part in parts for step in _steps(part, reading)]
    is_hidden = any(isinstance(step, Message) and step.withheld for step in steps)
    role = message.get("role")
    if role in ("user", "system", "developer"):
        entries = input_entries(steps, is_instruction=role != "user")
        return [*entries, UserMessage(Message("", withheld=HIDDEN))] if is_hidden and role == "user" else entries
    author = text_at(message, "name")
    answer = steps if is_hidden else joined_texts(steps)
    return [replace(step, author=author) for step in answer] if author else [*answer]


def _steps(part: Any, reading: Diagnostics) -> list[Step]:
    if not isinstance(part, dict):
        return [Message(part)] if isinstance(part, str) else []
    kind = text_at(part, "type")
    call_id = text_at(part, "id")
    if kind in _CALLS:
        args = arguments(part.get("arguments"))
        reason = "" if "arguments" in part else HIDDEN
        return [ToolCall(text_at(part, "name"), args or {}, call_id, withheld=reason)]
    if kind in _RESULTS:
        answer = part.get("response", part.get("result"))
        reason = "" if "response" in part or "result" in part else HIDDEN
        return [tool_result(text_at(part, "name"), response(answer), call_id, withheld=reason)]
    return _texts(part, kind, reading)


def _texts(part: dict[str, Any], kind: str, reading: Diagnostics) -> list[Step]:
    """Return a text, a thought or a medium."""
    content = part.get("content", part.get("text"))
    if kind == "reasoning":
        return thoughts(content)
    if kind in _MEDIA:
        data = content if kind == "blob" else ""
        uri = text_at(part, "uri") or text_at(part, "file_id")
        return [Message("", parts=(Part(text_at(part, "mime_type"), uri, data if isinstance(data, str) else ""),))]
    if kind in ("text", "") and (content is None or isinstance(content, str)):
        return [Message(content or "", withheld="" if content is not None else HIDDEN)]
    warning = f"{reading.path}: a part of the type {kind!r} in a message of a span is not read"
    if warning not in reading.warnings:
        reading.warnings.append(warning)
    return []
