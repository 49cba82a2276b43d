"""How often is a decision wrong, and how often does an interval hold the truth? The peer is not measured.

Finite situations are summed over every outcome, the others have 4,000 repetitions. With `--docs`, the table replaces
that of docs/explanation/statistics.md. A number is the number of repetitions.
"""

from __future__ import annotations

import sys
from pathlib import Path

import measuring

sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))

import decision_situations as situations

REPETITIONS = 4000
PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "statistics.md"
HEAD = "| command | situation | said | true |\n|---|---|---|---|\n"


def main(peer: str) -> None:  # noqa: ARG001
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    repetitions = numbers[0] if numbers else REPETITIONS
    measuring.heading(f"decisions: what is said, and what is true, {repetitions:,} repetitions unless summed")
    rows, wrong = [], []
    for situation in situations.every():
        true = situation.share(repetitions)
        rows.append(_row(situation, true))
        print(f"  {rows[-1]}", flush=True)
        if not situation.impossible and not situation.holds(true, repetitions):
            wrong.append(f"{situation.command}: {situation.name}: {true:.3f}")
    print("\n".join(f"  not as said: {each}" for each in wrong))
    measuring.target("situations", len(rows), "", at_least=60)
    measuring.target("situations that are not as said", len(wrong), "", at_most=0)
    if "--docs" in sys.argv:
        _write(rows)


def _row(situation: situations.Situation, true: float) -> str:
    how = "" if situation.exact else " *"
    why = f" (impossible: {situation.impossible})" if situation.impossible else ""
    said = f"{situation.kind} {situation.said:g}"
    return f"| {situation.command} | {situation.name}{why} | {said} | {true:.3f}{how} |"


def _write(rows: list[str]) -> None:
    page = PAGE.read_text()
    start = page.index(HEAD) + len(HEAD)
    end = page.index("\n\n", start)
    PAGE.write_text(page[:start] + "\n".join(rows) + page[end:])


if __name__ == "__main__":
    main("")
