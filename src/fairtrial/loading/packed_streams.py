"""Read and write streams that are packed with gzip or Zstandard."""

from __future__ import annotations

import gzip
import io
import zlib
from contextlib import suppress
from pathlib import PurePath
from typing import Any, BinaryIO

from fairtrial.errors import FormatError
from fairtrial.formats.packed import SUFFIXES, iter_unpacked
from fairtrial.formats.values import BLOCK
from fairtrial.system.zstandard import zstd

UNREADABLE = (OSError, EOFError, zlib.error, zstd.ZstdError)
"""The errors of a file that cannot be opened, or whose packing is damaged."""
_PACKED_BLOCK = 64 << 10
_ESTIMATED = 1 << 20
"""So many packed bytes say how much larger a file is when it is unpacked."""


def detect_packing(path: PurePath) -> str:
    """Return how a file with this name is packed: an empty text, gzip or zstd."""
    return SUFFIXES.get(path.suffix.lower(), "")


def unpacked(stream: BinaryIO, packing: str) -> io.BufferedReader:
    """Return the content of a stream. Reading it may raise any error of `UNREADABLE`, after all that is before it.

    A content that is very much larger than its packed form, as no log is, is such an error, too.
    """
    content: Any = _UnpackedStream(stream) if packing else stream
    return content if isinstance(content, io.BufferedReader) else io.BufferedReader(content, BLOCK)


class _UnpackedStream(io.RawIOBase):
    """The content of a packed stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self._blocks = iter_unpacked(iter(lambda: stream.read(_PACKED_BLOCK), b""), "")
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Whether the stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes into a buffer. Raises OSError for a damaged file, and for bytes that are too many."""
        try:
            while not self._rest:
                self._rest = memoryview(next(self._blocks))
        except StopIteration:
            return 0
        except FormatError as error:
            raise OSError("; ".join(error.problems)) from None
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def estimate_unpacked_size(stream: BinaryIO, size: int) -> int:
    """Return about how many bytes a packed file of a size has when it is unpacked, by the beginning of its stream."""
    start = stream.read(_ESTIMATED)
    unpacked_size = 0
    with suppress(FormatError):
        for block in iter_unpacked([start], ""):
            unpacked_size += len(block)
    return unpacked_size * size // max(1, len(start))


def packed(stream: BinaryIO, packing: str) -> Any:
    """Return a stream for writing that packs into another."""
    if packing == "gzip":
        return gzip.GzipFile(fileobj=stream, mode="wb", filename="", mtime=0)
    return zstd.ZstdFile(stream, "w")
