"""How many agent runs `fairtrial bisect` needs to find the commit that broke an agent, and how often it is right.

    python benchmarks/bisection.py              # 1,000 seeds
    python benchmarks/bisection.py --seeds 100

One of 64 commits lowers the pass rate of a single case from 0.95 to 0.7. Plain bisection runs each commit that it
visits n times, and takes it for bad if at most t attempts passed. n and t are the best for rates that it knows: the
smallest n with which it is right as often. `fairtrial bisect` knows the rates from stored runs of both ends, here of
200 attempts each, or it knows nothing and has to run both ends first.
"""

from __future__ import annotations

import argparse
import random
import statistics
from math import comb

from fairtrial.stats.change_point import GOOD, ChangePoint, Outcomes

COMMITS = 64
BEFORE, AFTER = 0.95, 0.7
CONFIDENCE = 0.95
STORED = 200
MOST = 2000
"""A search that runs so many attempts ends without an answer."""


def search(rng: random.Random, *, stored: int = 0, cases: int = 1, broken: int = 1) -> tuple[bool, int]:
    """Return whether the search finds the commit, and the number of attempts that it runs."""
    truth, runs = rng.randrange(COMMITS), 0
    point = ChangePoint([(2 << place) - 1 for place in range(COMMITS)])

    def run(place: int, case: str, attempts: int) -> None:
        rate = AFTER if place >= truth and int(case) < broken else BEFORE
        passed = sum(rng.random() < rate for _ in range(attempts))
        point.add(place, case, Outcomes(passed, attempts - passed))

    if stored:
        for case in map(str, range(cases)):
            run(GOOD, case, stored)
            run(COMMITS - 1, case, stored)
    else:
        for case in map(str, range(cases)):
            run(GOOD, case, 1)
            run(COMMITS - 1, case, 1)
            runs += 2
    while True:
        posterior = point.posterior()
        tests = point.next_tests(posterior, CONFIDENCE)
        if not tests or runs >= MOST:
            break
        for test in tests:
            for case in test.cases:
                run(test.place, case, 1)
                runs += 1
    return posterior.index(max(posterior)) == truth, runs


def plain_bisection(right: float) -> int:
    """Return the number of attempts that plain bisection needs to be right so often, with the best limit."""

    def below(limit: int, attempts: int, rate: float) -> float:
        return sum(comb(attempts, x) * rate**x * (1 - rate) ** (attempts - x) for x in range(limit + 1))

    steps = COMMITS.bit_length() - 1
    attempts = 1
    while True:
        for limit in range(attempts):
            bad_seen, good_seen = below(limit, attempts, AFTER), 1 - below(limit, attempts, BEFORE)
            # Each step halves the commits, so that each half of its answers is about a good and a bad commit.
            if ((bad_seen + good_seen) / 2) ** steps >= right:
                return steps * attempts
        attempts += 1


def main() -> None:
    """Print the shares of right answers, and the attempts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=1000)
    seeds = parser.parse_args().seeds
    worlds = [
        ("rates known from stored runs", {"stored": STORED}),
        ("nothing known before", {}),
        ("5 of 20 cases change, nothing known before", {"cases": 20, "broken": 5}),
        ("5 of 20 cases change, stored runs of 10 attempts", {"stored": 10, "cases": 20, "broken": 5}),
    ]
    for name, world in worlds:
        found = [search(random.Random(f"{name} {seed}"), **world) for seed in range(seeds)]
        right, runs = statistics.fmean(ok for ok, _ in found), [number for _, number in found]
        plain = plain_bisection(right)
        mean = statistics.fmean(runs)
        print(f"{name:50} right {right:.1%}, attempts {mean:.0f} (median {statistics.median(runs):.0f}); ", end="")
        print(f"plain bisection {plain}, share {mean / plain:.0%}", flush=True)


if __name__ == "__main__":
    main()
