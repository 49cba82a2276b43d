"""Means are free of rounding errors that a threshold would see."""

from __future__ import annotations

import math
import pickle
import random
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.records.average import RunningMean, mean, mean_of_counts
from fairtrial.records.result import Outcome, Verdict
from fairtrial.records.score import Score, average_parts


@given(st.lists(st.floats(-1e300, 1e300), min_size=1), st.randoms(use_true_random=False))
def test_the_order_never_changes_a_mean(values: list[float], shuffling: random.Random) -> None:
    """The sum is rounded once, so that it does not matter which value comes first."""
    shuffled = list(values)
    shuffling.shuffle(shuffled)
    assert mean(shuffled) == mean(values)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_a_mean_lies_between_the_smallest_and_the_largest_value(values: list[float]) -> None:
    """Values whose sum is out of range included."""
    assert min(values) <= mean(values) <= max(values)


@pytest.mark.parametrize("size", [2, 3, 4, 8, 64, 100])
def test_a_mean_is_the_float_nearest_to_the_quotient(size: int) -> None:
    """A sum is divided by a power of two without fractions, and by any other number with them."""
    chance = random.Random(size)
    for exponent in range(-300, 300, 7):
        values = [chance.uniform(-1, 1) * 10.0**exponent for _ in range(size)]
        assert mean(values) == float(sum(map(Fraction, values)) / size)


def test_a_sum_out_of_range_has_a_mean() -> None:
    """Twice 1.5e308 is more than a float holds; the mean is 1.5e308."""
    assert mean([1.5e308, 1.5e308]) == 1.5e308


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=200), st.integers(0, 200))
def test_a_running_mean_is_the_mean(values: list[float], cut: int) -> None:
    """To the last digit, also if its numbers were added in two parts."""
    if {math.inf, -math.inf} <= {*values}:
        return
    parts = [part for part in (values[:cut], values[cut:]) if part]
    means = [RunningMean(part[0]) for part in parts]
    for running, part in zip(means, parts, strict=True):
        for value in part[1:]:
            running.add(value)
    for other in means[1:]:
        means[0].merge(other)
    assert (means[0].count, means[0].value) == (len(values), mean(values))


@pytest.mark.parametrize(
    "values", [[1 / 3, 1.0, 0.4], [2 / 3, 5 / 6], [0.1 + 0.2, 0.3, 0.7], [1e7 / 3, 0.1], [1e-10, 3.0]]
)
def test_only_the_mean_is_rounded(values: list[float]) -> None:
    """If a number has more decimals than a person reads, the numbers are exactly their floats."""
    assert mean(values) == running_mean(values).value == float(sum(map(Fraction, values)) / len(values))


def running_mean(values: list[float]) -> RunningMean:
    """Return the running mean of all values."""
    running = RunningMean(values[0])
    for value in values[1:]:
        running.add(value)
    return running


@st.composite
def decimals(draw: st.DrawFn) -> list[str]:
    """Texts of numbers with at most nine decimals."""
    places = draw(st.integers(0, 9))
    numbers = draw(st.lists(st.integers(-(10**places), 10**places), min_size=1, max_size=40))
    return [f"{Decimal(number).scaleb(-places):f}" for number in numbers]


@given(decimals())
def test_the_mean_of_decimals_is_the_float_nearest_to_their_decimal_mean(texts: list[str]) -> None:
    """As fractions of the texts say it: 0.7 and 0.9 have the mean 0.8, which a threshold of 0.8 reads from its text."""
    values = list(map(float, texts))
    expected = float(sum(map(Fraction, texts)) / len(texts))
    assert mean(values) == running_mean(values).value == mean_of_counts([(value, 1) for value in values]) == expected


@given(st.lists(st.integers(0, 100), min_size=1, max_size=12), st.integers(0, 100))
def test_a_mean_of_scores_decides_as_its_decimals_do(cents: list[int], limit: int) -> None:
    """A mean of two-decimal scores meets a threshold, a least and a largest one, exactly if the decimals do."""
    score = average_parts([Score(cent / 100) for cent in cents])
    for lower_is_better in (False, True):
        meets = sum(cents) <= limit * len(cents) if lower_is_better else sum(cents) >= limit * len(cents)
        outcome = Outcome("m", score, limit / 100, lower_is_better=lower_is_better)
        assert outcome.verdict is (Verdict.PASSED if meets else Verdict.FAILED)


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.7, 1 / 3, 0.25, 1.0]), st.integers(1, 9)), min_size=1))
def test_a_mean_of_counts_is_the_mean_of_the_numbers(counts: list[tuple[float, int]]) -> None:
    """Also if the numbers are not decimals."""
    assert mean_of_counts(counts) == mean([value for value, count in counts for _ in range(count)])


def test_a_running_mean_stays_small() -> None:
    """A hundred thousand numbers take no more memory than a hundred."""
    running, sizes = RunningMean(0.1), {}
    for number in range(1, 100_001):
        running.add(number / 7)
        sizes[number] = len(pickle.dumps(running._addends)) if number in {100, 100_000} else 0
    assert sizes[100_000] < 2 * sizes[100]


@pytest.mark.parametrize("value", [0.7, 0.1, 0.29, 0.35, 0.93])
@pytest.mark.parametrize("parts", [3, 6, 7, 10, 49])
def test_equal_parts_meet_the_threshold_that_each_of_them_meets(value: float, parts: int) -> None:
    """Three replies of exactly 0.7 pass 0.7: 0.7 + 0.7 + 0.7 is 2.0999999999999996, and a third of it 0.6999…."""
    score = average_parts([Score(value)] * parts)
    assert score.value == value
    assert Outcome("m", score, value).verdict is Verdict.PASSED
    assert Outcome("m", score, value, lower_is_better=True).verdict is Verdict.PASSED
