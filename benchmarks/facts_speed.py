"""How many replies a second does `facts_match_v1` compare with a reference that is known, and how long is its import?

    .venv/bin/python benchmarks/facts_speed.py

The replies are those of the dev halves of the corpora. No reply was read before: what texts leave in memory is cleared
before each turn, and each reference is compared with itself. A pair counts with the shortest of its fifteen times, so
that other work on the machine counts little.
"""

from __future__ import annotations

import gc
import json
import time
from tempfile import TemporaryDirectory
from typing import Any

from facts_corpus import CORPUS, LANGUAGES
from measuring import OURS, heading, line, run, target, yardstick

from fairtrial.text.facts.fact_agreement import compare_facts

_TURNS = 15
_MODULES = {
    "import of the criterion": ("fairtrial.metrics.pairing", "fairtrial.metrics.facts_match"),
    "import of the comparison, at the first reply": (
        "fairtrial.metrics.facts_match",
        "fairtrial.text.facts.fact_agreement",
    ),
}
"""What is imported, behind what it needs anyway."""
_SOURCE = (
    "import time, {}; start = time.process_time(); import {}; "
    "print('{{\"seconds\": ' + str(time.process_time() - start) + '}}')"
)


def main(peer: str = "") -> None:  # noqa: ARG001  (no peer reads the same facts)
    """Print replies a second for each language, and the times of the imports beyond that of the package."""
    heading("facts: replies compared with a known reference")
    for language in LANGUAGES:
        text = (CORPUS / f"{language}.dev.jsonl").read_text(encoding="utf-8")
        rows = [json.loads(item) for item in text.splitlines()]
        target(f"replies a second, {language}", len(rows) / _measure(rows), "/s", at_least=5000)
    line("the yardstick", f"{yardstick():.2f} s CPU")
    with TemporaryDirectory() as empty:
        uncompiled = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": empty}
        for title, modules in _MODULES.items():
            command = [OURS, "-c", _SOURCE.format(*modules)]
            for form, environment in (("", {}), (", without compiled files", uncompiled)):
                seconds = min(float(run(command, environment=environment).said["seconds"]) for _ in range(5))
                target(f"{title}{form}", 1000 * seconds, "ms", at_most=60)


def _measure(rows: list[dict[str, str]]) -> float:
    """Return the seconds of all pairs, each the shortest of its times."""
    for row in rows:  # reads the tables
        compare_facts(row["reference"], row["reply"])
    shortest = [float("inf")] * len(rows)
    for _ in range(_TURNS):
        for memory in _text_memories():
            memory.cache_clear()
        for row in rows:
            compare_facts(row["reference"], row["reference"])
        for place, row in enumerate(rows):
            start = time.perf_counter()
            compare_facts(row["reference"], row["reply"])
            shortest[place] = min(shortest[place], time.perf_counter() - start)
    return sum(shortest)


def _text_memories() -> list[Any]:
    """Return the memories of what was read from texts. Those of tables have no bound."""
    return [
        item
        for item in gc.get_objects()
        if type(item).__name__ == "_lru_cache_wrapper"
        and item.__module__.startswith("fairtrial.text")
        and item.cache_parameters()["maxsize"]
    ]


if __name__ == "__main__":
    main()
