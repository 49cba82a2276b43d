"""How fast is the value of traces, beside the TypeScript SDK 0.1.1 on the same kind of machine?

    .venv/bin/python benchmarks/value.py [--traces 100000] [--lines 1000000] [--embedded 300]

The SDK's numbers were measured once on a machine with two such cores: with the model 9 to 13 traces a second (109
tokens each), 1.0 to 1.7 ms for a scan of 1,000 cached vectors. The better figure of each is used.

If other work shares the cores, compare CPU time. Wall time then depends on the load.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measuring import heading, line, target

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

SDK_WITH_MODEL = 13.0
SDK_SCANS = 1 / 1.0e-3
WORDS = [
    "review",
    "the",
    "pull",
    "request",
    "and",
    "check",
    "whether",
    "the",
    "handler",
    "validates",
    "its",
    "input",
    "before",
    "the",
    "query",
    "is",
    "built",
    "because",
    "an",
    "unsanitized",
    "value",
    "reaches",
    "the",
    "database",
    "driver",
    "in",
    "production",
    "where",
    "memory",
    "spikes",
    "and",
    "latency",
    "grows",
    "after",
    "retry",
]


def trace(rng: random.Random, number: int, words: int = 12) -> dict[str, object]:
    """Return a trace of seven steps with four types and three tools. With 12 words a step it has about 100 tokens."""
    kinds = ["thought", "tool_call", "observation", "tool_call", "observation", "error_recovery", "observation"]
    steps = []
    for place, kind in enumerate(kinds):
        step: dict[str, object] = {"step_id": place, "type": kind, "content": " ".join(rng.choices(WORDS, k=words))}
        if kind == "tool_call" or place == 5:
            step |= {"tool": {"name": f"tool_{place}"}, "input": {"path": f"src/{number}.py", "line": place}}
        steps.append(step)
    return {
        "@context": "https://openknowledgepulse.org/schema/v1",
        "@type": "ReasoningTrace",
        "id": f"kp:trace:{number:032x}",
        "metadata": {
            "created_at": "2026-01-02T03:04:05Z",
            "task_domain": "code-review",
            "success": number % 5 > 0,
            "quality_score": 0,
            "visibility": "network",
            "privacy_level": "aggregated",
        },
        "task": {"objective": f"Review change {number}"},
        "steps": steps,
        "outcome": {"result_summary": "Done", "confidence": 0.9},
    }


def write(path: Path, count: int, words: int = 12) -> Path:
    """Write traces as JSON lines. If more than 1,000 are needed, the first 1,000 are repeated."""
    rng = random.Random(7)
    lines = [json.dumps(trace(rng, number, words)) + "\n" for number in range(min(count, 1000))]
    with path.open("w") as file:
        for number in range(count):
            file.write(lines[number % len(lines)])
    return path


MEASURED = """
import json, os, resource, sys, threading, time
from fairtrial.cli import main
def watch():
    page = os.sysconf("SC_PAGE_SIZE")
    while True:
        with open("/proc/self/statm") as file:
            print("memory", time.monotonic(), int(file.read().split()[1]) * page, file=sys.stderr, flush=True)
        time.sleep(0.5)
threading.Thread(target=watch, daemon=True).start()
main()
"""


def command(file: Path, *options: str) -> tuple[float, float, list[float]]:
    """Run `fairtrial value` on a file, and return wall seconds, CPU seconds, and memory in MB twice a second."""
    before = os.times()
    started = time.perf_counter()
    output = str(file.with_suffix(".out"))
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, "value", str(file), "--output", output, *options],
        capture_output=True,
        text=True,
        check=True,
    )
    wall = time.perf_counter() - started
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    memory = [float(line.split()[2]) / 1e6 for line in done.stderr.splitlines() if line.startswith("memory")]
    return wall, cpu, memory


def slope(memory: list[float]) -> float:
    """Return the growth in MB from the second to the last quarter of a run, when everything has been imported."""
    quarter = max(1, len(memory) // 4)
    return sum(memory[-quarter:]) / quarter - sum(memory[quarter : 2 * quarter]) / quarter


def without_embedder(folder: Path, traces: int, lines: int) -> None:
    file = write(folder / "plain.jsonl", traces)
    heading(f"value without embedder, JSON lines to JSON lines ({file.stat().st_size / traces:.0f} bytes a trace)")
    wall, cpu, _ = command(file, "--embedder", "none", "--jobs", "1")
    target("one process, start included", traces / cpu, "traces a CPU second", at_least=25_000)
    line("the same by the clock", f"{traces / wall:,.0f} traces/s")
    wall, cpu, _ = command(file, "--embedder", "none")
    line("all cores, by the clock", f"{traces / wall:,.0f} traces/s")
    wall, cpu, memory = command(write(folder / "long.jsonl", lines), "--embedder", "none", "--jobs", "1")
    line(f"{lines:,} lines", f"{lines / cpu:,.0f} traces a CPU second, {memory[-1]:.0f} MB")
    target("memory, second quarter to last", slope(memory), "MB", at_most=1.0)


def novelty(count: int = 40_000) -> None:
    import numpy as np

    from fairtrial.valuation.novelty import VectorCache

    heading("novelty in sequence mode, cache of 1,000 full, one core")
    vectors = np.random.default_rng(1).normal(size=(count, 384)).astype(np.float32)
    ids = [str(number) for number in range(count)]
    cache = VectorCache()
    cache.sequence(ids[:1000], vectors[:1000])
    started, cpu = time.perf_counter(), time.process_time()
    cache.sequence(ids, vectors)
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    line("scans", f"{count / wall:,.0f} a second, {count / cpu:,.0f} a CPU second")
    target("beside the SDK's 1,000 a second, by CPU", count / cpu / SDK_SCANS, "times", at_least=20)


def with_model(folder: Path, count: int) -> None:
    from fairtrial.valuation.embed import LONGEST, MiniLM, installed_embedder

    heading("value with the model")
    model = installed_embedder()
    if not isinstance(model, MiniLM):
        line("not measured: the model is not installed", "")
        return
    from tokenizers import Tokenizer

    file = write(folder / "model.jsonl", count, words=13)
    tokenizer = Tokenizer.from_file(str(model.folder / "tokenizer.json"))
    tokenizer.enable_truncation(LONGEST)
    read = map(json.loads, file.read_text().splitlines())
    texts = [" ".join([one["task"]["objective"], *[step["content"] for step in one["steps"]]]) for one in read]
    tokens = sum(sum(encoding.attention_mask) for encoding in tokenizer.encode_batch(texts)) / count
    wall, cpu, _ = command(file, "--embedder", "minilm", "--jobs", "2")
    line(f"two processes, {tokens:.0f} tokens a trace, start included", f"{count / wall:.1f} traces/s by the clock")
    line("", f"{1000 * cpu / count:.0f} ms of CPU each")
    target("beside the SDK's 13 traces/s, by the clock", count / wall / SDK_WITH_MODEL, "times", at_least=2)
    target("the same, were both cores ours", 2 * count / cpu / SDK_WITH_MODEL, "times", at_least=2)


def redaction() -> None:
    from fairtrial.text.redact_json import redact_json

    heading("redaction before sharing")
    rng = random.Random(3)
    documents = [trace(rng, number) for number in range(500)]
    started = time.process_time()
    for document in documents:
        redact_json(document)
    size = sum(len(json.dumps(document)) for document in documents) / 500
    target(f"a trace of {size:,.0f} bytes", (time.process_time() - started) / 500 * 1e6, "µs of CPU", at_most=250)
    recall()


def recall(each: int = 10) -> None:
    """Print how many secrets of each kind are found, and how many look-alikes are removed by mistake."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from fairtrial.text.redact import redact
    from secret_corpus import negatives, positives

    rng = random.Random(11)
    found: dict[str, list[bool]] = {}
    for one in positives(rng, each):
        found.setdefault(one.category, []).append(one.secret not in redact(one.text)[0])
    for category, hits in found.items():
        line(f"recall, {category}", f"{sum(hits) / len(hits):.2%} of {len(hits):,}")
    wrong: dict[str, list[bool]] = {}
    for one in negatives(rng, each):
        wrong.setdefault(one.category, []).append(redact(one.text)[0] != one.text)
    for category, hits in wrong.items():
        line(f"wrongly redacted, {category}", f"{sum(hits) / len(hits):.2%} of {len(hits):,}")


def measure(traces: int = 100_000, lines: int = 1_000_000, embedded: int = 400) -> None:
    with tempfile.TemporaryDirectory() as name:
        without_embedder(Path(name), traces, lines)
        novelty()
        with_model(Path(name), embedded)
        redaction()


def main(_peer: str) -> None:
    """Measure `fairtrial value`. The peer is the SDK, whose numbers stand above."""
    measure()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--embedded", type=int, default=400)
    measure(**vars(parser.parse_args()))
