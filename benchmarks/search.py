"""Measures the viewer's full-text index at 100,000 attempts: the time to build it, and the time of a search.

    python benchmarks/search.py [ATTEMPTS]

The index reads attempts of a stand-in for a store, so that no time of a database is in the numbers. Texts are English,
Korean, Japanese and Chinese words, 60 an attempt. The queries are a rare order id, a frequent word, two letters of
Chinese, and five letters that are typed one after the other.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import msgspec

from fairtrial.api.viewer.text_index import TextIndex

WORDS = [
    *["order", "shipped", "Friday", "arrives", "tomorrow", "please", "wait", "refund", "amount", "paid", "customer"],
    *["account", "address", "delivery", "invoice", "payment", "return", "policy", "warranty", "exchange", "cancel"],
    *["주문", "배송", "환불", "注文", "配送", "返金", "訂單", "退款", "订单", "发货"],
]


class Attempts:
    """As much of a store as the index reads."""

    def __init__(self, count: int) -> None:
        self._count = count

    def marks(self, run_id: str, change: int) -> list[Any]:
        """Return no marks: all attempts are new."""
        del run_id, change
        return []

    def bodies_with(
        self, run_id: str, text: str, *, of_results: bool, positions: object = None
    ) -> Iterator[tuple[int, int, bytes]]:
        """Yield a recording for each attempt, and no results."""
        del run_id, text, positions
        chance = random.Random(1)
        for position in range(0 if of_results else self._count):
            reply = " ".join(chance.choices(WORDS, k=60))
            yield position, 1, msgspec.json.encode({"kind": "message", "text": f"{reply} A-{position}"})


def main() -> None:
    """Print the numbers."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    index: Any = TextIndex(Attempts(count), "run")  # type: ignore[arg-type]
    wall, cpu = time.perf_counter(), time.process_time()
    index.update(1)
    print(f"{count:,} attempts: built in {time.perf_counter() - wall:.1f} s, {time.process_time() - cpu:.1f} CPU-s")
    for query in (f"A-{count // 2}", "warranty", "退款", "r", "re", "ref", "refu", "refun"):
        seconds, cpu_seconds, attempts = [], [], 0
        for _ in range(5):
            wall, cpu = time.perf_counter(), time.process_time()
            attempts = len(index.find(query))
            seconds.append(time.perf_counter() - wall)
            cpu_seconds.append(time.process_time() - cpu)
        print(
            f"{query!r}: {1000 * median(seconds):.0f} ms, at most {1000 * max(seconds):.0f} ms, "
            f"{1000 * median(cpu_seconds):.0f} ms of CPU, {attempts:,} attempts"
        )


if __name__ == "__main__":
    main()
