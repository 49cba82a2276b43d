"""Intervals keep their level if cases resemble each other, and a cluster of cases counts once."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from fairtrial.stats.clusters import cluster_values, design_effect
from fairtrial.stats.difference import paired_difference
from fairtrial.stats.interval import bounded_interval
from fairtrial.stats.one_sided import difference_limits, mean_limits

pytestmark = pytest.mark.long

REPETITIONS = 1_000


def test_cases_by_themselves_keep_their_values() -> None:
    """Nothing is computed, so that no digit changes."""
    assert cluster_values([0.1, 0.2, 0.7], [1, 2, 3]) == [0.1, 0.2, 0.7]


def test_equal_clusters_have_their_means() -> None:
    """The mean over cases stays the mean."""
    assert sorted(cluster_values([1, 1, 0, 0.5], ["a", "a", "b", "b"])) == pytest.approx([0.25, 1])


@pytest.mark.parametrize(("sizes", "units"), [((1, 1, 8), 1), ((2, 3, 5), 2), ((4, 4, 4), 3)])
def test_the_mean_is_that_of_the_cases(sizes: tuple[int, ...], units: int) -> None:
    """A large cluster weighs as much as its cases, and unequal clusters make fewer units."""
    clusters = [name for name, size in enumerate(sizes) for _ in range(size)]
    values = [(7 * place % 10) / 10 for place in range(len(clusters))]
    numbers = cluster_values(values, clusters)
    assert len(numbers) == units
    assert sum(numbers) / units == pytest.approx(sum(values) / len(values))


def test_copies_need_as_many_more_cases_as_there_are_copies() -> None:
    """Four copies of each of 25 cases tell as much as 25 cases; without clusters, the effect is 1."""
    values = [float(case % 5 > 0) for case in range(25) for _ in range(4)]
    clusters = [case for case in range(25) for _ in range(4)]
    assert design_effect(values, clusters) == pytest.approx(4, rel=0.05)
    assert design_effect(values, list(range(100))) == 1.0


def near_copies(draw: random.Random, sizes: Sequence[int]) -> tuple[list[float], list[int]]:
    """Pass or fail of cases in families: each case does what its family does, but for one in ten."""
    values, families = [], []
    for family, size in enumerate(sizes):
        passes = draw.random() < 0.75
        for _ in range(size):
            values.append(float(passes if draw.random() < 0.9 else draw.random() < 0.75))
            families.append(family)
    return values, families


FAMILIES = {
    "30 cases in 10": [3] * 10,
    "50 cases in 10": [5] * 10,
    "60 cases in 20": [1, 2, 3, 6] * 5,
    "48 cases in 20": [1, 1, 1, 1, 8] * 4,
}


@pytest.mark.parametrize("sizes", FAMILIES.values(), ids=FAMILIES)
def test_the_interval_of_a_pass_rate_keeps_its_word(sizes: list[int]) -> None:
    """The true rate is 0.75. Taken for independent, the cases give an interval that is much too narrow."""
    draw = random.Random(1)
    held, held_alone, errors = 0, 0, 0
    for _ in range(REPETITIONS):
        values, families = near_copies(draw, sizes)
        units = cluster_values(values, families)
        low, high = bounded_interval(units, attempts=len(values)) or (0.0, 1.0)
        held += low <= 0.75 <= high
        low, high = bounded_interval(values, attempts=len(values)) or (0.0, 1.0)
        held_alone += low <= 0.75 <= high
        limits = mean_limits(units, 0.05, attempts=len(values))
        errors += limits is not None and limits.low > 0.75
    assert held / REPETITIONS >= 0.93
    assert held_alone / REPETITIONS < 0.9
    assert errors / REPETITIONS <= 0.065


@pytest.mark.parametrize("sizes", FAMILIES.values(), ids=FAMILIES)
def test_the_interval_of_a_difference_keeps_its_word(sizes: list[int]) -> None:
    """Families move together between two runs that are equally good."""
    draw = random.Random(2)
    held, held_alone, errors = 0, 0, 0
    for _ in range(REPETITIONS):
        before, families = near_copies(draw, sizes)
        after, _ = near_copies(draw, sizes)
        moves = [new - old for old, new in zip(before, after, strict=True)]
        units = cluster_values(moves, families)
        for values in (units, moves):
            difference = paired_difference(values)
            assert difference is not None
            low, high = difference.interval()
            if values is units:
                held += low <= 0 <= high
            else:
                held_alone += low <= 0 <= high
        limits = difference_limits(units, 0.05)
        errors += limits is not None and limits.low > 0
    assert held / REPETITIONS >= 0.93
    assert held_alone / REPETITIONS < 0.9
    assert errors / REPETITIONS <= 0.065
