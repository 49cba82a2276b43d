"""How fast is the value of traces?

    .venv/bin/python benchmarks/value.py [--traces 100000] [--lines 1000000] [--embedded 300] [--transformers FOLDER]

KnowledgePulse's SDK 0.1.1 for TypeScript cannot be installed from the package registry. Its two slow steps can be run
in turn with ours: the library @huggingface/transformers embeds each text with the same weights, and a scan compares it
with the cached vectors. Install the library in any folder and onnx beside fairtrial, and name its node_modules with
--transformers:

    npm install --ignore-scripts @huggingface/transformers

A scan of 1,000 vectors by the SDK took 1.0 to 1.7 ms on a machine with two such cores.

If other work shares the cores, compare CPU time. Wall time then depends on the load.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measuring import SIDES, heading, line, run, target

if TYPE_CHECKING:
    from fairtrial.valuation.bert import Bert

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

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


def with_model(folder: Path, count: int, transformers: Path | None) -> None:
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
    beside_the_sdk(model.folder, texts[:60], transformers)


def beside_the_sdk(model: Path, texts: list[str], transformers: Path | None) -> None:
    """Embed texts one by one and scan a cache, in turn: with numpy, and as the SDK does."""
    from tokenizers import Tokenizer

    from fairtrial.valuation.bert import Bert
    from fairtrial.valuation.novelty import VectorCache

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.enable_truncation(512)
    tokenizer.no_padding()
    by_numpy = Bert(model)

    def measure_cpu(computation: Bert) -> float:
        cache, started = VectorCache(), time.process_time()
        for number, text in enumerate(texts):
            cache.sequence([str(number)], computation.encode([tokenizer.encode(text).ids]))
        return 1000 * (time.process_time() - started) / len(texts)

    with tempfile.TemporaryDirectory() as name:
        sides: dict[str, Callable[[], float]] = {"numpy": lambda: measure_cpu(by_numpy)}
        if transformers is not None:
            folder = write_onnx_model(Path(name), model, by_numpy)
            (folder / "texts.json").write_text(json.dumps(texts))
            sides["transformers.js"] = lambda: by_transformers(folder, transformers)["milliseconds"]
        rounds = [{side: measured() for side, measured in sides.items()} for _ in range(7)]
    medians = {side: statistics.median(one[side] for one in rounds) for side in sides}
    listed = ", ".join(f"{side} {median:.1f}" for side, median in medians.items())
    line("embed and scan, in turn: ms of CPU a trace", listed)
    if "transformers.js" in medians:
        target("numpy beside transformers.js", medians["transformers.js"] / medians["numpy"], "times", at_least=2)


def write_onnx_model(folder: Path, model: Path, computation: Bert) -> Path:
    """Write a model as transformers.js reads it, with the weights that fairtrial uses."""
    import onnx
    from minilm_onnx import build_graph
    from onnx import TensorProto, helper

    (folder / "minilm" / "onnx").mkdir(parents=True)
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(model / name, folder / "minilm" / name)
    built = build_graph(computation)
    graph = built.graph
    inputs = ("input_ids", "attention_mask", "token_type_ids")
    casts = zip(inputs, [value.name for value in graph.input], strict=False)
    for outer, inner in list(casts):
        graph.node.insert(0, helper.make_node("Cast", [outer], [inner], to=TensorProto.INT32))
    graph.node.append(helper.make_node("Identity", [graph.output[0].name], ["last_hidden_state"]))
    graph.output[0].name = "last_hidden_state"
    del graph.input[:]
    graph.input.extend(helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "l"]) for name in inputs)
    onnx.save(built, folder / "minilm" / "onnx" / "model.onnx")
    return folder


def by_transformers(folder: Path, modules: Path) -> dict[str, Any]:
    """Return the CPU milliseconds of a text by transformers.js, in a process of its own."""
    command = ["node", SIDES / "transformers_js.mjs", modules, folder, folder / "texts.json"]
    return run(command).said


def redaction() -> None:
    sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
    import secret_corpus
    from fairtrial.text.redaction.redact_json import redact_json

    heading("redaction before sharing")
    rng = random.Random(3)
    secrets = {
        "no secret": lambda: "as it was",
        "a password": lambda: f"set DB_PASSWORD={secret_corpus.password(rng)} and go on",
        "an e-mail address": lambda: f"write to {secret_corpus.email(rng)} today",
        "a key": lambda: f"use the key {secret_corpus.github(rng)} here",
        "a connection string": lambda: f"connect to {secret_corpus.connection_string(rng)}",
        "a web token": lambda: f"Authorization: Bearer {secret_corpus.jwt(rng)}",
        "a password in JSON": lambda: json.dumps({"a": {"api_key": secret_corpus.password(rng)}}),
    }
    kinds = tuple(secrets.values())[1:]
    secrets["ten secrets of these kinds"] = lambda: ", ".join([kinds[number % len(kinds)]() for number in range(10)])
    for name, make in secrets.items():
        documents = [trace(rng, number) for number in range(500)]
        for document in documents:
            document["outcome"] = {"result_summary": make(), "confidence": 0.9}
        started = time.process_time()
        for document in documents:
            redact_json(document)
        size = sum(len(json.dumps(document)) for document in documents) / 500
        seconds = (time.process_time() - started) / 500
        target(f"a trace of {size:,.0f} bytes with {name}", seconds * 1e6, "µs of CPU", at_most=250)
    recall()


def recall(each: int = 10) -> None:
    """Print how many secrets of each kind are found, and how many look-alikes are removed by mistake."""
    import named_corpus
    from secret_corpus import negatives, positives

    rng = random.Random(11)
    shares("", positives(rng, each), negatives(rng, each))
    for half in named_corpus.HALVES:
        shares(f"{half}, ", named_corpus.positives(rng, half, 4 * each), named_corpus.negatives(half))


def shares(name: str, secrets: Iterable[Any], look_alikes: Iterable[Any]) -> None:
    """Print, for each kind, the share of secrets of which nothing is left, and of look-alikes that change."""
    from fairtrial.text.redaction.redact import redact

    found: dict[str, list[bool]] = {}
    for one in secrets:
        found.setdefault(f"recall, {name}{one.category}", []).append(one.secret not in redact(one.text)[0])
    for one in look_alikes:
        changed = redact(one.text)[0] != one.text
        found.setdefault(f"wrongly redacted, {name}{one.category}", []).append(changed)
    for category, hits in found.items():
        line(category, f"{sum(hits) / len(hits):.2%} of {len(hits):,}")


def measure(
    traces: int = 100_000, lines: int = 1_000_000, embedded: int = 400, transformers: Path | None = None
) -> None:
    with tempfile.TemporaryDirectory() as name:
        without_embedder(Path(name), traces, lines)
        novelty()
        with_model(Path(name), embedded, transformers)
        redaction()


def main(_peer: str) -> None:
    """Measure `fairtrial value`. The peer is the SDK, whose numbers stand above."""
    measure()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--embedded", type=int, default=400)
    parser.add_argument("--transformers", type=Path, help="a folder node_modules with @huggingface/transformers")
    measure(**vars(parser.parse_args()))
