"""Measure how often intervals of a weighted sample hold the truth, and how often false claims pass, by simulation.

All conversations with an error are sampled, and a share of the others. Run: python benchmarks/weighted_coverage.py
"""

from __future__ import annotations

import random
import sys
from math import sqrt

from fairtrial.stats.moments import Moments
from fairtrial.stats.stratified import stratified_bounded_interval, stratified_mean, weight_class
from fairtrial.stats.weighted import weighted_difference, weighted_limits

POPULATIONS = (
    # errors, passes of errors, passes of others, share of others that is sampled, conversations
    (0.10, 0.20, 0.900, 0.10, 500),
    (0.10, 0.20, 0.980, 0.10, 500),
    (0.05, 0.10, 0.995, 0.05, 1000),
    (0.30, 0.50, 0.500, 0.20, 300),
    (0.10, 0.00, 1.000, 0.10, 500),
    (0.02, 0.50, 0.900, 0.02, 3000),
    (0.10, 0.20, 0.900, 0.30, 60),
    (0.01, 0.30, 0.950, 0.01, 20000),
)
_RUNS = 5000
_LARGE = 5000
_ALPHA = 0.05


def compare(
    errors: float, pass_of_errors: float, pass_of_others: float, share: float, size: int, runs: int
) -> tuple[float, float, float]:
    """Return how often a false claim about a mean passes, and how often the intervals of two differences hold.

    The claim is as large as the truth, or as small. In the first difference, errors break and others are fixed at the
    rates of the population. In the second, each case is tried twice by the same agent, so that the truth is 0.
    """
    rng = random.Random(20261128)
    truth = errors * pass_of_errors + (1 - errors) * pass_of_others
    moved = (1 - errors) * (1 - pass_of_others) - errors * pass_of_errors
    above, below, held, held_at_zero = 0, 0, 0, 0
    for _ in range(runs):
        cases = [rng.random() < errors for _ in range(size)]
        sample = [is_error for is_error in cases if is_error or rng.random() < share]
        weights = [1.0 if is_error else 1 / share for is_error in sample]
        first, second = (
            [float(rng.random() < (pass_of_errors if is_error else pass_of_others)) for is_error in sample]
            for _ in range(2)
        )
        limits = weighted_limits(first, weights, range(len(sample)), _ALPHA, attempts=len(sample))
        above += limits is not None and limits.low > truth
        below += limits is not None and limits.high < truth
        moves = [-value if is_error else 1 - value for value, is_error in zip(first, sample, strict=True)]
        held += _holds(moves, weights, moved)
        held_at_zero += _holds([b - a for a, b in zip(first, second, strict=True)], weights, 0.0)
    return max(above, below) / runs, held / runs, held_at_zero / runs


def _holds(moves: list[float], weights: list[float], truth: float) -> bool:
    difference = weighted_difference(moves, weights, range(len(moves)))
    ends = difference.interval() if difference else None
    return ends is None or ends[0] <= truth <= ends[1]


def cover(
    errors: float, pass_of_errors: float, pass_of_others: float, share: float, size: int, runs: int
) -> tuple[float, float, float]:
    """Return the coverage, the mean width of the interval, and the bias of the estimate."""
    rng = random.Random(20261128)
    truth = errors * pass_of_errors + (1 - errors) * pass_of_others
    covered, width, bias = 0, 0.0, 0.0
    for _ in range(runs):
        certain: list[float] = []
        sampled: list[float] = []
        for _ in range(size):
            is_error = rng.random() < errors
            if is_error or rng.random() < share:
                value = float(rng.random() < (pass_of_errors if is_error else pass_of_others))
                (certain if is_error else sampled).append(value)
        classes = [
            weight_class(probability, Moments(values), len(values))
            for probability, values in ((1.0, certain), (share, sampled))
            if values
        ]
        ends, middle = stratified_bounded_interval(classes), stratified_mean(classes)
        if ends is None or middle is None:
            covered += 1
            continue
        covered += ends[0] <= truth <= ends[1]
        width += ends[1] - ends[0]
        bias += middle - truth
    return covered / runs, width / runs, bias / runs


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else _RUNS
    print(f"{runs} runs each; the standard error of 95 % is {sqrt(0.95 * 0.05 / runs):.2%}")
    print(f"{'errors':>7} {'pass of them':>13} {'of others':>10} {'share':>6} {'size':>6} {'coverage':>9} width   bias")
    for population in POPULATIONS:
        own = max(200, runs // 10) if population[-1] > _LARGE else runs
        coverage, width, bias = cover(*population, own)
        errors, low, high, share, size = population
        print(f"{errors:7.2f} {low:13.2f} {high:10.3f} {share:6.2f} {size:6} {coverage:9.2%} {width:.3f} {bias:+.4f}")
    print("\nfalse claims that pass, and intervals of a difference that hold: of moved cases, and of equal agents")
    for population in POPULATIONS:
        if population[-1] <= _LARGE:
            print(population, *(f"{rate:.2%}" for rate in compare(*population, runs)))


if __name__ == "__main__":
    main()
