"""The dialect of OpenTelemetry's GenAI messages. Each message is a role and parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.formats.chats.assembly import (
    Dialect,
    input_entries,
    join_texts,
    response,
    result,
    text_at,
    thoughts,
    unknown_part,
    unknown_role,
)
from fairtrial.formats.chats.declared_shapes import ANYTHING, NAME, TEXT, Shape, Shapes, list_leaf
from fairtrial.formats.message_entries import Entry, UserMessage, read_arguments
from fairtrial.formats.spans.span_values import structured
from fairtrial.records.trace import Message, Part, Step, ToolCall

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

SWITCH = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
HIDDEN = (
    f"a part of a message stands in the span without its content; set {SWITCH}, or include_content=True of "
    "Pydantic AI, where the agent runs"
)
_NAME = "GenAI messages"
_CALLS = ("tool_call", "server_tool_call")
_RESULTS = ("tool_call_response", "server_tool_call_response")
_MEDIA = ("blob", "uri", "file")
_MARKS = (*_CALLS, *_RESULTS, "blob", "uri")
_TEXTS = ("text", "reasoning")
_ROLES = ("system", "developer", "user", "assistant", "model", "tool")
_ANSWER = frozenset(("parts", "finish_reason", "name", "type"))
"""The keys of an answer, which may have no role."""
_INPUT_ROLES = ("user", "system", "developer")


def _is_message(message: dict[str, Any]) -> bool:
    """Whether a part has a type of the conventions. The text of a part stands under `content`, and not under `text`."""
    parts = message.get("parts")
    if not isinstance(parts, list) or "kind" in message:
        return False
    return any(
        isinstance(part, dict)
        and (part.get("type") in _MARKS or (part.get("type") in _TEXTS and "content" in part and "text" not in part))
        for part in parts
    )


def _entries(message: dict[str, Any], at: Place, reading: Diagnostics) -> list[Entry]:
    role = message.get("role", "assistant")
    if role not in _ROLES or ("role" not in message and not _ANSWER.issuperset(message)):
        unknown_role(message, at, reading, _NAME, _ROLES)
        return []
    parts = message.get("parts")
    if type(parts) is not list:
        parts = reading.array({"parts": structured(parts)}, "parts", at)
    place = (at, "parts")
    steps: list[Step] = []
    for i, part in enumerate(parts):
        steps += _steps(part, (place, i), reading)
    is_hidden = any(isinstance(step, Message) and step.withheld for step in steps)
    if role in _INPUT_ROLES:
        entries = input_entries(steps, is_instruction=role != "user")
        return [*entries, UserMessage(Message("", withheld=HIDDEN))] if is_hidden and role == "user" else entries
    author = text_at(message, "name")
    answer = steps if is_hidden else join_texts(steps)
    return [replace(step, author=author) for step in answer] if author else [*answer]


def _steps(part: Any, at: Place, reading: Diagnostics) -> list[Step]:
    if isinstance(part, str):
        return [Message(part)]
    kind = text_at(part, "type") if isinstance(part, dict) else ""
    if kind in _CALLS:
        args = structured(part.get("arguments"))
        reason = "" if "arguments" in part else HIDDEN
        return [ToolCall(text_at(part, "name"), read_arguments(args), text_at(part, "id"), withheld=reason)]
    if kind in _RESULTS:
        answer = part.get("response", part.get("result"))
        reason = "" if "response" in part or "result" in part else HIDDEN
        return [result(text_at(part, "name"), response(answer), text_at(part, "id"), withheld=reason)]
    return _texts(part, kind, at, reading)


def _texts(part: Any, kind: str, at: Place, reading: Diagnostics) -> list[Step]:
    """Return a text, a thought or a medium."""
    content = part.get("content", part.get("text")) if isinstance(part, dict) else None
    if kind == "reasoning":
        return thoughts(content)
    if kind in _MEDIA:
        data = content if kind == "blob" else ""
        uri = text_at(part, "uri") or text_at(part, "file_id")
        return [Message("", parts=(Part(text_at(part, "mime_type"), uri, data if isinstance(data, str) else ""),))]
    if isinstance(part, dict) and kind in ("text", "") and (content is None or isinstance(content, str)):
        return [Message(content or "", withheld="" if content is not None else HIDDEN)]
    unknown_part(part, at, reading, _NAME, (*_TEXTS, *_CALLS, *_RESULTS, *_MEDIA))
    return []


def whole_answers(messages: Iterable[Any]) -> Iterator[Any]:
    """Yield the messages of an answer. A stream comes in pieces, each a message with an empty finish reason.

    The pieces belong to the next message that has a reason. Some frameworks repeat the whole text in that message.
    """
    pieces: list[Any] = []
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("parts"), list):
            yield message
        elif message.get("finish_reason") == "":
            pieces += message["parts"]
        elif pieces:
            last = message["parts"]
            whole = _join_parts(pieces)
            yield {**message, "parts": last if whole == _join_parts(last) else _join_parts([*pieces, *last])}
            pieces = []
        else:
            yield message
    if pieces:
        yield {"role": "assistant", "parts": _join_parts(pieces)}


def _join_parts(parts: Iterable[Any]) -> list[Any]:
    """Return parts with texts that follow one another, and thoughts that follow one another, joined."""
    joined: list[Any] = []
    for kind, group in groupby(parts, key=_kind_of_text):
        neighbours = list(group)
        if kind and len(neighbours) > 1:
            joined.append({"type": kind, "content": "".join(part["content"] for part in neighbours)})
        else:
            joined += neighbours
    return joined


def _kind_of_text(part: Any) -> str:
    """Return whether a part is a text or a thought, by its type. It is empty for any other part."""
    kind = text_at(part, "type") if isinstance(part, dict) else ""
    return kind if kind in _TEXTS and isinstance(part.get("content"), str) else ""


def _message(parts: dict[str, Shape]) -> Shape:
    return Shape({"parts": list_leaf(Shapes("type", parts))})


_TEXT = {"text": Shape({"content": TEXT})}
_RESULT = {"tool_call_response": Shape({"response": ANYTHING})}
_CALL = {"reasoning": Shape({"content": TEXT}), "tool_call": Shape({"name": NAME, "arguments": ANYTHING})}
_RULES, _INPUT, _ANSWERED = _message(_TEXT), _message(_TEXT | _RESULT), _message(_TEXT | _RESULT | _CALL)
_INPUTS = {"system": _RULES, "developer": _RULES, "user": _INPUT}
_DECLARED = Shapes("role", _INPUTS | dict.fromkeys(("", "assistant", "model", "tool"), _ANSWERED))
OTEL = Dialect(_NAME, _is_message, _entries, _DECLARED)
