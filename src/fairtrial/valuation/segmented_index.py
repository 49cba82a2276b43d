"""A novelty index that lives: segments that never change, and a small file that says which of them count.

The index FILE names the segments in the folder FILE.segments. New traces make a new segment, and then the file is
replaced, so that whoever reads sees the index before or after, and a process that is killed leaves nothing half done.
Small segments are merged when a later one is written (Lucene's and LSM trees' way: O'Neil et al. 1996, "The
log-structured merge-tree"), so that a trace is written again a few times only, whatever the size of the index.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from fairtrial.errors import FormatError, UsageError
from fairtrial.records.decoding import json_decoder
from fairtrial.records.record import Record
from fairtrial.valuation.approximate_search import SegmentGraph, check_approximate
from fairtrial.valuation.nearest_rows import BLOCK, BestRows, unit_rows
from fairtrial.valuation.segment_file import REMEDY, ROWS, Rows, SegmentEntry, SegmentFile
from fairtrial.valuation.whole_files import whole_file

with suppress(ImportError):  # without the extra `embed` the module can still be imported
    import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairtrial.records.value_row import Nearest

    Floats = NDArray[np.float32]

VERSION = 2
"""Version 1 is one file, which `VectorCache.save` writes."""
CANDIDATES = 32
"""Enough that the ten nearest are among them, although a graph compares rounded vectors."""
GRAPH_FROM = 10_000
"""Segments with fewer rows are searched exactly, which takes as long as a graph takes."""
PATIENCE = 600.0
"""Seconds that a writer waits for another one. Writing takes seconds, but another run may make the index."""
_TRIES = 5


class IndexHead(Record, frozen=True):
    """The contents of the file of an index: its embedder, its time to live, and its segments."""

    dimensions: Annotated[int, msgspec.Meta(ge=1)]
    embedder: str = ""
    ttl: Annotated[float, msgspec.Meta(gt=0)] | None = None
    changes: int = 0
    segments: tuple[SegmentEntry, ...] = ()


class _Envelope(Record, frozen=True):
    fairtrial_novelty_index: int
    checksum: int
    head: msgspec.Raw


class SegmentedIndex:
    """The index at the time when it was opened. It is not read before it is searched.

    Every answer is exact, unless a graph is asked for: vectors are compared in blocks, as products of matrices.
    """

    def __init__(self, path: Path, *, embedder: str = "", clock: Callable[[], float]) -> None:
        self.path, self._clock = path, clock
        for attempt in range(_TRIES):
            self.head = read_head(path, embedder=embedder)
            try:
                self.segments = [
                    SegmentFile(segments_folder(path), entry, self.head.dimensions) for entry in self.head.segments
                ]
                break
            except FileNotFoundError as error:  # merged by a writer, which has replaced the file of the index before
                if attempt == _TRIES - 1:
                    raise FormatError(
                        str(error.filename), [f"this segment of the index is missing; {REMEDY}"]
                    ) from error
        self.ttl = self.head.ttl
        self._starts = [0]
        for segment in self.segments:
            self._starts.append(self._starts[-1] + len(segment))

    def __len__(self) -> int:
        return sum(len(segment) - len(segment.replaced) for segment in self.segments)

    def search(
        self,
        vectors: Any,
        *,
        ids: Sequence[str] | None = None,
        digests: Sequence[str] | None = None,
        approximate: bool = False,
    ) -> list[Nearest | None]:
        """Return the nearest vector of the index for each of n vectors.

        With `ids` and `digests`, a trace does not find itself, as with `VectorCache.search`. With `approximate`, large
        segments are searched with graphs, so that the nearest vector can be missed. The cosines stay exact.
        """
        if approximate:
            check_approximate(self.ttl)
        unit = unit_rows(vectors, (len(vectors), self.head.dimensions))
        best = BestRows(len(unit))
        for start, segment in zip(self._starts, self.segments, strict=False):
            own = _find_own(segment, ids, digests)
            hidden = self._hidden(segment)
            if approximate and len(segment) >= GRAPH_FROM:
                _offer_candidates(best, unit, segment, start, hidden, own)
            else:
                _offer_all(best, unit, segment, start, hidden, own)
        return best.as_nearest(self)

    def __getitem__(self, place: int) -> str:
        """Return the id of a row, counted over all segments."""
        number = int(np.searchsorted(self._starts, place, "right")) - 1
        return self.segments[number].id_at(place - self._starts[number])

    def last_ids(self, count: int) -> tuple[str, ...]:
        """Return the ids of the last traces."""
        ids: list[str] = []
        for segment in reversed(self.segments):
            if len(ids) >= count:
                break
            places = np.setdiff1d(np.arange(len(segment)), segment.replaced)[len(ids) - count :]
            ids = [segment.id_at(place) for place in places.tolist()] + ids
        return tuple(ids)

    def iter_rows(self) -> Iterator[Rows]:
        """Yield all rows that count, in the order of addition."""
        for segment in self.segments:
            yield from iter_kept_rows(segment, self._hidden(segment))

    def _hidden(self, segment: SegmentFile) -> NDArray[np.int64]:
        return hidden_rows(segment, None if self.ttl is None else self._clock() - self.ttl)


def hidden_rows(segment: SegmentFile, expired_at: float | None) -> NDArray[np.int64]:
    """Return the sorted rows of a segment that do not count: replaced ones, and those added until a time."""
    if expired_at is None:
        return segment.replaced
    return np.union1d(segment.replaced, np.flatnonzero(segment.times() <= expired_at))


def iter_kept_rows(segment: SegmentFile, hidden: NDArray[np.int64]) -> Iterator[Rows]:
    """Yield the rows of a segment, except hidden ones."""
    for low in range(0, len(segment), ROWS):
        high = min(len(segment), low + ROWS)
        rows = segment.rows(low, high)
        if (here := _between(hidden, low, high)).size:
            keep = np.setdiff1d(np.arange(high - low), here)
            rows = Rows(
                [rows.ids[place] for place in keep],
                [rows.digests[place] for place in keep],
                rows.times[keep],
                rows.vectors[keep],
            )
        if rows.ids:
            yield rows


def _find_own(
    segment: SegmentFile, ids: Sequence[str] | None, digests: Sequence[str] | None
) -> dict[int, NDArray[np.int64]]:
    """Return the rows at which each of some traces is in a segment itself."""
    own: dict[int, list[int]] = {}
    for number, row, digest in segment.find(ids) if ids is not None else ():
        if digests is None or not digest or digest == digests[number]:
            own.setdefault(number, []).append(row)
    return {number: np.array(rows) for number, rows in own.items()}


def _offer_all(
    best: BestRows,
    unit: Floats,
    segment: SegmentFile,
    start: int,
    hidden: NDArray[np.int64],
    own: dict[int, NDArray[np.int64]],
) -> None:
    for low in range(0, len(segment), ROWS):
        high = min(len(segment), low + ROWS)
        rows = segment.vectors(low, high)
        for first in range(0, len(unit), BLOCK):
            products = unit[first : first + BLOCK] @ rows.T
            products[:, _between(hidden, low, high)] = -np.inf
            for number in range(first, first + len(products)) if own else ():
                if number in own:
                    products[number - first, _between(own[number], low, high)] = -np.inf
            best.offer(first, products, start + low)


def _offer_candidates(
    best: BestRows,
    unit: Floats,
    segment: SegmentFile,
    start: int,
    hidden: NDArray[np.int64],
    own: dict[int, NDArray[np.int64]],
) -> None:
    graph = SegmentGraph(segment)
    count = CANDIDATES + max(map(len, own.values()), default=0) + min(len(hidden), CANDIDATES)
    for number, candidates in enumerate(graph.candidates(unit, min(len(segment), count))):
        places = np.setdiff1d(
            np.setdiff1d(candidates, hidden), own.get(number, ())
        )  # sorted: the earliest of equals wins
        if len(places):
            best.offer_places(number, unit[number] @ segment.vectors_at(places).T, places + start)


def _between(places: NDArray[np.int64], low: int, high: int) -> NDArray[np.int64]:
    """Return those of sorted places that are in a range, counted from its begin."""
    first, end = np.searchsorted(places, (low, high))
    return places[first:end] - low


def segments_folder(path: Path) -> Path:
    """Return the folder of the segments of an index."""
    return path.with_name(f"{path.name}.segments")


def read_head(path: Path, *, embedder: str = "") -> IndexHead:
    """Return the contents of the file of an index. Raises FormatError, or UsageError if its embedder differs."""
    try:
        envelope = json_decoder(_Envelope).decode(path.read_bytes())
        head = json_decoder(IndexHead).decode(envelope.head)
    except FileNotFoundError as error:
        raise UsageError(f"{path}: there is no such index", code="no-such-file") from error
    except ValueError as error:  # of msgspec
        raise FormatError(str(path), [f"not a novelty index, or a damaged one: {error}"]) from error
    if envelope.fairtrial_novelty_index != VERSION or zlib.crc32(bytes(envelope.head)) != envelope.checksum:
        raise FormatError(str(path), ["a novelty index of another version, or a damaged one: its checksum is wrong"])
    check_embedder(path, head.embedder, embedder)
    return head


def check_embedder(path: Path, origin: str, embedder: str) -> None:
    """Raise UsageError if the vectors of an index are by another embedder."""
    if embedder and origin and origin != embedder:
        raise UsageError(f"{path}: its vectors are by the embedder {origin!r}, not by {embedder!r}")


def write_head(path: Path, head: IndexHead) -> None:
    """Replace the file of an index. From now on, its segments count, and no others."""
    raw = msgspec.json.encode(head)
    with whole_file(path) as part:
        part.write_bytes(msgspec.json.encode(_Envelope(VERSION, zlib.crc32(raw), msgspec.Raw(raw))))
