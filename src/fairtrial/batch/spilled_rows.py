"""Group rows by their keys without holding all keys: beyond a number of keys, rows wait on disk in buckets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO, Any, Self
from zlib import crc32

import msgspec

_BITS = 6
"""Each level has 2 to the power of this many buckets, and as many open files."""
_LENGTH = 4
"""The number of bytes that tell the length of a row."""

_MOST_KEYS = 100_000
"""The number of keys that are held at once. With the numbers of its case, a key takes about a kilobyte."""

KeyedRow = tuple[str, Any]
"""A key, and a row of texts, numbers and lists of them."""


def group_by_key(rows: Iterable[KeyedRow], level: int = 0) -> Iterator[Iterator[tuple[int, Any]]]:
    """Yield groups of rows, each row with the number of its key in the group. A key is in one group alone.

    The reader must exhaust a group before it takes the next. Tuples that waited on disk come back as lists.
    """
    with _SpilledRows(level) as later:
        yield _number(rows, later)
        for bucket in later.buckets():
            yield from group_by_key(bucket, level + 1)


def _number(rows: Iterable[KeyedRow], later: _SpilledRows) -> Iterator[tuple[int, Any]]:
    numbers: dict[str, int] = {}
    for key, row in rows:
        number = numbers.get(key)
        if number is None:
            if len(numbers) >= _MOST_KEYS:
                later.add(key, row)
                continue
            number = numbers[key] = len(numbers)
        yield number, row


class _SpilledRows:
    """Rows in temporary files, which end with the context. Rows with equal keys are in the same bucket.

    The rows of a bucket of `level` 0 can be divided further on level 1, and so on. Each level takes other bits of the
    hash of a key. From level 5 on, the bits of the hash are used up, which takes 64 ** 5 times `_MOST_KEYS` keys.
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
        """Write a row."""
        bucket = crc32(key.encode("utf-8", "surrogatepass")) >> self._shift & (1 << _BITS) - 1
        file = self._files.get(bucket)
        if file is None:
            file = TemporaryFile(prefix="fairtrial-rows-")  # noqa: SIM115  (the stack closes it)
            self._files[bucket] = self._stack.enter_context(file)
        data = self._encoder.encode((key, row))
        file.write(len(data).to_bytes(_LENGTH, "big") + data)

    def buckets(self) -> Iterator[Iterator[KeyedRow]]:
        """Yield the rows of each bucket in the order in which they were written."""
        for bucket in sorted(self._files):
            yield _rows(self._files[bucket])


def _rows(file: IO[bytes]) -> Iterator[KeyedRow]:
    decoder = msgspec.msgpack.Decoder()
    file.seek(0)
    while head := file.read(_LENGTH):
        yield decoder.decode(file.read(int.from_bytes(head, "big")))
