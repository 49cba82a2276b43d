"""How many replies a second does `facts_match_v1` compare with a reference that is known, and how long is its import?

    .venv/bin/python benchmarks/facts_speed.py

The replies are those of the dev halves of the corpora: no reply was read before. CPU time of one core, best of five.
"""

from __future__ import annotations

import json
import time

from facts_corpus import CORPUS, LANGUAGES
from measuring import OURS, heading, line, run, target, yardstick

from fairtrial.text.facts.fact_agreement import compare_facts

_IMPORT = (
    "import time, fairtrial.metrics.pairing; start = time.process_time(); import fairtrial.metrics.facts_match; "
    "print('{\"seconds\": ' + str(time.process_time() - start) + '}')"
)


def main(peer: str = "") -> None:  # noqa: ARG001  (no peer reads the same facts)
    """Print replies a second for each language, and the time of the import beyond that of the package."""
    heading("facts: replies compared with a known reference")
    for language in LANGUAGES:
        text = (CORPUS / f"{language}.dev.jsonl").read_text(encoding="utf-8")
        rows = [json.loads(item) for item in text.splitlines()]
        target(
            f"replies a second, {language}", len(rows) / min(_measure(rows, n) for n in range(5)), "/s", at_least=5000
        )
    line("the yardstick", f"{yardstick():.2f} s CPU")
    seconds = min(float(run([OURS, "-c", _IMPORT]).said["seconds"]) for _ in range(5))
    target("import of the criterion", 1000 * seconds, "ms", at_most=60)


def _measure(rows: list[dict[str, str]], turn: int) -> float:
    for row in rows:
        compare_facts(row["reference"], row["reference"])
    # A space more at the end of each reply: it is another text, which nothing remembers.
    replies = [row["reply"] + " " * (turn + 1) for row in rows]
    start = time.process_time()
    for row, reply in zip(rows, replies, strict=True):
        compare_facts(row["reference"], reply)
    return time.process_time() - start


if __name__ == "__main__":
    main()
