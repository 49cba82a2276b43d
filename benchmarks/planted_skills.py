"""Skills with a planted effect: how often does the interval hold it, and how often is no effect called better?

The peer has no such comparison.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import fmean

import measuring

sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))

from skill_effects import CHANCES, skill_effects

REPETITIONS = 2_000
CASES, ATTEMPTS = (3, 4, 5, 8, 12, 20), (1, 2, 3, 5)


def main(peer: str) -> None:  # noqa: ARG001
    measuring.heading(f"planted effects of skills, {REPETITIONS:,} repetitions a situation")
    rows = [(effect, *effect.shares(REPETITIONS, seed=1)) for effect in skill_effects(CASES, ATTEMPTS)]
    print("\n  | cases | lowest coverage | mean | most often better without effect |\n  |---|---|---|---|")
    for cases in CASES:
        held = [share for effect, share, _ in rows if effect.cases == cases]
        better = [share for effect, _, share in rows if effect.cases == cases and effect.truth == 0]
        print(f"  | {cases} | {min(held):.3f} | {fmean(held):.3f} | {max(better):.3f} |", flush=True)
    print(f"\n  {len(CHANCES)} pairs of chances, {len(rows)} situations", flush=True)
    measuring.target("lowest coverage", min(held for _, held, _ in rows), "", at_least=0.94)
    errors = [better for effect, _, better in rows if effect.truth == 0]
    measuring.target("most often better without effect", max(errors), "", at_most=0.05)


if __name__ == "__main__":
    main("")
