"""Mutation testing beside evalmut 0.1 and muteval 0.12, on the same cases with the same check.

    .venv/bin/python benchmarks/mutation_peers.py --peer /path/to/python/with/evalmut/and/muteval

evalmut changes answers: 300 right answers of EVOUNA, whose check is that the reference stands in the answer. muteval
changes the documents of an agent: six documents and six questions, whose check is that the answer holds the expected
text. The tools plant other changes, so that their scores are not comparable. The kinds and the time are.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from measuring import SIDES, heading, line, run

from fairtrial import api
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.result import Criterion
from fairtrial.records.trace import Invocation, Message, ToolCall, Trace

DATA = Path(__file__).parents[2] / "shared" / "data" / "evouna" / "nq.jsonl"
DOCUMENTS = (
    "The Orbit X ships with a warranty of 24 months from the purchase date.",
    "Support replies to tickets within one business day.",
    "Returns are accepted within 30 days if the device is undamaged.",
    "Shipping to Norway costs 12 dollars per parcel.",
    "The battery of the Orbit X lasts 18 hours.",
    "Gift cards expire after 36 months.",
)
QUESTIONS = (
    ("How long is the warranty of the Orbit X?", "24 months"),
    ("How fast does support reply to tickets?", "one business day"),
    ("Within how many days are returns accepted?", "30 days"),
    ("What costs shipping to Norway?", "12 dollars"),
    ("How long lasts the battery?", "18 hours"),
    ("When do gift cards expire?", "36 months"),
)


def holds(trace: Trace, expected: EvalCase) -> bool:
    """Accept replies that hold the text that the case expects."""
    return all(expected.context.lower() in turn.reply.lower() for turn in trace.invocations)


def quote(message: str, call: Any) -> str:
    """Return the found document that has most words of the question."""
    found = call(search, query=message)
    texts = found.get("documents", []) if isinstance(found, dict) else []
    return max(texts, key=lambda text: len(words(text) & words(message)), default="I do not know.")


def search(query: str) -> dict[str, Any]:  # noqa: ARG001
    """Find documents."""
    return {"documents": list(DOCUMENTS)}


def words(text: str) -> set[str]:
    """Return the words of a text in small letters."""
    return {word for word in text.lower().replace("?", " ").split() if len(word) > 2}


def answers() -> list[dict[str, str]]:
    """Return right answers that hold their reference."""
    questions = map(json.loads, DATA.read_text(encoding="utf-8").splitlines())
    right = [(each["question"], each["references"][0], each["answers"]["gpt4"]) for each in questions]
    rows = [
        {"question": question, "expected": reference, "answer": answer["text"]}
        for question, reference, answer in right
        if answer["correct"] and reference.lower() in answer["text"].lower()
    ]
    return rows[:300]


def show(tool: str, seconds: float, outcomes: Counter[tuple[str, str]]) -> None:
    """Print the number of operators and mutants of a tool, its outcomes, and the mutants a second."""
    operators = {operator for operator, _ in outcomes}
    by_outcome = Counter[str]()
    for (_, outcome), number in outcomes.items():
        by_outcome[outcome] += number
    text = ", ".join(f"{number} {outcome.lower()}" for outcome, number in sorted(by_outcome.items()))
    rate = outcomes.total() / max(seconds, 1e-9)
    line(tool, f"{len(operators)} operators, {outcomes.total()} mutants ({text}), {rate:,.0f} a CPU second")


def measure_ours(cases: EvalSet, *, agent: Any = None) -> None:
    """Plant every change of this tool, and print its outcomes."""
    started = time.process_time()
    report = api.mutate(cases, [Criterion("holds", holds, 1.0)], agent=agent)
    seconds = time.process_time() - started
    outcomes: Counter[tuple[str, str]] = Counter()
    for row in report.operators:
        outcomes[row.operator, f"caught ({row.direction})"] = row.overall.caught
        outcomes[row.operator, f"not caught ({row.direction})"] = row.overall.mutants - row.overall.caught
    if report.inert:
        outcomes["all", "inert"] = report.inert
    show("fairtrial", seconds, +outcomes)


def measure_peer(peer: str, script: str, material: Any, name: str) -> None:
    """Run a script of the peer, and print its outcomes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "material.json"
        path.write_text(json.dumps(material), encoding="utf-8")
        result = run([peer, SIDES / script, path]).said
    show(name, result["seconds"], Counter({(operator, outcome): n for operator, outcome, n in result["outcomes"]}))


def main(peer: str = "") -> None:
    """Print the mutants of each tool on the same cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", default=peer, help="a Python that has evalmut and muteval")
    arguments, _ = parser.parse_known_args()
    rows = answers()
    heading(f"{len(rows)} answers, checked for their reference")
    cases = [
        EvalCase(str(n), (Invocation(Message(row["question"]), (), Message(row["answer"])),), context=row["expected"])
        for n, row in enumerate(rows)
    ]
    measure_ours(EvalSet("answers", tuple(cases)))
    if arguments.peer:
        measure_peer(arguments.peer, "mutation_evalmut.py", rows, "evalmut 0.1")
    heading("an agent that quotes one of six documents")
    asked = [
        EvalCase(
            str(n),
            (Invocation(Message(question), (ToolCall("search", {"query": question}),), Message(expected)),),
            context=expected,
        )
        for n, (question, expected) in enumerate(QUESTIONS)
    ]
    measure_ours(EvalSet("documents", tuple(asked)), agent=quote)
    if arguments.peer:
        material = {
            "documents": DOCUMENTS,
            "cases": [{"question": question, "expected": expected} for question, expected in QUESTIONS],
        }
        measure_peer(arguments.peer, "mutation_muteval.py", material, "muteval 0.12")


if __name__ == "__main__":
    main()
