"""Equality of JSON values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_encode = msgspec.json.Encoder().encode
_SCALARS = frozenset((str, int, float, bool, type(None)))


def equal_json(actual: Json, expected: Json) -> bool:
    """Whether two JSON values are equal: keys in any order, arrays in order, 1 equal to 1.0, true not equal to 1."""
    if actual != expected:
        return False
    if type(actual) in _SCALARS and type(actual) is type(expected):
        return True
    return have_same_booleans(actual, expected)


def have_same_booleans(actual: Json, expected: Json) -> bool:
    """Whether two values that Python takes for equal have true and false in the same places."""
    # Python's == also takes true for 1, so it can only rule out. The JSON text tells them apart, but also 1 from 1.0.
    try:
        if _encode(actual) == _encode(expected):
            return True
    except (TypeError, ValueError, OverflowError):
        pass
    return _are_same_booleans(actual, expected)


def _are_same_booleans(actual: Json, expected: Json) -> bool:
    if isinstance(actual, dict):
        items: Iterable[tuple[Json, Json]] = actual.items()
    elif isinstance(actual, list):
        items = enumerate(actual)
    else:
        return (type(actual) is bool) is (type(expected) is bool)
    return all(_are_same_booleans(value, expected[key]) for key, value in items)
