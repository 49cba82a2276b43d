"""What does a gzip file hold? It is unpacked up to a limit."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from fairtrial.errors import FormatError

_MAGIC = b"\x1f\x8b"
_MOST_BYTES = 4 << 30
_STEP = 1 << 20
"""So many bytes are unpacked at once, so that a small file cannot fill the memory."""
_SLICE = 16 << 10
"""So many packed bytes are read at once. Everything behind the end of a member is copied, and members may be tiny."""
_GZIP = 16 + zlib.MAX_WBITS


def is_packed(data: bytes) -> bool:
    """Whether bytes are a gzip file."""
    return data.startswith(_MAGIC)


def unpacked(data: bytes, path: str) -> bytes:
    """Return the content of a gzip file, as `unpacked_blocks` does. Raises FormatError also if it is packed twice."""
    content = b"".join(unpacked_blocks([data], path))
    if is_packed(content):
        raise FormatError(path, ["is a gzip file inside a gzip file; unpack it once"])
    return content


def bounded_blocks(blocks: Iterable[bytes], path: str) -> Iterator[bytes]:
    """Yield the content of a packed file. Raises FormatError if it is larger than 4 GiB when it is unpacked."""
    size = 0
    for block in blocks:
        size += len(block)
        if size > _MOST_BYTES:
            raise FormatError(path, ["is larger than 4 GiB when it is unpacked"])
        yield block


def unpacked_blocks(blocks: Iterable[bytes], path: str) -> Iterator[bytes]:
    """Yield the content of a gzip file block by block, also of several files one after the other.

    Raises FormatError if the file is broken, or larger than 4 GiB when it is unpacked.
    """
    return bounded_blocks(_unpacked_blocks(blocks, path), path)


def _slices(blocks: Iterable[bytes]) -> Iterator[bytes]:
    return (block[start : start + _SLICE] for block in blocks for start in range(0, len(block), _SLICE))


def _unpacked_blocks(blocks: Iterable[bytes], path: str) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(_GZIP)
    is_inside = False
    for piece in _slices(blocks):
        rest = piece
        while rest:
            if not is_inside and rest[:1] != _MAGIC[:1]:
                return  # padding after the last member
            try:
                content = unpacker.decompress(rest, _STEP)
            except zlib.error as error:
                raise FormatError(path, [f"is not a whole gzip file: {error}"]) from None
            yield content
            is_inside = not unpacker.eof
            rest = unpacker.unconsumed_tail if is_inside else unpacker.unused_data
            unpacker = unpacker if is_inside else zlib.decompressobj(_GZIP)
    if is_inside:
        # Output may be left inside, although all input is consumed.
        while content := unpacker.decompress(b"", _STEP):
            yield content
        if not unpacker.eof:
            raise FormatError(path, ["is not a whole gzip file: its end is missing"])
