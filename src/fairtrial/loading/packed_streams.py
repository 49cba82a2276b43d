"""Read and write streams that are packed with gzip or Zstandard."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import PurePath
from typing import Any, BinaryIO

from fairtrial.formats.packed import SUFFIXES
from fairtrial.formats.values import BLOCK
from fairtrial.system.zstandard import zstd

UNREADABLE = (OSError, EOFError, zlib.error, zstd.ZstdError)
"""The errors of a file that cannot be opened, or whose packing is damaged."""


def detect_packing(path: PurePath) -> str:
    """Return how a file with this name is packed: an empty text, gzip or zstd."""
    return SUFFIXES.get(path.suffix.lower(), "")


def unpacked(stream: BinaryIO, packing: str) -> io.BufferedReader:
    """Return the content of a stream. Reading it may raise any error of `UNREADABLE`."""
    content: Any = stream
    if packing == "gzip":
        content = gzip.GzipFile(fileobj=stream)
    elif packing == "zstd":
        content = zstd.ZstdFile(stream)
    return content if isinstance(content, io.BufferedReader) else io.BufferedReader(content, BLOCK)


def packed(stream: BinaryIO, packing: str) -> Any:
    """Return a stream for writing that packs into another."""
    if packing == "gzip":
        return gzip.GzipFile(fileobj=stream, mode="wb", filename="", mtime=0)
    return zstd.ZstdFile(stream, "w")
