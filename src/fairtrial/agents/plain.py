"""Convert values of foreign code to plain JSON."""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.formats.message_entries import read_response

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_DEEPEST = 100
_SURROGATE = re.compile("[\ud800-\udfff]")
_MOST_BITS = 4096


def plain(value: Any, depth: int = 0, *, keeps_null: bool = False) -> Json:
    """Return a value as JSON. Records and models become objects, other values that JSON lacks become text.

    The fields of a model of pydantic that are null are left out, if `keeps_null` is not set. Numbers that JSON lacks
    (NaN, infinity) become null. Half a surrogate pair becomes U+FFFD. A value at a depth of more than 100 becomes its
    `repr`. Never raises.
    """
    if value is None or type(value) is bool or (type(value) is int and value.bit_length() <= _MOST_BITS):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    return _describe_value(value) if depth >= _DEEPEST else _container(value, depth, keeps_null)


def as_text(value: Any) -> str:
    """Return a text as it is, and any other value as the text of its JSON, with the fields of a model that are null."""
    return str.__str__(value) if isinstance(value, str) else msgspec.json.encode(plain(value, keeps_null=True)).decode()


def is_reply(text: str, output: Any) -> bool:
    """Whether what a model wrote last is the output of its agent. A validator, a hook or middleware may change it.

    A structured output is the JSON that the model wrote, if it wrote JSON.
    """
    if isinstance(output, str):
        return text.strip() == output.strip()
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return True


def as_response(value: Any) -> Json:
    """Return the result of a tool as JSON. A text that holds JSON becomes that JSON."""
    answer = plain(value)
    return read_response(answer) if isinstance(answer, str) else answer


def _container(value: Any, depth: int, keeps_null: bool) -> Json:
    if isinstance(value, dict):
        return {_text(str(key)): plain(inner, depth + 1, keeps_null=keeps_null) for key, inner in value.items()}
    if type(value) in (list, tuple, set, frozenset):
        return [plain(inner, depth + 1, keeps_null=keeps_null) for inner in value]
    return _record(value, depth, keeps_null)


def _text(value: str) -> str:
    # Subclasses of `str` are no JSON.
    return _SURROGATE.sub("\ufffd", str.__str__(value))


def _record(value: Any, depth: int, keeps_null: bool) -> Json:
    dump = getattr(value, "model_dump", None)  # pydantic's models, without importing pydantic
    try:
        if callable(dump) and not isinstance(value, type):
            return plain(dump(mode="json", exclude_none=not keeps_null), depth + 1)
        return plain(msgspec.to_builtins(value), depth + 1)
    except Exception:  # noqa: BLE001  (the methods of a foreign object may raise anything)
        return _describe_value(value)


def _describe_value(value: Any) -> str:
    try:
        return _text(repr(value))
    except Exception:  # noqa: BLE001  (the methods of a foreign object may raise anything)
        return f"<{type(value).__name__}>"
