"""How new is a trace beside those before it, beside a saved index, or beside all others of its set?

Every answer is exact: each vector is compared with each that counts, in blocks, as products of matrices. The source of
the rule is KnowledgePulse's documentation of `evaluateValue`: novelty is 1 - the largest cosine.
"""

from __future__ import annotations

import os
import time
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.errors import ConfigError, FormatError, UsageError, lacks_extra
from fairtrial.records.value_row import Nearest

with suppress(ImportError):  # without the extra `embed` the name VectorCache can still be imported
    import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

CAPACITY = 1000
DIMENSIONS = 384
BLOCK = 256
"""Vectors compared at a time: larger wastes products that are masked, smaller wastes the matrix unit."""
_VERSION = 1
_NOT_AN_INDEX = (OSError, ValueError, LookupError, TypeError, AttributeError, EOFError, zipfile.BadZipFile)


class VectorCache:
    """The vectors seen last, oldest evicted first, searched by brute force.

    `capacity` None keeps all. With `ttl` (seconds) what is older is not compared with any more. Vectors are kept at
    unit length, so that cosines are products. Of equal cosines the vector added first is the nearest.
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
        """Forget all vectors."""
        self._rows: Floats = np.empty((0, self.dimensions), dtype=np.float32)
        self._start = 0
        self._ids: list[str] = []
        self._times: list[float] = []

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids in the order of addition."""
        return tuple(self._ids)

    @property
    def vectors(self) -> Floats:
        """A read-only view of shape (len, dimensions), in the order of addition."""
        view = self._rows[self._start : self._start + len(self._ids)]
        view.flags.writeable = False
        return view

    def nearest(self, vector: Any) -> Nearest | None:
        """Return the cached vector with the largest cosine to this one, or None where nothing is cached."""
        return self.search([vector])[0]

    def add(self, own_id: str, vector: Any) -> None:
        """Add one vector; where the cache is full the oldest goes."""
        self.extend([own_id], [vector])

    def extend(self, ids: Sequence[str], vectors: Any) -> None:
        """Add vectors of shape (n, dimensions) in order; where the cache is full the oldest go."""
        self._append(ids, self._unit(vectors, len(ids)))

    def search(self, vectors: Any) -> list[Nearest | None]:
        """Return the nearest cached vector for each of n vectors; none is added, so their order does not matter."""
        unit = self._unit(vectors, len(vectors))
        self._expire()
        best = _Best(len(unit))
        known = self.vectors
        for low in range(0, len(unit), BLOCK):
            block = unit[low : low + BLOCK]
            for start in range(0, len(known), 16 * BLOCK):
                best.offer(low, block @ known[start : start + 16 * BLOCK].T, start)
        return best.named(self._ids)

    def sequence(self, ids: Sequence[str], vectors: Any) -> list[Nearest | None]:
        """Return for each of n vectors the nearest of those before it, adding each after it was compared.

        The same, to the precision of float32, as `nearest` and `add` in turn, evictions included.
        """
        unit = self._unit(vectors, len(ids))
        self._expire()
        found: list[Nearest | None] = []
        block = BLOCK if self.capacity is None else min(BLOCK, self.capacity)
        for low in range(0, len(unit), block):
            found += self._step(ids[low : low + block], unit[low : low + block])
        return found

    def _step(self, ids: Sequence[str], block: Floats) -> list[Nearest | None]:
        """One block of at most `capacity` vectors: row i sees the cached ones that i additions have not evicted."""
        before, count = len(self), len(block)
        known = [*self._ids, *ids]
        best = _Best(count)
        if before:
            products = block @ self.vectors.T
            if self.capacity is not None and before + count > self.capacity:
                _hide_evicted(products, self.capacity - before)
            best.offer(0, products, 0)
        among = block @ block.T
        among[np.triu_indices(count)] = -np.inf
        best.offer(0, among, before)
        self._append(ids, block)
        return best.named(known)

    def _append(self, ids: Sequence[str], unit: Floats) -> None:
        if self.capacity is not None and len(unit) > self.capacity:
            ids, unit = ids[-self.capacity :], unit[-self.capacity :]
        surplus = 0 if self.capacity is None else max(0, len(self) + len(unit) - self.capacity)
        self._drop(surplus)
        end = self._start + len(self)
        if end + len(unit) > len(self._rows):
            self._make_room(len(unit))
            end = len(self)
        self._rows[end : end + len(unit)] = unit
        self._ids += ids
        self._times += [self._clock()] * len(unit)

    def _make_room(self, count: int) -> None:
        """Move what is kept to the front of twice as much space, so that additions cost the same on average."""
        kept = self._rows[self._start : self._start + len(self)]
        fresh = np.empty((2 * (len(kept) + count), self.dimensions), dtype=np.float32)
        fresh[: len(kept)] = kept
        self._rows, self._start = fresh, 0

    def _drop(self, count: int) -> None:
        self._start += count
        del self._ids[:count]
        del self._times[:count]

    def _expire(self) -> None:
        if self.ttl is not None:
            limit = self._clock() - self.ttl
            self._drop(next((place for place, at in enumerate(self._times) if at > limit), len(self)))

    def _unit(self, vectors: Any, count: int) -> Floats:
        return _unit(vectors, (count, self.dimensions))

    def save(self, path: str | Path, *, embedder: str = "") -> None:
        """Write the cache to a file, all or nothing; `embedder` says what made the vectors."""
        target = Path(path)
        part = target.with_name(f"{target.name}.{os.getpid()}.part")
        limit = -1 if self.capacity is None else self.capacity
        ids = msgspec.json.encode(self._ids)
        try:
            with part.open("wb") as file:
                np.savez(
                    file,
                    version=np.int64(_VERSION),
                    capacity=np.int64(limit),
                    ttl=np.float64(-1.0 if self.ttl is None else self.ttl),
                    embedder=np.frombuffer(embedder.encode(), dtype=np.uint8),
                    ids=np.frombuffer(ids, dtype=np.uint8),
                    times=np.asarray(self._times, dtype=np.float64),
                    vectors=self.vectors,
                )
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | Path, *, embedder: str = "", clock: Callable[[], float] = time.time) -> VectorCache:
        """Return the cache of a file; FormatError where it holds none, UsageError where another embedder made it."""
        where = str(path)
        try:
            cache, made_by = cls._read(path, clock)
        except FileNotFoundError as error:
            raise UsageError(f"{where}: there is no such index") from error
        except (*_NOT_AN_INDEX, UsageError) as error:
            raise FormatError(where, [f"not a novelty index: {error}"]) from error
        if embedder and made_by and made_by != embedder:
            raise UsageError(f"{where}: its vectors are by the embedder {made_by!r}, not by {embedder!r}")
        return cache

    @staticmethod
    def made_by(path: str | Path) -> str:
        """Return the name of the embedder that made the vectors of a saved cache; empty where it is not said."""
        try:
            return bytes(_arrays(path)["embedder"].tobytes()).decode()
        except _NOT_AN_INDEX as error:
            raise FormatError(str(path), [f"not a novelty index: {error}"]) from error

    @classmethod
    def _read(cls, path: str | Path, clock: Callable[[], float]) -> tuple[VectorCache, str]:
        parts = _arrays(path)
        vectors, times = parts["vectors"], [float(one) for one in parts["times"]]
        ids = msgspec.json.decode(parts["ids"].tobytes(), type=list[str])
        capacity, ttl = int(parts["capacity"]), float(parts["ttl"])
        cache = cls(capacity if capacity > 0 else None, vectors.shape[1], ttl=ttl if ttl > 0 else None, clock=clock)
        if int(parts["version"]) != _VERSION or not len(ids) == len(times) == len(vectors):
            raise ValueError("its parts do not fit together")
        cache.extend(ids, vectors)
        cache._times = times[len(times) - len(cache) :]
        return cache, parts["embedder"].tobytes().decode()


def leave_one_out(ids: Sequence[str], vectors: Any) -> list[Nearest | None]:
    """Return for each of n vectors the nearest of all others; the order of the set does not matter.

    Of equal cosines the earlier one is the nearest. Each pair is computed once: n * n / 2 products.
    """
    rows = np.asarray(vectors, dtype=np.float32)
    unit = _unit(rows, (len(ids), rows.shape[1] if rows.ndim == 2 else 0))
    best = _Best(len(unit))
    for low in range(0, len(unit), BLOCK):
        block = unit[low : low + BLOCK]
        products = block @ block.T
        np.fill_diagonal(products, -np.inf)
        best.offer(low, products, low)
        for other in range(low + BLOCK, len(unit), BLOCK):
            products = block @ unit[other : other + BLOCK].T
            best.offer(low, products, other)
            best.offer(other, products.T, low)
    return best.named(ids)


def _arrays(path: str | Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file that numpy wrote; never unpickles."""
    with Path(path).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


class _Best:
    """The largest cosine of each row so far, and where it was."""

    def __init__(self, count: int) -> None:
        self.cosines = np.full(count, -np.inf, dtype=np.float32)
        self.places = np.zeros(count, dtype=np.int64)

    def offer(self, low: int, products: Floats, start: int) -> None:
        """Take the products of rows from `low` on with vectors from `start` on where they are larger."""
        rows = slice(low, low + len(products))
        columns = products.argmax(axis=1)
        cosines = products[np.arange(len(products)), columns]
        better = cosines > self.cosines[rows]
        self.cosines[rows][better] = cosines[better]
        self.places[rows][better] = columns[better] + start

    def named(self, ids: Sequence[str]) -> list[Nearest | None]:
        return [
            None if cosine == -np.inf else Nearest(id=ids[place], cosine=min(1.0, max(-1.0, cosine)))
            for cosine, place in zip(self.cosines.tolist(), self.places.tolist(), strict=True)
        ]


def _hide_evicted(products: Floats, room: int) -> None:
    """Hide from row i the oldest vectors that its i predecessors have pushed out of a cache with `room` left."""
    rows, columns = products.shape
    gone = np.arange(rows) - room
    reach = min(columns, int(gone[-1]))
    products[:, :reach][np.arange(reach) < gone[:, None]] = -np.inf


def _unit(vectors: Any, shape: tuple[int, int]) -> Floats:
    """Return rows of unit length, zero staying zero; UsageError for another shape, or numbers that are none."""
    rows = np.asarray(vectors, dtype=np.float32)
    rows = rows.reshape(shape) if rows.size == 0 else rows
    if rows.shape != shape:
        raise UsageError(f"vectors: must have the shape {shape}, got {rows.shape}")
    if not np.isfinite(rows).all():
        raise UsageError("vectors: must be finite numbers")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Floats = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return unit
