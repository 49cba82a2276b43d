"""The difference of two runs, also if the cases hardly differ."""

from __future__ import annotations

from math import inf, isclose, sqrt
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairtrial.records.average import mean
from fairtrial.stats.difference import paired_difference
from fairtrial.stats.fixed_cases import case_sample, fixed_difference, fixed_interval

differences = st.lists(st.floats(-1, 1), min_size=2, max_size=30)
runs = st.lists(st.lists(st.floats(0, 1), min_size=2, max_size=5), min_size=1, max_size=10)


def test_two_cases_by_hand() -> None:
    """0.5 and 0.5 with -M and M, M = sqrt(3/4): mean 1/4, squares 2/16 + 2 (3/4 + 1/16) = 7/4, t(3) = 3.1824463."""
    found = paired_difference([0.5, 0.5])
    assert found is not None
    assert found.value == 0.5
    assert isclose(found.error, sqrt(7 / 4 / 3 / 4))
    assert found.interval() == pytest.approx((0.25 - 3.182446305284263 * found.error, 1.0))
    assert found.p == 0.5, "two of four choices of signs"


def test_equal_runs_have_an_interval() -> None:
    """Ten cases without a difference: the extra cases are as far away as the range is wide."""
    found = paired_difference([0.0] * 10)
    assert found is not None
    low, high = found.interval()
    assert low == -high < 0
    assert found.p == 1


@pytest.mark.parametrize("values", [[], [0.3]])
def test_no_difference_below_two_cases(values: list[float]) -> None:
    """One case says nothing about another."""
    assert paired_difference(values) is None


def test_equal_unbounded_runs_have_no_interval() -> None:
    """Nothing says how far a difference could be from 0."""
    assert paired_difference([0.0] * 10, width=inf) is None


def test_these_cases_need_two_attempts() -> None:
    """With one attempt of a case, nothing shows how much its attempts differ."""
    once, twice = case_sample([1.0]), case_sample([1.0, 0.0])
    assert fixed_interval([once, twice]) is None
    assert fixed_difference([twice, twice], [twice, once]) is None


@pytest.mark.parametrize("attempts", [[2] * 10 + [200] * 2, [2] * 10 + [20, 30]])
def test_unequal_attempts_at_these_cases_are_covered(attempts: list[int]) -> None:
    """Chances of 0.5: 95 % of the intervals hold them, although two cases have most of the attempts."""
    source = Random(1)
    held = 0
    for _ in range(1000):
        cases = [case_sample([float(source.random() < 0.5) for _ in range(number)]) for number in attempts]
        low, high = fixed_interval(cases) or (1.0, 0.0)
        held += low <= 0.5 <= high
    assert held / 1000 >= 0.93


@given(differences)
def test_a_difference_has_a_width_and_holds_its_estimate(values: list[float]) -> None:
    """Whatever the differences are."""
    found = paired_difference(values)
    assert found is not None
    low, high = found.interval()
    assert -1 <= low <= found.value <= high <= 1
    assert low < high


@given(differences)
def test_p_and_interval_agree(values: list[float]) -> None:
    """The p value is below 0.05 exactly if the interval excludes 0."""
    found = paired_difference(values)
    assert found is not None
    low, high = found.interval()
    assume(abs(found.p - 0.05) > 1e-9)
    assert (found.p < 0.05) == (low > 0 or high < 0)


@given(differences)
def test_exchanging_the_runs_negates_the_difference(values: list[float]) -> None:
    """Base and candidate are treated alike."""
    there, back = paired_difference(values), paired_difference([-value for value in values])
    assert there is not None
    assert back is not None
    assert there.value == -back.value
    assert there.interval() == tuple(-end for end in reversed(back.interval()))
    assert there.p == back.p
    assert there.detectable == back.detectable


@given(differences)
def test_the_order_of_cases_never_changes_a_number(values: list[float]) -> None:
    """Not even in the last digit."""
    assert paired_difference(values) == paired_difference(sorted(values))


@given(runs)
def test_fixed_cases_have_an_interval_with_a_width(cases: list[list[float]]) -> None:
    """Also if all attempts of a case agree. The order of attempts never changes a number."""
    samples = [case_sample(case) for case in cases]
    interval = fixed_interval(samples)
    assert interval is not None
    assert 0 <= interval[0] <= mean([sample.mean for sample in samples]) <= interval[1] <= 1
    assert interval[0] < interval[1]
    assert interval == fixed_interval([case_sample(case[::-1]) for case in reversed(cases)])


@given(runs)
def test_fixed_cases_differ_by_a_width(cases: list[list[float]]) -> None:
    """The difference to a perfect run holds its estimate."""
    found = fixed_difference([case_sample(case) for case in cases], [case_sample([1.0, 1.0]) for _ in cases])
    assert found is not None
    low, high = found.interval()
    assert low <= found.value <= high
    assert low < high
