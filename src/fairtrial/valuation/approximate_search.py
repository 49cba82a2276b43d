"""Approximate nearest neighbours in a large segment of a novelty index, by a graph beside the segment.

The graph is a hierarchical navigable small world (Malkov and Yashunin 2018, arXiv 1603.09320) of the library usearch.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from importlib.util import find_spec
from os import SEEK_END
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairtrial.errors import UsageError, lacks_extra, spell
from fairtrial.valuation.whole_files import whole_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fairtrial.valuation.segment_file import SegmentFile

CONNECTIVITY = 16
EXPANSION_ADD = 96
EXPANSION_SEARCH = 128
_BLOCK = 50_000
_READ_SIZE = 2**20


class SegmentGraph:
    """The graph of a segment, in the file SEGMENT.graph. It is built if there is none yet.

    If the segment begins with the rows of an earlier segment, the graph of that one is extended. The file is read once
    for its checksum, because the library does not check it, and is then memory-mapped.
    """

    def __init__(self, segment: SegmentFile) -> None:
        path = segment.path.with_suffix(".graph")
        if not path.exists():
            _build(segment, path)
        self._graph = _restore(path, segment, view=True)
        if self._graph is None or len(self._graph) != len(segment):
            raise UsageError(
                f"{path}: not the graph of {segment.path}, or a damaged one; delete it, and it is built again"
            )
        self._graph.expansion_search = EXPANSION_SEARCH

    def candidates(self, vectors: NDArray[np.float32], count: int) -> list[NDArray[np.int64]]:
        """Return the places of `count` probably nearest vectors for each of n vectors."""
        return find_candidates(self._graph, vectors, count)


def find_candidates(graph: Any, vectors: NDArray[np.float32], count: int) -> list[NDArray[np.int64]]:
    """Return the keys of `count` probably nearest vectors of a graph for each of n vectors."""
    import numpy as np

    matches = graph.search(vectors, count, threads=1)
    keys = np.asarray(matches.keys).reshape(len(vectors), -1).astype(np.int64)
    counts = np.broadcast_to(getattr(matches, "counts", keys.shape[1]), len(vectors))
    return [row[:size] for row, size in zip(keys, counts, strict=True)]


def new_graph(dimensions: int, *, expansion: int | None = None) -> Any:
    """Return an empty graph. A smaller expansion makes it faster and less exact."""
    from usearch.index import Index

    return Index(
        ndim=dimensions,
        metric="ip",
        # The file has 0.6 times the size of one with 16 bits. The cosines of the candidates are computed exactly.
        dtype="i8",
        connectivity=CONNECTIVITY,
        expansion_add=expansion or EXPANSION_ADD,
        expansion_search=expansion or EXPANSION_SEARCH,
    )


def check_approximate(ttl: float | None) -> None:
    """Raise UsageError if a graph cannot be used: without its library, or if vectors of the index expire."""
    if find_spec("usearch") is None:
        raise UsageError(lacks_extra(spell("approximate"), "approximate"), code="missing-package")
    if ttl is not None:
        raise UsageError(
            f"{spell('approximate')}: the traces of this index expire ({spell('ttl')}), which a graph cannot know"
        )


def pass_graph_on(before: Path, after: Path) -> None:
    """Let the graph of a segment be the begin of the graph of a segment that begins with the same rows."""
    with suppress(OSError):  # there is none, or Windows does not rename a file that somebody reads
        before.with_suffix(".graph").rename(after.with_suffix(".base"))


def _restore(path: Path, segment: SegmentFile, *, view: bool) -> Any:
    """Return the graph in a file, or None if there is no whole graph of such vectors. A checksum ends the file."""
    from usearch.index import Index

    with suppress(ValueError, RuntimeError, OSError):
        if _checksum(path, path.stat().st_size - 4) == _last_bytes(path):
            graph: Any = Index.restore(path, view=view)
            return graph if graph is not None and graph.ndim == segment.dimensions else None
    return None


def _build(segment: SegmentFile, path: Path) -> None:
    """Write the graph of the vectors of a segment, all or nothing.

    All cores add vectors at once, so that some neighbours do not know of each other. The loss is small in a large
    graph.
    """
    import numpy as np

    base = path.with_suffix(".base")
    graph = _restore(base, segment, view=False)
    if graph is None or len(graph) > len(segment):
        graph = new_graph(segment.dimensions)
    graph.expansion_add = EXPANSION_ADD
    for low in range(len(graph), len(segment), _BLOCK):
        block = np.array(segment.vectors(low, min(len(segment), low + _BLOCK)))
        graph.add(np.arange(low, low + len(block)), block, threads=0)  # 0 is all cores
    with whole_file(path) as part:
        graph.save(part)
        checksum = _checksum(part, part.stat().st_size)
        with part.open("ab") as file:
            file.write(checksum)
    base.unlink(missing_ok=True)


def _checksum(path: Path, size: int) -> bytes:
    checksum = 0
    with path.open("rb") as file:
        while size > 0 and (data := file.read(min(size, _READ_SIZE))):
            checksum = zlib.crc32(data, checksum)
            size -= len(data)
    return checksum.to_bytes(4, "little")


def _last_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-4, SEEK_END)
        return file.read()
