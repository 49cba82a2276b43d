"""How long does it take to open, to extend and to search a novelty index of a million traces?

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
from selection import write_vectors

from fairtrial.valuation.approximate_search import SegmentGraph
from fairtrial.valuation.index_changes import SEALED, Addition, extend_index
from fairtrial.valuation.segmented_index import CANDIDATES, SegmentedIndex

QUERIES = 1000
NEAREST = 10
ADDED = 20


def write_index(folder: Path, count: int) -> Path:
    write_vectors(folder / "vectors.npy", count + QUERIES)
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")
    for low in range(0, count, SEALED):
        ids = [f"kp:trace:{number:032x}" for number in range(low, min(count, low + SEALED))]
        addition = Addition(ids, vectors[low : low + len(ids)], [identity[-32:] for identity in ids])
        extend_index(folder / "seen.index", [addition], embedder="bench")
    np.save(folder / "queries.npy", vectors[count:])
    (folder / "vectors.npy").unlink()
    return folder / "seen.index"


def measure(count: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = write_index(Path(name), count)
        queries = np.load(path.with_name("queries.npy"))
        heading(f"a novelty index of {count:,} traces")
        wall, cpu = time.perf_counter(), time.process_time()
        index = SegmentedIndex(path, embedder="bench", clock=time.time)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        target("CPU to open it", cpu, "s", at_most=1.0)
        line("the same: by the clock", f"{wall:.2f} s")
        cpu = time.process_time()
        for number, query in enumerate(queries[:ADDED]):
            extend_index(path, [Addition([f"new{number}"], query[None], [""])], embedder="bench")
        target("CPU to add one trace, each by itself", (time.process_time() - cpu) / ADDED, "s", at_most=0.1)
        cpu = time.process_time()
        exact = index.search(queries)
        line("CPU of the exact search, a query", f"{1000 * (time.process_time() - cpu) / len(queries):.2f} ms")
        wall, cpu = time.perf_counter(), time.process_time()
        index.search(queries[:1], approximate=True)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        line("building the graphs", f"{cpu:.0f} s of CPU, {wall:.0f} s by the clock")
        cpu = time.process_time()
        graphs = [SegmentGraph(segment) for segment in index.segments]
        target("CPU to open the graphs", time.process_time() - cpu, "s", at_most=1.0)
        cpu = time.process_time()
        found = index.search(queries, approximate=True)
        line("CPU of the search with graphs, a query", f"{1000 * (time.process_time() - cpu) / len(queries):.2f} ms")
        line(
            "the nearest is found",
            f"{np.mean([one and other and one.id == other.id for one, other in zip(found, exact, strict=True)]):.3f}",
        )
        shares = [
            len(set(some.tolist()) & set(all_.tolist()))
            for graph, segment in zip(graphs, index.segments, strict=True)
            for some, all_ in zip(
                graph.candidates(queries, CANDIDATES),
                _nearest_places(queries, segment.vectors(0, len(segment))),
                strict=True,
            )
        ]
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
