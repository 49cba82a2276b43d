"""The novelty index: the earlier traces with which each trace of a data set is compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from fairtrial.errors import UsageError, nearest, spell
from fairtrial.records.value_row import Nearest
from fairtrial.system.file_lock import try_to_lock
from fairtrial.valuation.approximate_search import NeighbourGraph, check_approximate
from fairtrial.valuation.whole_files import remove_old_parts

if TYPE_CHECKING:
    from fairtrial.valuation.novelty import VectorCache

Mode = Literal["sequence", "corpus", "leave-one-out"]


class NoveltyIndex(Protocol):
    """Finds the most similar earlier trace."""

    def nearest(self, ids: Sequence[str], vectors: Any, digests: Sequence[str]) -> list[Nearest | None]:
        """Return the nearest trace of each. It is called once for every chunk, in input order."""
        ...

    def save(self) -> None:
        """Save the index, if it has a file. It is called after the last chunk."""
        ...


def check_mode(mode: str, *, index: object, embedded: bool, approximate: bool = False) -> None:
    """Raise UsageError for a novelty mode that is unknown, or that lacks its index or its embedder."""
    if approximate and mode != "corpus":
        raise UsageError(
            f"{spell('approximate')} needs {spell('novelty')} corpus: only a saved index is searched with a graph",
            code="missing-option",
        )
    if approximate:
        check_approximate(None)
    modes = get_args(Mode)
    if mode not in modes:
        raise UsageError(
            f"novelty: must be one of {', '.join(modes)}, got {mode!r}{nearest(mode, modes)}", code="unknown-name"
        )
    if not embedded and (mode != "sequence" or index is not None):
        raise UsageError(
            f"novelty {mode!r}{' with an index' if index else ''} needs an embedder, got none", code="missing-option"
        )
    if mode == "corpus" and index is None:
        raise UsageError("novelty 'corpus' needs an index to search", code="missing-option")
    if mode == "leave-one-out" and index is not None:
        raise UsageError(
            "novelty 'leave-one-out' compares the traces with each other; it takes no index", code="options-conflict"
        )


@contextmanager
def write_lock(path: Path | None) -> Iterator[None]:
    """Keep other processes from writing an index during the block. Raises UsageError if another process writes it.

    An index is read, extended and written as a whole, so that of two writers at once the first would be lost.
    """
    if path is None:
        yield
        return
    lock = path.with_name(f"{path.name}.lock")
    with lock.open("ab") as file:
        if try_to_lock(file) is False:
            raise UsageError(
                f"{spell('index')}: {path}: another process is writing it; wait for its end, or use another file",
                code="busy",
            )
        yield


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
    from fairtrial.valuation.novelty import VectorCache

    exists = path is not None and path.exists()
    if path is not None:
        remove_old_parts(path)
    if path is not None and exists:
        cache = VectorCache.load(path, embedder=embedder)
        cache.ttl = ttl or cache.ttl
    if mode == "corpus" and path is not None:
        graph = NeighbourGraph(path, cache) if approximate and cache else None
        return _CorpusIndex(cache, path, embedder, extend=extend or not exists, ttl=ttl, graph=graph)
    return _SequenceIndex(cache, path, embedder, ttl=ttl)


def remembered_traces(mode: str, index: Path | None, *, embedded: bool, extend: bool) -> int | None:
    """Return how many earlier traces the novelty of later traces depends on, or None for all of them."""
    from fairtrial.valuation.novelty import CAPACITY, VectorCache

    if not embedded or mode == "leave-one-out":
        return 0
    exists = index is not None and index.exists()
    if mode == "corpus":
        return None if extend or not exists else 0
    return VectorCache.load(index).capacity if index is not None and exists else CAPACITY


class _SequenceIndex:
    """Compares each trace with the traces before it."""

    def __init__(self, cache: VectorCache | None, path: Path | None, embedder: str, *, ttl: float | None) -> None:
        self._cache, self._path, self._embedder, self._ttl = cache, path, embedder, ttl

    def nearest(self, ids: Sequence[str], vectors: Any, digests: Sequence[str]) -> list[Nearest | None]:
        if self._cache is None:
            from fairtrial.valuation.novelty import VectorCache

            # Only the first vectors tell how many dimensions the embedder has.
            self._cache = VectorCache(dimensions=vectors.shape[1], ttl=self._ttl)
        return self._cache.sequence(ids, vectors, digests)

    def save(self) -> None:
        if self._path is not None and self._cache is not None:
            self._cache.save(self._path, embedder=self._embedder)


class _CorpusIndex:
    """Compares each trace with the saved index alone, and never with itself.

    An index that is extended changes only after the last trace. A trace replaces the trace with its id.
    """

    def __init__(
        self,
        cache: VectorCache | None,
        path: Path,
        embedder: str,
        *,
        extend: bool,
        ttl: float | None,
        graph: NeighbourGraph | None,
    ) -> None:
        self._graph = graph
        self._cache, self._path, self._embedder, self._ttl = cache, path, embedder, ttl
        self._additions: list[tuple[Sequence[str], Any, Sequence[str]]] | None = [] if extend else None

    def nearest(self, ids: Sequence[str], vectors: Any, digests: Sequence[str]) -> list[Nearest | None]:
        if self._additions is not None:
            self._additions.append((ids, vectors, digests))
        if self._cache is None:
            return [None] * len(ids)
        return self._cache.search(vectors, ids=ids, digests=digests, among=self._graph)

    def save(self) -> None:
        from fairtrial.valuation.novelty import VectorCache

        if self._additions:
            dimensions = self._additions[0][1].shape[1]
            extended = self._cache or VectorCache(dimensions=dimensions, ttl=self._ttl)
            extended.capacity = None
            for ids, vectors, digests in self._additions:
                extended.replace(ids, vectors, digests)
            extended.save(self._path, embedder=self._embedder)
