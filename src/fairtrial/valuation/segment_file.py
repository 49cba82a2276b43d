"""A segment of a novelty index: vectors with their ids, digests and times in one file that never changes.

The file holds the arrays one after the other, and then a CRC-32 of each block of 64 KiB of them. It is memory-mapped.
A block is checked before its first use, so that opening takes the same time for any size, and damage has a place.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, NamedTuple

import msgspec

from fairtrial.errors import FormatError
from fairtrial.records.record import Record
from fairtrial.valuation.whole_files import whole_file

with suppress(ImportError):  # without the extra `embed` the module can still be imported
    import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_BLOCK = 2**16
_ALIGNED = 64
ROWS = 4096
"""Rows that are read at once: 6 MB of vectors with 384 dimensions."""
REMEDY = "restore the file and the folder of the index from a copy, or delete them and make the index again"
_Count = Annotated[int, msgspec.Meta(ge=0)]


class SegmentEntry(Record, frozen=True):
    """A segment in the list of its index: its size, the checksum of its checksums, and its replaced rows."""

    name: Annotated[str, msgspec.Meta(pattern="^[0-9]{8}$")]
    count: Annotated[int, msgspec.Meta(ge=1)]
    id_bytes: _Count
    digest_bytes: _Count
    checksum: _Count
    replaced: _Count = 0
    """How many rows do not count any more, because a later row has their id."""
    replaced_by: _Count = 0
    """The change of the index that wrote the list of these rows."""
    replaced_checksum: _Count = 0


class Rows(NamedTuple):
    """Vectors of unit length, each with the id, the digest of the content, and the time of its trace."""

    ids: Sequence[str]
    digests: Sequence[str]
    times: NDArray[np.float64]
    vectors: Floats


class SegmentFile:
    """The rows of a segment. Every block is checked before its use. FormatError names a segment that is damaged."""

    def __init__(self, folder: Path, entry: SegmentEntry, dimensions: int) -> None:
        self.path, self.entry, self.dimensions = folder / f"{entry.name}.segment", entry, dimensions
        self._layout, size = _lay_out(entry, dimensions)
        blocks = -(-size // _BLOCK)
        if not self.path.stat().st_size == size + 4 * blocks:
            raise self._make_error("its size is not that of its rows")
        self._raw: NDArray[np.uint8] = np.memmap(self.path, np.uint8, "r")
        self._sums = self._raw[size:].view("<u4")
        self._size = size
        if zlib.crc32(self._sums.data) != entry.checksum:
            raise self._make_error("its checksums are not those that the index names")
        self._is_checked = np.zeros(blocks, dtype=bool)
        self.replaced: NDArray[np.int64] = self._read_replaced()

    def __len__(self) -> int:
        return self.entry.count

    def vectors(self, low: int, high: int) -> Floats:
        """Return the vectors of some rows."""
        rows: Floats = self._read_array("vectors", low * self.dimensions, high * self.dimensions)
        return rows.reshape(-1, self.dimensions)

    def vectors_at(self, places: NDArray[np.int64]) -> Floats:
        """Return the vectors of rows anywhere."""
        width = 4 * self.dimensions
        for place in np.unique(places * width // _BLOCK).tolist():
            self._check(place * _BLOCK, min(self._size, (place + 1) * _BLOCK + width))
        rows: Floats = self._view("vectors").reshape(-1, self.dimensions)[places]
        return rows

    def id_at(self, place: int) -> str:
        """Return the id of a row."""
        return self._texts("id", place, place + 1)[0]

    def rows(self, low: int, high: int) -> Rows:
        """Return some rows with everything that is known of them."""
        times: NDArray[np.float64] = self._read_array("times", low, high)
        return Rows(self._texts("id", low, high), self._texts("digest", low, high), times, self.vectors(low, high))

    def times(self) -> NDArray[np.float64]:
        """Return the times of all rows."""
        times: NDArray[np.float64] = self._read_array("times", 0, len(self))
        return times

    def find(self, ids: Sequence[str]) -> Iterator[tuple[int, int, str]]:
        """Yield for each id that is in the segment its place among the ids, the row, and the row's digest.

        It takes the logarithm of the rows for each id.
        """
        keys, order = self._read_array("keys", 0, len(self)), self._read_array("order", 0, len(self))
        hashes = np.array([_key(name) for name in ids], dtype=np.uint64)
        lows, highs = np.searchsorted(keys, hashes, "left"), np.searchsorted(keys, hashes, "right")
        for number in np.flatnonzero(lows < highs).tolist():
            for row in sorted(order[lows[number] : highs[number]].tolist()):
                if self.id_at(row) == ids[number]:
                    yield number, row, self._texts("digest", row, row + 1)[0]

    def _texts(self, kind: str, low: int, high: int) -> list[str]:
        ends = self._read_array(f"{kind}_ends", low, high + 1).tolist()
        data = self._read_array(f"{kind}s", ends[0], ends[-1]).tobytes()
        try:
            return [
                data[start - ends[0] : end - ends[0]].decode("utf-8", "surrogatepass") for start, end in pairwise(ends)
            ]
        except UnicodeDecodeError as error:
            raise self._make_error(f"an id or a digest is not UTF-8: {error}") from error

    def _view(self, name: str) -> Any:
        kind, offset, count = self._layout[name]
        return self._raw[offset : offset + count * np.dtype(kind).itemsize].view(kind)

    def _read_array(self, name: str, low: int, high: int) -> Any:
        kind, offset, _ = self._layout[name]
        width = np.dtype(kind).itemsize
        self._check(offset + low * width, offset + high * width)
        return self._view(name)[low:high]

    def _check(self, low: int, high: int) -> None:
        first, end = low // _BLOCK, -(-high // _BLOCK)
        for block in (first + np.flatnonzero(~self._is_checked[first:end])).tolist():
            if zlib.crc32(self._raw[block * _BLOCK : min(self._size, (block + 1) * _BLOCK)].data) != self._sums[block]:
                raise self._make_error(f"the checksum of its block {block} is wrong")
            self._is_checked[block] = True

    def _read_replaced(self) -> NDArray[np.int64]:
        if not self.entry.replaced:
            return np.empty(0, dtype=np.int64)
        path = replaced_path(self.path.parent, self.entry)
        data = path.read_bytes()
        if zlib.crc32(data) != self.entry.replaced_checksum or len(data) != 8 * self.entry.replaced:
            raise FormatError(str(path), [f"the list of replaced rows is damaged; {REMEDY}"])
        return np.frombuffer(data, dtype="<i8").astype(np.int64)

    def _make_error(self, problem: str) -> FormatError:
        return FormatError(str(self.path), [f"this segment of the index is damaged: {problem}; {REMEDY}"])


def replaced_path(folder: Path, entry: SegmentEntry) -> Path:
    """Return where the rows of a segment stand that do not count any more."""
    return folder / f"{entry.name}.{entry.replaced_by}.replaced"


def write_segment(folder: Path, name: str, parts: Iterable[Rows]) -> SegmentEntry:
    """Write rows as a segment, whole or not at all. Only one part is in memory at a time, and all ids."""
    ids, digests, times = _Texts(), _Texts(), []
    keys: list[int] = []
    with whole_file(folder / f"{name}.segment") as path, path.open("wb") as file:
        out = _SummedFile(file)
        for rows in parts:
            out.write(np.ascontiguousarray(rows.vectors, dtype="<f4"))
            ids.add(rows.ids)
            digests.add(rows.digests)
            times.append(rows.times)
            keys += [_key(identity) for identity in rows.ids]
        unsorted = np.array(keys, dtype="<u8")
        order = np.argsort(unsorted, kind="stable")
        out.align()
        for array in (
            np.concatenate(times).astype("<f8"),
            unsorted[order],
            order.astype("<i8"),
            ids.ends(),
            digests.ends(),
            np.frombuffer(ids.data, np.uint8),
            np.frombuffer(digests.data, np.uint8),
        ):
            out.write(array)
            out.align()
        checksum = out.finish()
    return SegmentEntry(name, len(keys), len(ids.data), len(digests.data), checksum)


def _lay_out(entry: SegmentEntry, dimensions: int) -> tuple[dict[str, tuple[str, int, int]], int]:
    """Return the type, the offset and the length of each array of a segment, and the size of all."""
    count, offset, layout = entry.count, 0, {}
    for name, kind, length in (
        ("vectors", "<f4", count * dimensions),
        ("times", "<f8", count),
        ("keys", "<u8", count),
        ("order", "<i8", count),
        ("id_ends", "<i8", count + 1),
        ("digest_ends", "<i8", count + 1),
        ("ids", "|u1", entry.id_bytes),
        ("digests", "|u1", entry.digest_bytes),
    ):
        layout[name] = kind, offset, length
        offset += -(-length * int(kind[2]) // _ALIGNED) * _ALIGNED
    return layout, offset


def _key(identity: str) -> int:
    """Return 64 bits of a hash of an id."""
    digest = hashlib.blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


class _Texts:
    """Texts one after the other, with the end of each."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._lengths: list[int] = []

    def add(self, texts: Sequence[str]) -> None:
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        self._lengths += map(len, encoded)
        self.data += b"".join(encoded)

    def ends(self) -> NDArray[np.int64]:
        return np.array(list(accumulate(self._lengths, initial=0)), dtype="<i8")


class _SummedFile:
    """Writes bytes, and the checksums of their blocks behind them."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._size, self._sum = file, 0, 0
        self._sums: list[int] = []

    def write(self, array: NDArray[Any]) -> None:
        data = memoryview(array.tobytes())
        self._file.write(data)
        while data:
            part = data[: _BLOCK - self._size % _BLOCK]
            self._sum = zlib.crc32(part, self._sum)
            self._size += len(part)
            if self._size % _BLOCK == 0:
                self._sums.append(self._sum)
                self._sum = 0
            data = data[len(part) :]

    def align(self) -> None:
        self.write(np.zeros(-self._size % _ALIGNED, np.uint8))

    def finish(self) -> int:
        """Write the checksums, and return the checksum of them."""
        sums = np.array(self._sums + ([self._sum] if self._size % _BLOCK else []), dtype="<u4").tobytes()
        self._file.write(sums)
        return zlib.crc32(sums)


def batches(low: int, high: int, read: Callable[[int, int], Rows]) -> Iterator[Rows]:
    """Yield a range of rows in parts."""
    for first in range(low, high, ROWS):
        yield read(first, min(high, first + ROWS))
