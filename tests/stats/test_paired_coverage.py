"""Coverage of comparisons, pass^k and evidence. A small set of what `benchmarks/comparisons.py` counts."""

from __future__ import annotations

from math import sqrt

import pytest

from paired_situations import (
    Comparison,
    FixedCases,
    PassK,
    changed_cases,
    comparisons,
    false_claims,
    power,
    waves_to_decide,
)

pytestmark = pytest.mark.long

REPETITIONS = 500
_DROPS = next(one for one in comparisons() if "drop" in one.name and one.cases == 20)


def at_least(share: float) -> float:
    """The share less three standard errors of its estimate."""
    return share - 3 * sqrt(share * (1 - share) / REPETITIONS)


@pytest.mark.parametrize(
    "situation",
    [changed_cases(10, 1, 1, 0.1), changed_cases(20, 4, 0.1, 0.05), changed_cases(20, 4, 1, 0.5), _DROPS],
    ids=lambda situation: f"{situation.name}, {situation.cases} cases",
)
def test_differences_are_covered(situation: Comparison) -> None:
    """At least 94.5 %, and a false one-sided claim passes in hardly more than 5 %."""
    held, error, _ = situation.shares(REPETITIONS, seed=1)
    assert held >= at_least(0.945)
    assert error <= 0.065 + 3 * sqrt(0.065 * 0.935 / REPETITIONS)


@pytest.mark.parametrize(
    "situation", [FixedCases(0.3, 0.1, 10, 2), FixedCases(50, 50, 10, 4)], ids=lambda one: one.name
)
def test_these_cases_are_covered(situation: FixedCases) -> None:
    """At least 94 %, for one run and for the difference of two runs."""
    assert min(situation.shares(REPETITIONS, seed=1)) >= at_least(0.94)


@pytest.mark.parametrize("situation", [PassK(0.5, 0.7, 20, 4, 4), PassK(0.2, 0.05, 20, 8, 8)], ids=lambda one: one.name)
def test_pass_k_is_covered(situation: PassK) -> None:
    """At least 94 %."""
    assert situation.shares(REPETITIONS, seed=1)[0] >= at_least(0.94)


def test_looking_after_every_wave_is_allowed() -> None:
    """20 looks at a false claim: evidence ever reaches 20 in at most 5 %. Wilson claims it often."""
    ours, usual = false_claims([0.6, 1.0] * 10, 0.8, 20, REPETITIONS, seed=1)
    assert ours <= 0.05
    assert usual >= 0.1


def test_evidence_decides_soon() -> None:
    """0.9 against 0.8 on 50 cases: three waves on average, where a fixed plan needs two."""
    assert waves_to_decide(9000, 1000, 0.8, 50, 100, seed=1)[0] <= 3.2


def test_a_plan_has_the_power_that_was_asked_for() -> None:
    """0.8 for a drop from 0.8 to 0.6."""
    assert power(0.8, 0.6, 4, REPETITIONS, seed=1)[1] >= 0.78 - 3 * sqrt(0.16 / REPETITIONS)
