"""What does a gzip file hold? It is unpacked in memory, up to a limit."""

from __future__ import annotations

import zlib

from fairtrial.errors import FormatError

_MAGIC = b"\x1f\x8b"
_MOST_BYTES = 4 << 30
_GZIP = 16 + zlib.MAX_WBITS


def is_packed(data: bytes) -> bool:
    """Whether bytes are a gzip file."""
    return data.startswith(_MAGIC)


def unpacked(data: bytes, path: str) -> bytes:
    """Return the content of a gzip file, also of several one after the other.

    Raises FormatError if the file is broken, packed twice, or larger than 4 GiB when it is unpacked.
    """
    parts: list[bytes] = []
    size = 0
    while data:
        unpacker = zlib.decompressobj(_GZIP)
        try:
            parts.append(unpacker.decompress(data, _MOST_BYTES + 1 - size))
        except zlib.error as error:
            raise FormatError(path, [f"is not a whole gzip file: {error}"]) from None
        size += len(parts[-1])
        if size > _MOST_BYTES:
            raise FormatError(path, ["is larger than 4 GiB when it is unpacked"])
        if not unpacker.eof:
            raise FormatError(path, ["is not a whole gzip file: its end is missing"])
        data = unpacker.unused_data
        if data and not data.startswith(_MAGIC):
            break  # padding after the last member
    content = b"".join(parts)
    if is_packed(content):
        raise FormatError(path, ["is a gzip file inside a gzip file; unpack it once"])
    return content
