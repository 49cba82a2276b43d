"""The dialect of LangChain messages. Three forms are read. The envelopes of `lc` are only data."""

from __future__ import annotations

from collections.abc import Sequence
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
)
from fairtrial.formats.chats.declared_shapes import (
    ARGUMENTS,
    EMPTY,
    NAME,
    TEXT,
    Leaf,
    Shape,
    Shapes,
    inside,
    list_leaf,
    text_or,
)
from fairtrial.formats.message_entries import read_arguments, read_medium, read_response
from fairtrial.formats.tool_failures import declares_failure
from fairtrial.records.trace import Message, Part, Step, ToolCall, Usage

if TYPE_CHECKING:
    from fairtrial.formats.message_entries import Entry
    from fairtrial.formats.reading import Diagnostics, Place

_NAME = "LangChain messages"
_TYPES = {
    "human": "user",
    "HumanMessageChunk": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "SystemMessageChunk": "system",
    "tool": "tool",
    "ToolMessageChunk": "tool",
    "function": "tool",
    "remove": "",
}
_CLASSES = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
    "RemoveMessage": "remove",
}
_MEDIA = ("image", "audio", "video", "file", "image_url", "input_audio", "text-plain")
_REPEATED = ("tool_use", "tool_call", "function_call", "input_json_delta", "tool_call_chunk", "invalid_tool_call")
"""Calls in the content, which LangChain repeats in `tool_calls`."""
_PLACES_OF_CALLS = ("tool_calls", "invalid_tool_calls", "additional_kwargs")
HANDOFF_BACK = "__is_handoff_back"
_THOUGHTS = ("reasoning", "thinking")
_SILENT = ("redacted_thinking", "non_standard")
_PART_TYPES = ("text", "refusal", *_MEDIA, *_THOUGHTS, *_REPEATED, "server_tool_call", "server_tool_result")


def _is_message(message: dict[str, Any]) -> bool:
    if "lc" in message:
        return isinstance(message.get("kwargs"), dict)
    is_type = isinstance(message.get("type"), str) and message["type"] in _TYPES
    return is_type and (isinstance(message.get("data"), dict) or ("content" in message and "role" not in message))


def is_handoff_back(fields: dict[str, Any]) -> bool:
    """Whether langgraph-supervisor wrote a message: a call into the history that no model made, or its result."""
    return bool(object_at(fields, "response_metadata").get(HANDOFF_BACK))


def _type_and_fields(message: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the type of a message and its fields, from whichever form it has."""
    if "lc" in message:
        path = message.get("id")
        name = path[-1] if isinstance(path, list) and path and isinstance(path[-1], str) else ""
        return _CLASSES.get(name, name), object_at(message, "kwargs")
    kind = text_at(message, "type")
    return kind, message["data"] if isinstance(message.get("data"), dict) else message


def _entries(message: dict[str, Any], at: Place, reading: Diagnostics) -> list[Entry]:
    kind, fields = _type_and_fields(message)
    if kind not in _TYPES:
        reading.error(at, f"is a message of the type {kind!r}, which is not read; known are {', '.join(_CLASSES)}")
        return []
    role = _TYPES[kind]
    if is_handoff_back(fields):
        return []
    if role == "tool":
        return [_result(fields)]
    content = fields.get("content")
    steps: Sequence[Step]
    if type(content) is str:
        steps = [Message(content)] if content else []
    else:
        steps = join_texts(_content(content, (at, "content"), reading))
    if role == "assistant":
        return [*steps, *_calls(fields, at, reading), *_usage(fields)]
    return input_entries(steps, is_instruction=role == "system") if role else []


def _content(content: Any, at: Place, reading: Diagnostics) -> list[Step]:
    steps: list[Step] = []
    for i, part in enumerate(reading.array({"content": content}, "content", at)):
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(part, str):
            steps.append(Message(part))
        elif kind in ("text", "refusal"):
            steps.append(Message(text_at(part, kind)))
        elif kind in _THOUGHTS:
            steps += thoughts(part.get(kind))
        elif kind in _MEDIA:
            steps.append(Message("", parts=(_medium(part),)))
        elif kind == "server_tool_call":
            steps.append(ToolCall(text_at(part, "name"), read_arguments(part.get("args")), text_at(part, "id")))
        elif kind == "server_tool_result":
            failed = declares_failure(part)
            steps.append(result("", part.get("output"), text_at(part, "tool_call_id"), stated=failed))
        elif kind not in (*_REPEATED, *_SILENT):
            unknown_part(part, (at, i), reading, _NAME, _PART_TYPES)
    return steps


def _calls(fields: dict[str, Any], at: Place, reading: Diagnostics) -> list[Step]:
    """Return the calls of a message. Old versions of LangChain have OpenAI's calls in `additional_kwargs` only."""
    calls: list[Step] = []
    if not any(map(fields.get, _PLACES_OF_CALLS)):  # most messages
        return calls
    for name in _PLACES_OF_CALLS[:2]:
        for i, call in enumerate(reading.array(fields, name, at)):
            if isinstance(call, dict) and isinstance(call.get("name"), str):
                calls.append(ToolCall(call["name"], read_arguments(call.get("args")), text_at(call, "id")))
            else:
                reading.wrong_type(((at, name), i), "a call {'name': ..., 'args': {...}, 'id': ...}", call)
    if calls:
        return calls
    extra = object_at(fields, "additional_kwargs")
    for call in reading.array(extra, "tool_calls", (at, "additional_kwargs")):
        function = object_at(call, "function") if isinstance(call, dict) else {}
        if isinstance(function.get("name"), str):
            calls.append(ToolCall(function["name"], read_arguments(function.get("arguments")), text_at(call, "id")))
    return calls


def _result(fields: dict[str, Any]) -> Step:
    content = fields.get("content")
    if isinstance(content, list) and all(isinstance(part, dict) and part.get("type") == "text" for part in content):
        content = "\n".join(text_at(part, "text") for part in content)
    response = read_response(content) if isinstance(content, str) else content
    return result(text_at(fields, "name"), response, text_at(fields, "tool_call_id"), stated=declares_failure(fields))


def _medium(part: dict[str, Any]) -> Part:
    old = read_medium(part)
    if old is not None:
        return old
    data = text_at(part, "base64") or text_at(part, "data")
    return Part(text_at(part, "mime_type"), text_at(part, "url"), data, text_at(part, "filename"))


def _usage(fields: dict[str, Any]) -> list[Usage]:
    counts = object_at(fields, "usage_metadata")
    if not counts:
        return []
    return [
        Usage(
            number_at(counts, "input_tokens"),
            number_at(counts, "output_tokens"),
            number_at(object_at(counts, "output_token_details"), "reasoning"),
            number_at(object_at(counts, "input_token_details"), "cache_read"),
            text_at(object_at(fields, "response_metadata"), "model_name"),
        )
    ]


def _message(**leaves: Leaf) -> Shape:
    texts = Shapes("type", {"text": Shape({"text": TEXT})})
    fields = {"content": text_or(texts), "additional_kwargs": EMPTY, **leaves}
    return Shape({**fields, "data": inside(Shape(fields))}, one_of=("content data", "tool_calls data"))


_CALL = Shape({"name": NAME, "args": ARGUMENTS})
_INPUT, _ANSWER = _message(), _message(tool_calls=list_leaf(Shapes("type", {"": _CALL, "tool_call": _CALL})))
_DECLARED = Shapes("type", {"human": _INPUT, "system": _INPUT, "tool": _INPUT, "ai": _ANSWER})
LANGCHAIN = Dialect(_NAME, _is_message, _entries, _DECLARED)
