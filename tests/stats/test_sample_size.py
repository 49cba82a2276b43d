"""Plans, splits and pass^k keep their promises at small and extreme numbers."""

from __future__ import annotations

from math import comb, isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.stats.difference import paired_difference
from fairtrial.stats.fixed_cases import case_sample
from fairtrial.stats.pass_k import all_pass, any_passes
from fairtrial.stats.sample_size import cases_for_mean, cases_for_width, cases_to_detect, detectable, shows
from fairtrial.stats.several import holm, mcnemar
from fairtrial.stats.student import student_cdf, student_quantile
from fairtrial.stats.variance import judge_noise, lasting_variance, variance_split


@given(st.floats(0.02, 0.9), st.floats(0, 0.5))
def test_the_least_number_of_cases_is_enough_and_one_less_is_not(difference: float, variance: float) -> None:
    """The plan of a difference, held against the difference that the plan's cases show."""
    cases = cases_to_detect(difference, variance, 1)
    assert cases is not None
    assert shows(difference, cases, variance, 1)
    assert cases in (6, 100) or not shows(difference, cases - 1, variance, 1)
    assert (detectable(cases, variance, 1) or 2) <= difference + 1e-9


def test_a_drop_needs_the_cases_of_its_own_variance() -> None:
    """Of cases that always passed, 5 % break. 157 cases have a power of 0.8, since they show six broken cases."""
    assert 157 <= (cases_to_detect(0.05, 0, 1) or 0) <= 190
    assert (detectable(50, 0, 1) or 0) == pytest.approx(0.155, abs=0.01)


@pytest.mark.parametrize(("cases", "drop"), [(36, 0.2), (50, 0.15), (75, 0.1)])
def test_the_detectable_difference_has_the_power_that_is_said(cases: int, drop: float) -> None:
    """Summed over all outcomes: with the cases that a plan names, 80 % to 90 % of the runs show the drop."""
    planned = cases_to_detect(drop, 0, 1) or 0
    assert planned <= cases + 3
    power = sum(
        comb(planned, broken) * drop**broken * (1 - drop) ** (planned - broken)
        for broken in range(planned + 1)
        if (found := paired_difference([-1.0] * broken + [0.0] * (planned - broken))) is not None and found.p < 0.05
    )
    assert 0.78 <= power <= 0.9


def test_a_tiny_difference_has_no_plan() -> None:
    """Above ten million cases there is none."""
    assert cases_to_detect(1e-5, 0.25, 1) is None


def test_a_width_needs_fewer_cases_than_a_difference() -> None:
    """An interval of plus or minus D shows a difference of D in half of all runs only."""
    assert (cases_for_width(0.1, 0.2, 1) or 0) < (cases_to_detect(0.1, 0.2, 1) or 0)


def test_a_mean_of_one_attempt_a_case() -> None:
    """Wilson's interval of 1/2 is about +-1.96 / 2 sqrt(n + 1.96^2): 0.1 needs 93 cases, and a few more with t."""
    cases = cases_for_mean(0.1, 0.25, 0.5)
    assert cases is not None
    assert 93 <= cases <= 97


def test_variance_by_hand() -> None:
    """Cases (0, 1) and (1, 1): within 1/4, between 2 x (1/16 + 1/16) = 1/4, so nothing is left for the cases."""
    assert variance_split([case_sample([0, 1]), case_sample([1, 1])]) == (0.0, 0.25)


def test_one_attempt_has_no_split() -> None:
    """Then the sum of both is known alone."""
    assert variance_split([case_sample([0]), case_sample([1])]) == (0.5, None)


def test_attempts_cannot_remove_the_difference_of_cases() -> None:
    """Differences -1/2 and 1/2 vary by 1/2; attempts that add 1/4 explain half of it. Never less than 0 is left."""
    assert lasting_variance([-0.5, 0.5], 0.25) == 0.25
    assert lasting_variance([-0.5, 0.5], 0.75) == 0


@pytest.mark.parametrize(("votes", "variance"), [(1, 0.16), (3, 0.896 * 0.104)])
def test_votes_without_a_pattern_are_coins(votes: int, variance: float) -> None:
    """At a rate of 0.8 two coins agree in 0.68: every item has the same chance of a yes."""
    assert isclose(judge_noise(0.8, 0.68, votes), variance)


def test_a_judge_that_always_agrees_adds_nothing() -> None:
    """Nor does a judge that always says yes."""
    assert judge_noise(0.8, 1, 5) == judge_noise(1, 1, 5) == 0


@given(st.integers(1, 12).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m), st.integers(1, m))))
def test_pass_k_counts_choices(counts: tuple[int, int, int]) -> None:
    """pass^k of the passes and pass@k of the failures exclude each other."""
    passed, attempts, k = counts
    assert isclose(all_pass(passed, attempts, k) + any_passes(attempts - passed, attempts, k), 1)
    assert all_pass(passed, attempts, k) <= (passed / attempts) ** k + 1e-12


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_keeps_the_order_and_only_raises(p_values: list[float]) -> None:
    """A smaller p value is never larger after the correction."""
    corrected = holm(p_values)
    assert all(before <= after <= 1 for before, after in zip(p_values, corrected, strict=True))
    ordered = [after for _, after in sorted(zip(p_values, corrected, strict=True))]
    assert ordered == sorted(ordered)


def test_mcnemar_of_many_cases() -> None:
    """Numbers that no float holds are divided as whole numbers."""
    exact, mid_p = mcnemar(1000, 1000)
    assert exact == 1
    assert isclose(mid_p, 1)
    assert isclose(mcnemar(0, 40)[0], 2 * comb(40, 0) / 2**40)


@given(st.floats(0.51, 0.999), st.integers(1, 1500))
def test_quantile_and_probability_are_inverse(p: float, df: int) -> None:
    """Also across the change of method at 1,000 degrees of freedom."""
    assert isclose(student_cdf(student_quantile(p, df), df), p, abs_tol=1e-11)
