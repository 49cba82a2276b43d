"""The earlier traces with which each trace of a data set is compared, read from the file of an index."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairtrial.valuation.approximate_search import check_approximate
from fairtrial.valuation.index_changes import Addition, extend_index, give_segments
from fairtrial.valuation.index_files import is_segmented
from fairtrial.valuation.novelty import CAPACITY, VectorCache
from fairtrial.valuation.segmented_index import SegmentedIndex
from fairtrial.valuation.whole_files import remove_old_parts

if TYPE_CHECKING:
    from fairtrial.records.value_row import Nearest
    from fairtrial.valuation.novelty_index import NoveltyIndex


def open_index(
    mode: str,
    path: Path | None,
    *,
    embedder: str,
    extend: bool = False,
    cache: VectorCache | None = None,
    ttl: float | None = None,
    approximate: bool = False,
) -> NoveltyIndex:
    """Return the index of a mode, read from `path` if there is such a file. `approximate` searches with a graph.

    A corpus without a file is made from the traces themselves. Each of them then has the unknown novelty 0.5.
    """
    if path is not None:
        remove_old_parts(path)
    if path is not None and mode == "corpus":
        extend = extend or not path.exists()
        return _CorpusIndex(path, embedder, extend=extend, ttl=ttl, approximate=approximate)
    if path is not None and is_segmented(path):
        return _LongSequence(path, embedder, ttl=ttl)
    return _SequenceIndex(cache, path, embedder, ttl=ttl)


def open_saved(path: Path, *, embedder: str = "", approximate: bool = False) -> VectorCache | SegmentedIndex:
    """Return a saved index for searches. A graph is for segments, so that an index of one file then gets segments."""
    if not is_segmented(path):
        cache = VectorCache.load(path, embedder=embedder)
        if not approximate:
            return cache
        check_approximate(cache.ttl)
        give_segments(path, embedder=embedder)
    index = SegmentedIndex(path, embedder=embedder, clock=time.time)
    if approximate:
        check_approximate(index.ttl)
    return index


def remembered_traces(mode: str, index: Path | None, *, embedded: bool, extend: bool) -> int | None:
    """Return how many earlier traces the novelty of later traces depends on, or None for all of them."""
    if not embedded or mode == "leave-one-out":
        return 0
    exists = index is not None and index.exists()
    if mode == "corpus":
        return None if extend or not exists else 0
    if index is None or not exists:
        return CAPACITY
    return None if is_segmented(index) else VectorCache.load(index).capacity


def last_ids(path: Path, count: int) -> tuple[str, ...]:
    """Return the ids of the last traces of an index."""
    if is_segmented(path):
        return SegmentedIndex(path, clock=time.time).last_ids(count)
    ids = VectorCache.load(path).ids
    return ids[len(ids) - count :] if count <= len(ids) else ids


class _SequenceIndex:
    """Compares each trace with the traces before it."""

    def __init__(self, cache: VectorCache | None, path: Path | None, embedder: str, *, ttl: float | None) -> None:
        self._cache, self._path, self._embedder, self._ttl = cache, path, embedder, ttl
        if path is not None and path.exists():
            self._cache = VectorCache.load(path, embedder=embedder)
            self._cache.ttl = ttl or self._cache.ttl

    def nearest(self, ids: Sequence[str], vectors: Any, digests: Sequence[str]) -> list[Nearest | None]:
        if self._cache is None:
            # Only the first vectors tell how many dimensions the embedder has.
            self._cache = VectorCache(dimensions=vectors.shape[1], ttl=self._ttl)
        return self._cache.sequence(ids, vectors, digests)

    def save(self) -> None:
        if self._path is not None and self._cache is not None:
            self._cache.save(self._path, embedder=self._embedder)


class _LongSequence:
    """Compares each trace with the traces before it, and with all of an index with segments."""

    def __init__(self, path: Path, embedder: str, *, ttl: float | None) -> None:
        self._index = SegmentedIndex(path, embedder=embedder, clock=time.time)
        self._index.ttl = ttl or self._index.ttl
        self._embedder = embedder
        self._new: VectorCache | None = None
        self._additions: list[Addition] = []

    def nearest(self, ids: Sequence[str], vectors: Any, digests: Sequence[str]) -> list[Nearest | None]:
        if self._new is None:
            self._new = VectorCache(None, vectors.shape[1], ttl=self._index.ttl)
        self._additions.append(Addition(ids, vectors, digests))
        pairs = zip(self._index.search(vectors), self._new.sequence(ids, vectors, digests), strict=True)
        return [new if saved is None or (new and new.cosine > saved.cosine) else saved for saved, new in pairs]

    def save(self) -> None:
        if self._additions:
            extend_index(
                self._index.path, self._additions, embedder=self._embedder, ttl=self._index.ttl, replaces=False
            )


class _CorpusIndex:
    """Compares each trace with the saved index alone, and never with itself.

    An index that is extended changes only after the last trace. A trace replaces the trace with its id.
    """

    def __init__(self, path: Path, embedder: str, *, extend: bool, ttl: float | None, approximate: bool) -> None:
        self._path, self._embedder, self._ttl = path, embedder, ttl
        self._search: Any = None
        if path.exists():
            saved = open_saved(path, embedder=embedder, approximate=approximate)
            saved.ttl = ttl or saved.ttl
            if isinstance(saved, SegmentedIndex):
                self._search = partial(saved.search, approximate=approximate)
            else:
                self._search = saved.search
        self._additions: list[Addition] | None = [] if extend else None

    def nearest(self, ids: Sequence[str], vectors: Any, digests: Sequence[str]) -> list[Nearest | None]:
        if self._additions is not None:
            self._additions.append(Addition(ids, vectors, digests))
        if self._search is None:
            return [None] * len(ids)
        nearest: list[Nearest | None] = self._search(vectors, ids=ids, digests=digests)
        return nearest

    def save(self) -> None:
        if self._additions:
            extend_index(self._path, self._additions, embedder=self._embedder, ttl=self._ttl)
