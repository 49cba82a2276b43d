"""The dialect of OpenAI Responses API items. The sessions of the Agents SDK keep the same items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairtrial.formats.chats.assembly import (
    Dialect,
    result,
    text_at,
    thoughts,
    unknown_part,
    unknown_role,
    user_message,
)
from fairtrial.formats.chats.declared_shapes import ARGUMENTS, NAME, TEXT, Shape, Shapes, list_leaf, text_or
from fairtrial.formats.message_entries import Entry, Instruction, read_arguments, read_response
from fairtrial.records.trace import Message, Part, Step, ToolCall

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place
    from fairtrial.records.record import Json

_NAME = "OpenAI Responses items"
_TEXTS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal", "summary_text": "text"}
_MEDIA = ("input_image", "input_file", "input_audio")
_ROLES = ("user", "assistant", "system", "developer")
_SILENT = ("mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "compaction")
"""Items that are neither messages nor actions."""
_MARKS = ("message", "reasoning", *_SILENT)
_MARKS_OF_PARTS = ("input_text", "output_text", *_MEDIA[:2])
_PART_TYPES = ("message", "reasoning", "*_call", "*_call_output", *_SILENT)
_CALLS_WITH_ARGUMENTS = ("function_call", "mcp_call")
_OUTPUTS = ("output", "outputs", "results", "result")
"""The keys under which a tool that the provider runs holds what it found."""
_ALL_OUTPUTS = frozenset(_OUTPUTS)
_COMMON_KEYS = frozenset(("type", "id", "call_id", "status", "name", "error", "namespace", "caller", *_OUTPUTS))


def is_response(value: Any) -> bool:
    """Whether a value is a whole response, which lacks the user's messages and the results of tools."""
    return isinstance(value, dict) and value.get("object") == "response" and isinstance(value.get("output"), list)


def _is_message(item: dict[str, Any]) -> bool:
    kind = item.get("type")
    if isinstance(kind, str) and "data" not in item:
        return kind in _MARKS or kind.endswith(("_call", "_call_output"))
    content = item.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") in _MARKS_OF_PARTS:
            return True
    return False


def _entries(item: dict[str, Any], at: Place, reading: Diagnostics) -> list[Entry]:
    kind = item.get("type", "message")
    if kind == "message":
        return _message(item, at, reading)
    if kind == "reasoning":
        parts = [*reading.array(item, "summary", at), *reading.array(item, "content", at)]
        return list(thoughts("\n".join(text_at(part, "text") for part in parts if isinstance(part, dict))))
    if kind in _SILENT:
        return []
    if isinstance(kind, str) and kind.endswith("_call_output"):
        return [result("", _response(item.get("output")), text_at(item, "call_id") or text_at(item, "id"))]
    if isinstance(kind, str) and kind.endswith("_call"):
        return list(_call(item, kind))
    reading.error(at, f"is an item of the type {kind!r}, which is not read; known are {', '.join(_PART_TYPES)}")
    return []


def _message(item: dict[str, Any], at: Place, reading: Diagnostics) -> list[Entry]:
    role = item.get("role")
    if role not in _ROLES:
        unknown_role(item, at, reading, _NAME, _ROLES)
        return []
    texts: list[str] = []
    media: list[Part] = []
    content = item.get("content")
    if type(content) is str:
        texts.append(content)
    for i, part in enumerate(() if texts else reading.array(item, "content", at)):
        kind = part.get("type") if type(part) is dict else ""
        if type(kind) is str and kind in _TEXTS:
            texts.append(text_at(part, _TEXTS[kind]))
        elif kind in _MEDIA:
            media.append(_medium(part))
        else:
            unknown_part(part, ((at, "content"), i), reading, _NAME, (*_TEXTS, *_MEDIA))
    if role == "assistant":
        return [Message("".join(texts), parts=tuple(media))]
    return user_message(texts, media) if role == "user" else [Instruction("\n".join(texts))]


def _call(item: dict[str, Any], kind: str) -> list[Step]:
    """Return a call. A tool that the provider runs holds its own arguments, and its output if it has any."""
    name = text_at(item, "name") or ("" if kind in _CALLS_WITH_ARGUMENTS else kind.removesuffix("_call"))
    call_id = text_at(item, "call_id") or text_at(item, "id")
    reason = ""
    if "arguments" in item:
        arguments = read_arguments(item["arguments"])
    elif kind in _CALLS_WITH_ARGUMENTS:
        arguments, reason = {}, "the item does not hold the arguments"
    else:  # the input of a custom tool is a text, and not JSON
        arguments = {key: value for key, value in item.items() if key not in _COMMON_KEYS and value is not None}
    call = ToolCall(name, arguments, call_id, withheld=reason)
    failed = bool(item.get("error")) or None
    has_output = not _ALL_OUTPUTS.isdisjoint(item)
    output = next((item[key] for key in _OUTPUTS if item.get(key) is not None), None) if has_output else None
    if output is None and not failed:
        return [call]
    return [call, result(name, item["error"] if output is None else _response(output), call_id, stated=failed)]


def _response(output: Any) -> Json:
    if isinstance(output, list) and output and all(_is_text(part) for part in output):
        output = "\n".join(part["text"] for part in output)
    return read_response(output) if isinstance(output, str) else output


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and text_at(part, "type") in _TEXTS and isinstance(part.get("text"), str)


def _medium(part: dict[str, Any]) -> Part:
    uri = text_at(part, "image_url") or text_at(part, "file_url") or text_at(part, "file_id")
    head, comma, data = uri.partition(";base64,")
    if comma and head.startswith("data:"):
        return Part(head.removeprefix("data:"), data=data, name=text_at(part, "filename"))
    return Part(uri=uri, data=text_at(part, "file_data"), name=text_at(part, "filename"))


_PARTS = Shapes("type", {kind: Shape({key: TEXT}) for kind, key in _TEXTS.items()})
_MESSAGE = Shape({"content": text_or(_PARTS)})
_THOUGHT = list_leaf(Shapes("type", dict.fromkeys(("summary_text", "reasoning_text"), Shape({"text": TEXT}))))
_DECLARED = Shapes(
    "type",
    {
        **dict.fromkeys(("", "message"), _MESSAGE),
        "reasoning": Shape({"summary": _THOUGHT, "content": _THOUGHT}),
        "function_call": Shape({"name": NAME, "arguments": ARGUMENTS}),
        "function_call_output": Shape({"output": text_or(_PARTS)}),
    },
)
RESPONSES = Dialect(_NAME, _is_message, _entries, _DECLARED)
