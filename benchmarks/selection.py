"""How long does it take to select 1,000 of 1,000,000 traces by coverage, and how good is the selection?

    .venv/bin/python benchmarks/selection.py [--count 1000000] [--budget 1000]

The vectors stand for embeddings of traces: 384 numbers around 20,000 random centres of 24 dimensions. They are read
from a memory-mapped file. Embedding is not measured. If other work shares the cores, compare CPU time.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measuring import heading, line, target
from numpy.lib.format import open_memmap

from fairtrial.valuation.selected_traces import Candidates, SelectOptions, select_traces

DIMENSIONS = 384


def write_vectors(path: Path, count: int) -> None:
    """Write vectors of unit length in blocks, so that this program holds none of them."""
    rng = np.random.default_rng(1)
    spread = rng.normal(size=(24, DIMENSIONS)).astype(np.float32)
    centres = rng.normal(size=(20_000, 24)).astype(np.float32)
    file = open_memmap(path, mode="w+", dtype=np.float32, shape=(count, DIMENSIONS))
    for low in range(0, count, 50_000):
        size = min(50_000, count - low)
        rows = (centres[rng.integers(len(centres), size=size)] + 0.5 * rng.normal(size=(size, 24))) @ spread
        rows = (rows + 3.0).astype(np.float32)  # embeddings of one field share a direction
        file[low : low + size] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    file.flush()


def measure(count: int, budget: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.npy"
        write_vectors(path, count)
        heading(f"select {budget:,} of {count:,} vectors by coverage")
        started = time.perf_counter()
        vectors = np.load(path, mmap_mode="r")
        target("opening the memory-mapped vectors", time.perf_counter() - started, "s", at_most=1.0)
        candidates = Candidates([str(number) for number in range(count)], [0.5] * count, [""] * count, vectors, "test")
        wall, cpu = time.perf_counter(), time.process_time()
        selection = select_traces(candidates, SelectOptions(budget=budget, by="coverage"))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        line("by the clock", f"{wall:.0f} s")
        target("with two cores of our own: CPU time / 2", cpu / 2, "s", at_most=600)
        scale = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e9
        target("peak memory, the mapped file included", peak, "GB", at_most=4.0)
        assert selection.coverage is not None
        assert selection.random_coverage is not None
        line("coverage", f"{selection.coverage:.4f}, random {selection.random_coverage:.4f}")
        line("at least this share of the best possible", f"{selection.least_share:.3f}")


def main(_peer: str) -> None:
    """Measure the selection. Nothing is compared with the peer."""
    measure(1_000_000, 1_000)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--budget", type=int, default=1_000)
    measure(**vars(parser.parse_args()))
