"""The dialect of Amazon Bedrock's Converse API: the entries of its messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairtrial.formats.chats.assembly import (
    Dialect,
    input_entries,
    join_texts,
    number_at,
    object_at,
    result,
    text_at,
    thoughts,
    unknown_part,
    unknown_role,
)
from fairtrial.formats.chats.declared_shapes import (
    ANYTHING,
    ARGUMENTS,
    NAME,
    TEXT,
    Leaf,
    Shape,
    Shapes,
    inside,
    list_leaf,
    text_or,
)
from fairtrial.formats.message_entries import read_arguments, read_response
from fairtrial.formats.tool_failures import declares_failure
from fairtrial.records.trace import Message, Part, Step, ToolCall, Usage

if TYPE_CHECKING:
    from fairtrial.formats.message_entries import Entry
    from fairtrial.formats.reading import Diagnostics, Place
    from fairtrial.records.record import Json

_NAME = "Bedrock messages"
_MEDIA = ("image", "document", "video", "audio")
_SILENT = ("cachePoint",)
_CONTENTS = ("text", "toolUse", "toolResult", "reasoningContent", "citationsContent", "guardContent")
_PART_TYPES = (*_CONTENTS, *_MEDIA, *_SILENT)
_MARKS = frozenset(_PART_TYPES) - {"text"}  # OpenAI's parts with a text need no type either
_ROLES = ("user", "assistant", "system")


def _is_message(message: dict[str, Any]) -> bool:
    """Whether a part of a message is named by its only key, as `{"toolUse": {...}}` is, and not by its type."""
    content = message.get("content")
    parts = content if isinstance(content, list) and "role" in message else []
    return any(isinstance(part, dict) and "type" not in part and not part.keys().isdisjoint(_MARKS) for part in parts)


def _entries(message: dict[str, Any], at: Place, reading: Diagnostics) -> list[Entry]:
    role = message.get("role")
    if role not in _ROLES:
        unknown_role(message, at, reading, _NAME, _ROLES)
        return []
    steps: list[Step] = []
    content = message.get("content")
    if isinstance(content, str):
        content = [{"text": content}]
    for i, part in enumerate(reading.array({"content": content}, "content", at)):
        steps += _steps(part, ((at, "content"), i), reading)
    if role == "assistant":
        return [*join_texts(steps), *_usage(message)]
    return input_entries(steps, is_instruction=role == "system")


def _steps(part: Any, at: Place, reading: Diagnostics) -> list[Step]:
    is_part = isinstance(part, dict) and "type" not in part
    kind = next((key for key in _PART_TYPES if key in part), None) if is_part else None
    if kind is None:
        unknown_part(part, at, reading, _NAME, _PART_TYPES)
        return []
    fields = object_at(part, kind)
    if kind == "toolUse":
        return [ToolCall(text_at(fields, "name"), read_arguments(fields.get("input")), text_at(fields, "toolUseId"))]
    if kind == "toolResult":
        stated = declares_failure(fields)
        return [result("", _response(fields.get("content")), text_at(fields, "toolUseId"), stated=stated)]
    if kind == "reasoningContent":
        return thoughts(object_at(fields, "reasoningText").get("text"))
    if kind in _MEDIA:
        return [Message("", parts=(_medium(kind, fields),))]
    return [] if kind in _SILENT else [Message(_text(part, kind, fields))]


def _text(part: dict[str, Any], kind: str, fields: dict[str, Any]) -> str:
    """Return the text of a part. Cited and guarded texts stand in objects of their own."""
    if kind == "guardContent":
        return text_at(object_at(fields, "text"), "text")
    if kind == "citationsContent":
        contents = fields.get("content")
        texts = contents if isinstance(contents, list) else []
        return "".join(text_at(inner, "text") for inner in texts if isinstance(inner, dict))
    return text_at(part, "text")


def _response(content: Any) -> Json:
    """Return the answer of a tool: its JSON, the JSON in its text, or its parts if they are something else."""
    parts = content if isinstance(content, list) else []
    if len(parts) == 1 and isinstance(parts[0], dict) and "json" in parts[0]:
        return parts[0]["json"]
    if parts and all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in parts):
        return read_response("\n".join(part["text"] for part in parts))
    return content


def _medium(kind: str, fields: dict[str, Any]) -> Part:
    source = object_at(fields, "source")
    uri = text_at(object_at(source, "s3Location"), "uri")
    suffix = text_at(fields, "format")
    return Part(f"{kind}/{suffix}" if suffix else kind, uri, text_at(source, "bytes"), text_at(fields, "name"))


def _usage(message: dict[str, Any]) -> list[Usage]:
    """Return the tokens that Strands keeps beside a message. Input tokens there do not include cached tokens."""
    counts = object_at(object_at(message, "metadata"), "usage")
    if not counts:
        return []
    cached = number_at(counts, "cacheReadInputTokens")
    fresh = number_at(counts, "inputTokens")
    total = None if fresh is None else fresh + (cached or 0)
    return [Usage(total, number_at(counts, "outputTokens"), cached_input_tokens=cached)]


def _message(**leaves: Leaf) -> Shape:
    return Shape({"content": text_or(Shapes("type", {"": Shape(leaves, one_of=(" ".join(leaves),))}))})


_CONTENT = list_leaf(Shapes("type", {"": Shape({"json": ANYTHING, "text": TEXT}, one_of=("json text",))}))
_USE = inside(Shape({"name": NAME, "input": ARGUMENTS}))
_RESULT = inside(Shape({"content": _CONTENT}))
_REASONING = inside(Shape({"reasoningText": inside(Shape({"text": TEXT}))}))
_INPUT = _message(text=TEXT, toolResult=_RESULT)
_ANSWER = _message(text=TEXT, toolUse=_USE, toolResult=_RESULT, reasoningContent=_REASONING)
_DECLARED = Shapes("role", {"system": _message(text=TEXT), "user": _INPUT, "assistant": _ANSWER})
BEDROCK = Dialect(_NAME, _is_message, _entries, _DECLARED)
