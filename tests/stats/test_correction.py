"""Corrected means equal those of other libraries, and behave as a correction must."""

from __future__ import annotations

import json
import random
from collections.abc import Hashable
from dataclasses import replace
from math import hypot, isclose
from pathlib import Path
from statistics import variance
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.records.average import mean
from fairtrial.stats.correction import Judged, Labelled, corrected_difference, corrected_mean, flattery, rogan_gladen


def cases(shared: Path, name: str) -> list[dict[str, Any]]:
    """The cases of a group of the shared vectors."""
    found: list[dict[str, Any]] = json.loads((shared / "vectors" / "trust.json").read_bytes())["groups"][name]["cases"]
    return found


def make_judged(values: list[float]) -> Judged:
    """The numbers of all values of a judge."""
    middle = sum(values) / len(values)
    return Judged(len(values), middle, sum((value - middle) ** 2 for value in values) / (len(values) - 1))


def make_labels(people: list[float], judge: list[float]) -> list[Labelled]:
    """Labels of as many cases."""
    return [Labelled(*pair, case) for case, pair in enumerate(zip(people, judge, strict=True))]


@pytest.mark.shared
def test_corrected_means_are_those_of_ppi_python(shared: Path) -> None:
    """Slope, estimate and interval of pass or fail, and of graded values."""
    for case in cases(shared, "corrected_mean"):
        inputs, expected = case["in"], case["out"]
        labels = make_labels(inputs["human"], inputs["judge"])
        corrected = corrected_mean(
            labels, make_judged([*inputs["judge"], *inputs["judge_others"]]), graded=inputs["graded"]
        )
        if expected["estimate"] is None:
            assert corrected is None
            continue
        assert corrected is not None
        numbers = (corrected.slope, corrected.value, *corrected.interval)
        for actual, name in zip(numbers, ("slope", "estimate", "low", "high"), strict=True):
            assert isclose(actual, expected[name], rel_tol=0, abs_tol=1e-9), (name, expected)


@pytest.mark.shared
def test_rogan_gladen_is_that_of_its_authors(shared: Path) -> None:
    """The rate and its adjusted interval, clipped to 0..1."""
    for case in cases(shared, "rogan_gladen"):
        inputs, expected = case["in"], case["out"]
        corrected = rogan_gladen(
            inputs["judged_pass_rate"],
            inputs["outcomes"],
            (inputs["sensitivity"], inputs["human_pass"]),
            (inputs["specificity"], inputs["human_fail"]),
        )
        assert corrected is not None
        for actual, name in zip((corrected[0], *corrected[1]), ("rate", "low", "high"), strict=True):
            assert isclose(actual, expected[name], rel_tol=0, abs_tol=1e-9), (name, expected)


def test_a_judge_that_guesses_gives_no_rate() -> None:
    """Sensitivity + specificity of 1 or less says nothing about people."""
    assert rogan_gladen(0.5, 100, (0.5, 50), (0.5, 50)) is None


def test_fewer_than_ten_labels_correct_nothing() -> None:
    """Nine labels give neither a corrected mean nor a flattery."""
    labels = make_labels([1.0, 0.0, 1.0] * 3, [1.0, 0.0, 0.0] * 3)
    assert corrected_mean(labels, make_judged([1.0, 0.0] * 20)) is None
    assert flattery(labels) is None


def test_a_judge_that_does_not_vary_leaves_the_labels_alone() -> None:
    """If the judge passes everything, the corrected mean is the mean of the labels, and the judge is worth nothing."""
    labels = make_labels([1.0] * 12 + [0.0] * 8, [1.0] * 20)
    corrected = corrected_mean(labels, make_judged([1.0] * 100))
    assert corrected is not None
    assert corrected.slope == 0
    assert isclose(corrected.value, 0.6)


def test_labels_of_one_case_count_as_one() -> None:
    """Ten attempts of each of four cases tell less than forty cases: the interval is wider."""
    people, judge = [1.0, 0.0] * 20, [1.0, 0.0, 1.0, 1.0] * 10
    alone = make_labels(people, judge)
    grouped = [Labelled(label.people, label.judge, index % 4) for index, label in enumerate(alone)]
    judged = make_judged([1.0, 0.0, 1.0] * 100)
    ends = [corrected.interval for labels in (alone, grouped) if (corrected := corrected_mean(labels, judged))]
    assert ends[0][1] - ends[0][0] < ends[1][1] - ends[1][0]


def test_weights_undo_a_balanced_sample() -> None:
    """20 of 180 judged passes and 20 of 20 judged fails, weighted, give the mean of the population."""
    # People accept 90 % of the judged passes and 20 % of the judged fails: 0.9 x 0.9 + 0.1 x 0.2 = 0.83.
    passes = [Labelled(float(index < 18), 1.0, index, 9.0) for index in range(20)]
    fails = [Labelled(float(index < 4), 0.0, 100 + index, 1.0) for index in range(20)]
    corrected = corrected_mean([*passes, *fails], make_judged([1.0] * 180 + [0.0] * 20))
    assert corrected is not None
    assert isclose(corrected.value, 0.83)


def test_flattery_by_hand() -> None:
    """The judge passes 4 of 20 outcomes that people fail: it flatters by 0.2."""
    shown = flattery(make_labels([0.0] * 10 + [1.0] * 10, [1.0] * 4 + [0.0] * 6 + [1.0] * 10))
    assert shown is not None
    assert isclose(shown[0], 0.2)
    assert shown[1][0] < 0.2 < shown[1][1]


_VERDICTS = st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0])), min_size=10, max_size=30)


@given(_VERDICTS)
def test_intervals_hold_their_estimates_and_have_a_width(answers: list[tuple[float, float]]) -> None:
    """No interval has width 0, each holds its estimate, and the order of the labels changes nothing."""
    labels = make_labels([people for people, _ in answers], [judge for _, judge in answers])
    judged = make_judged([judge for _, judge in answers] * 3)
    corrected, reverse = corrected_mean(labels, judged), corrected_mean(labels[::-1], judged)
    shown = flattery(labels)
    assert corrected is not None
    assert corrected == reverse
    assert corrected.interval[0] <= corrected.value <= corrected.interval[1]
    assert corrected.interval[0] < corrected.interval[1]
    assert shown is not None
    assert shown[1][0] <= shown[0] <= shown[1][1]
    assert isclose(shown[0], mean([judge - people for people, judge in answers]), abs_tol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize(("attempts", "labels", "spread"), [(4, 40, 1.0), (8, 60, 1.0), (10, 60, 0.4)])
def test_several_attempts_at_a_case_are_covered(attempts: int, labels: int, spread: float) -> None:
    """Cases like these, at 30 cases: intervals that counted each judged outcome as a case covered 0.92, 0.89, 0.87."""
    source = random.Random(1)
    held = 0
    for _ in range(500):
        outcomes: list[Labelled] = []
        for case in range(30):
            chance = source.betavariate(0.7 * spread, 0.3 * spread)
            for _ in range(attempts):
                people = source.random() < chance
                outcomes.append(Labelled(float(people), float(source.random() < (0.9 if people else 0.2)), case))
        middle = sum(outcome.judge for outcome in outcomes) / len(outcomes)
        by_case: dict[Hashable, float] = dict.fromkeys(range(30), 0.0)
        for outcome in outcomes:
            by_case[outcome.case] += outcome.judge - middle
        judged = Judged(len(outcomes), middle, variance([outcome.judge for outcome in outcomes]), by_case)
        found = corrected_mean(source.sample(outcomes, labels), judged)
        assert found is not None
        held += found.interval[0] <= 0.7 <= found.interval[1]
    assert held / 500 >= 0.93


def test_one_attempt_of_each_case_needs_no_sums() -> None:
    """The influences of labels and of judged outcomes then belong to nearly different cases."""
    source = random.Random(1)
    verdicts = [float(source.random() < 0.6) for _ in range(400)]
    labels = [Labelled(float(source.random() < 0.2 + 0.7 * verdicts[case]), verdicts[case], case) for case in range(60)]
    middle = sum(verdicts) / 400
    plain = Judged(400, middle, variance(verdicts))
    summed = replace(plain, by_case={case: verdict - middle for case, verdict in enumerate(verdicts)})
    without, within = corrected_mean(labels, plain), corrected_mean(labels, summed)
    assert without is not None
    assert within is not None
    assert within.error == pytest.approx(without.error, rel=0.1)


@pytest.mark.long
def test_paired_labels_tell_more_than_two_samples() -> None:
    """Two agents on the same 100 labelled questions: the interval is narrower than with variances added, and holds."""
    source = random.Random(1)
    held = narrower = 0
    for _ in range(200):
        pairs, differences = [], []
        for case in range(500):
            easy = source.random() < 0.6
            own = []
            for gain in (0.0, 0.1):
                people = source.random() < (0.95 if easy else 0.3 + gain)
                own.append(Labelled(float(people), float(source.random() < (0.85 if people else 0.2)), case))
            pairs.append((own[0], own[1]))
            differences.append((1 + own[1].judge - own[0].judge) / 2)
        judged = Judged(500, sum(differences) / 500, variance(differences))
        found = corrected_difference(source.sample(pairs, 100), judged)
        assert found is not None
        low, high = found.interval()
        held += low <= 0.04 <= high
        runs = [[pair[side] for pair in pairs] for side in (0, 1)]
        means = [corrected_mean(run[:100], _make_judged([label.judge for label in run])) for run in runs]
        narrower += found.error < hypot(*(each.error for each in means if each))
    assert held / 200 >= 0.92
    assert narrower / 200 >= 0.9


def _make_judged(values: list[float]) -> Judged:
    return Judged(len(values), sum(values) / len(values), variance(values))
