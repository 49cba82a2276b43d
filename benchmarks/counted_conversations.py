"""Does the memory of a driver grow with the conversations that two workers score, if each is a case of its own?

    python benchmarks/counted_conversations.py 20000000 --minutes 20

The conversations are made on the fly, each with new words, and scored by `fairtrial.score_batches` in two processes.
The driver counts them with `summarize`, and stores none. The bench stops after the number, or after the minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sys
import time
from collections.abc import Iterator
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import pyarrow as pa
from measuring import heading, line, target
from sides import material

import fairtrial
from fairtrial.batch.executors import ProcessPool

NUMBER = 20_000_000
BATCH = 2_000
MOST_CALLS, ALLOWED = 5, 4
SCHEMA = pa.schema([("id", pa.string()), ("messages", pa.string())])
POINTS = 20
"""The number of points at which the memory of the driver is read."""


def main() -> None:
    """Score, count, and print the memory of the driver on the way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", type=int, nargs="?", default=NUMBER)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many minutes")
    arguments = parser.parse_args()
    heading(f"up to {arguments.number:,} conversations of about 1 kB, each a case of its own, two workers, one driver")
    scorer = fairtrial.score_batches(SCHEMA, {"tool_call_count_v1": float(ALLOWED)})
    started = time.monotonic()
    ends = started + 60 * arguments.minutes
    batches = takewhile(lambda _: time.monotonic() < ends, range(-(-arguments.number // BATCH)))
    counted: list[int] = []
    memory: list[float] = []
    cpu: list[float] = []

    def results() -> Iterator[Any]:
        for batch, taken in ProcessPool(2).map(partial(score, scorer), batches, in_order=False):
            counted.append(batch.num_rows)
            cpu.append(taken)
            share = max(sum(counted) / arguments.number, (time.monotonic() - started) / (60 * arguments.minutes))
            if share * POINTS >= len(memory) + 1:
                memory.append(resident())
                line(f"driver after {sum(counted):,}", f"{memory[-1]:.0f} MB, {time.monotonic() - started:,.0f} s")
            yield batch

    summary = scorer.summarize(results())
    memory.append(resident())
    number, seconds = sum(counted), time.monotonic() - started
    passed = sum(1 + conversation % MOST_CALLS <= ALLOWED for conversation in range(number))
    (criterion,) = (each for each in summary.criteria if each.criterion == "tool_call_count_v1")
    assert (criterion.passed, criterion.failed) == (passed, number - passed), criterion
    assert sum(summary.case_verdicts.values()) == number, summary.case_verdicts
    line("conversations that were scored and counted", f"{number:,}")
    line("seconds by the clock, load", f"{seconds:,.0f}, {os.getloadavg()[0]:.1f}")
    line("CPU seconds of the driver", f"{time.process_time():,.0f}")
    line("CPU seconds of the workers", f"{sum(cpu):,.0f}, {number / sum(cpu):,.0f} conversations a second")
    scale = 1 if sys.platform == "darwin" else 1024
    target(
        "peak memory of the driver",
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6,
        "MB",
        at_most=1000,
    )
    target("memory at the end / at half of the way", memory[-1] / memory[len(memory) // 2], "times", at_most=1.2)


def score(scorer: Any, number: int) -> tuple[Any, float]:
    """Make a batch of conversations, and return its scored rows with the CPU seconds of both."""
    started = time.process_time()
    first = number * BATCH
    rows = [make_row(conversation) for conversation in range(first, first + BATCH)]
    scored = scorer(pa.RecordBatch.from_pylist(rows, schema=SCHEMA))
    return scored, time.process_time() - started


def make_row(number: int) -> dict[str, str]:
    """Return a conversation of one to five calls, whose words no other has in this order."""
    chance = random.Random(number)
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Where is order {number}?"}]
    for call in range(1 + number % MOST_CALLS):
        function = {"name": "lookup_order", "arguments": json.dumps({"order": number, "step": call})}
        messages += [
            {"role": "assistant", "tool_calls": [{"id": f"c{call}", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": f"c{call}", "content": f"on its way, receipt {chance.randrange(10**9)}"},
        ]
    messages.append({"role": "assistant", "content": " ".join(chance.choices(words(), k=60))})
    return {"id": f"c-{number}", "messages": json.dumps(messages)}


@cache
def words() -> list[str]:
    """Return the running words of Python's documentation."""
    return material.vocabulary()


def resident() -> float:
    """Return the memory that this process has now, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
