"""Values that follow from JSON: units in the names of keys, and sums, means and counts over lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

import msgspec

from fairtrial.text.facts.units import unit_names
from fairtrial.text.lazy_pattern import LazyPattern

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_LONGEST = 200_000
_MOST_ENTRIES = 500
_MOST_KEYS = 8
_KEY_UNIT = LazyPattern(r"(?<!per)(?:^|[_\s(（])([^\W\d_]+)[)）]?$")


class Value(NamedTuple):
    """A number that follows from a list, and how."""

    number: float
    how: str


def decode(text: str) -> Json:
    """Return the content of a JSON text, or None if it is none, or too long."""
    if len(text) > _LONGEST or text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def quantities(content: Json) -> Iterator[str]:
    """Yield numbers with the unit in which their key ends, for example "12.5 kg" for `{"weight_kg": 12.5}`."""
    for key, value in _members(content):
        unit = _KEY_UNIT.search(key.lower())
        if unit and _number(value) is not None and unit[1] in unit_names():
            yield f"{value} {unit[1]}"


def list_values(content: Json) -> Iterator[Value]:
    """Yield the numbers that follow from the lists: their lengths, and the sums and means of their numbers.

    Of a list of objects, each key has a sum and a mean, and each pair of keys a sum of products, as price × quantity.
    """
    for entries in _lists(content):
        yield Value(len(entries), f"a list of {len(entries)}")
        numbers = [number for entry in entries[:_MOST_ENTRIES] if (number := _number(entry)) is not None]
        yield from _totals(numbers, "the list")
        objects = [entry for entry in entries[:_MOST_ENTRIES] if _is_object(entry)]
        columns = {key: column for key in _keys(objects) if (column := _column(objects, key))}
        for key, column in columns.items():
            yield from _totals(column, f"{key!r}")
        for former, latter in permutations(columns, 2):
            if former < latter and len(columns[former]) == len(columns[latter]):
                total = sum(a * b for a, b in zip(columns[former], columns[latter], strict=True))
                yield Value(total, f"the sum of {former!r} × {latter!r}")


def _totals(numbers: Sequence[float], name: str) -> Iterator[Value]:
    if len(numbers) > 1:
        yield Value(sum(numbers), f"the sum of {name}")
        yield Value(sum(numbers) / len(numbers), f"the mean of {name}")


def _keys(objects: Sequence[Mapping[str, Json]]) -> list[str]:
    if not objects:
        return []
    paths = [path for path, _ in _flat(objects[0])]
    return paths[:_MOST_KEYS]


def _column(objects: Sequence[Mapping[str, Json]], key: str) -> list[float]:
    """Return the numbers of a key, or an empty list if one of the objects has none."""
    values = [number for item in objects if (number := dict(_flat(item)).get(key)) is not None]
    return values if len(values) == len(objects) else []


def _flat(item: Mapping[str, Json]) -> Iterator[tuple[str, float]]:
    """Yield the numbers of an object and of the objects in it, with their keys, as `prices.economy`."""
    for key, value in item.items():
        if (number := _number(value)) is not None:
            yield key, number
        elif _is_object(value):
            yield from (
                (f"{key}.{name}", inner) for name, part in value.items() if (inner := _number(part)) is not None
            )


def _is_object(value: Json) -> TypeGuard[Mapping[str, Json]]:
    return isinstance(value, dict)


def _is_list(value: Json) -> TypeGuard[Sequence[Json]]:
    return isinstance(value, list)


def _number(value: Json) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _members(content: Json) -> Iterator[tuple[str, Json]]:
    stack: list[Json] = [content]
    while stack:
        item = stack.pop()
        if _is_object(item):
            yield from item.items()
            stack.extend(item.values())
        elif _is_list(item):
            stack.extend(item)


def _lists(content: Json) -> Iterator[Sequence[Json]]:
    stack: list[Json] = [content]
    while stack:
        item = stack.pop()
        if _is_object(item):
            stack.extend(item.values())
        elif _is_list(item):
            yield item
            stack.extend(item)
