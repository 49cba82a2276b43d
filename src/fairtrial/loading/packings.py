"""How is a file packed, and what is in it? It is plain, or packed with gzip or Zstandard."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import PurePath
from typing import Any, BinaryIO

from fairtrial.formats.values import BLOCK
from fairtrial.zstandard import zstd

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_SUFFIXES = {".gz": "gzip", ".zst": "zstd"}
UNREADABLE = (OSError, EOFError, zlib.error, zstd.ZstdError)
"""The errors of a file that cannot be opened, or whose packing is damaged."""


def packing_of(path: PurePath) -> str:
    """Return how a file with this name is packed: an empty text, gzip or zstd."""
    return _SUFFIXES.get(path.suffix.lower(), "")


def packing_at(head: bytes) -> str:
    """Return how a file that begins with these bytes is packed: an empty text, gzip or zstd."""
    return next((packing for magic, packing in _MAGIC.items() if head.startswith(magic)), "")


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
