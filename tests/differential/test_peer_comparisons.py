"""The statistics agree with scipy and statsmodels on random data."""

from __future__ import annotations

import random
from math import inf

import pytest

pytest.importorskip("scipy")
pytest.importorskip("statsmodels")

from scipy import stats as scipy_stats
from statsmodels.stats.contingency_tables import mcnemar as peer_mcnemar
from statsmodels.stats.multitest import multipletests

from fairtrial.stats.beta import beta_cdf, beta_quantile
from fairtrial.stats.difference import paired_difference
from fairtrial.stats.sample_size import cases_to_detect
from fairtrial.stats.several import holm, mcnemar
from fairtrial.stats.sign_flip import sign_flip_p
from fairtrial.stats.student import student_cdf, student_quantile

pytestmark = pytest.mark.peer


@pytest.mark.parametrize("df", [1, 2, 3, 7, 30, 333, 999, 1001, 50_000])
def test_students_distribution(df: int) -> None:
    """Quantiles to 1e-10 of their size, probabilities to 1e-12."""
    for p in (0.55, 0.8, 0.95, 0.975, 0.999):
        assert student_quantile(p, df) == pytest.approx(scipy_stats.t.ppf(p, df), rel=1e-10)
    for t in (-5.0, -0.3, 0.0, 1.7, 8.0):
        assert student_cdf(t, df) == pytest.approx(scipy_stats.t.cdf(t, df), abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_differences_with_two_extra_cases(seed: int) -> None:
    """The one-sample t test of scipy on the differences and the two extra cases, from 100 cases on."""
    source = random.Random(seed)
    values = [source.uniform(-1, 1) * (source.random() < 0.6) for _ in range(source.randint(100, 200))]
    found = paired_difference(values)
    assert found is not None
    largest = max(map(abs, values)) or 1.0
    extended = [*values, largest, -largest]
    peer = scipy_stats.ttest_1samp(extended, 0)
    assert found.p == pytest.approx(peer.pvalue, abs=1e-12)
    low, high = peer.confidence_interval(0.95)
    assert found.interval() == pytest.approx((max(-1, low), min(1, high)), abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_sign_flips(seed: int) -> None:
    """The permutation test of scipy, with every choice of signs, for grades and for any numbers."""
    source = random.Random(seed)
    count = source.randint(2, 12)
    values = [source.randint(-4, 4) / 4 if seed % 2 else source.gauss(0.2, 0.3) for _ in range(count)]
    peer = scipy_stats.permutation_test((values,), sum, permutation_type="samples", n_resamples=inf)
    assert 0 <= sign_flip_p(values, 100) - peer.pvalue < 0.004


@pytest.mark.parametrize("seed", range(20))
def test_beta_probabilities_and_quantiles(seed: int) -> None:
    """The Beta distribution of scipy."""
    source = random.Random(seed)
    a, b = 10 ** source.uniform(-1, 5), 10 ** source.uniform(0, 5)
    x = scipy_stats.beta.ppf(source.random(), a, b)
    assert beta_cdf(x, a, b) == pytest.approx(scipy_stats.beta.cdf(x, a, b), abs=1e-9)
    assert beta_quantile(0.05, a, b) == pytest.approx(scipy_stats.beta.ppf(0.05, a, b), abs=1e-11)


@pytest.mark.parametrize("seed", range(5))
def test_corrections_of_several_p_values(seed: int) -> None:
    """Holm's method in statsmodels."""
    source = random.Random(seed)
    p_values = [source.random() ** 3 for _ in range(source.randint(1, 12))]
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]))


@pytest.mark.parametrize(("fixed", "broken"), [(1, 0), (5, 2), (3, 3), (40, 21)])
def test_mcnemars_test(fixed: int, broken: int) -> None:
    """The exact test in statsmodels."""
    assert mcnemar(fixed, broken)[0] == pytest.approx(peer_mcnemar([[9, fixed], [broken, 9]], exact=True).pvalue)


def test_planned_cases_have_their_power() -> None:
    """A noncentral t distribution gives the planned number of cases the power that was asked for, or a little more."""
    variance, difference = 0.17, 0.1
    cases = cases_to_detect(difference, variance, 0.87)
    assert cases is not None
    shift = difference / (variance / cases) ** 0.5
    power = 1 - scipy_stats.nct.cdf(scipy_stats.t.ppf(0.975, cases + 1), cases + 1, shift)
    assert 0.79 < power < 0.82
