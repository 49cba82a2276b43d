"""Weighted means and differences hold the truth about the whole, whatever the sample prefers."""

from __future__ import annotations

import random

import pytest

from fairtrial.stats.weighted import (
    weighted_difference,
    weighted_difference_limits,
    weighted_limits,
    weighted_mean,
)

_RUNS = 400
_POPULATIONS = [
    # share of errors, passes of errors, passes of others, probability of others, size
    (0.10, 0.20, 0.900, 0.10, 500),
    (0.05, 0.10, 0.995, 0.05, 1000),
    (0.30, 0.50, 0.500, 0.20, 300),
    (0.10, 0.20, 0.900, 0.30, 60),
]


def draw(rng: random.Random, errors: float, share: float, size: int) -> list[tuple[bool, float]]:
    """Return a sample with all errors and a share of the others, each with its weight."""
    cases = [rng.random() < errors for _ in range(size)]
    return [(is_error, 1.0 if is_error else 1 / share) for is_error in cases if is_error or rng.random() < share]


@pytest.mark.long
@pytest.mark.parametrize("population", _POPULATIONS)
def test_a_false_claim_about_a_mean_passes_in_at_most_5_percent(
    population: tuple[float, float, float, float, int],
) -> None:
    """The claim is as large as the truth, or as small."""
    errors, low, high, share, size = population
    rng, truth = random.Random(33), errors * low + (1 - errors) * high
    wrong = [0, 0]
    for _ in range(_RUNS):
        sample = draw(rng, errors, share, size)
        values = [float(rng.random() < (low if is_error else high)) for is_error, _ in sample]
        limits = weighted_limits(
            values, [weight for _, weight in sample], range(len(sample)), 0.05, attempts=len(sample)
        )
        assert limits is not None
        wrong[0] += limits.low > truth
        wrong[1] += limits.high < truth
    assert max(wrong) <= 0.05 * _RUNS + 2 * (0.05 * 0.95 * _RUNS) ** 0.5


@pytest.mark.long
@pytest.mark.parametrize("population", _POPULATIONS)
def test_an_interval_of_a_difference_holds_the_truth(population: tuple[float, float, float, float, int]) -> None:
    """Errors break, and a few of the others are fixed."""
    errors, low, high, share, size = population
    rng, truth = random.Random(34), (1 - errors) * (1 - high) - errors * low
    wrong = [0, 0]
    for _ in range(_RUNS):
        sample = draw(rng, errors, share, size)
        moves = [-float(rng.random() < low) if is_error else float(rng.random() < 1 - high) for is_error, _ in sample]
        weights = [weight for _, weight in sample]
        difference = weighted_difference(moves, weights, range(len(sample)))
        limits = weighted_difference_limits(moves, weights, range(len(sample)), 0.05)
        assert difference is not None
        assert limits is not None
        ends = difference.interval()
        wrong[0] += not ends[0] <= truth <= ends[1]
        wrong[1] += limits.low > truth or limits.high < truth
    assert wrong[0] <= 0.05 * _RUNS + 2 * (0.05 * 0.95 * _RUNS) ** 0.5
    assert wrong[1] <= 0.1 * _RUNS


def test_the_mean_is_hajeks() -> None:
    """One case that stands for itself passes, and one that stands for 99 others fails."""
    assert weighted_mean([1.0, 0.0], [1.0, 99.0]) == pytest.approx(0.01)


def test_one_cluster_has_no_limits() -> None:
    """Both cases are of one customer."""
    assert weighted_limits([1.0, 0.0], [1.0, 2.0], ["a", "a"], 0.05) is None
    assert weighted_difference([1.0, 0.0], [1.0, 2.0], ["a", "a"]) is None


def test_a_heavy_case_that_was_never_seen_to_fail_could_fail() -> None:
    """A hundred light cases pass. The limit is that of the few trials that a heavy case leaves."""
    heavy, light = ([1.0] * 101, [100.0] + [1.0] * 100), ([1.0] * 101, [1.0001] + [1.0] * 100)
    low = [weighted_limits(*sample, range(101), 0.05) for sample in (heavy, light)]
    assert low[0] is not None
    assert low[1] is not None
    assert low[0].low < 0.3
    assert low[1].low > 0.95
