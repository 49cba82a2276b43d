"""How often do the intervals of judges hold what people would say? In a simulation it is known."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import measuring

sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))

from judge_situations import agreements, corrections, graded_correction

REPETITIONS = 4000


def main(peer: str) -> None:  # noqa: ARG001
    measuring.heading(f"judges beside people, {REPETITIONS:,} repetitions a situation")
    _agreement()
    _correction()


def _agreement() -> None:
    lowest: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for situation in agreements():
        for name, share in situation.agreement(REPETITIONS, seed=1).items():
            own = lowest[situation.name]
            own[name] = min(own.get(name, 1.0), share)
    print("\n  | agreement, 50 to 200 labels, lowest | kappa | Matthews | Youden's J |\n  |---|---|---|---|")
    for name, shares in lowest.items():
        print(f"  | {name} | {shares['kappa']:.3f} | {shares['mcc']:.3f} | {shares['youden']:.3f} |", flush=True)
    measuring.target("Youden's J: lowest", min(shares["youden"] for shares in lowest.values()), "", at_least=0.92)


def _correction() -> None:
    lowest: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for situation in corrections():
        shares = situation.correction(REPETITIONS, seed=1)
        lowest[situation.name].append((shares["corrected"], shares["judged"]))
    print("\n  | corrected mean, 20 to 200 labels, lowest | corrected | the judge's own interval |\n  |---|---|---|")
    for name, own in lowest.items():
        corrected, judged = (min(shares) for shares in zip(*own, strict=True))
        print(f"  | {name} | {corrected:.3f} | {judged:.3f} |", flush=True)
    grades = min(graded_correction(*size, REPETITIONS, seed=1) for size in ((20, 200), (50, 200), (100, 1000)))
    print(f"  | five grades, a third lifted | {grades:.3f} | |")
    every = [corrected for own in lowest.values() for corrected, _ in own]
    measuring.target(f"corrected mean: lowest of {len(every)} situations", min(every), "", at_least=0.93)


if __name__ == "__main__":
    main("")
