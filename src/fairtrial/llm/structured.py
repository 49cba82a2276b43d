"""JSON in the reply of a model."""

from __future__ import annotations

import json
import re
from typing import NoReturn

from fairtrial.llm.fences import sendable
from fairtrial.records.record import Json

_FENCE = re.compile(r"^[ \t]*```[ \t]*(\w*)[ \t]*$", re.MULTILINE)
_THOUGHTS = re.compile(r"\A<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


def read_json(text: str) -> Json:
    """Return the one JSON value of a reply. Raises `ValueError`, also for repeated keys, NaN and infinities.

    The value is the whole reply, or its only code block. Prose may come before a code block, and thoughts before
    either. Prose is not searched for JSON, because it may quote the text under judgement. Lone surrogates become
    U+FFFD, because nothing can store them.
    """
    answer = _THOUGHTS.sub("", text.strip().removeprefix("\ufeff").lstrip()).strip()
    try:
        value = json.loads(_block(answer) or answer, object_pairs_hook=_unique, parse_constant=_no_constant)
        return _without_surrogates(value)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _block(answer: str) -> str:
    """Return the content of the only code block, if the reply ends with it, or else an empty text."""
    fences = list(_FENCE.finditer(answer))
    if len(fences) != 2 or fences[0][1].lower() not in {"", "json"} or fences[1].end() != len(answer):
        return ""
    return answer[fences[0].end() : fences[1].start()].strip()


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
