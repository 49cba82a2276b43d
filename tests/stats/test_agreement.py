"""Measures of agreement equal those of other libraries, and report if a number does not exist."""

from __future__ import annotations

import json
from itertools import product
from math import atanh, factorial, isclose, prod, sqrt, tanh
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.stats.agreement import (
    Measurement,
    Pair,
    agreement_interval,
    alpha,
    has_empty_margin,
    kappa,
    krippendorff,
    krippendorff_interval,
    make_table,
    matthews,
    quadratic_kappa,
    share_interval,
    spearman,
    youden,
)

_QUANTILE_ERROR = 3e-9
"""The vectors' scipy 1.12 is off by 2.6e-9 in the t quantile of 49 degrees of freedom. scipy 1.17 gives our number."""


def group(shared: Path, name: str) -> dict[str, Any]:
    """A group of the shared vectors."""
    content: dict[str, Any] = json.loads((shared / "vectors" / "trust.json").read_bytes())["groups"][name]
    return content


def make_pairs(table: dict[str, int]) -> list[Pair]:
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
        pairs = make_pairs(case["in"])
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
        table = make_table(make_pairs(case["in"]), 2)
        for name, statistic in (("kappa", kappa), ("mcc", matthews)):
            if not has_empty_margin(table):
                assert close(statistic(table), case["out"][name][0]), (name, case)


@pytest.mark.shared
def test_intervals_of_kappa_and_matthews(shared: Path) -> None:
    """Those of Matthews' correlation, which leave one item out, lie inside. Those of kappa no longer hold.

    With 50 labels and a judge that is right in 99 %, both covered 0.78 to 0.80. The limits of disagreement cover 0.986.
    """
    for case in group(shared, "agreement_interval")["cases"]:
        pairs = make_pairs(case["in"])
        interval, other = agreement_interval(matthews, pairs, 2), agreement_interval(kappa, pairs, 2)
        assert interval is not None
        assert other is not None
        low, high = case["out"]["mcc"]
        assert interval[0] <= low + _QUANTILE_ERROR, case
        assert interval[1] >= high - _QUANTILE_ERROR, case
        assert other[0] <= (kappa(make_table(pairs, 2)) or 0) <= other[1]
        assert not all(close(*ends, 1e-3) for ends in zip(other, case["out"]["kappa"], strict=True)), case


@pytest.mark.long
@pytest.mark.parametrize("labels", [20, 30])
@pytest.mark.parametrize(
    ("rate", "right"), [(0.5, (0.9, 0.9)), (0.7, (0.95, 0.9)), (0.7, (0.99, 0.99)), (0.9, (0.97, 0.9))]
)
def test_kappa_is_covered(labels: int, rate: float, right: tuple[float, float]) -> None:
    """Summed over all tables: at least 95 %. By leaving one out, 0.74 to 0.88 of the intervals held kappa."""
    chances = (rate * right[0], rate * (1 - right[0]), (1 - rate) * (1 - right[1]), (1 - rate) * right[1])
    truth = kappa([chances[:2], chances[2:]])
    assert truth is not None
    held = known = 0.0
    for a, b, c in product(range(labels + 1), repeat=3):
        if a + b + c <= labels and b + c <= labels // 2:
            counts = (a, b, c, labels - a - b - c)
            pairs = [(i // 2, i % 2, 1.0) for i, count in enumerate(counts) for _ in range(count)]
            chance = factorial(labels) * prod(p**n / factorial(n) for p, n in zip(chances, counts, strict=True))
            interval = agreement_interval(kappa, pairs, 2) if chance > 1e-7 else None
            if interval is not None:
                known += chance
                held += chance * (interval[0] <= truth <= interval[1])
    assert held / known >= 0.95


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


# Five cases, with the verdicts of a judge that is right (1) or wrong (0) on their attempts.
IN_CASES = (("a", "1110"), ("b", "11"), ("c", "101"), ("d", "00"), ("e", "111"))


def compute_share(*cases: tuple[str, str], weights: str = "") -> tuple[float, float, float]:
    """The share of right verdicts, each a digit, with the weights of the cases as digits."""
    own = weights or "1" * len(cases)
    hits = [(hit == "1", float(weight)) for (_, hits), weight in zip(cases, own, strict=True) for hit in hits]
    share = share_interval(hits, max(map(float, own)), [case for case, hits in cases for _ in hits])
    assert share is not None
    return share


@pytest.mark.parametrize(
    ("weights", "p", "error"), [("11111", 0.7142857142857143, 0.14157589), ("14142", 0.6551724137931034, 0.2423249)]
)
def test_items_of_a_case_count_together(weights: str, p: float, error: float) -> None:
    """The cluster-robust standard errors are those of statsmodels 0.15, of a regression on a constant.

    WLS(hits, ones, weights).fit(cov_type="cluster", cov_kwds={"groups": cases}). Wilson's interval has the number of
    trials with that error, at least the number of cases, and Student's quantile of 4 degrees of freedom.
    """
    trials, t = max(5.0, p * (1 - p) / error**2), 2.7764451052
    half = t * sqrt(p * (1 - p) / trials + (t / 2 / trials) ** 2)
    ends = [(p + t**2 / 2 / trials + side * half) / (1 + t**2 / trials) for side in (-1, 1)]
    assert compute_share(*IN_CASES, weights=weights) == pytest.approx((p, *ends), abs=1e-6)


def test_a_share_of_right_verdicts_only_is_worth_its_cases() -> None:
    """Four right verdicts on each of three cases: Wilson's interval of 3 of 3 with t(2) = 4.302653."""
    share = compute_share(("a", "1111"), ("b", "1111"), ("c", "1111"))
    assert share == pytest.approx((1.0, 3 / (3 + 4.302653**2), 1.0), abs=1e-6)


def test_verdicts_on_one_case_say_nothing_of_others() -> None:
    """Several items of a single case have the interval 0 to 1. One item has Wilson's interval of one trial."""
    assert compute_share(("a", "110")) == (2 / 3, 0.0, 1.0)
    assert compute_share(("a", "1"))[1] > 0


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans(), st.sampled_from([1.0, 3.0])), min_size=1, max_size=40))
def test_cases_never_narrow_the_interval_of_a_share(items: list[tuple[int, bool, float]]) -> None:
    """Items of the same case tell at most as much as items of different cases."""
    hits = [(hit, weight) for _, hit, weight in items]
    alone, clustered = share_interval(hits, 3.0), share_interval(hits, 3.0, [case for case, _, _ in items])
    assert alone is not None
    assert clustered is not None
    assert clustered[0] == alone[0]
    assert clustered[1] <= alone[1]
    assert clustered[2] >= alone[2]


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
    value = kappa(make_table(pairs, 2))
    assert interval == agreement_interval(kappa, pairs[::-1], 2)
    if interval is None or value is None:
        assert interval is None
        assert value is None
    else:
        assert interval[0] < interval[1]
        assert interval[0] <= value <= interval[1]


def test_the_interval_of_matthews_correlation_leaves_out_whole_cases() -> None:
    """By hand: three cases of two items, each left out once, on the scale of atanh, with t(2) = 4.302653.

    Each of the four cells gets 1/2.
    """
    cases = [[(0, 0), (1, 1)], [(0, 0), (0, 1)], [(1, 1), (1, 0)]]
    pairs = [(*answers, 1.0) for items in cases for answers in items]

    def stretched(items: list[tuple[int, int]]) -> float:
        table = [[0.5 + items.count((i, j)) for j in range(2)] for i in range(2)]
        return atanh(matthews(table) or 0.0)

    reduced = [stretched([pair for other in cases if other is not left for pair in other]) for left in cases]
    mean = sum(reduced) / 3
    half = 4.302653 * sqrt(2 / 3 * sum((value - mean) ** 2 for value in reduced))
    centre = stretched([pair for items in cases for pair in items])
    interval = agreement_interval(matthews, pairs, 2, ["a", "a", "b", "b", "c", "c"])
    assert interval is not None
    assert interval[0] <= tanh(centre - half) + 1e-6
    assert interval[1] >= tanh(centre + half) - 1e-6


@pytest.mark.parametrize("labels", [20, 50])
def test_kappa_of_grades_is_covered(labels: int) -> None:
    """Five grades, of which a judge lifts a third by one: cells that got 1/5 covered 0.46 to 0.52 of 150 samples."""
    source, weights = Random(1), (0.05, 0.1, 0.2, 0.35, 0.3)
    table = [[0.0] * 5 for _ in range(5)]
    for grade, weight in enumerate(weights):
        table[grade][grade] += weight * 2 / 3
        table[grade][min(4, grade + 1)] += weight / 3
    truth, held = quadratic_kappa(table), 0
    assert truth is not None
    for _ in range(150):
        people = source.choices(range(5), weights, k=labels)
        pairs = [(grade, min(4, grade + (source.random() < 1 / 3)), 1.0) for grade in people]
        low, high = agreement_interval(quadratic_kappa, pairs, 5) or (1.0, -1.0)
        held += low <= truth <= high
    assert held / 150 >= 0.9


def test_one_case_has_no_interval_of_kappa() -> None:
    """Nothing shows how much cases differ."""
    assert agreement_interval(kappa, [(0, 0, 1.0), (1, 1, 1.0)], 2, ["a", "a"]) is None


def test_cohen_1960() -> None:
    """The example of the paper: three categories, 200 patients, 70 % observed and 41 % expected agreement."""
    table = ((88, 14, 18), (10, 40, 10), (2, 6, 12))
    assert kappa(table) == pytest.approx((0.70 - 0.41) / (1 - 0.41))
    assert kappa(table) == pytest.approx(0.492, abs=0.0005)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_alpha_of_a_table_is_that_of_its_items(answers: list[tuple[int, int]]) -> None:
    """Both formulas of Krippendorff's alpha agree, for categories and for grades at unequal distances."""
    table = make_table([(*own, 1.0) for own in answers], 4)
    assert close(alpha(table), krippendorff(answers))
    values = [1.0, 2.0, 4.0, 8.0]
    graded = krippendorff([[values[answer] for answer in own] for own in answers], "interval")
    assert close(alpha(table, values), graded)


@pytest.mark.parametrize(
    ("measurement", "alpha_of_the_paper"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_krippendorff_2011(measurement: Measurement, alpha_of_the_paper: float) -> None:
    """The reliability data of the paper: four observers, twelve units, missing answers."""
    observers = ("1233214 12...", "1233224 125.3", ".333234 2251.", "1233244 1251.")
    units = zip(*(row.replace(" ", "") for row in observers), strict=True)
    items = [[float(answer) for answer in unit if answer != "."] for unit in units]
    assert krippendorff(items, measurement) == pytest.approx(alpha_of_the_paper, abs=0.0006)


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
