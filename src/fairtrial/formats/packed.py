"""Unpack files that are packed with gzip or Zstandard, up to a limit."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

from fairtrial.errors import FormatError
from fairtrial.system.zstandard import zstd

_GZIP_MAGIC = b"\x1f\x8b"
_ZIP_MAGIC = b"PK\x03\x04"
_MAGIC = {_GZIP_MAGIC: "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
SUFFIXES = {".gz": "gzip", ".zst": "zstd"}
"""The names of packed files end so."""
LONGEST_MAGIC = 4
"""So many bytes tell how a file is packed."""
_MOST_BYTES = 4 << 30
_MOST_AT_ONCE = 1 << 30
"""A file that is read as a whole may have so many bytes when it is unpacked. Its values take several times as much."""
_SMALL = 32 << 20
"""A smaller content fits into memory, however well it is packed."""
_MOST_RATIO = 250
"""A larger file may be so many times larger than its packed form. Logs are 10 to 50 times larger, bombs 1000 times."""
_STEP = 1 << 20
"""So many bytes are unpacked at once, so that a small file cannot fill the memory."""
_SLICE = 16 << 10
"""So many packed bytes are read at once. Everything behind the end of a member is copied, and members may be tiny."""
_GZIP = 16 + zlib.MAX_WBITS


class BombError(FormatError):
    """Raised for packed data that is very much larger when it is unpacked."""

    code = "too-large"


def packing_at(head: bytes) -> str:
    """Return how a file that begins with these bytes is packed: an empty text, gzip or zstd."""
    return next((packing for magic, packing in _MAGIC.items() if head.startswith(magic)), "")


def is_archive(head: bytes) -> bool:
    """Whether a file with these first bytes is a zip archive."""
    return head.startswith(_ZIP_MAGIC)


def unpacked(data: bytes, path: str) -> bytes:
    """Return the content of a packed file, as `unpack_blocks` does. Raises FormatError also if it is packed twice."""
    content = joined(unpack_blocks([data], path), path)
    if packing_at(content):
        raise FormatError(path, ["is packed twice; unpack it once"])
    return content


def joined(blocks: Iterable[bytes], path: str) -> bytes:
    """Return the unpacked content of a file that is read as a whole. Raises FormatError if it is too large for that."""
    parts: list[bytes] = []
    size = 0
    for block in blocks:
        parts.append(block)
        size += len(block)
        if size > _MOST_AT_ONCE:
            limit = _MOST_AT_ONCE >> 20
            problem = f"is larger than {limit} MiB when it is unpacked; split it into several files"
            raise FormatError(path, [problem])
    return b"".join(parts)


def check_size(size: int, packed_size: int, path: str) -> None:
    """Raise FormatError if packed data is very much larger when it is unpacked, as no log is."""
    if size > _SMALL and size > packed_size * _MOST_RATIO:
        problem = f"is more than {_MOST_RATIO} times larger when it is unpacked ({size >> 20} MiB so far)"
        raise BombError(path, [f"{problem}; no log is packed so well, so that it is not read; unpack it yourself"])


def bounded_blocks(blocks: Iterable[bytes], path: str) -> Iterator[bytes]:
    """Yield the content of a packed file. Raises FormatError if it is larger than 4 GiB when it is unpacked."""
    size = 0
    for block in blocks:
        size += len(block)
        if size > _MOST_BYTES:
            raise FormatError(path, ["is larger than 4 GiB when it is unpacked"])
        yield block


def unpack_blocks(blocks: Iterable[bytes], path: str) -> Iterator[bytes]:
    """Yield the content of a packed file block by block, also of several files one after the other.

    Raises FormatError if the file is broken, larger than 4 GiB when it is unpacked, or a bomb.
    """
    return bounded_blocks(iter_unpacked(blocks, path), path)


def iter_unpacked(blocks: Iterable[bytes], path: str) -> Iterator[bytes]:
    """Yield the content of a packed file as `unpack_blocks` does, however large it is.

    All that stands before a damage comes before the error, which is of use if the file is cut off.
    """
    packed_size = [0]
    pieces = _slices(blocks, packed_size)
    first = next(pieces, b"")
    unpack = _blocks_of_zstd if packing_at(first) == "zstd" else _blocks_of_gzip
    return _ensure_valid(unpack(chain([first], pieces), path), packed_size, path)


def _slices(blocks: Iterable[bytes], packed_size: list[int]) -> Iterator[bytes]:
    """Yield small pieces of blocks, and count the bytes of the pieces in `packed_size`."""
    for block in blocks:
        for start in range(0, len(block), _SLICE):
            piece = block[start : start + _SLICE]
            packed_size[0] += len(piece)
            yield piece


def _ensure_valid(blocks: Iterable[bytes], packed_size: list[int], path: str) -> Iterator[bytes]:
    """Yield unpacked blocks, unless they are very much larger than the packed bytes that were read for them."""
    size = 0
    for block in blocks:
        size += len(block)
        check_size(size, packed_size[0], path)
        yield block


def _blocks_of_gzip(pieces: Iterable[bytes], path: str) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(_GZIP)
    is_inside = False
    for piece in pieces:
        rest = piece
        while rest:
            if not is_inside and not (rest := _without_padding(rest, path)):
                break
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


def _without_padding(rest: bytes, path: str) -> bytes:
    """Return what follows the zeros behind a member. Raises FormatError if it does not begin another member."""
    rest = rest.lstrip(b"\0")
    if rest and rest[:1] != _GZIP_MAGIC[:1]:
        raise FormatError(path, ["is not a whole gzip file: bytes behind one of its parts are not gzip"])
    return rest


def _blocks_of_zstd(pieces: Iterable[bytes], path: str) -> Iterator[bytes]:
    unpacker = zstd.ZstdDecompressor()
    is_inside = False
    for piece in pieces:
        rest = piece
        while rest or (is_inside and not unpacker.needs_input):
            try:
                content = unpacker.decompress(rest, _STEP)
            except zstd.ZstdError as error:
                raise FormatError(path, [f"is not a whole Zstandard file: {error}"]) from None
            yield content
            is_inside = not unpacker.eof
            rest = b"" if is_inside else unpacker.unused_data
            unpacker = unpacker if is_inside else zstd.ZstdDecompressor()
    if is_inside:
        raise FormatError(path, ["is not a whole Zstandard file: its end is missing"])
