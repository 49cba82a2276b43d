"""Verdicts of outcomes, cases and traces follow from their scores."""

from __future__ import annotations

from math import inf

import pytest

from fairtrial.records.attempt import Failure
from fairtrial.records.result import CaseResult, Outcome, Verdict
from fairtrial.records.score import Range, Score, average_parts, bounds, has_value

UNSCORED = Score(None, "no answer")
NOTHING = Score(applicable=False, reason="no reference")


def verdict(score: Score, threshold: float | None = 0.5, **more: object) -> Verdict:
    """What a score becomes, its parts counting."""
    return Outcome("m", score, threshold, **more).verdict  # type: ignore[arg-type]


@pytest.mark.parametrize(("value", "expected"), [(0.5, Verdict.PASSED), (0.5 - 1e-16, Verdict.FAILED)])
def test_the_threshold_itself_passes_in_full_precision(value: float, expected: Verdict) -> None:
    """Passed is value >= threshold, without rounding."""
    assert verdict(Score(value)) is expected


@pytest.mark.parametrize(("value", "expected"), [(5.0, Verdict.PASSED), (5.000001, Verdict.FAILED)])
def test_lower_is_better(value: float, expected: Verdict) -> None:
    """Where lower is better, passed is value <= threshold."""
    assert verdict(Score(value), 5, lower_is_better=True, range=Range(0, None)) is expected


@pytest.mark.parametrize("score", [Score(0.0), Score(1.0), UNSCORED, average_parts([UNSCORED, Score(1.0)])])
def test_without_threshold_a_criterion_informs(score: Score) -> None:
    """No threshold: informational, also when the value is None."""
    assert verdict(score, None) is Verdict.INFORMATIONAL


@pytest.mark.parametrize("threshold", [None, 0.0, 0.5])
def test_what_does_not_apply_has_no_verdict(threshold: float | None) -> None:
    """Not applicable is a third thing, whatever the threshold."""
    assert verdict(NOTHING, threshold) is Verdict.NOT_APPLICABLE
    assert verdict(average_parts([NOTHING, NOTHING]), threshold) is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize("threshold", [0.0, 0.5, 1.0])
def test_nothing_scored_is_unscored_whatever_the_threshold(threshold: float) -> None:
    """A threshold of 0 is not passed by a score that nobody made."""
    assert verdict(UNSCORED, threshold) is Verdict.UNSCORED
    assert verdict(average_parts([UNSCORED, NOTHING]), threshold) is Verdict.UNSCORED


def test_an_unscored_part_that_could_change_the_verdict_leaves_it_open() -> None:
    """1 and unknown: between 0.5 and 1; at 0.6 either may be."""
    assert verdict(average_parts([Score(1.0), UNSCORED]), 0.6) is Verdict.UNSCORED


def test_an_unscored_part_that_cannot_change_the_verdict_does_not_block_it() -> None:
    """1 and unknown is at least 0.5; 0 and unknown at most 0.5."""
    assert verdict(average_parts([Score(1.0), UNSCORED]), 0.5) is Verdict.PASSED
    assert verdict(average_parts([Score(0.0), UNSCORED]), 0.6) is Verdict.FAILED


def test_bounds_go_up_through_the_levels() -> None:
    """(1 + unknown)/2 and 0: between (0.5 + 0)/2 and (1 + 0)/2."""
    assert bounds(average_parts([average_parts([Score(1.0), UNSCORED]), Score(0.0)]), Range()) == (0.25, 0.5)


def test_bounds_of_an_unbounded_range_are_infinite() -> None:
    """Of tokens nobody knows how many there could have been."""
    assert bounds(average_parts([Score(7.0), UNSCORED]), Range(0, None)) == (3.5, inf)
    assert (
        verdict(average_parts([Score(7.0), UNSCORED]), 5, lower_is_better=True, range=Range(0, None))
        is Verdict.UNSCORED
    )
    assert (
        verdict(average_parts([Score(70.0), UNSCORED]), 5, lower_is_better=True, range=Range(0, None)) is Verdict.FAILED
    )


@pytest.mark.parametrize(
    ("scale", "words"),
    [
        (Range(), "from 0 to 1"),
        (Range(0, None), "of at least 0"),
        (Range(None, 5), "of at most 5"),
        (Range(None, None), "of any size"),
        (Range(0, 1, open_high=True), "of at least 0 and below 1"),
    ],
)
def test_a_range_in_words(scale: Range, words: str) -> None:
    """As it stands in messages."""
    assert str(scale) == words


def test_bounds_take_the_criterions_own_range() -> None:
    """From 1 to 5, an unscored one of two parts leaves (1 + 4)/2 to (5 + 4)/2."""
    assert bounds(average_parts([UNSCORED, Score(4.0)]), Range(1, 5)) == (2.5, 4.5)


def test_what_does_not_apply_leaves_every_mean() -> None:
    """The mean of 1 and "not applicable" is 1, and so are its bounds."""
    score = average_parts([Score(1.0), NOTHING])
    assert (score.value, bounds(score, Range())) == (1.0, (1.0, 1.0))


def test_the_value_shown_is_the_mean_of_the_scored_parts() -> None:
    """1, unknown and 0: 0.5 is shown, whatever the verdict."""
    assert average_parts([Score(1.0), UNSCORED, Score(0.0)]).value == 0.5
    assert average_parts([UNSCORED]).value is None


def test_any_scored_looks_at_applicable_leaves() -> None:
    """A value of a part that does not apply is none."""
    assert not has_value(average_parts([Score(1.0, applicable=False), UNSCORED]))
    assert has_value(average_parts([average_parts([Score(0.0)]), UNSCORED]))


def test_the_parts_of_a_users_metric_inform_only() -> None:
    """Its own value counts, and neither unscored nor failed parts change it."""
    score = Score(1.0, parts=(UNSCORED, Score(0.0), NOTHING))
    assert verdict(score, 0.9, aggregation="value") is Verdict.PASSED
    assert verdict(Score(None, "why", parts=(Score(1.0),)), 0.9, aggregation="value") is Verdict.UNSCORED


MADE = {
    Verdict.PASSED: Outcome("m", Score(1.0), 0.5),
    Verdict.FAILED: Outcome("m", Score(0.0), 0.5),
    Verdict.UNSCORED: Outcome("m", UNSCORED, 0.5),
    Verdict.NOT_APPLICABLE: Outcome("m", NOTHING, 0.5),
    Verdict.INFORMATIONAL: Outcome("m", Score(0.0)),
}


@pytest.mark.parametrize(
    ("outcomes", "failed", "expected"),
    [
        ("passed failed unscored", True, "failed"),
        ("passed unscored", True, "error"),
        ("passed", True, "error"),
        ("", True, "error"),
        ("passed unscored", False, "unscored"),
        ("passed not_applicable informational", False, "passed"),
        ("not_applicable informational", False, "informational"),
        ("", False, "informational"),
    ],
)
def test_case_verdicts(outcomes: str, failed: bool, expected: str) -> None:
    """Failed > error > unscored > passed; passed needs a passed outcome, else the case only informs."""
    failure = Failure("infrastructure", "gone") if failed else None
    made = tuple(MADE[Verdict(name)] for name in outcomes.split())
    assert CaseResult("c", 0, made, failure=failure).verdict == expected
