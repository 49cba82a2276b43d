"""How often do 95 % intervals hold the truth? In a simulation the truth is known. The peer is not measured."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean

import measuring

sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))

from situations import Situation, amounts, means, rates, unseen

REPETITIONS = 10_000


def main(peer: str) -> None:  # noqa: ARG001
    measuring.heading(f"coverage of 95 % intervals, {REPETITIONS:,} repetitions a situation")
    for title, situations, least in (
        ("pass rates", rates(), 0.92),
        ("means of graded criteria", means(), 0.94),
        ("seconds and tokens", amounts(), None),
        ("what has not happened", [unseen()], None),
    ):
        _table(title, situations, least)


def _table(title: str, situations: Iterable[Situation], least: float | None) -> None:
    counted: dict[str, list[tuple[float, float]]] = {}
    for situation in situations:
        counted.setdefault(situation.name, []).append(situation.coverage(REPETITIONS, seed=1))
    print(f"\n  | {title} | lowest | mean | usual method, lowest |\n  |---|---|---|---|")
    for name, shares in counted.items():
        ours, usual = zip(*shares, strict=True)
        print(f"  | {name} | {min(ours):.3f} | {fmean(ours):.3f} | {min(usual):.3f} |", flush=True)
    every = [ours for shares in counted.values() for ours, _ in shares]
    if least is not None:
        measuring.target(f"{title}: lowest of {len(every)} situations", min(every), "", at_least=least)


if __name__ == "__main__":
    main("")
