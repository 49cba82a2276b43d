"""How often is a decision wrong, and how often does an interval hold the truth? The peer is not measured.

Finite situations are summed over every outcome, the others have 4,000 repetitions. With `--docs`, the ranges of each
command replace the table of docs/explanation/statistics.md. A number is the number of repetitions.
"""

from __future__ import annotations

import sys
from pathlib import Path

import measuring

sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))

import decision_situations as situations

REPETITIONS = 4000
PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "statistics.md"
HEAD = "| command | situations | stated | true |\n|---|---|---|---|\n"


def main(peer: str) -> None:  # noqa: ARG001
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    repetitions = numbers[0] if numbers else REPETITIONS
    measuring.heading(f"decisions: what is said, and what is true, {repetitions:,} repetitions unless summed")
    shares: dict[str, list[float]] = {}
    wrong = []
    for situation in situations.every():
        true = situation.share(repetitions)
        shares.setdefault(_group(situation), []).append(true)
        print(f"  {_row(situation, true)}", flush=True)
        if not situation.impossible and not situation.holds(true, repetitions):
            wrong.append(f"{situation.command}: {situation.name}: {true:.3f}")
    print("\n".join(f"  not as said: {each}" for each in wrong))
    measuring.target("situations", sum(map(len, shares.values())), "", at_least=60)
    measuring.target("situations that are not as said", len(wrong), "", at_most=0)
    if "--docs" in sys.argv:
        _write(shares)


def _row(situation: situations.Situation, true: float) -> str:
    how = "" if situation.exact else " *"
    why = f" (impossible: {situation.impossible})" if situation.impossible else ""
    said = f"{situation.kind} {situation.said:g}"
    return f"| {situation.command} | {situation.name}{why} | {said} | {true:.3f}{how} |"


def _group(situation: situations.Situation) -> str:
    """The row of the page that holds a situation: a command with its statement, and why no method can keep it."""
    why = f" (impossible: {situation.impossible})" if situation.impossible else ""
    return f"{situation.command.partition(',')[0]}{why} | {situation.kind} {situation.said:g}"


def _write(shares: dict[str, list[float]]) -> None:
    """Write the range of each command into the page."""
    rows = []
    for group, true in shares.items():
        command, stated = group.split(" | ")
        ends = sorted({f"{min(true):.3f}", f"{max(true):.3f}"})
        rows.append(f"| {command} | {len(true)} | {stated} | {' to '.join(ends)} |")
    page = PAGE.read_text()
    start = page.index(HEAD) + len(HEAD)
    end = page.index("\n\n", start)
    PAGE.write_text(page[:start] + "\n".join(rows) + page[end:])


if __name__ == "__main__":
    main("")
