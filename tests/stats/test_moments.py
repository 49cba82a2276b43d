"""Moments replace their numbers, without holding them."""

from __future__ import annotations

import math
import pickle
import random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.records.average import mean
from fairtrial.stats import moments
from fairtrial.stats.interval import bounded_interval, effective_trials, logarithmic_interval, student_interval
from fairtrial.stats.moments import Moments
from fairtrial.stats.pass_k import all_pass, any_passes, pass_k_interval, pass_k_table


def numbers(size: int, seed: int = 3) -> list[float]:
    """Numbers between 0.05 and 1."""
    chance = random.Random(seed)
    return [max(0.05, chance.betavariate(4, 1)) for _ in range(size)]


def divided(values: list[float], size: int) -> Moments:
    """The moments of numbers that come in lists of a size, every other of which is merged."""
    total = Moments()
    for start in range(0, len(values), size):
        part = values[start : start + size]
        if start % (2 * size):
            total.merge(Moments(part))
        else:
            total.extend(part)
    return total


@pytest.mark.parametrize("size", [1, 999, 5000])
def test_moments_of_many_numbers_are_theirs(size: int) -> None:
    """By the two-pass formulas, to 1e-12, however the numbers come."""
    values = [1e6 + value for value in numbers(20_000)]
    found = divided(values, size)
    middle = fmean(values)
    assert (found.count, found.low) == (20_000, min(values))
    assert found.mean == pytest.approx(middle, rel=1e-12)
    assert found.squares == pytest.approx(math.fsum((value - middle) ** 2 for value in values), rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("size", [1, 999, 5000])
def test_intervals_of_moments_are_those_of_the_numbers(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, to 1e-12."""
    values = numbers(20_000)
    found = divided(values, size)
    monkeypatch.setattr(moments, "_AT_ONCE", 10**6)
    for interval in (bounded_interval, student_interval, logarithmic_interval):
        assert interval(found) == pytest.approx(interval(values), rel=1e-12)
    assert bounded_interval(found, low=0.0, high=2.0) == pytest.approx(bounded_interval(values, low=0.0, high=2.0))
    assert effective_trials(found) == pytest.approx(effective_trials(values), rel=1e-12)


def test_equal_numbers_have_exactly_their_mean() -> None:
    """A threshold of 0.7 is met by a million of 0.7."""
    found = divided([0.7] * 30_000, 1000)
    assert (found.mean, found.squares) == (0.7, 0.0)


def test_moments_do_not_grow() -> None:
    """A hundred thousand numbers take as little as five thousand."""
    few, many = (divided(numbers(size), 100) for size in (5000, 100_000))
    assert len(pickle.dumps(many)) < 2 * len(pickle.dumps(few)) + 32_768


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 50)), min_size=1, max_size=20))
def test_moments_of_counts_are_those_of_the_repeated_numbers(counts: list[tuple[float, int]]) -> None:
    """To the last digit."""
    found = Moments.from_counts(counts)
    repeated = Moments([value for value, count in counts for _ in range(count)])
    assert (found.count, found.mean, found.squares, found.low) == (
        *(repeated.count, repeated.mean),
        *(repeated.squares, repeated.low),
    )


def test_pass_k_of_many_attempts_is_exact() -> None:
    """The shares are those of the binomial coefficients, for k up to all 300 attempts."""
    counts = {(300, 300): 3, (120, 300): 5, (7, 300): 2, (0, 310): 1}
    for row in pass_k_table(counts):
        for estimate, share in ((row.pass_hat, all_pass), (row.pass_at, any_passes)):
            shares = [share(c, m, row.k) for (c, m), cases in counts.items() for _ in range(cases)]
            assert estimate.value == mean(shares)
            low, high = pass_k_interval(shares, 3310, row.k) or (None, None)
            assert (estimate.low, estimate.high) == pytest.approx((low, high), rel=1e-12)
