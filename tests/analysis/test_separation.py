"""The best threshold of a criterion separates harmful changes from harmless ones."""

from __future__ import annotations

import pytest

from fairtrial.analysis.separation import Separation
from fairtrial.records.result import Outcome
from fairtrial.records.score import Score


def separation(good: list[float], bad: list[float], *, threshold: float, lower_is_better: bool = False) -> Separation:
    """Scores of conversations that are right and of harmful ones, one of each a case."""
    collected = Separation()
    for values, is_harmful in ((good, False), (bad, True)):
        for position, value in enumerate(values):
            outcome = Outcome("words", Score(value), threshold, lower_is_better)
            collected.add(position, outcome, is_harmful=is_harmful)
    return collected


GOOD, BAD = [0.9, 0.8, 0.75, 0.95, 0.7], [0.5, 0.1, 0.45, 0.2, 0.3]


def test_the_threshold_lies_in_the_gap() -> None:
    """With .5 as the best bad score and .7 as the worst good one, .6 separates all: J is 1. At .8, two of five fail."""
    best = separation(GOOD, BAD, threshold=0.8).best("words")
    assert best is not None
    assert best.threshold == pytest.approx(0.6)
    assert best.youden == 1.0
    assert best.youden_now == pytest.approx(1 - 2 / 5)
    assert best.low <= best.threshold <= best.high


def test_a_criterion_whose_lower_values_are_better_is_mirrored() -> None:
    """The same scores with another sign give the mirrored threshold."""
    mirrored = separation([-v for v in GOOD], [-v for v in BAD], threshold=-0.8, lower_is_better=True).best("words")
    assert mirrored is not None
    assert mirrored.threshold == pytest.approx(-0.6)
    assert mirrored.low <= mirrored.threshold <= mirrored.high


@pytest.mark.parametrize(
    ("good", "bad", "threshold"),
    [(GOOD, BAD, 0.6), (GOOD[:4], BAD[:4], 0.8), ([0.5] * 5, [0.5] * 5, 0.8)],
    ids=["as good already", "too few cases", "equal scores"],
)
def test_no_threshold_is_proposed_without_a_gain(good: list[float], bad: list[float], threshold: float) -> None:
    """Nothing is said if the configured threshold is as good, or if the scores cannot show a better one."""
    assert separation(good, bad, threshold=threshold).best("words") is None
