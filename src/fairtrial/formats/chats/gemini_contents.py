"""The dialect of Gemini's `contents`: the entries of a content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairtrial.formats.adk import content
from fairtrial.formats.chats.assembly import (
    Dialect,
    input_entries,
    join_texts,
    result,
    text_at,
    unknown_part,
    unknown_role,
)
from fairtrial.formats.chats.declared_shapes import FLAG, NAME, OBJECT, TEXT, Leaf, Shape, Shapes, inside, list_leaf
from fairtrial.records.trace import Message, Step, ToolCall

if TYPE_CHECKING:
    from fairtrial.formats.message_entries import Entry
    from fairtrial.formats.reading import Diagnostics, Place

_NAME = "Gemini contents"
_ROLES = ("user", "model", "function", "system")
_CODE = ("executableCode", "executable_code")
_CODE_RESULT = ("codeExecutionResult", "code_execution_result")
_ANY_CODE = frozenset((*_CODE, *_CODE_RESULT))


def _is_message(message: dict[str, Any]) -> bool:
    parts = message.get("parts")
    if not isinstance(parts, list) or "kind" in message or "author" in message or "content" in message:
        return False
    return message.get("role", "user") in _ROLES and not any(
        isinstance(part, dict) and "type" in part for part in parts
    )


def _entries(message: dict[str, Any], at: Place, reading: Diagnostics) -> Sequence[Entry]:
    role = message.get("role", "user")
    if role not in _ROLES:
        unknown_role(message, at, reading, _NAME, _ROLES)
        return []
    steps: list[Step] = []
    for i, part in enumerate(reading.array(message, "parts", at)):
        steps += _steps(part, ((at, "parts"), i), reading)
    if role == "model":
        return join_texts(steps)
    return input_entries(steps, is_instruction=role == "system")


def _steps(part: Any, at: Place, reading: Diagnostics) -> list[Step]:
    if not isinstance(part, dict):
        unknown_part(part, at, reading, _NAME, ("text", "functionCall", "functionResponse", "inlineData", "fileData"))
        return []
    if len(part) == 1 and isinstance(text := part.get("text"), str):
        return [Message(text)]  # most parts are a text alone
    return [_code_step(part) or content.read_step(part, "", at, reading)]


def _code_step(part: dict[str, Any]) -> Step | None:
    """Return the code that a model ran as a call, its output as a result, or None for any other part."""
    if _ANY_CODE.isdisjoint(part):
        return None
    for key in _CODE:
        if isinstance(part.get(key), dict):
            return ToolCall("executable_code", part[key])
    for key in _CODE_RESULT:
        if isinstance(part.get(key), dict):
            outcome = text_at(part[key], "outcome")
            return result("executable_code", part[key], "", stated=outcome not in ("", "OUTCOME_OK"))
    return None


_CALL = inside(Shape({"name": NAME, "args": OBJECT}))
_RESULT = inside(Shape({"response": OBJECT}))
_RESULTS = {"functionResponse": _RESULT, "function_response": _RESULT}
_CALLS = {"functionCall": _CALL, "function_call": _CALL}
_ONE = " ".join(("text", *_CALLS, *_RESULTS))


def _message(**leaves: Leaf) -> Shape:
    return Shape({"parts": list_leaf(Shapes("type", {"": Shape(leaves, one_of=(_ONE,))}))})


_INPUT = _message(text=TEXT, **_RESULTS)
_ANSWER = _message(text=TEXT, thought=FLAG, **_CALLS, **_RESULTS)
_INPUTS = dict.fromkeys(("", "user", "function"), _INPUT)
_DECLARED = Shapes("role", {**_INPUTS, "system": _message(text=TEXT), "model": _ANSWER})
GEMINI = Dialect(_NAME, _is_message, _entries, _DECLARED)
