"""Skills with a planted effect: how often does the interval hold it, and how often is no effect called better?

The peer has no such comparison.
"""

from __future__ import annotations

import contextlib
import random
import sys
import tempfile
from pathlib import Path
from statistics import fmean

import measuring

sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))

from fairtrial.stats.difference import paired_difference
from planted_runs import run_planted
from skill_effects import CHANCES, skill_effects

REPETITIONS = 2_000
CASES, ATTEMPTS = (3, 4, 5, 8, 12, 20), (1, 2, 3, 5)
WHOLE_RUNS, WHOLE_CASES, WHOLE_ATTEMPTS = 480, (3, 5, 8, 12), (1, 3)


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
    _whole_runs()


def _whole_runs() -> None:
    """Run skills whose program throws the dice: workspaces, checks, store and comparison are those of every run."""
    measuring.heading(f"planted effects in {WHOLE_RUNS} whole runs of a program")
    situations = [own for own in skill_effects(WHOLE_CASES, WHOLE_ATTEMPTS) if not own.spread]
    source = random.Random(5)
    held, better, equal = [], [], []
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        for number in range(WHOLE_RUNS):
            effect = situations[number % len(situations)]
            throws, found = run_planted(effect, source, Path(name))
            held.append(found.low - 1e-9 <= effect.truth <= found.high + 1e-9)
            if effect.truth == 0:
                better.append(found.verdict == "better")
            own = paired_difference([case.difference for case in throws])
            ends = (0.0, 0.0) if own is None else own.interval(found.level)
            equal.append(max(abs(ends[0] - found.low), abs(ends[1] - found.high)) < 1e-9)
    measuring.target("intervals equal to those of the throws", fmean(equal), "", at_least=1)
    measuring.target("coverage", fmean(held), "", at_least=0.94)
    measuring.target(f"better without effect, {len(better)} runs", fmean(better), "", at_most=0.05)


if __name__ == "__main__":
    main("")
