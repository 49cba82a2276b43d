"""Change a novelty index: add traces, replace those with their ids, and merge small segments."""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from fairtrial.errors import UsageError
from fairtrial.valuation.approximate_search import pass_graph_on
from fairtrial.valuation.index_files import is_segmented, write_lock
from fairtrial.valuation.nearest_rows import unit_rows
from fairtrial.valuation.segment_file import (
    Rows,
    SegmentEntry,
    SegmentFile,
    batches,
    replaced_path,
    write_segment,
)
from fairtrial.valuation.segmented_index import (
    PATIENCE,
    IndexHead,
    SegmentedIndex,
    check_embedder,
    hidden_rows,
    iter_kept_rows,
    segments_folder,
    write_head,
)
from fairtrial.valuation.whole_files import remove_part, whole_file

with suppress(ImportError):  # without the extra `embed` the module can still be imported
    import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEALED = 250_000
"""A segment with at least this many rows is never merged again, so that no addition writes more than twice as many."""
_SIBLINGS = 8
"""So many segments of about the same size are merged. Fewer are merged if a later segment is larger than they are."""


class Addition(NamedTuple):
    """Traces for an index: their ids, their vectors, and the digests of their contents."""

    ids: Sequence[str]
    vectors: Any
    digests: Sequence[str]


def extend_index(
    path: Path,
    additions: Sequence[Addition],
    *,
    embedder: str = "",
    ttl: float | None = None,
    replaces: bool = True,
    clock: Callable[[], float] = time.time,
    patience: float = PATIENCE,
) -> None:
    """Add traces to an index, which is made if it does not exist. An index of one file gets segments.

    With `replaces`, the traces that had the same ids do not count any more, and the last of several new traces with
    one id is added. The work is that of the new traces, and of the small segments that are merged. If another process
    writes the index, this one waits for it at most `patience` seconds.
    """
    rows = _new_rows(additions, clock(), replaces=replaces)
    segments_folder(path).mkdir(exist_ok=True)
    with write_lock(path, patience=patience):
        change = _IndexChange(path, rows.vectors.shape[1], embedder=embedder, clock=clock)
        change.head = replace(change.head, ttl=ttl or change.head.ttl)  # ttl of an older index stays
        if replaces:
            change.replace(rows.ids)
        change.add(rows)
        change.commit()


def give_segments(path: Path, *, embedder: str = "", clock: Callable[[], float] = time.time) -> None:
    """Write an index of one file as segments."""
    segments_folder(path).mkdir(exist_ok=True)
    with write_lock(path, patience=PATIENCE):
        if not is_segmented(path):
            _IndexChange(path, None, embedder=embedder, clock=clock).commit()


class _IndexChange:
    """The next state of an index. Its segments are on the disk before the file of the index names them."""

    def __init__(self, path: Path, dimensions: int | None, *, embedder: str, clock: Callable[[], float]) -> None:
        self._path, self._folder = path, segments_folder(path)
        self._files: dict[str, SegmentFile] = {}
        if is_segmented(path):
            index = SegmentedIndex(path, embedder=embedder, clock=clock)
            self.head = index.head
            self._files = {file.entry.name: file for file in index.segments}
        elif path.exists():
            self._read_one_file(embedder)
        else:
            self.head = IndexHead(dimensions or 1, embedder)
        if dimensions not in {None, self.head.dimensions}:
            raise UsageError(f"{path}: its vectors have {self.head.dimensions} dimensions, not {dimensions}")
        self._expired_at = None if self.head.ttl is None else clock() - self.head.ttl

    def _read_one_file(self, embedder: str) -> None:
        from fairtrial.valuation.novelty import VectorCache

        origin = VectorCache.read_embedder(self._path)
        check_embedder(self._path, origin, embedder)
        cache = VectorCache.load(self._path)
        self.head = IndexHead(cache.dimensions, origin or embedder, cache.ttl)
        for low in range(0, len(cache), SEALED):
            high = min(len(cache), low + SEALED)
            self._append(batches(low, high, cache.rows))

    def replace(self, ids: Sequence[str]) -> None:
        """Let the rows with some ids not count any more."""
        for entry in self.head.segments:
            file = self._open(entry)
            rows = np.array([row for _, row, _ in file.find(ids)], dtype=np.int64)
            if np.setdiff1d(rows, file.replaced).size:
                file.replaced = np.union1d(file.replaced, rows)
                data = file.replaced.astype("<i8").tobytes()
                changed = replace(
                    entry,
                    replaced=len(file.replaced),
                    replaced_by=self.head.changes + 1,
                    replaced_checksum=zlib.crc32(data),
                )
                with whole_file(replaced_path(self._folder, changed)) as part:
                    part.write_bytes(data)
                self._exchange(entry, [changed])

    def add(self, rows: Rows) -> None:
        """Add rows behind all others, together with the small segments before them."""
        for low in range(0, len(rows.ids), SEALED):
            self._merge_with(_slice(rows, low, low + SEALED))
        for entry in self.head.segments:
            hidden = len(self._hidden(self._open(entry)))
            if hidden == entry.count:
                self._exchange(entry, [])
            elif hidden > entry.count // 2:
                self._exchange(entry, [self._write(self._iter_kept(entry))])

    def _merge_with(self, rows: Rows) -> None:
        """Write rows and the last segments as one, if those are smaller, or if there are many of about one size."""
        entries = self.head.segments
        first, total = len(entries), len(rows.ids)
        while first and _live(entries[first - 1]) < SEALED and total + _live(entries[first - 1]) <= 2 * SEALED:
            level = total.bit_length() // 3
            siblings = 0
            while siblings < first and _live(entries[first - 1 - siblings]).bit_length() // 3 <= level:
                siblings += 1
            if _live(entries[first - 1]) >= total and siblings < _SIBLINGS - 1:
                break
            total += _live(entries[first - 1])
            first -= 1
        merged = entries[first:]
        self.head = replace(self.head, segments=entries[:first])
        parts = chain(*map(self._iter_kept, merged), batches(0, len(rows.ids), partial(_slice, rows)))
        entry = self._append(parts)
        if merged and not self._hidden(self._open(merged[0])).size:
            pass_graph_on(self._open(merged[0]).path, self._open(entry).path)

    def commit(self) -> None:
        """Make this the state of the index, and remove the files of earlier states."""
        self.head = replace(self.head, changes=self.head.changes + 1)
        write_head(self._path, self.head)
        names = {entry.name for entry in self.head.segments}
        lists = {replaced_path(self._folder, entry).name for entry in self.head.segments if entry.replaced}
        for path in self._folder.iterdir():
            if path.suffix == ".part":
                remove_part(path)
            elif path.name.partition(".")[0] not in names or (path.suffix == ".replaced" and path.name not in lists):
                with suppress(OSError):  # Windows does not remove a file that somebody reads; a later change does
                    path.unlink()

    def _append(self, parts: Iterator[Rows]) -> SegmentEntry:
        entry = self._write(parts)
        self.head = replace(self.head, segments=(*self.head.segments, entry))
        return entry

    def _write(self, parts: Iterator[Rows]) -> SegmentEntry:
        """Write a segment with a name that no earlier state of the index used, also one that was never finished."""
        numbers = [int(path.name[:8]) for path in self._folder.iterdir() if re.match("[0-9]{8}[.]", path.name)]
        return write_segment(self._folder, f"{max(numbers, default=0) + 1:08d}", parts)

    def _iter_kept(self, entry: SegmentEntry) -> Iterator[Rows]:
        file = self._open(entry)
        return iter_kept_rows(file, self._hidden(file))

    def _hidden(self, file: SegmentFile) -> NDArray[np.int64]:
        return hidden_rows(file, self._expired_at)

    def _open(self, entry: SegmentEntry) -> SegmentFile:
        if entry.name not in self._files:
            self._files[entry.name] = SegmentFile(self._folder, entry, self.head.dimensions)
        return self._files[entry.name]

    def _exchange(self, entry: SegmentEntry, entries: list[SegmentEntry]) -> None:
        place = self.head.segments.index(entry)
        before, after = self.head.segments[:place], self.head.segments[place + 1 :]
        self.head = replace(self.head, segments=(*before, *entries, *after))


def _new_rows(additions: Sequence[Addition], now: float, *, replaces: bool) -> Rows:
    """Return all additions as rows of unit length. With `replaces`, only the last of several with one id is a row."""
    ids = [name for addition in additions for name in addition.ids]
    digests = [digest for addition in additions for digest in addition.digests]
    dimensions = np.shape(additions[0].vectors)[1]
    unit = np.empty((len(ids), dimensions), dtype=np.float32)
    end = 0
    for addition in additions:
        count = len(addition.ids)
        unit[end : end + count] = unit_rows(addition.vectors, (count, dimensions))
        end += count
    places = sorted({name: place for place, name in enumerate(ids)}.values()) if replaces else range(len(ids))
    if len(places) < len(ids):
        ids, digests, unit = [ids[place] for place in places], [digests[place] for place in places], unit[list(places)]
    return Rows(ids, digests, np.full(len(ids), now), unit)


def _slice(rows: Rows, low: int, high: int) -> Rows:
    return Rows(rows.ids[low:high], rows.digests[low:high], rows.times[low:high], rows.vectors[low:high])


def _live(entry: SegmentEntry) -> int:
    return entry.count - entry.replaced
