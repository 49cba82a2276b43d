"""How many random numbers does `facts_grounded_v1` take for grounded, in real dialogues with tools?

    .venv/bin/python benchmarks/facts_grounded_chance.py [--half held]

The dialogues are 200 of tau-bench's airline domain (`../shared/data/tau-bench`). At each reply that follows a tool
result, the evidence is what the agent had: messages of the user, results and the system message. Random numbers of 1 to
4 digits, and amounts, are put into the sentence "The number is N." The share that is grounded is chance: of those, the
share that stands in the evidence is not avoidable. The dev half has the tasks with even ids.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measuring import heading

from fairtrial.text.facts.fact_evidence import Evidence, EvidenceTexts, find_checkable
from fairtrial.text.facts.fact_reading import read_facts

DATA = Path(__file__).parents[2] / "shared" / "data" / "tau-bench" / "gpt-4o-airline.json"
FORMS = {"1 digit": (1, 9), "2 digits": (10, 99), "3 digits": (100, 999), "4 digits": (1000, 9999)}
SENTENCES = {"number": "The number is {}.", "amount": "The total is ${}.", "time": "It takes {} minutes."}


def main(peer: str = "") -> None:  # noqa: ARG001  (no peer checks numbers against results without a model)
    """Print the shares of random numbers that are stated, that follow, and of the facts of the real replies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("dev", "held"), default="dev")
    parser.add_argument("--each", type=int, default=5, help="the random numbers of each form at a reply")
    arguments, _ = parser.parse_known_args()
    generator = random.Random(31)
    counts: Counter[tuple[str, str]] = Counter()
    replies = 0
    for evidence, reply in contexts(arguments.half):
        replies += 1
        for name, sentence in SENTENCES.items():
            for form, (low, high) in FORMS.items():
                for _ in range(arguments.each):
                    counts.update(support(evidence, sentence.format(generator.randint(low, high)), f"{name}, {form}"))
        counts.update(support(evidence, reply, "the facts of the real replies"))
        counts.update(replaced(evidence, reply, generator))
    heading(f"tau-bench, {arguments.half} half, {replies} replies: facts that stand in the evidence, and that follow")
    for name in dict.fromkeys(key for key, _ in counts):
        found, follows, missing = (counts[name, state] for state in ("found", "follows", "missing"))
        number = found + follows + missing
        print(f"  {name:42} stands {found / number:6.1%}  follows {follows / number:6.1%}  of {number}", flush=True)


def replaced(evidence: Evidence, reply: str, generator: random.Random) -> list[tuple[str, str]]:
    """Return the support of a random number of the same length in the place of each number and amount of a reply."""
    states: list[tuple[str, str]] = []
    for fact in read_facts(reply):
        digits = re.search(r"\d+", reply[fact.start : fact.end])
        if fact.kind not in {"number", "amount", "quantity"} or digits is None:
            continue
        new = str(generator.randint(10 ** (len(digits[0]) - 1), 10 ** len(digits[0]) - 1))
        start, end = fact.start + digits.start(), fact.start + digits.end()
        text = reply[:start] + new + reply[end:]
        stated = read_facts(text)
        facts = find_checkable(text, stated)
        hits = zip(facts, evidence.find_support(text, facts, stated), strict=True)
        name = f"in the place of a real number of {min(len(new), 4)} digits"
        for item, hit in hits:
            if item.start <= start < item.end and new != digits[0]:
                states.append((name, "found" if hit.source else "follows" if hit else "missing"))
    return states


def contexts(half: str) -> Iterator[tuple[Evidence, str]]:
    """Yield the evidence of each reply that follows a tool result, and the reply."""
    for dialogue in json.loads(DATA.read_bytes()):
        if dialogue["task_id"] % 2 == (half == "held"):
            yield from _replies(dialogue["traj"])


def _replies(messages: list[dict[str, Any]]) -> Iterator[tuple[Evidence, str]]:
    read = EvidenceTexts()
    texts: dict[str, str] = {}
    for number, message in enumerate(messages):
        content = message.get("content") or ""
        if message["role"] == "assistant":
            if content and messages[number - 1]["role"] == "tool":
                yield read(dict(texts)), content
        elif content:
            texts[f"{message['role']} {number}"] = content


def support(evidence: Evidence, text: str, name: str) -> list[tuple[str, str]]:
    """Return whether each fact of a text stands in the evidence, follows from it, or neither, under a name."""
    stated = read_facts(text)
    hits = evidence.find_support(text, find_checkable(text, stated), stated)
    return [(name, "found" if hit.source else "follows" if hit else "missing") for hit in hits]


if __name__ == "__main__":
    main()
