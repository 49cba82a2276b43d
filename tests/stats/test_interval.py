"""Intervals hold if the data is small, extreme or alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import comb, exp, inf, isclose, sqrt
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.records.average import mean
from fairtrial.stats.interval import (
    bounded_interval,
    effective_trials,
    logarithmic_interval,
    standard_error,
    student_interval,
    wilson,
)
from fairtrial.stats.student import student_quantile
from vector_reasons import EXACT_END, LIGHTER, reason_of_mean

T9 = 2.262157162740992
"""The quantile 0.975 of Student's t with 9 degrees of freedom."""


def test_student_quantile_of_one_degree_is_the_cauchy_distributions() -> None:
    """With one degree of freedom the quantile is tan(pi (p - 1/2)): 12.7062 for 0.975."""
    assert isclose(student_quantile(0.975, 1), 12.706204736174694, rel_tol=1e-11)


def test_student_quantile_of_two_degrees_has_a_closed_form() -> None:
    """With two degrees of freedom it is (2p - 1) sqrt(2 / (4p (1 - p)))."""
    assert isclose(student_quantile(0.975, 2), 0.95 * sqrt(2 / (4 * 0.975 * 0.025)), rel_tol=1e-11)


def test_student_quantile_is_continuous_at_the_change_of_method() -> None:
    """The closed form ends at 1,000 degrees of freedom; the expansion goes on from there, ever smaller."""
    at, beyond, far = (student_quantile(0.975, df) for df in (1000, 1001, 10**9))
    assert 0 < at - beyond < 1e-5
    assert isclose(far, 1.959963984540054, abs_tol=1e-8), "the normal quantile"


def test_standard_error_by_hand() -> None:
    """1, 2, 3, 4: variance 5/3, standard error sqrt(5/3 / 4)."""
    assert isclose(standard_error([1, 2, 3, 4]) or 0, sqrt(5 / 12))


def test_large_values_keep_their_digits() -> None:
    """Seconds since 1970 that differ by 1 have the standard error of 1, 2, 3, 4."""
    assert isclose(standard_error([1.7e9 + i for i in range(1, 5)]) or 0, sqrt(5 / 12), rel_tol=1e-9)


@pytest.mark.parametrize("n", [1, 3, 10, 1000])
def test_wilson_ends_are_exact_at_the_extremes(n: int) -> None:
    """For a rate of 0 the low end is 0, for a rate of 1 the high end is 1; the other end is n / (n + z^2) away."""
    z = 1.959963984540054
    low, high = wilson(0, n, z)
    assert low == 0
    assert isclose(high, z**2 / (n + z**2))
    assert wilson(1, n, z)[1] == 1
    assert isclose(wilson(1, n, z)[0], 1 - high)


def test_effective_trials_by_hand() -> None:
    """Cases 0.4 and 0.6: p = 1/2, v = (2 x 0.01 + 0.5 x 0.5) / (3 x 2) = 0.27 / 6, 0.25 / v = 5.5556."""
    assert isclose(effective_trials([0.4, 0.6]), 0.25 * 6 / 0.27)


def test_cases_of_one_attempt_are_worth_as_many_trials() -> None:
    """A pass rate over cases of one attempt has as many trials as cases, however alike they are."""
    assert effective_trials([1.0] * 9 + [0.0], attempts=10) == 10


def test_graded_cases_are_worth_more_than_passes() -> None:
    """Fifty cases that hardly vary say more than fifty passes and failures."""
    assert effective_trials([0.72, 0.7, 0.68, 0.71, 0.69] * 10) > 500


def test_perfect_cases_are_worth_no_more_than_their_number() -> None:
    """If every case is at an end of the range, nothing shows how much cases differ."""
    assert effective_trials([1.0] * 10) == 10


def test_three_perfect_cases_prove_little() -> None:
    """Wilson at 1 with 3 trials and t(2) = 4.3027 begins at 3 / (3 + 4.3027^2) = 0.139, and ends at exactly 1."""
    low, high = bounded_interval([1.0] * 3) or (0, 0)
    assert isclose(low, 3 / (3 + 4.302652729911275**2))
    assert high == 1


def test_a_pass_rate_by_hand() -> None:
    """9 of 10 cases: below, Wilson with 10 trials and t(9). At the upper end, a failure has a chance of 2.5 %."""
    low, high = bounded_interval([1.0] * 9 + [0.0], attempts=10) or (0, 0)
    assert low == pytest.approx(wilson(0.9, 10, T9)[0])
    assert 1 - high**10 == pytest.approx(0.025)


def test_five_failures_have_wilsons_interval() -> None:
    """An exact end stands beside one to four failures only."""
    for failures in range(1, 8):
        cases = [1.0] * (40 - failures) + [0.0] * failures
        high = (bounded_interval(cases, attempts=40) or (0, 0))[1]
        usual = wilson(1 - failures / 40, 40, student_quantile(0.975, 39))[1]
        assert (high > usual) == (failures < 5)


@pytest.mark.parametrize("cases", [5, 10, 30, 100])
def test_every_pass_rate_is_covered(cases: int) -> None:
    """Summed over all outcomes, 93 % hold the truth, whatever it is. Of Wilson's, 84 % do beside a rate of 1."""
    intervals = [bounded_interval([1.0] * k + [0.0] * (cases - k), attempts=cases) or (0, 0) for k in range(cases + 1)]
    for truth in [end + shift for ends in intervals for end in ends for shift in (-1e-9, 1e-9)]:
        if 0 < truth < 1:
            held = sum(
                comb(cases, k) * truth**k * (1 - truth) ** (cases - k)
                for k, (low, high) in enumerate(intervals)
                if low <= truth <= high
            )
            assert held >= 0.93


@pytest.mark.long
@pytest.mark.parametrize("cases", [10, 20, 50])
def test_rare_failures_of_graded_scores_are_covered(cases: int) -> None:
    """3 % of the cases fail wholly, the others hardly vary: with light cases of 1/20, 50 of them covered 76 %."""
    source = Random(1)
    held = 0
    for _ in range(1000):
        scores = [0.0 if source.random() < 0.03 else source.betavariate(95, 5) for _ in range(cases)]
        low, high = bounded_interval(scores) or (0, 0)
        held += low <= 0.97 * 0.95 <= high
    assert held / 1000 >= 0.93


def test_a_mean_and_a_pass_rate_of_the_same_numbers_have_the_same_interval() -> None:
    """One rule for both columns of the table."""
    passes = [1.0, 1.0, 0.0, 1.0, 1.0]
    assert bounded_interval(passes, attempts=5) == bounded_interval(passes, attempts=inf)


def test_an_interval_moves_with_its_range() -> None:
    """Grades from 1 to 5 have the interval of their shares of the range."""
    low, high = bounded_interval([0.5, 1.0, 0.25]) or (0, 0)
    assert bounded_interval([3.0, 5.0, 2.0], low=1, high=5) == pytest.approx((1 + 4 * low, 1 + 4 * high))


@pytest.mark.parametrize("cases", [[], [0.5]])
def test_no_interval_below_two_cases(cases: list[float]) -> None:
    """One case says nothing about another."""
    assert (bounded_interval(cases), student_interval(cases), logarithmic_interval(cases)) == (None, None, None)


def test_students_interval_by_hand() -> None:
    """10 and 14 calls: 12 plus and minus 12.706 standard errors of 2."""
    assert student_interval([10, 14]) == pytest.approx((12 - 25.4124094723494, 12 + 25.4124094723494))


def test_amounts_have_an_interval_of_ratios() -> None:
    """10 and 14 seconds: 12 divided and multiplied by exp(12.706 x 2 / 12)."""
    factor = exp(25.4124094723494 / 12)
    assert logarithmic_interval([10, 14]) == pytest.approx((12 / factor, 12 * factor))


def test_equal_amounts_have_no_interval() -> None:
    """Nothing bounds them, and nothing shows how much they vary: an interval of width 0 would be a lie."""
    assert (student_interval([3.0] * 5), logarithmic_interval([3.0] * 5)) == (None, None)


shares = st.lists(st.floats(0, 1), min_size=2, max_size=30)


@given(shares, st.integers(1, 8))
def test_an_interval_has_a_width_and_holds_its_estimate(cases: list[float], attempts: int) -> None:
    """Whatever the cases are, alike or at an end of the range."""
    low, high = bounded_interval(cases, attempts=attempts * len(cases)) or (0, 0)
    assert 0 <= low <= mean(cases) <= high <= 1
    assert low < high


@given(st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=30))
def test_an_unbounded_interval_has_a_width_and_holds_its_estimate(cases: list[float]) -> None:
    """Or there is none."""
    for interval in (student_interval(cases), logarithmic_interval(cases)):
        if interval is not None:
            assert interval[0] <= mean(cases) <= interval[1]
            assert interval[0] < interval[1]


@given(st.permutations([0.1, 0.7, 0.7, 1.0, 0.35, 1 / 3]))
def test_the_order_of_cases_never_changes_a_number(cases: list[float]) -> None:
    """Not even in the last digit."""
    assert bounded_interval(cases) == bounded_interval(sorted(cases))
    assert student_interval(cases) == student_interval(sorted(cases))


def by_formula(cases: Sequence[float], attempts: float, light: float) -> tuple[float, float, float]:
    """Wilson's interval with two light cases, written out, and the effective number of trials."""
    number, p = len(cases), mean(cases)
    weight = number + 2 * light
    middle = (sum(cases) + light) / weight
    squares = sum((case - middle) ** 2 for case in cases) + light * (middle**2 + (1 - middle) ** 2)
    trials = min(attempts, max(number, middle * (1 - middle) * weight * (weight - 1) / squares))
    return *wilson(p, trials, student_quantile(0.975, number - 1)), trials


@pytest.mark.shared
@pytest.mark.parametrize("group", ["mean_interval", "rate_interval"])
def test_intervals_agree_with_scipy_and_statsmodels(group: str, shared: Path) -> None:
    """The vectors come from numpy, scipy and statsmodels. Those that no longer hold have a reason, and differ."""
    found: dict[str, Any] = json.loads((shared / "vectors" / "trust.json").read_bytes())["groups"][group]
    assert len(found["cases"]) >= 30
    held: set[str | None] = set()
    for vector in found["cases"]:
        given_values = vector["in"].get("values_by_case") or vector["in"]["passed_by_case"]
        low, high = vector["in"].get("range", (0, 1))
        cases = [mean(values) for values in given_values]
        attempts = sum(map(len, given_values)) if group == "rate_interval" else inf
        interval = bounded_interval(cases, low=low, high=high, attempts=attempts)
        expected = vector["out"]
        assert mean(cases) == pytest.approx(expected.get("mean", expected.get("rate")), abs=found["tolerance"])
        if expected["low"] is None:
            assert interval is None
            continue
        ends = pytest.approx((expected["low"], expected["high"]), abs=found["tolerance"])
        shares = [(case - low) / (high - low) for case in cases]
        why = reason_of_mean(shares)
        held.add(why)
        assert (interval == ends) == (why is None)
        old, new = by_formula(shares, attempts, 1 / 20), by_formula(shares, attempts, 1 / 2)
        assert [low + (high - low) * end for end in old[:2]] == ends
        assert old[2] == pytest.approx(expected["effective"], abs=1e-6)
        assert effective_trials(shares, attempts) == pytest.approx(new[2])
        if interval is not None and why == LIGHTER:
            assert interval[0] <= low + (high - low) * new[0] + 1e-9
            assert interval[1] >= low + (high - low) * new[1] - 1e-9
    assert held == ({None, LIGHTER} if group == "mean_interval" else {None, LIGHTER, EXACT_END})
