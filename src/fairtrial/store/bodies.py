"""How is a record written into a column, so that it can be read years later?

A body is compressed JSON with every field of the record, defaults included. A field that a later version adds gets its
default. A field that this version does not know is ignored. Any other difference makes the body unreadable, for example
a verdict that this version does not know.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from fairtrial.errors import StoreError

T = TypeVar("T")

_VOCABULARY = Path(__file__).with_name("vocabulary.txt").read_bytes()
"""Text that most bodies share. It must never change: bodies are compressed by pointing into it (RFC 1950, FDICT)."""

_JSON = msgspec.json.Encoder()

# Most bodies are short. With the largest window and the largest hash table, which are the defaults, most of the time
# would go into clearing them. A copy of a compressor that knows the vocabulary takes a tenth of the time.
_COMPRESSOR = zlib.compressobj(level=3, wbits=13, memLevel=5, zdict=_VOCABULARY)


def encode(record: msgspec.Struct) -> bytes:
    """Return the body of a record."""
    compressor = _COMPRESSOR.copy()
    return compressor.compress(_JSON.encode(record)) + compressor.flush()


def raw_json(body: bytes) -> bytes:
    """Return the JSON of a body, or nothing if the body is damaged."""
    try:
        return zlib.decompressobj(zdict=_VOCABULARY).decompress(body)
    except zlib.error:
        return b""


class UnreadableBodyError(StoreError):
    """A later version of this program wrote the body, or the body is damaged."""


class BodyDecoder(Generic[T]):
    """Turns the bodies of one kind of record back into records."""

    def __init__(self, kind: type[T]) -> None:
        self._decoder = msgspec.json.Decoder(kind)

    def decode(self, body: bytes) -> T:
        """Return the record of a body. Raises UnreadableBodyError."""
        try:
            return self._decoder.decode(zlib.decompressobj(zdict=_VOCABULARY).decompress(body))
        except (msgspec.MsgspecError, zlib.error) as error:
            raise UnreadableBodyError(
                f"a row of the store cannot be read: {error}; a later fairtrial wrote it, or it is damaged"
            ) from error
