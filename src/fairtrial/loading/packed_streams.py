"""Read and write streams that are packed with gzip or Zstandard."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import PurePath
from typing import Any, BinaryIO

from fairtrial.errors import FormatError
from fairtrial.formats.packed import SUFFIXES, check_size
from fairtrial.formats.values import BLOCK
from fairtrial.system.zstandard import zstd

UNREADABLE = (OSError, EOFError, zlib.error, zstd.ZstdError)
"""The errors of a file that cannot be opened, or whose packing is damaged."""


def detect_packing(path: PurePath) -> str:
    """Return how a file with this name is packed: an empty text, gzip or zstd."""
    return SUFFIXES.get(path.suffix.lower(), "")


def unpacked(stream: BinaryIO, packing: str) -> io.BufferedReader:
    """Return the content of a stream. Reading it may raise any error of `UNREADABLE`.

    A content that is very much larger than its packed form, as no log is, is such an error, too.
    """
    content: Any = stream
    if packing == "gzip":
        content = _BoundedStream(gzip.GzipFile(fileobj=stream), stream)
    elif packing == "zstd":
        content = _BoundedStream(zstd.ZstdFile(stream), stream)
    return content if isinstance(content, io.BufferedReader) else io.BufferedReader(content, BLOCK)


class _BoundedStream(io.RawIOBase):
    """The content of a packed stream, whose size is checked while it is read, unless the stream is a pipe."""

    def __init__(self, content: Any, stream: BinaryIO) -> None:
        self._content = content
        self._stream = stream
        self._can_tell = stream.seekable()
        self._size = 0

    def readable(self) -> bool:
        """Whether the stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes into a buffer. Raises OSError if they are too many."""
        count: int = self._content.readinto(buffer)
        self._size += count
        if self._can_tell:
            try:
                check_size(self._size, self._stream.tell(), "")
            except FormatError as error:
                raise OSError("; ".join(error.problems)) from None
        return count


def packed(stream: BinaryIO, packing: str) -> Any:
    """Return a stream for writing that packs into another."""
    if packing == "gzip":
        return gzip.GzipFile(fileobj=stream, mode="wb", filename="", mtime=0)
    return zstd.ZstdFile(stream, "w")
