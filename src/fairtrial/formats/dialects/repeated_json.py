"""A cache of JSON that many spans repeat. Each model call repeats all earlier messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.formats.jsontext import MOST_DEPTH, decode, is_too_deep
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.spans.span_values import LONGEST_JSON, structured
from fairtrial.records.decoding import json_decoder

if TYPE_CHECKING:
    from fairtrial.formats.message_entries import Entry
    from fairtrial.records.record import Json

_MOST_BYTES = 4 << 20
"""So much JSON is remembered. Its values take about ten times as much memory."""
_MOST_DEPTH = MOST_DEPTH - 2
"""The deepest nesting of a value in an array in an object."""
_MEMBERS = json_decoder(dict[str, msgspec.Raw])
_ITEMS = json_decoder(list[msgspec.Raw])


class RepeatedJson:
    """A value that later spans repeat, and the entries that readers found in it. Nobody may change the value."""

    __slots__ = ("_entries", "value")

    def __init__(self, value: Json) -> None:
        self.value = value
        self._entries: dict[object, tuple[Entry, ...]] = {}

    def entries_by(self, read: Callable[..., Iterable[Entry]], *place: Any, reading: Diagnostics) -> tuple[Entry, ...]:
        """Return the entries that `read(value, *place, reading)` returns.

        They are remembered, unless there is a problem: each reading notes its own problems with their places.
        """
        entries = self._entries.get(read)
        if entries is None:
            own = Diagnostics(reading.path, lenient=reading.lenient)
            entries = tuple(read(self.value, *place, own))
            if own.errors or own.warnings:
                return tuple(read(self.value, *place, reading))
            self._entries[read] = entries
        return entries


class _Memory:
    """Values by their JSON. If they are too many, all are forgotten, so that the memory stays bounded."""

    def __init__(self) -> None:
        self._values: dict[bytes, RepeatedJson] = {}
        self._size = 0

    def read_value(self, text: bytes) -> RepeatedJson:
        """Return the value of a JSON text. Raises ValueError for anything that `structured` keeps as a text."""
        return self._values.get(text) or self._decode_json(text)

    def read_values(self, texts: Iterable[msgspec.Raw]) -> list[RepeatedJson]:
        """Return the values of JSON texts."""
        return [self.read_value(text) for text in map(bytes, texts)]

    def _decode_json(self, text: bytes) -> RepeatedJson:
        value = decode(text)
        if text.count(b"{") + text.count(b"[") > _MOST_DEPTH and is_too_deep(value, _MOST_DEPTH):
            raise ValueError
        repeated = RepeatedJson(value)
        self._size += len(text)
        if self._size > _MOST_BYTES:
            self._values, self._size = {}, len(text)
        self._values[text] = repeated
        return repeated


_memory = _Memory()


def repeated_items(value: Json) -> Json:
    """Return an attribute as `structured` does. Each item of an array in a text is a `RepeatedJson`."""
    if _is_text(value, "["):
        with suppress(ValueError, RecursionError):
            return _memory.read_values(_ITEMS.decode(value.encode()))
    return structured(value)


def repeated_members(value: Json, key: str) -> Json:
    """Return an attribute as `structured` does.

    If it is the text of an object, each item of the array under a key is a `RepeatedJson`.
    """
    if _is_text(value, "{"):
        with suppress(ValueError, RecursionError):
            members = _MEMBERS.decode(value.encode())
            items = members.pop(key, None)
            values: dict[str, Json] = {
                name: _memory.read_value(bytes(member)).value for name, member in members.items()
            }
            if items is not None:
                values[key] = _memory.read_values(_ITEMS.decode(items))
            return values
    return structured(value)


def plain(value: Any) -> Json:
    """Return a value that may be repeated as it is."""
    return value.value if type(value) is RepeatedJson else value


def _is_text(value: Json, start: str) -> bool:
    return isinstance(value, str) and value[:1] == start and len(value) <= LONGEST_JSON
