"""How many agent runs `fairtrial bisect` needs to find the commit that broke an agent, and how often it is right.

    python benchmarks/bisection.py              # 1,000 seeds
    python benchmarks/bisection.py --seeds 100

One of 64 commits lowers the pass rate of a single case from 0.95 to 0.7. Plain bisection runs each commit that it
visits n times, and takes it for bad if at most t attempts passed. n and t are the best for rates that it knows: the
smallest n with which it is right as often. `fairtrial bisect` knows the rates from stored runs of both ends, here of
200 attempts each, or it knows nothing and has to run both ends first.

Two oracles show what knowledge is worth. They choose commits as `fairtrial bisect` does, and know both rates exactly.
The second one must also find out that the ends are not alike at some rate from the lower to the higher one.

The limits hold for each search that is right in 95 % whatever the change is. An attempt tells at most the capacity of
the channel from "the commit has the change" to its outcome, and naming one of 64 commits takes the relative entropy
of right answers and of a guess (Fano). To tell the truth from another world, the attempts must differ from it by the
relative entropy of 0.95 and 0.05 in the mean (Kaufmann, Cappe and Garivier, On the complexity of best-arm
identification, 2016, lemma 1). If the rates are not known, the other worlds have any rates.

To the first order, no search that knows both rates needs fewer attempts than those that name the commit at capacity
and those that confirm it (Burnashev, Data transmission over a discrete channel with feedback, 1976).

Plain bisection that knows no rates runs both ends first, and takes for bad what the rates that it saw there make more
likely. Its numbers of attempts, at an end and at a commit, are the best for these true rates, which is kind to it.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable
from itertools import accumulate
from math import comb, log

from fairtrial.stats.change_point import GOOD, ChangePoint, Outcomes

COMMITS = 64
STEPS = COMMITS.bit_length() - 1
BEFORE, AFTER = 0.95, 0.7
CONFIDENCE = 0.95
STORED = 200
MOST = 2000
"""A search that runs so many attempts ends without an answer."""


ALIKE = ((0.95, 0.7, 64, 40), (0.95, 0.85, 8, 60), (0.95, 0.95, 8, 30), (0.8, 0.8, 8, 30))
"""Pass rates before and after a commit, the number of commits, and the number of searches."""


def search(rng: random.Random, *, stored: int = 0, cases: int = 1, broken: int = 1) -> tuple[bool, int]:
    """Return whether the search finds the commit, and the number of attempts that it runs."""
    is_right, runs, _ = search_between(rng, (BEFORE, AFTER), COMMITS, stored=stored, cases=cases, broken=broken)
    return is_right, runs


def search_between(
    rng: random.Random, rates: tuple[float, float], commits: int, *, stored: int = 0, cases: int = 1, broken: int = 1
) -> tuple[bool, int, bool]:
    """Return what `search` returns, and whether the search ends because the ends are known to be alike."""
    truth, runs = rng.randrange(commits), 0
    point = ChangePoint([(2 << place) - 1 for place in range(commits)])

    def run(place: int, case: str, attempts: int) -> None:
        rate = rates[place >= truth and int(case) < broken]
        passed = sum(rng.random() < rate for _ in range(attempts))
        point.add(place, case, Outcomes(passed, attempts - passed))

    if stored:
        for case in map(str, range(cases)):
            run(GOOD, case, stored)
            run(commits - 1, case, stored)
    else:
        for case in map(str, range(cases)):
            run(GOOD, case, 1)
            run(commits - 1, case, 1)
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
    return posterior.index(max(posterior)) == truth, runs, point.are_ends_alike(posterior, CONFIDENCE)


def plain_bisection(right: float) -> int:
    """Return the number of attempts that plain bisection needs to be right so often, with the best limit."""
    attempts = 1
    while True:
        for bad_seen, missed in zip(
            accumulate(spread(attempts, AFTER)), accumulate(spread(attempts, BEFORE)), strict=True
        ):
            # Each step halves the commits, so that each half of its answers is about a good and a bad commit.
            if ((bad_seen + 1 - missed) / 2) ** STEPS >= right:
                return STEPS * attempts
        attempts += 1


def measuring_bisection(right: float) -> tuple[int, int]:
    """Return the least attempts of plain bisection that is right so often and measures the ends, and those at an end.

    The attempts at the ends count, too. If the good end passes no more often than the bad end, it is wrong.
    """
    best = (MOST, 0)
    for at_end in range(4, 101, 2):
        pairs = [
            (chance_good * chance_bad, (good + 0.5) / (at_end + 1), (bad + 0.5) / (at_end + 1))
            for good, chance_good in enumerate(spread(at_end, BEFORE))
            for bad, chance_bad in enumerate(spread(at_end, AFTER))
            if good > bad and chance_good * chance_bad > 1e-9
        ]
        slopes = [(chance, log((1 - bad) / (1 - good)), log(good / bad)) for chance, good, bad in pairs]
        for attempts in range(1, (best[0] - 1 - 2 * at_end) // STEPS + 1):
            bad_seen, good_seen = accumulate(spread(attempts, AFTER)), accumulate(spread(attempts, BEFORE))
            steps_right = [((seen + 1 - missed) / 2) ** STEPS for seen, missed in zip(bad_seen, good_seen, strict=True)]
            if right <= sum(
                chance * steps_right[int(attempts * failed / (failed + passed))] for chance, failed, passed in slopes
            ):
                best = (STEPS * attempts + 2 * at_end, at_end)
                break
    return best


def spread(attempts: int, rate: float) -> list[float]:
    """Return the probabilities of 0, 1, 2, … passes."""
    return [comb(attempts, x) * rate**x * (1 - rate) ** (attempts - x) for x in range(attempts + 1)]


def entropy(rate: float) -> float:
    """Return the entropy of an outcome in nats."""
    return -sum(part * log(part) for part in (rate, 1 - rate) if part > 0)


def distance(rate: float, other: float) -> float:
    """Return the relative entropy of outcomes in nats."""
    return rate * log(rate / other) + (1 - rate) * log((1 - rate) / (1 - other))


def oracle(rng: random.Random, *, alike: bool) -> tuple[bool, int]:
    """Return whether a search that knows both rates finds the commit, and the number of attempts that it runs.

    With `alike`, both ends may have the same rate with a probability of 0.5, so that it must refute that, too.
    """
    truth, runs = rng.randrange(COMMITS), 0
    places = [1 / COMMITS] * COMMITS
    rates = [AFTER + (BEFORE - AFTER) * step / 20 for step in range(21)] if alike else []
    same = [0.5 / len(rates) for _ in rates]
    while True:
        changed, unchanged = sum(places), sum(same)
        if max(places) >= CONFIDENCE * changed and changed >= CONFIDENCE * (changed + unchanged):
            return places.index(max(places)) == truth, runs
        shares = [0.0, *(own / changed for own in accumulate(places))]
        means = [AFTER * share + BEFORE * (1 - share) for share in shares]
        if max(places) < CONFIDENCE * changed:
            bits = [
                entropy(pass_rate) - share * entropy(AFTER) - (1 - share) * entropy(BEFORE)
                for pass_rate, share in zip(means, shares, strict=True)
            ]
        else:
            middle = sum(own * rate for own, rate in zip(same, rates, strict=True)) / unchanged
            weight = changed / (changed + unchanged)
            bits = [
                entropy(weight * pass_rate + (1 - weight) * middle)
                - weight * entropy(pass_rate)
                - (1 - weight) * entropy(middle)
                for pass_rate in means
            ]
        place = bits.index(max(bits)) - 1
        passed = rng.random() < (AFTER if place >= truth else BEFORE)
        runs += 1
        places = [
            own * likelihood(AFTER if first <= place else BEFORE, passed=passed) for first, own in enumerate(places)
        ]
        same = [own * likelihood(rate, passed=passed) for own, rate in zip(same, rates, strict=True)]
        total = sum(places) + sum(same)
        places, same = [own / total for own in places], [own / total for own in same]


def likelihood(rate: float, *, passed: bool) -> float:
    """Return the probability of an outcome."""
    return rate if passed else 1 - rate


def limits() -> dict[str, float]:
    """Return the numbers of attempts below which no search can be in the mean."""
    steps = [step / 200 for step in range(1, 200)]
    most = max(
        entropy(AFTER * share + BEFORE * (1 - share)) - share * entropy(AFTER) - (1 - share) * entropy(BEFORE)
        for share in steps
    )
    needed = distance(CONFIDENCE, 1 - CONFIDENCE)

    def one_rate(good: float, bad: float) -> float:
        """Return how much outcomes of both rates differ from those of one rate at least."""
        middle = (good * BEFORE + bad * AFTER) / (good + bad)
        return good * distance(BEFORE, middle) + bad * distance(AFTER, middle)

    def worst(good: float, last: float, first: float, bad: float) -> float:
        """Return the least difference to a world in which another commit brought the change, or none did."""
        return min(one_rate(good + last, first), one_rate(last, first + bad), one_rate(good + last, first + bad))

    grid = [step / 24 for step in range(1, 24)]
    confirmed = log(CONFIDENCE / (1 - CONFIDENCE)) / max(distance(BEFORE, AFTER), distance(AFTER, BEFORE))
    return {
        "to name the commit, both rates known": distance(CONFIDENCE, 1 / COMMITS) / most,
        "to name and confirm it, both rates known, to the first order": CONFIDENCE * log(COMMITS) / most + confirmed,
        "to refute that the ends are alike": needed / max(one_rate(share, 1 - share) for share in steps),
        "to refute the neighbours of the commit, rates not known": needed
        / max(
            worst(good, last, first, 1 - good - last - first)
            for good in grid
            for last in grid
            for first in grid
            if good + last + first < 1
        ),
    }


def main() -> None:
    """Print the shares of right answers, and the attempts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=1000)
    seeds = parser.parse_args().seeds
    for name, least in limits().items():
        print(f"at least {least:.0f} attempts {name}", flush=True)
    for before, after, commits, searches in ALIKE:
        ends = [search_between(random.Random(f"y {seed}"), (before, after), commits) for seed in range(searches)]
        print(
            f"{before:.0%} before and {after:.0%} after: {sum(alike for *_, alike in ends)} of {searches} searches ",
            end="",
        )
        print(
            f"end because the ends are alike; median {statistics.median(runs for _, runs, _ in ends):.0f} attempts",
            flush=True,
        )
    worlds: list[tuple[str, Callable[[random.Random], tuple[bool, int]]]] = [
        ("nothing known before", search),
        ("oracle that knows both rates", lambda rng: oracle(rng, alike=False)),
        ("oracle that knows both rates, ends may be alike", lambda rng: oracle(rng, alike=True)),
        ("rates known from stored runs", lambda rng: search(rng, stored=STORED)),
        ("5 of 20 cases change, nothing known before", lambda rng: search(rng, cases=20, broken=5)),
        ("5 of 20 cases change, stored runs of 10 attempts", lambda rng: search(rng, stored=10, cases=20, broken=5)),
    ]
    for name, world in worlds:
        found = [world(random.Random(f"{name} {seed}")) for seed in range(seeds)]
        right, runs = statistics.fmean(ok for ok, _ in found), [number for _, number in found]
        plain, (measuring, at_end) = plain_bisection(right), measuring_bisection(right)
        mean = statistics.fmean(runs)
        print(f"{name:50} right {right:.1%}, attempts {mean:.0f} (median {statistics.median(runs):.0f}); ", end="")
        print(f"plain bisection that knows both rates {plain}, share {mean / plain:.0%}; ", end="")
        print(f"that runs both ends {at_end} times first {measuring}, share {mean / measuring:.0%}", flush=True)


if __name__ == "__main__":
    main()
