"""The novelty of a trace against earlier traces, a saved index, or all other traces of its set.

Every answer is exact: vectors are compared in blocks, as products of matrices. The source of the rule is
KnowledgePulse's documentation of `evaluateValue`: novelty is 1 - the largest cosine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.errors import ConfigError, FormatError, UsageError, lacks_extra
from fairtrial.records.decoding import json_decoder
from fairtrial.valuation.array_file import read_arrays
from fairtrial.valuation.index_files import is_segmented
from fairtrial.valuation.nearest_rows import BLOCK, BestRows, check_numbers, unit_rows
from fairtrial.valuation.segment_file import Rows
from fairtrial.valuation.segmented_index import SegmentedIndex, check_embedder, read_head
from fairtrial.valuation.whole_files import whole_file

with suppress(ImportError):  # without the extra `embed` the name VectorCache can still be imported
    import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairtrial.records.value_row import Nearest

    Floats = NDArray[np.float32]

CAPACITY = 1000
DIMENSIONS = 384
_VERSION = 1
_SAMPLE = 100


class VectorCache:
    """The latest vectors, searched by brute force. The oldest vector is evicted first.

    If `capacity` is None, nothing is evicted. Vectors older than `ttl` seconds are dropped. Vectors have unit length,
    so cosines are products. If two cosines are equal, the earlier vector is the nearest.
    """

    def __init__(
        self,
        capacity: int | None = CAPACITY,
        dimensions: int = DIMENSIONS,
        *,
        ttl: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if find_spec("numpy") is None:
            raise ConfigError(lacks_extra("a VectorCache", "embed"))
        if capacity is not None and capacity < 1:
            raise UsageError(f"capacity: must be at least 1, or None for no limit, got {capacity}")
        if dimensions < 1:
            raise UsageError(f"dimensions: must be at least 1, got {dimensions}")
        if ttl is not None and not ttl > 0:
            raise UsageError(f"ttl: must be more than 0 seconds, or None, got {ttl}")
        self.capacity = capacity
        self.dimensions = dimensions
        self.ttl = ttl
        self._clock = clock
        self.reset()

    def reset(self) -> None:
        """Remove all vectors."""
        self._rows: Floats = np.empty((0, self.dimensions), dtype=np.float32)
        self._start = 0
        self._ids: list[str] = []
        self._digests: list[str] = []
        self._times: list[float] = []
        self._places: dict[str, list[int]] | None = None

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids in the order of addition."""
        return tuple(self._ids)

    @property
    def digests(self) -> tuple[str, ...]:
        """The hashes of the contents in the order of addition. A hash is empty if it is not known."""
        return tuple(self._digests)

    @property
    def vectors(self) -> Floats:
        """A read-only view of shape (len, dimensions), in the order of addition."""
        view = self._rows[self._start : self._start + len(self._ids)]
        view.flags.writeable = False
        return view

    def rows(self, low: int, high: int) -> Rows:
        """Return the vectors from `low` to `high` with everything that is known of them."""
        times = np.array(self._times[low:high], dtype=np.float64)
        vectors = self.vectors[low:high]
        check_numbers(vectors)
        return Rows(self._ids[low:high], self._digests[low:high], times, vectors)

    def nearest(self, vector: Any) -> Nearest | None:
        """Return the cached vector with the largest cosine to `vector`, or None if the cache is empty."""
        return self.search([vector])[0]

    def add(self, vector_id: str, vector: Any) -> None:
        """Add one vector. If the cache is full, the oldest vector is evicted."""
        self.extend([vector_id], [vector])

    def extend(self, ids: Sequence[str], vectors: Any, digests: Sequence[str] | None = None) -> None:
        """Add vectors of shape (n, dimensions) in order. If the cache is full, the oldest vectors are evicted.

        `digests` are hashes of the contents. With an id they tell whether a trace is in the cache.
        """
        self._append(ids, self._unit(vectors, len(ids)), digests)

    def search(
        self,
        vectors: Any,
        *,
        ids: Sequence[str] | None = None,
        digests: Sequence[str] | None = None,
    ) -> list[Nearest | None]:
        """Return the nearest cached vector for each of n vectors. No vector is added, so the order does not matter.

        With `ids` and `digests`, a trace does not find itself: a cached vector with its id and its digest. A cached
        vector without a digest counts as the same trace if it has its id.
        """
        unit = self._unit(vectors, len(vectors))
        self._expire()
        best = BestRows(len(unit))
        cached = self.vectors
        own = self._find_places(ids, digests)
        for low in range(0, len(unit), BLOCK):
            block = unit[low : low + BLOCK]
            for start in range(0, len(cached), 16 * BLOCK):
                products = block @ cached[start : start + 16 * BLOCK].T
                for row in range(len(block)):
                    for place in own.get(low + row, ()):
                        if start <= place < start + products.shape[1]:
                            products[row, place - start] = -np.inf
                best.offer(low, products, start)
        return best.as_nearest(self._ids)

    def _find_places(self, ids: Sequence[str] | None, digests: Sequence[str] | None) -> dict[int, list[int]]:
        """Return the places at which each of some traces is in the cache itself, if it is there."""
        if ids is None:
            return {}
        if self._places is None:
            self._places = {}
            for place, vector_id in enumerate(self._ids):
                self._places.setdefault(vector_id, []).append(place)
        own: dict[int, list[int]] = {}
        for row, vector_id in enumerate(ids):
            for place in self._places.get(vector_id, ()):
                digest = self._digests[place]
                if digests is None or not digest or digest == digests[row]:
                    own.setdefault(row, []).append(place)
        return own

    def sequence(self, ids: Sequence[str], vectors: Any, digests: Sequence[str] | None = None) -> list[Nearest | None]:
        """Return for each of n vectors the nearest earlier vector, and add each vector after its comparison.

        To the precision of float32, the result is the same as from `nearest` and `add` in turn.
        """
        unit = self._unit(vectors, len(ids))
        self._expire()
        results: list[Nearest | None] = []
        block = BLOCK if self.capacity is None else min(BLOCK, self.capacity)
        for low in range(0, len(unit), block):
            part = slice(low, low + block)
            results += self._step(ids[part], unit[part], digests[part] if digests else None)
        return results

    def _step(self, ids: Sequence[str], block: Floats, digests: Sequence[str] | None) -> list[Nearest | None]:
        """Search and add at most `capacity` vectors. Row i sees the vectors that i additions do not evict."""
        before, count = len(self), len(block)
        candidates = [*self._ids, *ids]
        best = BestRows(count)
        if before:
            products = block @ self.vectors.T
            if self.capacity is not None and before + count > self.capacity:
                _hide_evicted(products, self.capacity - before)
            best.offer(0, products, 0)
        among = block @ block.T
        among[np.triu_indices(count)] = -np.inf
        best.offer(0, among, before)
        self._append(ids, block, digests)
        return best.as_nearest(candidates)

    def _append(self, ids: Sequence[str], unit: Floats, digests: Sequence[str] | None = None) -> None:
        digests = digests or [""] * len(ids)
        if self.capacity is not None and len(unit) > self.capacity:
            ids, digests, unit = ids[-self.capacity :], digests[-self.capacity :], unit[-self.capacity :]
        surplus = 0 if self.capacity is None else max(0, len(self) + len(unit) - self.capacity)
        self._drop(surplus)
        end = self._start + len(self)
        if end + len(unit) > len(self._rows):
            self._make_room(len(unit))
            end = len(self)
        self._rows[end : end + len(unit)] = unit
        self._ids += ids
        self._digests += digests
        self._places = None
        self._times += [self._clock()] * len(unit)

    def _make_room(self, count: int) -> None:
        """Move the vectors to the front of twice as much space, so the cost of an addition is constant on average."""
        vectors = self._rows[self._start : self._start + len(self)]
        fresh = np.empty((2 * (len(vectors) + count), self.dimensions), dtype=np.float32)
        fresh[: len(vectors)] = vectors
        self._rows, self._start = fresh, 0

    def _drop(self, count: int) -> None:
        self._start += count
        self._places = None
        del self._ids[:count]
        del self._digests[:count]
        del self._times[:count]

    def _expire(self) -> None:
        if self.ttl is not None:
            limit = self._clock() - self.ttl
            self._drop(next((place for place, at in enumerate(self._times) if at > limit), len(self)))

    def _unit(self, vectors: Any, count: int) -> Floats:
        return unit_rows(vectors, (count, self.dimensions))

    def save(self, path: str | Path, *, embedder: str = "") -> None:
        """Write the cache to a file, all or nothing. `embedder` is the name of the embedder of the vectors."""
        limit = -1 if self.capacity is None else self.capacity
        ids, digests = msgspec.json.encode(self._ids), msgspec.json.encode(self._digests)
        with whole_file(Path(path)) as part, part.open("wb") as file:
            np.savez(
                file,
                version=np.int64(_VERSION),
                capacity=np.int64(limit),
                ttl=np.float64(-1.0 if self.ttl is None else self.ttl),
                embedder=np.frombuffer(embedder.encode(), dtype=np.uint8),
                ids=np.frombuffer(ids, dtype=np.uint8),
                digests=np.frombuffer(digests, dtype=np.uint8),
                times=np.asarray(self._times, dtype=np.float64),
                vectors=self.vectors,
            )

    @classmethod
    def load(cls, path: str | Path, *, embedder: str = "", clock: Callable[[], float] = time.time) -> VectorCache:
        """Return the cache in a file. Raises FormatError if there is none, and UsageError if the embedder differs."""
        place = str(path)
        if is_segmented(Path(path)):
            return cls._load_segments(SegmentedIndex(Path(path), embedder=embedder, clock=clock))
        try:
            cache, origin = cls._load(path, clock)
        except FileNotFoundError as error:
            raise UsageError(f"{place}: there is no such index", code="no-such-file") from error
        except Exception as error:  # of zipfile, zlib, numpy or msgspec, because a damaged file can say anything
            raise FormatError(place, [f"not a novelty index, or a damaged one: {error}"]) from error
        check_embedder(Path(path), origin, embedder)
        return cache

    @classmethod
    def _load_segments(cls, index: SegmentedIndex) -> VectorCache:
        cache = cls(None, index.head.dimensions, ttl=index.ttl)
        times: list[float] = []
        for rows in index.iter_rows():
            cache._append(rows.ids, rows.vectors, rows.digests)
            times += rows.times.tolist()
        cache._times = times
        return cache

    @staticmethod
    def read_embedder(path: str | Path) -> str:
        """Return the name of the embedder of a saved cache, or an empty string if the file does not name it."""
        if is_segmented(Path(path)):
            return read_head(Path(path)).embedder
        try:
            return bytes(read_arrays(Path(path))["embedder"].tobytes()).decode()
        except Exception as error:  # as above
            raise FormatError(str(path), [f"not a novelty index, or a damaged one: {error}"]) from error

    @classmethod
    def _load(cls, path: str | Path, clock: Callable[[], float]) -> tuple[VectorCache, str]:
        parts = read_arrays(Path(path))
        vectors, times = parts["vectors"], parts["times"].astype(np.float64).tolist()
        ids = json_decoder(list[str]).decode(parts["ids"].tobytes())
        capacity, ttl = int(parts["capacity"]), float(parts["ttl"])
        cache = cls(capacity if capacity > 0 else None, vectors.shape[1], ttl=ttl if ttl > 0 else None, clock=clock)
        digests = json_decoder(list[str]).decode(parts["digests"].tobytes()) if "digests" in parts else [""] * len(ids)
        if int(parts["version"]) != _VERSION or not len(ids) == len(times) == len(vectors) == len(digests):
            raise ValueError("its parts do not fit together")
        if isinstance(vectors, np.memmap):
            # Their lengths are not computed, because that would read all of them.
            cache._rows, cache._ids, cache._digests = _map_rows(vectors), ids, digests
            cache._drop(0 if cache.capacity is None else max(0, len(ids) - cache.capacity))
        else:
            cache.extend(ids, vectors, digests)
        cache._times = times[len(times) - len(cache) :]
        return cache, parts["embedder"].tobytes().decode()


def _map_rows(vectors: Floats) -> Floats:
    """Return memory-mapped vectors. Raises ValueError if a sample of them does not have unit length."""
    sample = np.linalg.norm(vectors[:: max(1, len(vectors) // _SAMPLE)], axis=1) if vectors.ndim == 2 else np.zeros(1)
    if vectors.dtype != np.float32 or not np.isfinite(sample).all() or (abs(sample - 1) > 1e-3).any():
        raise ValueError("its vectors are not of unit length")
    return vectors


def _hide_evicted(products: Floats, room: int) -> None:
    """Hide from row i the oldest vectors that i additions evict from a cache with `room` free places."""
    rows, columns = products.shape
    evictions = np.arange(rows) - room
    reach = min(columns, int(evictions[-1]))
    products[:, :reach][np.arange(reach) < evictions[:, None]] = -np.inf
