"""Encode records into columns, so that they can be read years later.

A body is compressed JSON with every record field, defaults included. A field that a later version adds gets its
default. A field that this version does not know is ignored. Any other difference makes the body unreadable, for example
a verdict that this version does not know.
"""

from __future__ import annotations

from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from fairtrial.errors import StoreError
from fairtrial.records.decoding import json_decoder
from fairtrial.system.zstandard import zstd

T = TypeVar("T")

_DICTIONARY = zstd.ZstdDict(Path(__file__).with_name("bodies.zdict").read_bytes())
"""Text that most bodies share, and how often each character occurs in bodies (RFC 8878, section 5).

It must never change, because bodies are compressed by pointing into it. The text is the records' JSON in
`tests/store/golden_store.py`. The frequencies are body frequencies that the tests write.
"""

_JSON = msgspec.json.Encoder()

# Most bodies are short. To set up a compressor for each of them takes five times as long as to compress it.
_COMPRESSOR = zstd.ZstdCompressor(level=1, zstd_dict=_DICTIONARY)


def encode(record: msgspec.Struct) -> bytes:
    """Return a record's body."""
    return compress(_JSON.encode(record))


def compress(json: bytes) -> bytes:
    """Return a body that holds some JSON."""
    return _COMPRESSOR.compress(json, zstd.ZstdCompressor.FLUSH_FRAME)


def raw_json(body: bytes) -> bytes:
    """Return a body's JSON, or nothing if the body is damaged."""
    try:
        return _decompress(body)
    except zstd.ZstdError:
        return b""


def _decompress(body: bytes) -> bytes:
    """Return the content of a body, which is one frame. Raises ZstdError if it ends too early."""
    decompressor = zstd.ZstdDecompressor(zstd_dict=_DICTIONARY)
    content = decompressor.decompress(body)
    if not decompressor.eof:
        raise zstd.ZstdError("the body ends too early")
    return content


class UnreadableBodyError(StoreError):
    """A later version of this program wrote the body, or the body is damaged."""


class BodyDecoder(Generic[T]):
    """Turns the bodies of one kind of record back into records."""

    def __init__(self, kind: type[T]) -> None:
        self._decoder = json_decoder(kind)

    def decode(self, body: bytes) -> T:
        """Return a body's record. Raises UnreadableBodyError."""
        try:
            return self._decoder.decode(_decompress(body))
        except (msgspec.MsgspecError, zstd.ZstdError) as error:
            raise UnreadableBodyError(
                f"a row of the store cannot be read: {error}; a later fairtrial wrote it, or it is damaged"
            ) from error
