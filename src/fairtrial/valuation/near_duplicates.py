"""Find near-duplicates of earlier traces in a set, with the reason for each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from fairtrial.errors import UsageError, spell
from fairtrial.records.record import Record
from fairtrial.records.value_row import Duplicate
from fairtrial.valuation.approximate_search import check_approximate, find_candidates, new_graph
from fairtrial.valuation.step_sketches import Sketch, bands, rows_of_band, similarity, sketch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fairtrial.records.reasoning import ReasoningTrace

BLOCK = 256
"""Traces whose vectors are compared with the remembered vectors at once. A product of matrices is ten times as fast as
a product for each trace."""
_ROWS = 8192
"""Remembered vectors in one product of matrices. More of them need more memory."""
GRAPH_FROM = 100_000
"""Vectors of the same tools from which on a graph is faster than a search through all."""
_CANDIDATES = 8
_EXPANSION = 64
"""A duplicate is much nearer than all others, so that a small search finds it."""
ROUNDING = 1e-6
"""Float32 products of equal vectors miss 1 by less than this."""


class DedupOptions(Record, frozen=True):
    """When a trace repeats another: the least share of common steps, and the least cosine of the vectors.

    With `approximate`, a graph proposes the nearest of many vectors, so that a duplicate can be missed.
    """

    similarity: float = 0.8
    cosine: float = 0.98
    approximate: bool = False

    def check(self) -> None:
        """Raise UsageError for a limit outside of 0 to 1, or for a graph without its library."""
        if self.approximate:
            check_approximate(None)
        for name, limit in ((spell("dedup_similarity"), self.similarity), (spell("dedup_cosine"), self.cosine)):
            if not 0.0 < limit <= 1.0:
                raise UsageError(f"{name}: must be a number above 0, at most 1, got {limit!r}")


class DuplicateFinder:
    """Compares each trace with the earlier traces that are not duplicates themselves.

    A duplicate is merged into the most similar of them directly. So a chain of small changes never merges two traces
    that differ much. Traces with different tools are never duplicates. Bands of MinHash signatures find the candidates
    by their steps, and the exact share of common shingles decides. Vectors are compared exactly, each with all, as
    products of matrices. On demand, a graph of many vectors proposes those that are compared.
    """

    def __init__(self, options: DedupOptions) -> None:
        self._options = options
        self._rows = rows_of_band(options.similarity)
        self._ids: list[str] = []
        self._sketches: list[Sketch] = []
        # Nearly all bands lead to one trace only. A list for each of them would double the memory.
        self._first_places: dict[int, int] = {}
        self._more_places: defaultdict[int, list[int]] = defaultdict(list)
        self._vectors: dict[frozenset[str], _Vectors] = defaultdict(partial(_Vectors, options.approximate))

    def find(
        self, traces: Sequence[ReasoningTrace], vectors: NDArray[np.float32] | None = None
    ) -> list[Duplicate | None]:
        """Return for each trace what it repeats, or None. A trace that repeats nothing is remembered.

        `vectors` has a row of unit length for each trace.
        """
        duplicates: list[Duplicate | None] = []
        for low in range(0, len(traces), BLOCK):
            part = slice(low, low + BLOCK)
            duplicates += self._find_block(traces[part], None if vectors is None else vectors[part])
        return duplicates

    def _find_block(
        self, traces: Sequence[ReasoningTrace], vectors: NDArray[np.float32] | None
    ) -> list[Duplicate | None]:
        sketches = [sketch(trace) for trace in traces]
        nearest = [] if vectors is None else self._nearest_before([actual.tools for actual in sketches], vectors)
        duplicates: list[Duplicate | None] = []
        for number, (trace, actual) in enumerate(zip(traces, sketches, strict=True)):
            keys = list(bands(actual, self._rows))
            vector = None if vectors is None else vectors[number]
            duplicate = self._by_steps(actual, keys)
            if duplicate is None and vector is not None:
                duplicate = self._by_vector(actual.tools, vector, nearest[number])
            if duplicate is None:
                self._remember(trace, actual, keys, vector)
            duplicates.append(duplicate)
        return duplicates

    def _nearest_before(self, tools: Sequence[frozenset[str]], vectors: NDArray[np.float32]) -> list[_Nearest]:
        """Return the nearest remembered vector of the same tools for each vector, and how many there are."""
        nearest = [_Nearest(-1, -1.0, 0)] * len(tools)
        numbers: defaultdict[frozenset[str], list[int]] = defaultdict(list)
        for number, own in enumerate(tools):
            if own in self._vectors:
                numbers[own].append(number)
        for own, places in numbers.items():
            for number, found in zip(places, self._vectors[own].nearest(vectors[places]), strict=True):
                nearest[number] = found
        return nearest

    def _remember(
        self, trace: ReasoningTrace, actual: Sketch, keys: list[int], vector: NDArray[np.float32] | None
    ) -> None:
        place = len(self._ids)
        for key in keys:
            if self._first_places.setdefault(key, place) != place:
                self._more_places[key].append(place)
        if vector is not None:
            self._vectors[actual.tools].add(place, vector)
        self._ids.append(trace.id)
        self._sketches.append(actual._replace(signature=actual.signature[:0]))  # only its bands are needed again

    def _by_steps(self, actual: Sketch, keys: list[int]) -> Duplicate | None:
        # Sorted, so that the earliest of equally similar traces is found, whatever the order of the bands is.
        first = {self._first_places[key] for key in keys if key in self._first_places}
        candidates = sorted(first.union(*(self._more_places[key] for key in keys if key in self._more_places)))
        shares = [
            (similarity(actual, self._sketches[place]), place)
            for place in candidates
            if self._sketches[place].tools == actual.tools
        ]
        share, place = max(shares, key=lambda pair: pair[0], default=(0.0, -1))
        return Duplicate(self._ids[place], "steps", share) if share >= self._options.similarity else None

    def _by_vector(self, tools: frozenset[str], vector: NDArray[np.float32], before: _Nearest) -> Duplicate | None:
        """Return the nearest trace by its vector. `before` is the nearest of those before the block of the trace."""
        if tools not in self._vectors:
            return None
        (later,) = self._vectors[tools].nearest(vector[None], start=before.compared)
        nearest = later if later.cosine > before.cosine else before
        if nearest.cosine < self._options.cosine - ROUNDING:
            return None
        return Duplicate(self._ids[nearest.place], "embedding", min(1.0, nearest.cosine))


class _Nearest(NamedTuple):
    """The place of the trace with the largest cosine, the cosine, and the number of compared vectors."""

    place: int
    cosine: float
    compared: int


class _Vectors:
    """Vectors with their places, in an array that grows by doubling. A graph of many of them is made on demand."""

    def __init__(self, is_approximate: bool) -> None:
        self._places: list[int] = []
        self._rows: Any = None
        self._is_approximate = is_approximate
        self._graph: Any = None

    def add(self, place: int, vector: NDArray[np.float32]) -> None:
        import numpy as np

        count = len(self._places)
        if self._rows is None or count == len(self._rows):
            grown = np.empty((max(16, 2 * count), len(vector)), dtype=np.float32)
            grown[:count] = self._rows[:count] if count else 0
            self._rows = grown
        self._rows[count] = vector
        self._places.append(place)

    def nearest(self, vectors: NDArray[np.float32], start: int = 0) -> list[_Nearest]:
        """Return for each of n vectors the nearest of the vectors from `start` on. Ties go to the earliest."""
        count = len(self._places)
        best = [_Nearest(-1, -1.0, count)] * len(vectors)
        if self._is_approximate and not start:
            self._grow_graph()
            start = self._search_graph(vectors, best)
        for low in range(start, count, _ROWS):
            products = vectors @ self._rows[low : min(low + _ROWS, count)].T
            for number, row in enumerate(products.argmax(axis=1).tolist()):
                cosine = float(products[number, row])
                if cosine > best[number].cosine:
                    best[number] = _Nearest(self._places[low + row], cosine, count)
        return best

    def _grow_graph(self) -> None:
        """Add the vectors that are not in the graph yet, if they are many. One core adds them in a fixed order."""
        import numpy as np

        first, count = len(self._graph or ()), len(self._places)
        if count >= GRAPH_FROM and count - first >= _ROWS:
            if self._graph is None:
                self._graph = new_graph(self._rows.shape[1], expansion=_EXPANSION)
            self._graph.add(np.arange(first, count), self._rows[first:count], threads=1)

    def _search_graph(self, vectors: NDArray[np.float32], best: list[_Nearest]) -> int:
        """Offer for each vector the nearest of those that the graph proposes. Return how many are in the graph."""
        if self._graph is None:
            return 0
        for number, rows in enumerate(find_candidates(self._graph, vectors, _CANDIDATES)):
            rows.sort()
            products = self._rows[rows] @ vectors[number]
            row = int(products.argmax())
            best[number] = _Nearest(self._places[rows[row]], float(products[row]), best[number].compared)
        return len(self._graph)
