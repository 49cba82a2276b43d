"""Do the measures of agreement give the numbers of other libraries, and say when there is no number?"""

from __future__ import annotations

import json
from math import atanh, isclose, sqrt, tanh
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.stats.agreement import (
    Pair,
    agreement_interval,
    has_empty_margin,
    kappa,
    krippendorff,
    krippendorff_interval,
    matthews,
    quadratic_kappa,
    share_interval,
    spearman,
    table_of,
    youden,
)

_QUANTILE_ERROR = 3e-9
"""The vectors' scipy 1.12 is off by 2.6e-9 in the t quantile of 49 degrees of freedom. scipy 1.17 gives our number."""


def group(shared: Path, name: str) -> dict[str, Any]:
    """A group of the shared vectors."""
    content: dict[str, Any] = json.loads((shared / "vectors" / "trust.json").read_bytes())["groups"][name]
    return content


def pairs_of(table: dict[str, int]) -> list[Pair]:
    """The items of a table of the vectors: category 0 is yes."""
    cells = ("yes_judge_yes", (0, 0)), ("yes_judge_no", (0, 1)), ("no_judge_yes", (1, 0)), ("no_judge_no", (1, 1))
    return [(*cell, 1.0) for name, cell in cells for _ in range(table[f"human_{name}"])]


def close(actual: float | None, expected: float | None, tolerance: float = 1e-9) -> bool:
    """Whether two numbers are equal within an absolute tolerance, or both absent."""
    if actual is None or expected is None:
        return actual is expected
    return isclose(actual, expected, rel_tol=0, abs_tol=tolerance)


@pytest.mark.shared
def test_shares_and_youden_are_those_of_statsmodels(shared: Path) -> None:
    """Accuracy, sensitivity and specificity have Wilson's interval, and Youden's J has the interval by MOVER."""
    for case in group(shared, "agreement")["cases"]:
        pairs = pairs_of(case["in"])
        shares = {
            "accuracy": share_interval([(people == judge, 1.0) for people, judge, _ in pairs]),
            "sensitivity": share_interval([(judge == 0, 1.0) for people, judge, _ in pairs if people == 0]),
            "specificity": share_interval([(judge == 1, 1.0) for people, judge, _ in pairs if people == 1]),
        }
        sensitivity, specificity = shares["sensitivity"], shares["specificity"]
        if sensitivity is not None and specificity is not None:
            shares["youden"] = youden(sensitivity, specificity)
        for name, numbers in shares.items():
            expected = case["out"][name]
            assert expected is None or numbers is not None, name
            if numbers is not None:
                assert all(map(close, numbers, expected)), (name, case)


@pytest.mark.shared
def test_kappa_and_matthews_are_those_of_scikit_learn(shared: Path) -> None:
    """Values of kappa and of Matthews' correlation."""
    for case in group(shared, "agreement")["cases"]:
        table = table_of(pairs_of(case["in"]), 2)
        for name, statistic in (("kappa", kappa), ("mcc", matthews)):
            if not has_empty_margin(table):
                assert close(statistic(table), case["out"][name][0]), (name, case)


@pytest.mark.shared
def test_intervals_of_kappa_and_matthews(shared: Path) -> None:
    """Leave one item out, with 1/2 in each cell, on the scale of atanh."""
    for case in group(shared, "agreement_interval")["cases"]:
        pairs = pairs_of(case["in"])
        for name, statistic in (("kappa", kappa), ("mcc", matthews)):
            interval = agreement_interval(statistic, pairs, 2)
            assert interval is not None
            assert all(close(*ends, _QUANTILE_ERROR) for ends in zip(interval, case["out"][name], strict=True)), case


@pytest.mark.shared
def test_alpha_is_that_of_the_krippendorff_library(shared: Path) -> None:
    """Nominal, ordinal and interval data, also with missing answers."""
    vectors = group(shared, "krippendorff")
    for case in vectors["cases"]:
        items = [[answer for answer in answers if answer is not None] for answers in zip(*case["in"]["raters"])]  # noqa: B905
        assert close(krippendorff(items, case["in"]["level"]), case["out"]["alpha"], vectors["tolerance"])


def test_a_share_of_weighted_items() -> None:
    """45 hits of weight 1 and 2 misses of weight 10: 45 / 65, and the misses make the interval wide."""
    share = share_interval([(True, 1.0)] * 45 + [(False, 10.0)] * 2, 10.0)
    assert share is not None
    assert close(share[0], 45 / 65)
    unweighted = share_interval([(True, 1.0)] * 45 + [(False, 1.0)] * 20)
    assert unweighted is not None
    assert share[1] < unweighted[1]


def test_a_perfect_share_of_light_items_is_not_certain() -> None:
    """20 hits of weight 1 tell little if an item of weight 10 could have missed: as much as 2 items."""
    light = share_interval([(True, 1.0)] * 20, 10.0)
    two = share_interval([(True, 1.0)] * 2)
    assert light is not None
    assert two is not None
    assert all(map(close, light, two))


def test_equal_weights_change_nothing() -> None:
    """A weight that all items share is the same sample."""
    hits = [True] * 7 + [False] * 3
    plain, heavy = share_interval([(hit, 1.0) for hit in hits]), share_interval([(hit, 4.0) for hit in hits], 4.0)
    assert plain is not None
    assert heavy is not None
    assert all(map(close, plain, heavy))


def test_a_table_of_one_category_has_no_kappa() -> None:
    """Kappa and Matthews' correlation are undefined if everything is in one cell."""
    table = [[9.0, 0.0], [0.0, 0.0]]
    assert kappa(table) is None
    assert matthews(table) is None
    assert has_empty_margin(table)


def test_quadratic_kappa_by_hand() -> None:
    """Grades 0, 1, 2 with one miss by two: observed 4/3 of distance, expected by chance 4/3, so kappa is 0."""
    table = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    # Distances: people 0, 1, 2 against judge 1, 2, 2 in every combination: 1+4+4+0+1+1+1+0+0 = 12 of 9 pairs.
    assert close(quadratic_kappa(table), 1 - (4 / 3) / (12 / 9))


def test_spearman_with_ties_by_hand() -> None:
    """Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: covariance 4.5, spreads 4.5 and 5."""
    assert close(spearman([1, 2, 2, 9], [10, 20, 30, 40]), 4.5 / (4.5 * 5) ** 0.5)
    assert spearman([1, 1], [1, 2]) is None


def test_alpha_needs_two_answers_that_differ() -> None:
    """Without a pair of answers, or if all answers are equal, alpha does not exist."""
    assert krippendorff([[1], [0], []]) is None
    assert krippendorff([[1, 1], [1, 1]]) is None


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=30))
def test_an_interval_of_kappa_holds_it_and_has_a_width(answers: list[tuple[int, int]]) -> None:
    """No interval has width 0, and each holds its estimate, whatever the order of the items."""
    pairs = [(people, judge, 1.0) for people, judge in answers]
    interval = agreement_interval(kappa, pairs, 2)
    value = kappa(table_of(pairs, 2))
    assert interval == agreement_interval(kappa, pairs[::-1], 2)
    if interval is None or value is None:
        assert interval is None
        assert value is None
    else:
        assert interval[0] < interval[1]
        assert interval[0] <= value <= interval[1]


def test_cohen_1960() -> None:
    """The example of the paper: three categories, 200 patients, 70 % observed and 41 % expected agreement."""
    table = ((88, 14, 18), (10, 40, 10), (2, 6, 12))
    assert kappa(table) == pytest.approx((0.70 - 0.41) / (1 - 0.41))
    assert kappa(table) == pytest.approx(0.492, abs=0.0005)


def test_the_interval_of_alpha_leaves_out_whole_cases() -> None:
    """By hand: three cases of two raters, each left out once, on the scale of atanh, with t(2) = 4.302653."""
    cases = [[[1.0, 1.0]] * 4, [[0.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]]
    whole = krippendorff(answers for items in cases for answers in items)
    reduced = [
        krippendorff(answers for number, items in enumerate(cases) if number != left for answers in items)
        for left in range(3)
    ]
    assert whole is not None
    stretched = [atanh(value) for value in reduced if value is not None]
    mean = sum(stretched) / 3
    half = 4.302653 * sqrt(2 / 3 * sum((value - mean) ** 2 for value in stretched))
    ends = (tanh(atanh(whole) - half), tanh(atanh(whole) + half))
    assert krippendorff_interval(cases) == pytest.approx(ends, abs=1e-6)


@pytest.mark.parametrize(
    "cases", [[], [[[1.0, 0.0], [1.0, 1.0]]], [[[1.0, 1.0]], [[0.0, 0.0]], [[1.0, 1.0]]], [[[1.0]], [[0.0]]]]
)
def test_alpha_has_no_interval_where_nothing_varies(cases: list[list[list[float]]]) -> None:
    """Without cases, with one case, in perfect agreement, and without two raters on any item."""
    assert krippendorff_interval(cases) is None
