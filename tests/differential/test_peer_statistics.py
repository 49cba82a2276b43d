"""Judge statistics equal those of krippendorff, scikit-learn, statsmodels and ppi-python, on random data."""

from __future__ import annotations

import random
from math import isclose
from typing import Any

import pytest

from fairtrial.stats.agreement import kappa, krippendorff, make_table, matthews, quadratic_kappa, share_interval
from fairtrial.stats.correction import Judged, Labelled, corrected_mean

pytestmark = pytest.mark.peer

SEEDS = range(20)


def agrees(ours: float | None, theirs: Any) -> bool:
    """Whether two numbers are equal up to rounding."""
    return ours is not None and isclose(ours, float(theirs), rel_tol=0, abs_tol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_is_that_of_krippendorff(seed: int, level: Any) -> None:
    """Three raters, five grades, a fifth of the answers missing."""
    peer = pytest.importorskip("krippendorff")
    source = random.Random(seed)
    truth = [source.randrange(5) for _ in range(30)]
    raters = [[_answer(source, value) for value in truth] for _ in range(3)]
    items = [[answer for answer in answers if answer is not None] for answers in zip(*raters, strict=True)]
    theirs = peer.alpha(
        [[float("nan") if answer is None else answer for answer in row] for row in raters],
        level_of_measurement=level,
    )
    assert agrees(krippendorff(items, level), theirs)


def _answer(source: random.Random, truth: int) -> int | None:
    if source.random() < 0.2:
        return None
    return truth if source.random() < 0.6 else source.randrange(5)


@pytest.mark.parametrize("seed", SEEDS)
def test_kappa_and_matthews_are_those_of_scikit_learn(seed: int) -> None:
    """Also with weights of items, and with quadratic weights of grades."""
    metrics = pytest.importorskip("sklearn.metrics")
    source = random.Random(seed)
    weights = [source.choice((1.0, 2.5)) for _ in range(40)]
    people = [0, 1, *(source.randrange(2) for _ in range(38))]
    judge = [1, 0, *(value if source.random() < 0.7 else 1 - value for value in people[2:])]
    table = make_table(zip(people, judge, weights, strict=True), 2)
    assert agrees(kappa(table), metrics.cohen_kappa_score(people, judge, sample_weight=weights))
    assert agrees(matthews(table), metrics.matthews_corrcoef(people, judge, sample_weight=weights))
    grades = [0, 1, 2, *(source.randrange(3) for _ in range(37))]
    others = [source.randrange(3) for _ in range(40)]
    table = make_table(zip(grades, others, [1.0] * 40, strict=True), 3)
    assert agrees(quadratic_kappa(table), metrics.cohen_kappa_score(grades, others, weights="quadratic"))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_share_of_items_in_cases_is_that_of_statsmodels(seed: int) -> None:
    """The variance behind Wilson's interval is the cluster-robust variance of a regression on a constant."""
    linear = pytest.importorskip("statsmodels.regression.linear_model")
    numpy = pytest.importorskip("numpy")
    stats = pytest.importorskip("scipy.stats")
    source = random.Random(seed)
    cases = [case for case in range(20) for _ in range(source.randint(1, 5))]
    lucky = [source.random() < 0.7 for _ in range(20)]
    hits = [source.random() < (0.95 if lucky[case] else 0.2) for case in cases]
    weights = [source.choice((1.0, 2.0)) for _ in cases]
    share = share_interval(list(zip(hits, weights, strict=True)), 2.0, cases)
    fit = linear.WLS([float(hit) for hit in hits], numpy.ones(len(hits)), weights=weights).fit(
        cov_type="cluster", cov_kwds={"groups": numpy.array(cases)}
    )
    p, variance = float(fit.params[0]), float(fit.bse[0]) ** 2
    trials, z = max(20.0, p * (1 - p) / variance), float(stats.t.ppf(0.975, 19))
    half = z * (p * (1 - p) / trials + z**2 / 4 / trials**2) ** 0.5
    ends = [(p + z**2 / 2 / trials + side * half) / (1 + z**2 / trials) for side in (-1, 1)]
    assert share is not None
    assert all(map(agrees, share, (p, *ends)))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_corrected_mean_is_that_of_ppi_python(seed: int) -> None:
    """Our slope b over all N outcomes is their lambda b (N - n) / N over the outcomes without a label."""
    ppi = pytest.importorskip("ppi_py")
    numpy = pytest.importorskip("numpy")
    source = random.Random(seed)
    people = [float(source.random() < 0.7) for _ in range(300)]
    judge = [value if source.random() < 0.85 else 1 - value for value in people]
    labels = [Labelled(people[n], judge[n], n) for n in range(60)]
    mean = sum(judge) / 300
    corrected = corrected_mean(labels, Judged(300, mean, 0.2))
    assert corrected is not None
    theirs = ppi.ppi_mean_pointestimate(
        numpy.array(people[:60]), numpy.array(judge[:60]), numpy.array(judge[60:]), lam=corrected.slope * 240 / 300
    )
    assert agrees(corrected.value, numpy.ravel(theirs)[0])
