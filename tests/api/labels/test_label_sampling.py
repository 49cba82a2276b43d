"""Each outcome is drawn as often as its stated probability says."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from fairtrial.api.labels.label_sampling import (
    Candidate,
    Sample,
    draw_random,
    draw_strata,
    draw_uncertain,
    measure_closeness,
    overlapping,
)
from fairtrial.records.ballot import Ballot, Decision, VoteResult
from fairtrial.records.score import Score

# Votes of a judge with three values of closeness, so that the boundary of a sample lies inside a group.
CANDIDATES = [Candidate(n, 1, passed=n % 3 > 0, closeness=(0.0, 0.5, 1.0)[(n > 14) + (n > 17)]) for n in range(20)]
ROUNDS = 4000


def strata(source: random.Random) -> Sample[Candidate]:
    """Half of each verdict."""
    passed = [own for own in CANDIDATES if own.passed]
    return draw_strata(passed, [own for own in CANDIDATES if not own.passed], 8, source)


@pytest.mark.parametrize(
    "draw",
    [
        lambda source: draw_random(CANDIDATES, 8, source),
        lambda source: draw_uncertain(CANDIDATES, 8, source),
        lambda source: draw_uncertain(CANDIDATES, 4, source),
        strata,
    ],
)
def test_the_stated_probability_is_the_frequency(draw: Callable[[random.Random], Sample[Candidate]]) -> None:
    """Within five standard errors of a share, and the sample has the size that was asked for."""
    source = random.Random(3)
    counts: Counter[int] = Counter()
    stated: dict[int, float] = {}
    for _ in range(ROUNDS):
        sample = draw(source)
        assert len({own for own, _ in sample}) == len(sample) in (4, 8)
        counts.update(own.position for own, _ in sample)
        stated |= {own.position: probability for own, probability in sample}
    assert set(stated) == set(range(20)), "every outcome can be drawn"
    for position, probability in stated.items():
        assert abs(counts[position] / ROUNDS - probability) <= 5 * (0.25 / ROUNDS) ** 0.5
        assert probability < 1 or counts[position] == ROUNDS


def test_uncertain_prefers_close_votes_and_keeps_a_random_fifth() -> None:
    """Of 10, two are drawn from all others: here 8 of the closest are certain."""
    sample = dict(draw_uncertain([Candidate(n, 1, closeness=n / 100) for n in range(50)], 10, random.Random(1)))
    certain = {own.position for own, probability in sample.items() if probability == 1.0}
    assert certain == set(range(42, 50))
    assert sorted(probability for probability in sample.values())[:2] == [2 / 42, 2 / 42]


@pytest.mark.parametrize(
    ("counted", "closeness"),
    [({"yes": 3}, 0.0), ({"yes": 2, "no": 1}, 2 / 3), ({"yes": 1, "no": 1}, 1.0), ({"yes": 1}, None), ({}, None)],
)
def test_closeness_is_the_margin_of_the_votes(counted: dict[str, int], closeness: float | None) -> None:
    """0 is unanimous, 1 is a tie. A single vote says nothing."""
    ballot = Ballot("b", "quality", 3, 2, (), {"item": Decision(VoteResult(1.0), counted)})
    own = measure_closeness(Score(1.0, ballots=("b",)), {"b": ballot})
    assert own == (None if closeness is None else pytest.approx(closeness))


def test_an_overlap_is_a_share_of_the_items() -> None:
    """Rounded up, so that a share above 0 is never nothing."""
    assert [len(overlapping(range(50), share, random.Random(1))) for share in (0.0, 0.01, 0.2, 1.0)] == [0, 1, 10, 50]
