"""Does `--novelty-of trace` see every fault in a long trace, and is novelty the same in every language?

.venv/bin/python benchmarks/whole_trace.py
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from measuring import heading, line, target

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from fairtrial.protocols import Embedder
from fairtrial.valuation.embed import embedder
from fairtrial.valuation.nearest_rows import leave_one_out
from fairtrial.valuation.single import as_reasoning
from fairtrial.valuation.whole_trace import WholeTrace, embed_traces
from multilingual_traces import TEXTS, unrelated_traces
from planted_faults import long_trace, planted_faults

MEASURABLE = 1e-5
"""Ten times the error of float32, below which two vectors count as equal."""


def load_vectors(documents: list[dict[str, Any]], embed: Embedder | WholeTrace) -> Any:
    return embed_traces([as_reasoning(document, None, None) for document in documents], embed)


def faults(embed: Embedder) -> None:
    """Plant 200 faults in four traces, and compare each faulty trace with its nearest neighbour: the trace itself."""
    novelties: list[float] = []
    by_kind: dict[str, list[float]] = {}
    tokens, started = 0, time.process_time()
    for language in TEXTS:
        trace = long_trace(language)
        planted = list(planted_faults(trace, each=5))
        vectors = load_vectors([trace, *(fault for _, fault in planted)], WholeTrace(embed)).astype(np.float64)
        found = (1.0 - vectors[1:] @ vectors[0]).tolist()
        novelties += found
        for (kind, _), novelty in zip(planted, found, strict=True):
            by_kind.setdefault(kind, []).append(novelty)
        limits = WholeTrace(embed).limits([as_reasoning(trace, None, None)])[0]
        tokens += limits.tokens.all if limits.tokens else 0
    share = sum(novelty >= MEASURABLE for novelty in novelties) / len(novelties)
    target(f"{len(novelties)} faults: changes of at least {MEASURABLE:g}", 100 * share, "%", at_least=95)
    line("the least change, and the median", f"{min(novelties):.1e}, {statistics.median(novelties):.1e}")
    kind = min(by_kind, key=lambda kind: min(by_kind[kind]))
    line("the kind with the least change", kind)
    line("tokens of the four traces by this embedder", f"{tokens:,}" if tokens else "not counted")
    line("CPU", f"{time.process_time() - started:.0f} s")


def languages(embed: Embedder) -> None:
    for name, part in (("contents", embed), ("trace", WholeTrace(embed))):
        medians = []
        for language in TEXTS:
            rows = load_vectors(unrelated_traces(language), part)
            nearest = leave_one_out([str(place) for place in range(len(rows))], rows)
            medians.append(statistics.median(1 - other.cosine for other in nearest if other is not None))
        listed = ", ".join(f"{language} {median:.2f}" for language, median in zip(TEXTS, medians, strict=True))
        line(f"median novelty of ten unrelated traces, {name}", listed)
        target("the same: largest difference", max(medians) - min(medians), "", at_most=0.1)


def main(_peer: str) -> None:
    """Measure both embedders. Nothing is compared with the peer."""
    for name in ("multilingual", "minilm"):
        embed = embedder(name)
        assert embed is not None
        heading(f"novelty of whole traces with {name}")
        faults(embed)
        languages(embed)


if __name__ == "__main__":
    main("")
