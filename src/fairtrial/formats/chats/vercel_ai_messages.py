"""The dialect of Vercel AI SDK messages, both for a model and for a user interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from fairtrial.formats.chats.declared_shapes import (
    ANYTHING,
    ARGUMENTS,
    FLAG,
    NAME,
    NO_SHAPES,
    TEXT,
    Shape,
    Shapes,
    inside,
    text_or,
)
from fairtrial.formats.message_entries import read_arguments, read_response
from fairtrial.records.trace import Message, Part, Step, ToolCall, ToolResult

if TYPE_CHECKING:
    from fairtrial.formats.message_entries import Entry
    from fairtrial.formats.reading import Diagnostics, Place

_NAME = "Vercel AI SDK messages"
_ROLES = ("system", "user", "assistant", "tool")
_SILENT = ("step-start", "source", "source-url", "source-document", "redacted-reasoning", "tool-approval-request")
_CALL_OF_4 = "tool-invocation"
"""The part of a call in version 4, which keeps the same calls in `toolInvocations` beside the parts."""
_PART_TYPES = ("text", "reasoning", "file", "image", "tool-call", "tool-result", "tool-NAME", "dynamic-tool", *_SILENT)


def _is_message(message: dict[str, Any]) -> bool:
    if "role" not in message:
        return False
    if isinstance(message.get("toolInvocations"), list):
        return True
    if isinstance(message.get("parts"), list):
        return any(isinstance(part, dict) and isinstance(part.get("type"), str) for part in message["parts"])
    content = message.get("content")
    kinds = [part.get("type") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    return any(kind in ("tool-call", "tool-result", "reasoning") for kind in kinds)


def _entries(message: dict[str, Any], at: Place, reading: Diagnostics) -> Sequence[Entry]:
    role = message.get("role")
    if role not in _ROLES:
        unknown_role(message, at, reading, _NAME, _ROLES)
        return []
    name = "parts" if type(message.get("parts")) is list else "content"
    content = message.get(name)
    if type(content) is str:
        content = [{"type": "text", "text": content}]
    steps: list[Step] = []
    parts = content if type(content) is list else reading.array(message, name, at)
    if "toolInvocations" in message and not any(
        isinstance(part, dict) and part.get("type") == _CALL_OF_4 for part in parts
    ):
        for call in reading.array(message, "toolInvocations", at):
            steps += _steps({"type": _CALL_OF_4, "toolInvocation": call}, (at, "toolInvocations"), reading)
    place = (at, name)
    for i, part in enumerate(parts):
        if type(part) is dict and part.get("type") == "text":  # most parts
            steps.append(Message(text_at(part, "text")))
        else:
            steps += _steps(part, (place, i), reading)
    if role in ("assistant", "tool"):
        return join_texts(steps)
    messages = [step for step in steps if type(step) is Message]
    return input_entries(messages, is_instruction=role == "system")


def _steps(part: Any, at: Place, reading: Diagnostics) -> list[Step]:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "reasoning":
        return thoughts(part.get("text", part.get("reasoning")))
    if kind in _SILENT or (isinstance(kind, str) and kind.startswith("data-")):
        return []
    if kind == "tool-result":
        return [_result(part)]
    if isinstance(kind, str) and (kind.startswith("tool-") or kind == "dynamic-tool"):
        is_old = kind == _CALL_OF_4
        return _call_of_4(object_at(part, "toolInvocation"), at, reading) if is_old else _call(part, kind)
    if kind in ("file", "image"):
        return [Message("", parts=(_medium(part),))]
    unknown_part(part, at, reading, _NAME, _PART_TYPES)
    return []


def _medium(part: dict[str, Any]) -> Part:
    data = next((part[key] for key in ("data", "image", "url") if isinstance(part.get(key), str)), "")
    uri, data = (data, "") if "://" in data else ("", data)
    return Part(text_at(part, "mediaType") or text_at(part, "mimeType"), uri, data, text_at(part, "filename"))


def _call(part: dict[str, Any], kind: str) -> list[Step]:
    """Return a call. In a user interface the call and its result are one part, such as `tool-get_order`."""
    call_id = text_at(part, "toolCallId")
    name = text_at(part, "toolName") or kind.removeprefix("tool-")
    steps: list[Step] = [ToolCall(name, read_arguments(part.get("input", part.get("args"))), call_id)]
    if text_at(part, "errorText"):
        return [*steps, result(name, {"error": part["errorText"]}, call_id)]
    return [*steps, result(name, part["output"], call_id)] if "output" in part else steps


def _call_of_4(call: dict[str, Any], at: Place, reading: Diagnostics) -> list[Step]:
    """Return a call of version 4, and its result if the state of the call says that there is one."""
    if not text_at(call, "toolName"):
        reading.wrong_type(at, "a call {'toolName': ..., 'args': {...}}", call)
        return []
    call = {**call, "output": call["result"]} if call.get("state") == "result" and "result" in call else call
    return _call(call, "")


def _result(part: dict[str, Any]) -> ToolResult:
    """Return a result. The newer versions wrap it, as in `{"type": "json", "value": ...}`."""
    output = object_at(part, "output")
    kind = text_at(output, "type")
    response = output.get("value") if kind else part.get("output", part.get("result"))
    failed = kind.startswith("error") or part.get("isError") is True or None
    call_id = text_at(part, "toolCallId")
    if isinstance(response, str):
        response = read_response(response)
    return result(text_at(part, "toolName"), response, call_id, stated=failed)


def _message(parts: dict[str, Shape], beginnings: Mapping[str, Shape] = NO_SHAPES) -> Shape:
    contents = text_or(Shapes("type", parts, beginnings))
    return Shape({"parts": contents, "content": contents}, one_of=("parts content",))


_TEXTS = {"text": Shape({"text": TEXT}), "step-start": Shape()}
_ARGUMENTS = {"input": ARGUMENTS, "args": ARGUMENTS, "providerExecuted": FLAG}
_OUTPUTS = {"output": ANYTHING, "errorText": TEXT, "preliminary": FLAG}
_CALLED = Shape({**_ARGUMENTS, **_OUTPUTS}, one_of=("input args", "output errorText"))
_WRAPPED = inside(Shape({"value": ANYTHING}))
_STEPS = {
    **_TEXTS,
    "reasoning": Shape({"text": TEXT}),
    "tool-call": Shape({"toolName": NAME, **_ARGUMENTS}, one_of=("input args",)),
    "tool-result": Shape({"output": _WRAPPED, "result": ANYTHING, "isError": FLAG}, one_of=("output result",)),
    "dynamic-tool": _CALLED,
    _CALL_OF_4: Shape(),
}
_INPUT, _ANSWER = _message(_TEXTS), _message(_STEPS, {"tool-": _CALLED})
_DECLARED = Shapes("role", {"system": _INPUT, "user": _INPUT, "assistant": _ANSWER, "tool": _ANSWER})
VERCEL_AI = Dialect(_NAME, _is_message, _entries, _DECLARED)
