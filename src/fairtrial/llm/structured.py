"""JSON in a model reply."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NoReturn

from fairtrial.llm.fences import sendable
from fairtrial.llm.thoughts import NoAnswerError, has_thoughts, without_thoughts

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_FENCE = re.compile(r"^[ \t]{0,8}```[ \t]{0,8}(\w{0,20})[ \t]{0,8}$", re.MULTILINE)
_LAST_COMMA = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\Z))|,(?=\s*[}\]])', re.DOTALL)
"""A text, which stays as it is, or a comma after the last member in an object or a list."""

_REFUSAL = re.compile(
    r"\W*(?:(?:i['’]?m|i am|we are|we['’]re) (?:very |so )?(?:sorry|unable|not able)|sorry\b|"
    r"i (?:can(?:no|['’])t|won['’]t)|i (?:must|have to) (?:decline|refuse)|"
    r"申し訳|すみません|죄송|抱歉|对不起|對不起|我无法|我無法|我不能)",
    re.IGNORECASE,
)
"""How models begin if they refuse to answer."""


def read_json(text: str, *, is_cut_off: bool = False) -> Json:
    """Return a reply's one JSON value. Raises `ValueError`, also for repeated keys, NaN and infinities.

    The value is the whole reply, or what follows the thoughts at its beginning. Prose may stand around the only code
    block or the only object, as long as it holds no other object: of two objects, one may be a quotation. A reply that
    was cut off may end in a quotation, so that only the whole reply counts. Lone surrogates become U+FFFD, because
    nothing can store them.
    """
    reply = text.strip().removeprefix("\ufeff").strip()
    if not reply:
        raise NoAnswerError("the reply is empty")
    try:
        return _without_surrogates(_whole_or_part(reply, is_cut_off=is_cut_off))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _whole_or_part(reply: str, *, is_cut_off: bool) -> Json:
    try:
        return _value(reply)
    except ValueError as error:
        if is_cut_off:
            raise
        answer = without_thoughts(reply)
        if answer == reply:
            return _value(_only_object(answer, str(error)))
    try:
        return _value(answer)
    except ValueError as error:
        return _value(_only_object(answer, str(error)))


def _only_object(answer: str, problem: str) -> str:
    """Return the only code block or the only object in a text. Raises ValueError with the whole text's problem."""
    fences = list(_FENCE.finditer(answer))
    if not fences:
        start, end = answer.find("{"), answer.rfind("}") + 1
        if start < 0:
            raise _no_json(answer)
        outside = f"{answer[:start]}{answer[end:]}"
    elif len(fences) == 2 and fences[0][1].lower() in {"", "json"} and not fences[1][1]:
        start, end = fences[0].end(), fences[1].start()
        outside = f"{answer[: fences[0].start()]}{answer[fences[1].end() :]}"
    else:
        raise ValueError("it holds several code blocks, or a code block that is not JSON")
    if end <= start or (start, end) == (0, len(answer)):
        raise ValueError(problem)
    if "{" in outside or "}" in outside or has_thoughts(outside):
        raise ValueError("it holds more than one object, or an object in thoughts")
    return answer[start:end]


def _no_json(answer: str) -> ValueError:
    start = answer[:200] if len(answer) <= 200 else f"{answer[:197]}..."
    if _REFUSAL.match(answer):
        return NoAnswerError(f"the model refused to answer: {start!r}")
    return NoAnswerError(f"the reply holds no JSON: {start!r}")


def _value(text: str) -> Json:
    """Return a JSON text's value. Line breaks and tabs in texts, and commas after the last member, are read."""
    try:
        return _decode_json(text)
    except ValueError:
        repaired = _LAST_COMMA.sub(lambda found: found[1] or "", text)
        if repaired == text:
            raise
    return _decode_json(repaired)


def _decode_json(text: str) -> Json:
    try:
        value: Json = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, strict=False)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise ValueError("it holds more than one value") from None
        raise
    return value


def _without_surrogates(value: Json) -> Json:
    if isinstance(value, str):
        return sendable(value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {sendable(key): _without_surrogates(member) for key, member in value.items()}
    return value


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key is given twice")
    return members


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
