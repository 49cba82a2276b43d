"""How long does it take to open and to search a novelty index of a million traces, exactly and with a graph?

    .venv/bin/python benchmarks/large_index.py [--count 1000000]

The vectors are those of the bench `selection`, and the queries are not in the index. Building the graph takes the most
time.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from measuring import heading, line, target
from selection import DIMENSIONS, write_vectors

from fairtrial.valuation.approximate_search import NeighbourGraph
from fairtrial.valuation.novelty import CANDIDATES, VectorCache

QUERIES = 1000
NEAREST = 10


def write_index(folder: Path, count: int) -> Path:
    write_vectors(folder / "vectors.npy", count + QUERIES)
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")
    cache = VectorCache(capacity=None, dimensions=DIMENSIONS)
    for low in range(0, count, 50_000):
        ids = [f"kp:trace:{number:032x}" for number in range(low, min(count, low + 50_000))]
        cache.extend(ids, vectors[low : low + len(ids)], [identity[-32:] for identity in ids])
    cache.save(folder / "seen.index", embedder="bench")
    np.save(folder / "queries.npy", vectors[count:])
    (folder / "vectors.npy").unlink()
    return folder / "seen.index"


def measure(count: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = write_index(Path(name), count)
        heading(f"a novelty index of {count:,} traces")
        wall, cpu = time.perf_counter(), time.process_time()
        cache = VectorCache.load(path, embedder="bench")
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        target("CPU to open it", cpu, "s", at_most=1.0)
        line("the same: by the clock", f"{wall:.2f} s")
        queries = np.load(path.with_name("queries.npy"))
        cpu = time.process_time()
        exact = _nearest_places(queries, cache.vectors)
        line("CPU of the exact search, a query", f"{1000 * (time.process_time() - cpu) / len(queries):.2f} ms")
        wall, cpu = time.perf_counter(), time.process_time()
        NeighbourGraph(path, cache)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        line("building the graph", f"{cpu:.0f} s of CPU, {wall:.0f} s by the clock")
        cpu = time.process_time()
        graph = NeighbourGraph(path, cache)
        target("CPU to open the graph", time.process_time() - cpu, "s", at_most=1.0)
        cpu = time.process_time()
        found = graph.candidates(queries, CANDIDATES)
        line("CPU of the search with the graph, a query", f"{1000 * (time.process_time() - cpu) / len(queries):.2f} ms")
        shares = [len(set(some.tolist()) & set(all_.tolist())) for some, all_ in zip(found, exact, strict=True)]
        target(f"recall at {NEAREST}, by {CANDIDATES} candidates", float(np.mean(shares)) / NEAREST, "", at_least=0.95)


def _nearest_places(queries: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return the places of the nearest vectors of each query, by exact search in blocks."""
    cosines, places = np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
    for low in range(0, len(vectors), 50_000):
        products = queries @ vectors[low : low + 50_000].T
        best = np.argpartition(-products, NEAREST, axis=1)[:, :NEAREST]
        cosines = np.concatenate([cosines, np.take_along_axis(products, best, 1)], axis=1)
        places = np.concatenate([places, best + low], axis=1)
    return np.take_along_axis(places, np.argsort(-cosines, axis=1)[:, :NEAREST], 1)


def main(_peer: str) -> None:
    """Measure the index. Nothing is compared with the peer."""
    measure(1_000_000)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    measure(**vars(parser.parse_args()))
