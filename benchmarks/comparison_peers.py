"""The same simulated runs through truescore 0.7 and AgentAssay 0.2: coverage, false claims under peeking, time.

    python benchmarks/comparison_peers.py PYTHON

PYTHON is the Python of an environment with both packages. `run.py` does not run this bench.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.append(str(Path(__file__).parent.parent / "tests"))

import measuring

import paired_situations as situations
from fairtrial.stats.difference import paired_difference
from fairtrial.stats.evidence import Evidence

REPETITIONS = 400
SIDE = Path(__file__).parent / "sides" / "statistics_peers.py"
WAVES, CASES = 20, 50
Stream = list[tuple[int, float]]
"""Attempts in the order in which they end, each with its case."""


def main(python: str) -> None:
    chosen = [
        situations.changed_cases(50, 1, 1, 0.1),
        situations.changed_cases(20, 4, 0.1, 0.05),
        next(each for each in situations.comparisons() if "drop" in each.name and each.cases == 20),
    ]
    source = random.Random(1)
    comparisons = {
        each.name: [list(zip(*(each.draw(source) for _ in range(each.cases)), strict=True)) for _ in range(REPETITIONS)]
        for each in chosen
    }
    streams = {
        "no regression, shuffled": [stream(source, 0.6, hard_first=False) for _ in range(REPETITIONS)],
        "no regression, hard cases first": [stream(source, 0.6, hard_first=True) for _ in range(REPETITIONS)],
        "regression to 0.7, shuffled": [stream(source, 0.4, hard_first=False) for _ in range(REPETITIONS)],
    }
    arrivals = {name: [[value for _, value in run] for run in runs] for name, runs in streams.items()}
    question = json.dumps({"comparisons": comparisons, "streams": arrivals})
    done = subprocess.run([python, str(SIDE)], input=question, capture_output=True, text=True, check=True)
    theirs = json.loads(done.stdout)
    measuring.heading(f"the same simulated runs, {REPETITIONS} repetitions")
    print("\n  | coverage of the difference | fairtrial | truescore, bootstrap |\n  |---|---|---|")
    seconds = [0.0, 0.0]
    for each in chosen:
        started = time.perf_counter()
        ours = [coverage(each.truth, pair) for pair in comparisons[each.name]]
        seconds[0] += time.perf_counter() - started
        intervals, spent = theirs["bootstrap"][each.name]
        seconds[1] += spent
        peer = [low <= each.truth <= high for low, high in intervals]
        print(f"  | {each.name}, {each.cases} cases | {fmean(ours):.3f} | {fmean(peer):.3f} |")
    count = REPETITIONS * len(chosen)
    print(f"  | milliseconds a comparison | {1000 * seconds[0] / count:.2f} | {1000 * seconds[1] / count:.2f} |")
    _print_claims(streams, theirs)


def _print_claims(streams: dict[str, list[Stream]], theirs: dict[str, Any]) -> None:
    print('\n  | claims "worse than 0.8" within 1,000 attempts | fairtrial | AgentAssay, ratio test | truescore |')
    print("  |---|---|---|---|")
    for name, runs in streams.items():
        sides = [list(map(claim, runs)), theirs["ratio"][name], theirs["exclusion"][name]]
        print(f"  | {name} | {' | '.join(_share(side) for side in sides)} |")


def _share(claims: list[int | None]) -> str:
    made = [attempt for attempt in claims if attempt is not None]
    return f"{len(made) / len(claims):.3f}" + (f", after {fmean(made):.0f}" if made else "")


def stream(source: random.Random, hard: float, *, hard_first: bool) -> Stream:
    """Return attempts in waves, each with its case: half of the cases pass always, half with a chance."""
    chances = [hard] * (CASES // 2) + [1.0] * (CASES // 2)
    order = list(range(CASES))
    attempts: Stream = []
    for _ in range(WAVES):
        if not hard_first:
            source.shuffle(order)
        attempts += [(case, float(source.random() < chances[case])) for case in order]
    return attempts


def coverage(truth: float, pair: list[Any]) -> bool:
    base, candidate = pair
    found = paired_difference([after - before for before, after in zip(base, candidate, strict=True)])
    low, high = found.interval() if found else (1.0, 0.0)
    return low <= truth <= high


def claim(attempts: Stream) -> int | None:
    """Return the attempt after which evidence claims that the mean is below 0.8, or None. It is read after waves."""
    evidence = Evidence(0.2, CASES)
    for wave in range(WAVES):
        values = dict(attempts[wave * CASES : (wave + 1) * CASES])
        evidence.add([1 - values[case] for case in range(CASES)])
        if evidence.log >= 2.995732273553991:  # the logarithm of 20
            return (wave + 1) * CASES
    return None


if __name__ == "__main__":
    main(sys.argv[1])
