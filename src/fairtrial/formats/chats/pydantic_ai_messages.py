"""The dialect of Pydantic AI messages. Requests hold prompts and results, responses the agent's parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.formats.chats.assembly import (
    Dialect,
    join_texts,
    number_at,
    object_at,
    result,
    text_at,
    thoughts,
    unknown_part,
    user_message,
)
from fairtrial.formats.chats.declared_shapes import ANYTHING, ARGUMENTS, TEXT, Leaf, Shape, Shapes, list_leaf
from fairtrial.formats.message_entries import Entry, Instruction, read_arguments, read_response
from fairtrial.records.trace import Message, Part, Step, ToolCall, Usage

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

_NAME = "Pydantic AI messages"
_OUTPUT_TOOL = "final_result"
"""Pydantic AI's tool for a structured reply. Its arguments are the reply. A type may follow: `final_result_Order`."""
_REQUEST = ("system-prompt", "user-prompt", "tool-return", "retry-prompt")
_ANSWERS = ("tool-return", "retry-prompt")
_CALLS = ("tool-call", "builtin-tool-call")
_RESPONSE = ("text", "thinking", *_CALLS, "builtin-tool-return", "file")


def _is_message(message: dict[str, Any]) -> bool:
    return message.get("kind") in ("request", "response") and isinstance(message.get("parts"), list)


def _entries(message: dict[str, Any], at: Place, reading: Diagnostics) -> list[Entry]:
    is_request = message.get("kind") == "request"
    entries: list[Entry] = []
    if is_request and text_at(message, "instructions"):
        entries.append(Instruction(text_at(message, "instructions")))
    texts: list[str] = []
    media: list[Part] = []
    steps: list[Step] = []
    for i, part in enumerate(reading.array(message, "parts", at)):
        place = ((at, "parts"), i)
        kind = text_at(part, "part_kind") if isinstance(part, dict) else ""
        if kind not in (_REQUEST if is_request else _RESPONSE):
            unknown_part(part, place, reading, _NAME, _REQUEST if is_request else _RESPONSE)
        elif kind == "system-prompt":
            entries.append(Instruction(text_at(part, "content")))
        elif kind == "user-prompt":
            _add_prompt(part.get("content"), (place, "content"), reading, texts, media)
        elif is_request:
            entries += _results(part, kind)
        else:
            steps += _steps(part, kind)
    if is_request:
        return [*entries, *user_message(texts, media)]
    return [*join_texts(steps), *_usage(message)]


def _add_prompt(content: Any, at: Place, reading: Diagnostics, texts: list[str], media: list[Part]) -> None:
    for i, item in enumerate(
        [content] if isinstance(content, str) else reading.array({"content": content}, "content", at)
    ):
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, dict) and (text_at(item, "url") or text_at(item, "data")):
            media.append(Part(text_at(item, "media_type"), text_at(item, "url"), text_at(item, "data")))
        else:
            unknown_part(item, (at, i), reading, _NAME, ("text", "an object with 'url' or 'data'"))


def _results(part: dict[str, Any], kind: str) -> list[Step]:
    """Return the result of a tool. A retry is a failed result, and one without a tool is about the reply's form."""
    name, content = text_at(part, "tool_name"), part.get("content")
    if not name or name.startswith(_OUTPUT_TOOL):
        return []
    response = read_response(content) if isinstance(content, str) else content
    failed = kind == "retry-prompt" or text_at(part, "outcome") not in ("", "success") or None
    return [result(name, response, text_at(part, "tool_call_id"), stated=failed)]


def _steps(part: dict[str, Any], kind: str) -> list[Step]:
    if kind == "text":
        return [Message(text_at(part, "content"))]
    if kind == "thinking":
        return thoughts(part.get("content"))
    name, call_id = text_at(part, "tool_name"), text_at(part, "tool_call_id")
    if kind in _CALLS:
        arguments = read_arguments(part.get("args"))
        if name.startswith(_OUTPUT_TOOL):
            return [Message(msgspec.json.encode(arguments).decode())]
        return [ToolCall(name, arguments, call_id)]
    if kind == "builtin-tool-return":
        return [result(name, part.get("content"), call_id)]
    content = object_at(part, "content")
    return [Message("", parts=(Part(text_at(content, "media_type"), data=text_at(content, "data")),))]


def _usage(message: dict[str, Any]) -> list[Usage]:
    counts = object_at(message, "usage")
    if not counts:
        return []
    reasoning = number_at(counts, "output_reasoning_tokens")
    if reasoning is None:
        reasoning = number_at(object_at(counts, "details"), "reasoning_tokens")
    cached = number_at(counts, "cache_read_tokens")
    tokens = number_at(counts, "input_tokens"), number_at(counts, "output_tokens")
    return [Usage(*tokens, reasoning, cached, text_at(message, "model_name"))]


def _is_of_output_tool(part: dict[str, Any]) -> bool:
    """Whether a part is the answer of Pydantic AI itself to a structured reply, or its wish for another reply."""
    name = text_at(part, "tool_name")
    return part.get("part_kind") in _ANSWERS and (not name or name.startswith(_OUTPUT_TOOL))


_CONTENT = Shape({"content": TEXT})
_TOOL = Leaf({str: lambda name: name != "" and not name.startswith(_OUTPUT_TOOL)}, is_required=True)
_OUTCOME = Leaf({str: str.isidentifier})
_PARTS_OF_REQUEST = {
    "system-prompt": _CONTENT,
    "user-prompt": _CONTENT,
    "tool-return": Shape({"tool_name": _TOOL, "content": ANYTHING, "outcome": _OUTCOME}),
}
_PARTS_OF_RESPONSE = {
    "text": _CONTENT,
    "thinking": _CONTENT,
    "tool-call": Shape({"tool_name": _TOOL, "args": ARGUMENTS}),
}
_DECLARED = Shapes(
    "kind",
    {
        "request": Shape({"parts": list_leaf(Shapes("part_kind", _PARTS_OF_REQUEST)), "instructions": TEXT}),
        "response": Shape({"parts": list_leaf(Shapes("part_kind", _PARTS_OF_RESPONSE))}),
    },
)
PYDANTIC_AI = Dialect(_NAME, _is_message, _entries, _DECLARED, _is_of_output_tool)
