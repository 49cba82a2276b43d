"""Decode ids, times, numbers and values in span files, for all readers of spans."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fairtrial.formats.jsontext import MOST_DEPTH, decode_text
from fairtrial.formats.number_range import MOST, finite, is_in_range
from fairtrial.text.lazy_pattern import LazyPattern

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_NANOSECONDS = 1_000_000_000
_USUAL_ID = LazyPattern(r"(?!0+\Z)(?:[0-9a-f]{32}|[0-9a-f]{16})\Z")
_HEX = LazyPattern(r"(?:0[xX])?([0-9a-fA-F]{16}|[0-9a-fA-F]{32})\Z")
_BASE64 = LazyPattern(r"[A-Za-z0-9+/_-]{11}=?\Z|[A-Za-z0-9+/_-]{22}(?:==)?\Z")
_FRACTION = LazyPattern(r"(.*:\d\d)[.,](\d+)(.*)\Z")
_DIGITS = 19
"""So many digits has a number of nanoseconds since the year 2001."""
_LONGEST_ID = 200
LONGEST_JSON = 16 << 20
"""A longer text is not decoded as JSON. It stays a text."""
_JSON_STARTS = ("{", "[", '"')
_LAST_SECOND = 4_102_444_800
"""The year 2100. A larger number of seconds is a number of milliseconds, microseconds or nanoseconds."""


def member(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the object under a key, or an empty object if there is something else, or nothing."""
    value = document.get(key)
    return value if isinstance(value, dict) else {}


def without_nulls(values: Mapping[str, Json]) -> dict[str, Json]:
    """Return values without those that are null."""
    return {name: value for name, value in values.items() if value is not None}


def hex_id(raw: Any) -> str:
    """Return an id as lower-case hex, or an empty text for no id: null, an empty text, or zeros.

    Ids come as hex of 16 or 32 digits, with or without 0x, and as base64 of 8 or 16 bytes. An id of another form is
    kept as it is, for example a UUID.
    """
    if not isinstance(raw, str) or len(raw) > _LONGEST_ID:
        return ""
    if _USUAL_ID.match(raw):
        return raw
    if (match := _HEX.match(raw)) is not None:
        digits = match.group(1).lower()
        return digits if digits.strip("0") else ""
    if _BASE64.match(raw):
        with suppress(binascii.Error, ValueError):
            data = base64.b64decode(raw.replace("-", "+").replace("_", "/") + "=" * (-len(raw) % 4), validate=True)
            if len(data) in (8, 16):
                return data.hex() if any(data) else ""
    return raw


def whole_number(raw: Any) -> int | None:
    """Return an integer of 64 bits from a number or its text. Integers above 2**53 stay exact, as JSON holds them."""
    if type(raw) is int:  # not a bool
        return raw if is_in_range(raw) else None
    if isinstance(raw, float):
        return int(raw) if abs(raw) < MOST else None
    if isinstance(raw, str) and len(raw) <= 30 and raw.strip().removeprefix("-").isdecimal():
        return whole_number(int(raw))
    return None


def nanoseconds(raw: Any) -> int | None:
    """Return a time in nanoseconds since 1970, from a number of nanoseconds or an ISO 8601 text.

    A small number is a number of seconds, milliseconds or microseconds, as its size says.
    """
    if type(raw) is int and _LAST_SECOND * 1_000_000 < raw <= MOST:
        return raw  # most times are nanoseconds
    if isinstance(raw, str) and len(raw) == _DIGITS and raw.isascii() and raw.isdigit():
        return int(raw)  # nanoseconds of this century
    if isinstance(raw, float) and abs(raw) < _LAST_SECOND:
        return round(raw * _NANOSECONDS)
    number = whole_number(raw)
    if number is not None:
        for unit in (_NANOSECONDS, 1_000_000, 1_000):
            if 0 < number < _LAST_SECOND * _NANOSECONDS // unit:
                return number * unit
        return number if number > 0 else None
    return _iso_nanoseconds(raw) if isinstance(raw, str) else None


def _iso_nanoseconds(text: str) -> int | None:
    """Return an ISO 8601 text as nanoseconds. Python's own reader keeps only microseconds."""
    fraction = 0
    if (match := _FRACTION.match(text)) is not None:
        text = match.group(1) + match.group(3)
        fraction = int(match.group(2)[:9].ljust(9, "0"))
    try:
        moment = datetime.fromisoformat(text.strip().replace(" UTC", "+00:00"))
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    time = int(moment.timestamp()) * _NANOSECONDS + fraction
    return time if is_in_range(time) else None


def structured(value: Json) -> Json:
    """Return an attribute that holds JSON as data: it is data already, or JSON text, or JSON text twice.

    A text that is not JSON stays a text, for example `repr` of a Python object. Nothing is evaluated.
    """
    if type(value) is not str or value[:1] not in _JSON_STARTS:  # most values
        return value
    for _ in range(2):
        if not isinstance(value, str) or value[:1] not in _JSON_STARTS or len(value) > LONGEST_JSON:
            return value
        try:
            value = decode_text(value)
        except ValueError:
            return value
    return value


def any_value(raw: Any, depth: int = 0) -> Json:
    """Return a value of OTLP, for example `{"stringValue": "a"}`. Members of the union that are null are ignored."""
    if not isinstance(raw, dict) or depth > MOST_DEPTH:
        return None
    for key, value in raw.items():
        if value is not None and (member := _UNION.get(key)) is not None:
            return member(value, depth)
    return None


def key_values(raw: Any, depth: int = 0) -> dict[str, Json]:
    """Return a list of keys with values of OTLP as an object."""
    values: dict[str, Json] = {}
    for pair in raw if isinstance(raw, list) else ():
        if isinstance(pair, dict) and isinstance(key := pair.get("key"), str):
            union = pair.get("value")
            # Most values are texts, and a file holds very many.
            text = union.get("stringValue") if isinstance(union, dict) else None
            values[key] = any_value(union, depth + 1) if text is None else text
    return values


def _array(value: Any, depth: int) -> Json:
    items = value.get("values") if isinstance(value, dict) else None
    return [any_value(item, depth + 1) for item in items] if isinstance(items, list) else []


def _object(value: Any, depth: int) -> Json:
    return key_values(value.get("values"), depth) if isinstance(value, dict) else {}


def _scalar(value: Any, _depth: int) -> Json:
    return value


def _integer(value: Any, _depth: int) -> Json:
    return whole_number(value)


def read_double(value: Any, _depth: int = 0) -> Json:
    """Return the double of a value of OTLP. A whole number beyond 64 bits is none."""
    return finite(value) if type(value) is int else value


def exceeds_64_bits(raw: Any, depth: int = 0) -> bool:
    """Return whether a span of OTLP, or a value in it, holds a time or a whole number that has more than 64 bits."""
    if depth > MOST_DEPTH:
        return False
    if isinstance(raw, dict):
        return any(
            (whole_number(value) is None if isinstance(value, str) and _is_of_digits(key, value) else False)
            or exceeds_64_bits(value, depth + 1)
            for key, value in raw.items()
        )
    if isinstance(raw, list):
        return any(exceeds_64_bits(value, depth + 1) for value in raw)
    return type(raw) is int and not is_in_range(raw)


def _is_of_digits(key: str, text: str) -> bool:
    """Whether the text under a key of OTLP is a whole number. JSON keeps numbers of 64 bits as texts."""
    return key.lower().endswith(_WHOLE) and text.strip().removeprefix("-").isdecimal()


_WHOLE = ("unixnano", "unix_nano", "intvalue", "int_value", "count")
_UNION = {
    "stringValue": _scalar,
    "boolValue": _scalar,
    "intValue": _integer,
    "doubleValue": read_double,
    "arrayValue": _array,
    "kvlistValue": _object,
    "bytesValue": _scalar,
    "string_value": _scalar,
    "bool_value": _scalar,
    "int_value": _integer,
    "double_value": read_double,
    "array_value": _array,
    "kvlist_value": _object,
    "bytes_value": _scalar,
}
