"""Measure how often intervals of a weighted sample hold the truth, and how often false claims pass, by simulation.

All conversations with an error are sampled, and a share of the others.
Run: python benchmarks/weighted_coverage.py [RUNS]
With --extra-cases, it measures intervals of differences for other weights of the two extra cases.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator, Sequence
from math import floor, fsum, sqrt
from typing import NamedTuple

from fairtrial.stats.difference import Difference
from fairtrial.stats.moments import Moments
from fairtrial.stats.sample_size import extra_distance
from fairtrial.stats.stratified import stratified_bounded_interval, stratified_mean, weight_class
from fairtrial.stats.weighted import weighted_difference, weighted_limits, weighted_mean

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
EXTRA_WEIGHTS: dict[str, Callable[[Sequence[float]], float]] = {
    "none": lambda _: 0.0,
    "quarter": lambda weights: max(weights) / 4,
    "half": lambda weights: max(weights) / 2,
    "mean": lambda weights: fsum(weights) / len(weights),
    "Kish": lambda weights: fsum(weight**2 for weight in weights) / fsum(weights),
    "heaviest": max,
}
"""The weight of each of the two extra cases of a difference. The intervals of `fairtrial` have the last."""
_RUNS = 5000
_LARGE = 5000
_ALPHA = 0.05
_ROUNDING = 1e-12


def compare(
    errors: float, pass_of_errors: float, pass_of_others: float, share: float, size: int, runs: int
) -> tuple[float, float, float]:
    """Return how often a false claim about a mean passes, and how often the intervals of two differences hold.

    The claim is as large as the truth, or as small. In the first difference, errors break and others are fixed at the
    rates of the population. In the second, each case is tried twice by the same agent, so that the truth is 0.
    """
    truth = errors * pass_of_errors + (1 - errors) * pass_of_others
    above, below, held, held_at_zero = 0, 0, 0, 0
    for sample in draw(errors, pass_of_errors, pass_of_others, share, size, runs):
        number = range(len(sample.first))
        limits = weighted_limits(sample.first, sample.weights, number, _ALPHA, attempts=len(number))
        above += limits is not None and limits.low > truth
        below += limits is not None and limits.high < truth
        held += _holds(weighted_difference(sample.moves, sample.weights, number), sample.moved)
        held_at_zero += _holds(weighted_difference(sample.repeated, sample.weights, number), 0.0)
    return max(above, below) / runs, held / runs, held_at_zero / runs


class Sample(NamedTuple):
    """Cases with their weights, and two differences: errors break and others are fixed, or nothing changes.

    `moved` is the true difference of `moves`.
    """

    first: list[float]
    weights: list[float]
    moves: list[float]
    repeated: list[float]
    moved: float


def draw(
    errors: float, pass_of_errors: float, pass_of_others: float, share: float, size: int, runs: int
) -> Iterator[Sample]:
    """Yield samples of a population."""
    rng = random.Random(20261128)
    moved = (1 - errors) * (1 - pass_of_others) - errors * pass_of_errors
    for _ in range(runs):
        cases = [rng.random() < errors for _ in range(size)]
        sample = [is_error for is_error in cases if is_error or rng.random() < share]
        weights = [1.0 if is_error else 1 / share for is_error in sample]
        first, second = (
            [float(rng.random() < (pass_of_errors if is_error else pass_of_others)) for is_error in sample]
            for _ in range(2)
        )
        moves = [-value if is_error else 1 - value for value, is_error in zip(first, sample, strict=True)]
        yield Sample(first, weights, moves, [b - a for a, b in zip(first, second, strict=True)], moved)


def _holds(difference: Difference | None, truth: float) -> bool:
    ends = difference.interval() if difference else None
    return ends is None or ends[0] <= truth <= ends[1]


def difference_with(extra: float, moves: Sequence[float], weights: Sequence[float]) -> Difference:
    """Return `weighted_difference` of single cases, with this weight of each extra case."""
    value, total = weighted_mean(moves, weights), fsum(weights) + 2 * extra
    distance, centre = extra_distance(max(map(abs, moves))), value * (1 - 2 * extra / total)
    squares = fsum((weight * (move - centre)) ** 2 for move, weight in zip(moves, weights, strict=True))
    squares += extra**2 * ((distance - centre) ** 2 + (distance + centre) ** 2)
    units = fsum(weights) ** 2 / fsum(weight**2 for weight in weights)
    correction = (units + 2) / (units + 1) if extra else units / (units - 1)
    return Difference(value, centre, sqrt(squares * correction) / total, max(1, floor(units)), 1.0)


def compare_extra_weights(population: tuple[float, float, float, float, int], runs: int) -> dict[str, list[float]]:
    """Return, for each weight of the extra cases, how often intervals hold, and their width by that of the heaviest.

    Both are for moved cases first, and then for equal agents.
    """
    held = {name: [0, 0] for name in EXTRA_WEIGHTS}
    widths = {name: [0.0, 0.0] for name in EXTRA_WEIGHTS}
    for sample in draw(*population, runs):
        for place, (moves, truth) in enumerate(((sample.moves, sample.moved), (sample.repeated, 0.0))):
            for name, weigh in EXTRA_WEIGHTS.items():
                difference = difference_with(weigh(sample.weights), moves, sample.weights)
                low, high = difference.interval()
                held[name][place] += low <= truth <= high
                widths[name][place] += high - low
            own = weighted_difference(moves, sample.weights, range(len(moves)))
            if own is None or abs(own.error - difference.error) > _ROUNDING:
                raise AssertionError("the formula of the benchmark is not that of fairtrial")
    return {
        name: [count / runs for count in held[name]]
        + [own / full for own, full in zip(widths[name], widths["heaviest"], strict=True)]
        for name in EXTRA_WEIGHTS
    }


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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=_RUNS, help="the number of samples of each population")
    parser.add_argument("--extra-cases", action="store_true", help="compare weights of the two extra cases instead")
    options = parser.parse_args()
    runs: int = options.runs
    if options.extra_cases:
        print_extra_weights(runs)
        return
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


def print_extra_weights(runs: int) -> None:
    """Print a table of populations and weights, and the range over the populations of each weight."""
    small = [population for population in POPULATIONS if population[-1] <= _LARGE]
    tables = []
    print(f"{runs} runs each; moved cases and equal agents: intervals that hold, and their width by the heaviest's")
    for population in small:
        tables.append(compare_extra_weights(population, runs))
        print(population)
        for name, (moved, equal, width, width_equal) in tables[-1].items():
            print(f"  {name:9} {moved:7.1%} {equal:7.1%} {width:6.3f} {width_equal:6.3f}", flush=True)
    print("from the least to the largest of the populations")
    for name in EXTRA_WEIGHTS:
        columns = list(zip(*(table[name] for table in tables), strict=True))
        held = [f"{min(column):.1%} to {max(column):.1%}" for column in columns[:2]]
        widths = [f"{min(column):.3f} to {max(column):.3f}" for column in columns[2:]]
        print(f"  {name:9}", *held, *widths, sep="  ")


if __name__ == "__main__":
    main()
