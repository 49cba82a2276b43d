"""Random numbers that `facts_grounded_v1` takes for grounded in real dialogues. The docs have the bounds."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from fairtrial.text.facts.fact_evidence import EvidenceTexts, find_checkable
from fairtrial.text.facts.fact_reading import read_facts

pytestmark = pytest.mark.long


@pytest.mark.shared
@pytest.mark.parametrize(("low", "high", "share"), [(100, 999, 0.1), (1000, 9999, 0.02)])
def test_few_random_numbers_are_grounded(shared: Path, low: int, high: int, share: float) -> None:
    """At the end of a dialogue with tools, at most this share of random numbers stands in the evidence or follows."""
    dialogues = json.loads((shared / "data" / "tau-bench" / "gpt-4o-airline.json").read_bytes())[:50]
    generator = random.Random(31)
    passed: list[bool] = []
    for dialogue in dialogues:
        messages = [message for message in dialogue["traj"] if message["role"] != "assistant" and message["content"]]
        texts = {f"{message['role']} {number}": message["content"] for number, message in enumerate(messages)}
        evidence = EvidenceTexts()(texts)
        for _ in range(10):
            reply = f"The total is ${generator.randint(low, high)}."
            stated = read_facts(reply)
            passed += map(bool, evidence.find_support(reply, find_checkable(reply, stated), stated))
    assert sum(passed) <= share * len(passed)
