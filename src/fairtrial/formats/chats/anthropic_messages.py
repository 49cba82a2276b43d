"""The dialect of Anthropic's Messages API: the entries of its messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairtrial.formats.chats.assembly import (
    Dialect,
    input_entries,
    join_texts,
    object_at,
    result,
    text_at,
    thoughts,
    unknown_part,
    unknown_role,
)
from fairtrial.formats.chats.declared_shapes import ARGUMENTS, FLAG, NAME, TEXT, Shape, Shapes, text_or
from fairtrial.formats.message_entries import read_arguments, read_response
from fairtrial.formats.tool_failures import declares_failure
from fairtrial.records.trace import Message, Part, Step, ToolCall, ToolResult

if TYPE_CHECKING:
    from fairtrial.formats.message_entries import Entry
    from fairtrial.formats.reading import Diagnostics, Place
    from fairtrial.records.record import Json

_NAME = "Anthropic messages"
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_THOUGHTS = ("thinking", "redacted_thinking")
_MEDIA = ("image", "document", "search_result", "container_upload")
_PART_TYPES = ("text", *_MEDIA, *_THOUGHTS, *_CALLS, "tool_result", "*_tool_result")
_MARKS = (*_CALLS, *_THOUGHTS)
_ROLES = ("user", "assistant", "system")


def _is_message(message: dict[str, Any]) -> bool:
    content = message.get("content")
    for part in content if isinstance(content, list) and "role" in message else ():
        if isinstance(part, dict) and _is_mark(part):
            return True
    return False


def _is_mark(part: dict[str, Any]) -> bool:
    kind = part.get("type")
    return kind in _MARKS or _is_result(kind) or (kind in _MEDIA and isinstance(part.get("source"), dict))


def _is_result(kind: Any) -> bool:
    return isinstance(kind, str) and (kind == "tool_result" or kind.endswith("_tool_result"))


def _entries(message: dict[str, Any], at: Place, reading: Diagnostics) -> list[Entry]:
    role = message.get("role")
    if role not in _ROLES:
        unknown_role(message, at, reading, _NAME, _ROLES)
        return []
    content = message.get("content")
    steps: list[Step] = []
    if isinstance(content, str):
        steps.append(Message(content))
    else:
        for i, part in enumerate(reading.array(message, "content", at)):
            steps += _steps(part, ((at, "content"), i), reading)
    if role == "assistant":
        return [step for step in join_texts(steps) if not _is_blank(step)]
    return input_entries(steps, is_instruction=role == "system")


def _is_blank(step: Step) -> bool:
    """Whether a message is only space, as Claude writes it before a call."""
    return isinstance(step, Message) and not step.parts and not step.text.strip()


def _steps(part: Any, at: Place, reading: Diagnostics) -> list[Step]:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text":
        return [Message(text_at(part, "text"))]
    if kind in _MEDIA:
        return [Message("", parts=(_medium(part),))]
    if kind in _THOUGHTS:
        return thoughts(part.get("thinking"))
    if kind in _CALLS:
        return [ToolCall(text_at(part, "name"), read_arguments(part.get("input")), text_at(part, "id"))]
    if _is_result(kind):
        return [_result(part)]
    unknown_part(part, at, reading, _NAME, _PART_TYPES)
    return []


def _result(part: dict[str, Any]) -> ToolResult:
    return result("", response(part.get("content")), text_at(part, "tool_use_id"), stated=declares_failure(part))


def response(content: Any) -> Json:
    """Return the answer of a tool: the JSON in its text, or the parts if they are not all text."""
    if isinstance(content, str):
        return read_response(content)
    if isinstance(content, list) and content and all(_is_text(part) for part in content):
        return read_response("\n".join(part["text"] for part in content))
    return content


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("text"), str) and part.get("type", "text") == "text"


def _medium(part: dict[str, Any]) -> Part:
    """Return an image or a document. Its source holds base64, a URL, a text, or the id of a file."""
    source = object_at(part, "source")
    uri = text_at(source, "url") or text_at(source, "file_id") or text_at(part, "file_id")
    return Part(text_at(source, "media_type"), uri, text_at(source, "data"), text_at(part, "title"))


def _message(parts: dict[str, Shape]) -> Shape:
    return Shape({"content": text_or(Shapes("type", parts))})


_TEXT = {"text": Shape({"text": TEXT})}
_RESULT = {"tool_result": Shape({"content": text_or(Shapes("type", _TEXT)), "is_error": FLAG})}
_CALL = {"thinking": Shape({"thinking": TEXT})} | dict.fromkeys(_CALLS, Shape({"name": NAME, "input": ARGUMENTS}))
_DECLARED = Shapes(
    "role",
    {"system": _message(_TEXT), "user": _message(_TEXT | _RESULT), "assistant": _message(_TEXT | _RESULT | _CALL)},
)
ANTHROPIC = Dialect(_NAME, _is_message, _entries, _DECLARED)
