"""Run muteval on an agent that quotes the document which fits a question best. Prints its counts as JSON."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path

from muteval import MutEvalConfig, System, checks
from muteval.runner import run_mutation_testing

material = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))


def words(text: str) -> set[str]:
    """Return the words of a text in small letters."""
    return {word for word in text.lower().replace("?", " ").split() if len(word) > 2}


def reply(system: System, case: dict[str, str]) -> str:
    """Return the document that has most words of the question."""
    return max(system.context or ("",), key=lambda document: len(words(document) & words(case["question"])))


config = MutEvalConfig(
    system=System(prompt="", context=tuple(material["documents"])),
    cases=material["cases"],
    run=reply,
    evals=[checks.contains_case("expected")],
)
started = time.process_time()
report = run_mutation_testing(config)
seconds = time.process_time() - started
names = [
    ("killed" if each.killed else "survived" if each.output_changed else "inert", each.mutant.operator)
    for each in report.outcomes
]
outcomes = Counter((operator, name) for name, operator in names)
print(json.dumps({"seconds": seconds, "outcomes": [[*key, number] for key, number in sorted(outcomes.items())]}))
