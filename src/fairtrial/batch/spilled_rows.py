"""Keep rows on disk in buckets, so that rows with equal keys can be counted together without holding all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO, Any, Self
from zlib import crc32

import msgspec

_BITS = 6
"""Each level has 2 to the power of this many buckets, and as many open files."""
_LENGTH = 4
"""The number of bytes that tell the length of a row."""


class SpilledRows:
    """Rows in temporary files, which end with the context. Rows with equal keys are in the same bucket.

    The rows of a bucket of `level` 0 can be divided further on level 1, and so on up to level 4. Each level takes other
    bits of the hash of a key.
    """

    def __init__(self, level: int) -> None:
        self._shift = level * _BITS
        self._files: dict[int, IO[bytes]] = {}
        self._stack = ExitStack()
        self._encoder = msgspec.msgpack.Encoder()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, key: str, row: Any) -> None:
        """Write a row of texts, numbers and lists of them."""
        bucket = crc32(key.encode("utf-8", "surrogatepass")) >> self._shift & (1 << _BITS) - 1
        file = self._files.get(bucket)
        if file is None:
            file = self._files[bucket] = self._stack.enter_context(TemporaryFile(prefix="fairtrial-rows-"))
        data = self._encoder.encode(row)
        file.write(len(data).to_bytes(_LENGTH, "big") + data)

    def buckets(self) -> Iterator[Iterator[Any]]:
        """Yield the rows of each bucket in the order in which they were written. Tuples come back as lists."""
        for bucket in sorted(self._files):
            yield _rows(self._files[bucket])


def _rows(file: IO[bytes]) -> Iterator[Any]:
    decoder = msgspec.msgpack.Decoder()
    file.seek(0)
    while head := file.read(_LENGTH):
        yield decoder.decode(file.read(int.from_bytes(head, "big")))
