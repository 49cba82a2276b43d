"""Are intervals what they should be, also where the data is small, extreme or clustered?"""

from __future__ import annotations

from math import isclose, sqrt, tan

import pytest

from fairtrial.stats.interval import Clusters, effective_trials, student_quantile, wilson


def clusters(*groups: list[float]) -> Clusters:
    """The sums of these clusters."""
    sums = Clusters()
    for group in groups:
        sums.add(group)
    return sums


def test_student_quantile_of_one_degree_is_the_cauchy_distributions() -> None:
    """With one degree of freedom the quantile is tan(pi (p - 1/2))."""
    assert isclose(student_quantile(0.975, 1), tan(3.141592653589793 * 0.475), rel_tol=1e-11)


def test_student_quantile_of_two_degrees_has_a_closed_form() -> None:
    """With two degrees of freedom it is (2p - 1) sqrt(2 / (4p (1 - p)))."""
    assert isclose(student_quantile(0.975, 2), 0.95 * sqrt(2 / (4 * 0.975 * 0.025)), rel_tol=1e-11)


def test_student_quantile_is_continuous_where_the_method_changes() -> None:
    """The closed form ends at 1,000 degrees of freedom; the expansion goes on from there, ever smaller."""
    at, beyond, far = (student_quantile(0.975, df) for df in (1000, 1001, 10**9))
    assert 0 < at - beyond < 1e-5
    assert isclose(far, 1.959963984540054, abs_tol=1e-8), "the normal quantile"


def test_one_value_a_cluster_is_the_ordinary_standard_error() -> None:
    """1, 2, 3, 4: variance 5/3, standard error sqrt(5/3 / 4)."""
    sums = clusters([1], [2], [3], [4])
    assert sums.mean == 2.5
    assert isclose(sums.standard_error or 0, sqrt(5 / 12))


def test_clustered_standard_error_by_hand() -> None:
    """Clusters 11, 01, 00: mean 1/2; residuals sum to 1, 0, -1 by cluster; SE^2 = 3/2 * (1 + 0 + 1) / 6^2 = 1/12."""
    sums = clusters([1, 1], [0, 1], [0, 0])
    assert sums.mean == 0.5
    assert isclose(sums.standard_error or 0, sqrt(1 / 12))


def test_clusters_of_different_sizes_by_hand() -> None:
    """Clusters 100, 0, 1: mean 2/5; residuals -1/5, -2/5, 3/5 by cluster; SE^2 = 3/2 * (1 + 4 + 9) / 25 / 5^2."""
    sums = clusters([1, 0, 0], [0], [1])
    assert sums.mean == 0.4
    assert isclose(sums.standard_error or 0, sqrt(1.5 * 14 / 25 / 25))


def test_interval_takes_a_degree_of_freedom_less_than_clusters() -> None:
    """Three clusters give two degrees of freedom: the half-width is 4.3027 standard errors."""
    low, high = clusters([1, 1], [0, 1], [0, 0]).interval or (0, 0)
    assert isclose(high - 0.5, 4.302652729911275 * sqrt(1 / 12))
    assert isclose(0.5 - low, high - 0.5)


@pytest.mark.parametrize("groups", [(), ([1.0, 2.0],)])
def test_no_interval_below_two_clusters(groups: tuple[list[float], ...]) -> None:
    """One case says nothing about another, however often it is tried."""
    sums = clusters(*groups)
    assert (sums.standard_error, sums.interval) == (None, None)


def test_an_empty_cluster_does_not_count() -> None:
    """A case in which nothing was scored is none of the cases."""
    assert clusters([], [1], []).clusters == 1
    assert clusters().mean is None


def test_large_values_keep_their_digits() -> None:
    """Seconds since 1970 that differ by 1 have the standard error of 1, 2, 3, 4."""
    sums = clusters(*([1.7e9 + i] for i in range(1, 5)))
    assert isclose(sums.standard_error or 0, sqrt(5 / 12), rel_tol=1e-9)


def test_equal_values_have_no_error() -> None:
    """Rounding never makes the variance negative."""
    assert clusters([0.1], [0.1], [0.1]).standard_error == 0


@pytest.mark.parametrize("n", [1, 3, 10, 1000])
def test_wilson_ends_are_exact_at_the_extremes(n: int) -> None:
    """Of a rate of 0 the low end is 0, of a rate of 1 the high end is 1; the other end is n / (n + z^2) away."""
    z2 = 1.959963984540054**2
    low, high = wilson(0, n)
    assert low == 0
    assert isclose(high, z2 / (n + z2))
    assert wilson(1, n) == (1 - high, 1.0) or isclose(wilson(1, n)[0], 1 - high)


def test_effective_trials_are_p_q_over_the_squared_error() -> None:
    """A rate of 1/2 with a standard error of 0.1 is worth 0.25 / 0.01 = 25 independent trials."""
    assert isclose(effective_trials(0.5, 0.1, cases=10, attempts=40), 25)


@pytest.mark.parametrize(("error", "worth"), [(0.5, 10), (0.01, 40), (0.0, 40), (None, 10)])
def test_effective_trials_stay_between_cases_and_attempts(error: float | None, worth: float) -> None:
    """They are no fewer than the cases, no more than the attempts."""
    assert effective_trials(0.5, error, cases=10, attempts=40) == worth


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_effective_trials_are_the_cases_where_all_agree(rate: float) -> None:
    """If everything passed, or nothing, nobody can say how much attempts differ."""
    assert effective_trials(rate, 0.0, cases=10, attempts=40) == 10
