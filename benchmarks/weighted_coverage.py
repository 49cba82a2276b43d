"""Measure how often the interval of a weighted sample holds the truth, by simulation over many seeds.

All conversations with an error are sampled, and a share of the others. Run: python benchmarks/weighted_coverage.py
"""

from __future__ import annotations

import random
import sys
from math import sqrt

from fairtrial.stats.moments import Moments
from fairtrial.stats.stratified import stratified_bounded_interval, stratified_mean, weight_class

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


def cover(
    errors: float, pass_of_errors: float, pass_of_others: float, share: float, size: int, runs: int
) -> tuple[float, float, float]:
    """Return the coverage, the mean width of the interval, and the bias of the estimate."""
    rng = random.Random(20261128)
    truth = errors * pass_of_errors + (1 - errors) * pass_of_others
    covered, width, bias = 0, 0.0, 0.0
    for _ in range(runs):
        certain, sampled = [], []
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
        own = max(200, runs // 10) if population[-1] > 5000 else runs
        coverage, width, bias = cover(*population, own)
        errors, low, high, share, size = population
        print(f"{errors:7.2f} {low:13.2f} {high:10.3f} {share:6.2f} {size:6} {coverage:9.2%} {width:.3f} {bias:+.4f}")


if __name__ == "__main__":
    main()
