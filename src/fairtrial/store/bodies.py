"""How is a record written into a column, so that it can be read years later?

A body is compressed JSON with every field of the record, defaults included. For example, if a later version changes
the default of `lower_is_better`, a stored outcome keeps its own value. A field that a later version adds gets its
default.
"""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args, get_type_hints

import msgspec

T = TypeVar("T")

_VOCABULARY = Path(__file__).with_name("vocabulary.txt").read_bytes()
"""Text that most bodies share. It must never change: bodies are compressed by pointing into it (RFC 1950, FDICT)."""

_JSON = msgspec.json.Encoder()


def full_json(record: msgspec.Struct) -> dict[str, Any]:
    """Return a record as plain data with every field."""
    nested, tag = _shape(type(record))
    fields = msgspec.structs.asdict(record)
    for name in nested:
        if fields[name]:
            fields[name] = _plain(fields[name])
    return fields if tag is None else {**tag, **fields}


def _plain(value: Any) -> Any:
    if type(value) is tuple:
        return [_plain(item) for item in value]
    if isinstance(value, msgspec.Struct):
        return full_json(value)
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, dict) else value


@cache
def _shape(kind: type[msgspec.Struct]) -> tuple[tuple[str, ...], dict[str, Any] | None]:
    """Return the fields of a kind of record that may hold records, and its tag.

    Most fields hold text or numbers, and a look at each of them would cost most of the time.
    """
    nested = tuple(name for name, annotation in get_type_hints(kind).items() if _may_hold_records(annotation))
    config = kind.__struct_config__
    return nested, None if config.tag_field is None else {config.tag_field: config.tag}


def _may_hold_records(annotation: Any) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return True
    return any(map(_may_hold_records, get_args(annotation)))


def encode(record: msgspec.Struct) -> bytes:
    """Return the body of a record."""
    compressor = zlib.compressobj(level=3, zdict=_VOCABULARY)
    return compressor.compress(_JSON.encode(full_json(record))) + compressor.flush()


class BodyDecoder(Generic[T]):
    """Turns the bodies of one kind of record back into records."""

    def __init__(self, kind: type[T]) -> None:
        self._decoder = msgspec.json.Decoder(kind)

    def decode(self, body: bytes) -> T:
        """Return the record of a body."""
        return self._decoder.decode(zlib.decompressobj(zdict=_VOCABULARY).decompress(body))
