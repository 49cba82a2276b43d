"""Coverage of intervals. A small set of what `benchmarks/intervals.py` counts in full."""

from __future__ import annotations

from math import sqrt

import pytest

from situations import Situation, means, rate

REPETITIONS = 1000
_HARDEST = (
    rate(0.97, 1, 0.0, 50),
    rate(0.9, 1, 0.0, 20),
    rate(0.9, 1, 0.0, 10),
    rate(0.5, 1, 0.0, 3),
    rate(0.8, 4, 0.7, 10),
    rate(0.9, 4, 0.3, 5),
    rate(0.97, 16, 0.7, 20),
    rate(0.5, 16, 0.3, 3),
)


def named(situation: Situation) -> str:
    """The name of a situation in the list of tests."""
    return f"{situation.name}, {situation.cases} cases"


def at_least(share: float) -> float:
    """The share less three standard errors of its estimate."""
    return share - 3 * sqrt(share * (1 - share) / REPETITIONS)


@pytest.mark.long
@pytest.mark.parametrize("situation", _HARDEST, ids=named)
def test_pass_rates_are_covered(situation: Situation) -> None:
    """At least 93 % in every situation, also if the attempts of a case agree with each other."""
    assert situation.coverage(REPETITIONS, seed=1)[0] >= at_least(0.93)


@pytest.mark.long
@pytest.mark.parametrize("situation", [one for one in means() if one.cases <= 20], ids=named)
def test_means_are_covered(situation: Situation) -> None:
    """At least 94 % of graded criteria."""
    assert situation.coverage(REPETITIONS, seed=1)[0] >= at_least(0.94)
