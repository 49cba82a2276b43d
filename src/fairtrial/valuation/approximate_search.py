"""Approximate nearest neighbours in a large vector index, by a graph beside the index.

The graph is a hierarchical navigable small world (Malkov and Yashunin 2018, arXiv 1603.09320) of the library usearch.
"""

from __future__ import annotations

import hashlib
from glob import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.errors import UsageError, lacks_extra, spell
from fairtrial.valuation.whole_files import whole_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fairtrial.valuation.novelty import VectorCache

CONNECTIVITY = 16
EXPANSION_ADD = 96
EXPANSION_SEARCH = 128
_BLOCK = 50_000
_SMALL = 10_000
_SAMPLE = 64


class NeighbourGraph:
    """The graph of an index, in the file INDEX.DIGEST.graph. It is built if there is no graph of these vectors yet.

    The file is memory-mapped, so that it opens at once.
    """

    def __init__(self, index: Path, cache: VectorCache) -> None:
        check_approximate(cache)
        from usearch.index import Index

        path = index.with_name(f"{index.name}.{_fingerprint(cache)}.graph")
        if not path.exists():
            _build(path, cache)
            for stale in index.parent.glob(f"{escape(index.name)}.*.graph"):
                if stale != path:
                    stale.unlink(missing_ok=True)
        problem = f"{path}: not the graph of {index}, or a damaged one; delete it, and it is built again"
        try:
            graph: Any = Index.restore(path, view=True)
        except (ValueError, RuntimeError) as error:
            raise UsageError(problem) from error
        if graph is None or len(graph) != len(cache) or graph.ndim != cache.dimensions:
            raise UsageError(problem)
        self._graph = graph
        self._graph.expansion_search = EXPANSION_SEARCH

    def candidates(self, vectors: NDArray[np.float32], count: int) -> list[NDArray[np.int64]]:
        """Return the places of `count` probably nearest vectors for each of n vectors."""
        import numpy as np

        matches = self._graph.search(vectors, count, threads=1)
        keys = np.asarray(matches.keys).reshape(len(vectors), -1).astype(np.int64)
        counts = np.broadcast_to(getattr(matches, "counts", keys.shape[1]), len(vectors))
        return [row[:found] for row, found in zip(keys, counts, strict=True)]


def check_approximate(cache: VectorCache | None) -> None:
    """Raise UsageError if a graph cannot be used: without its library, or if vectors of the index expire."""
    if find_spec("usearch") is None:
        raise UsageError(lacks_extra(spell("approximate"), "approximate"), code="missing-package")
    if cache is not None and cache.ttl is not None:
        raise UsageError(
            f"{spell('approximate')}: the traces of this index expire ({spell('ttl')}), which a graph cannot know"
        )


def _build(path: Path, cache: VectorCache) -> None:
    """Write the graph of the vectors of a cache, all or nothing.

    One core builds a small graph, which is then the same each time. All cores build a large one. They add vectors at
    once, so that some neighbours do not know of each other, which loses more of a small graph.
    """
    import numpy as np
    from usearch.index import Index

    graph = Index(
        ndim=cache.dimensions,
        metric="ip",
        # The file has 0.6 times the size of one with 16 bits. The cosines of the candidates are computed exactly.
        dtype="i8",
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
        expansion_search=EXPANSION_SEARCH,
    )
    threads = 1 if len(cache) < _SMALL else 0  # 0 is all cores
    for low in range(0, len(cache), _BLOCK):
        # A copy, because mapped vectors can begin at any byte, which the library does not read.
        block = np.array(cache.vectors[low : low + _BLOCK])
        graph.add(np.arange(low, low + len(block)), block, threads=threads)
    with whole_file(path) as part:
        graph.save(part)


def _fingerprint(cache: VectorCache) -> str:
    """Return a hash of the ids, the digests and a sample of the vectors of a cache."""
    sample = cache.vectors[:: max(1, len(cache) // _SAMPLE)]
    content = hashlib.sha256(msgspec.json.encode([cache.ids, cache.digests, cache.dimensions]))
    content.update(sample.tobytes())
    return content.hexdigest()[:16]
