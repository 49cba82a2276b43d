"""The same simulated runs through six other tools: coverage, false claims under peeking, time.

    python benchmarks/comparison_peers.py PYTHON

PYTHON is the Python of an environment with the packages truescore, agentassay, mlflow, inspect-ai, ppi-python and
scipy. `run.py` does not run this bench.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))

import measuring

import paired_situations as situations
from decision_situations import HELD_OUT
from fairtrial.stats.correction import Labelled, corrected_mean
from fairtrial.stats.difference import paired_difference
from fairtrial.stats.evidence import Evidence, choose_strategy
from fairtrial.stats.interval import bounded_interval
from judge_situations import make_judged

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
    runs = {
        f"pass rate 0.9, {cases} cases, 4 attempts, k = {size}": [run(source, cases, size) for _ in range(REPETITIONS)]
        for cases, size in ((20, 0.1), (20, 1), (100, 1))
    }
    nulls = {
        f"{name}, {cases} cases": [
            [[0.0] * cases, [max(-1.0, move) for move in draw(source, cases)]] for _ in range(REPETITIONS)
        ]
        for name, draw, sizes in HELD_OUT
        for cases in sizes[:2]
    }
    samples = {
        f"{rate:g} passed, se {se:g}, sp {sp:g}, 30 of 200 labels": [labels(source, rate, se, sp) for _ in range(400)]
        for rate, se, sp in ((0.7, 0.95, 0.9), (0.7, 0.9, 0.6), (0.95, 0.99, 0.99))
    }
    arrivals = {name: [[value for _, value in attempts] for attempts in each] for name, each in streams.items()}
    question = json.dumps({"comparisons": comparisons, "nulls": nulls, "labels": samples,
                           "streams": arrivals, "runs": runs})  # fmt: skip
    done = subprocess.run([python, str(SIDE)], input=question, capture_output=True, text=True, check=True)
    theirs = json.loads(done.stdout)
    measuring.heading(f"the same simulated runs, {REPETITIONS} repetitions")
    truths = {each.name: each.truth for each in chosen}
    print(f"  {theirs['versions']}")
    peers = {"truescore, bootstrap": theirs["bootstrap"]}
    if theirs["bca"]:
        peers["MLflow, BCa bootstrap"] = theirs["bca"]
    _print_coverage("the difference", difference, comparisons, truths, peers)
    peers = {"Inspect, clustered by case": theirs["clustered"]}
    _print_coverage("the mean", pass_rate, runs, dict.fromkeys(runs, 0.9), peers)
    rates = {name: float(name.split()[0]) for name in samples}
    _print_coverage("the mean by people", corrected, samples, rates, {"ppi-python": theirs["powered"]})
    _print_nulls(nulls, theirs["permutation"])
    _print_claims(streams, theirs)


def _print_coverage(
    name: str, interval: Any, inputs: dict[str, list[Any]], truths: dict[str, float], peers: dict[str, Any]
) -> None:
    """Print how often the interval of each side holds the truth, and the time of one interval."""
    print(f"\n  | coverage of {name} | fairtrial | {' | '.join(peers)} |\n  |---|---|{'---|' * len(peers)}")
    started = time.perf_counter()
    ours = {situation: list(map(interval, each)) for situation, each in inputs.items()}
    seconds = [time.perf_counter() - started]
    seconds += [sum(spent for _, spent in peer.values()) for peer in peers.values()]
    for situation, truth in truths.items():
        sides = [ours[situation], *(peer[situation][0] for peer in peers.values())]
        shares = [fmean(low <= truth <= high for low, high in side) for side in sides]
        print(f"  | {situation} | {' | '.join(f'{share:.3f}' for share in shares)} |")
    count = sum(map(len, inputs.values()))
    print(f"  | milliseconds an interval | {' | '.join(f'{1000 * spent / count:.2f}' for spent in seconds)} |")


def _print_nulls(nulls: dict[str, Any], theirs: dict[str, list[float]]) -> None:
    print("\n  | false differences at 5 % | fairtrial | scipy, permutations |\n  |---|---|---|")
    for name, pairs in nulls.items():
        ours = [paired_difference(moves) for _, moves in pairs]
        share = fmean(found is not None and found.p < 0.05 for found in ours)
        print(f"  | {name} | {share:.3f} | {fmean(p < 0.05 for p in theirs[name]):.3f} |")


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


def run(source: random.Random, cases: int, size: float) -> Stream:
    """Return four attempts at each case, with chances from Beta(0.9 k, 0.1 k)."""
    chances = [source.betavariate(0.9 * size, 0.1 * size) for _ in range(cases)]
    return [(case, float(source.random() < chance)) for case, chance in enumerate(chances) for _ in range(4)]


def labels(source: random.Random, rate: float, sensitivity: float, specificity: float) -> list[list[float]]:
    """Return the labels and the verdicts of 30 outcomes, and the verdicts of 170 others."""
    people = [source.random() < rate for _ in range(200)]
    judge = [source.random() < (sensitivity if passed else 1 - specificity) for passed in people]
    return [list(map(float, values)) for values in (people[:30], judge[:30], judge[30:])]


def corrected(sample: list[list[float]]) -> tuple[float, float]:
    people, judge, others = sample
    labelled = [Labelled(*pair, case) for case, pair in enumerate(zip(people, judge, strict=True))]
    found = corrected_mean(labelled, make_judged([*judge, *others]))
    return found.interval if found else (1.0, 0.0)


def difference(pair: Any) -> tuple[float, float]:
    base, candidate = pair
    found = paired_difference([after - before for before, after in zip(base, candidate, strict=True)])
    return found.interval() if found else (1.0, 0.0)


def pass_rate(attempts: Stream) -> tuple[float, float]:
    shares = [fmean(value for _, value in each) for _, each in groupby(attempts, key=itemgetter(0))]
    return bounded_interval(shares, attempts=len(attempts)) or (1.0, 0.0)


def claim(attempts: Stream) -> int | None:
    """Return the attempt after which evidence claims that the mean is below 0.8, or None. It is read after waves."""
    evidence = Evidence(0.2, CASES, choose_strategy(0.2, CASES))
    for wave in range(WAVES):
        values = dict(attempts[wave * CASES : (wave + 1) * CASES])
        evidence.add([1 - values[case] for case in range(CASES)])
        if evidence.log >= 2.995732273553991:  # the logarithm of 20
            return (wave + 1) * CASES
    return None


if __name__ == "__main__":
    main(sys.argv[1])
