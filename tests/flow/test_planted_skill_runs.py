"""Whole runs of a skill whose worth is known: a program throws dice, and `compare` finds what they show."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fairtrial.stats.difference import paired_difference
from planted_runs import run_planted
from skill_effects import SkillEffect

pytestmark = pytest.mark.long


@pytest.mark.parametrize(
    "effect",
    [
        SkillEffect(0.5, 0.5, 5, 2),
        SkillEffect(0.98, 0.98, 4, 3),
        SkillEffect(0.9, 0.6, 8, 3),
        SkillEffect(0.95, 0.05, 6, 1),
        SkillEffect(0.5, 0.9, 6, 2),
    ],
    ids=str,
)
def test_a_run_finds_what_the_dice_show(effect: SkillEffect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interval is that of the throws, so that its coverage is that of thousands of simulated throws.

    Of four runs, at most one interval may miss the truth, and a skill without an effect is never called better.
    """
    monkeypatch.chdir(tmp_path)
    source = random.Random(3)
    misses = 0
    for _ in range(4):
        throws, found = run_planted(effect, source, tmp_path)
        own = paired_difference([case.difference for case in throws])
        assert own is not None
        assert (found.low, found.high) == pytest.approx(own.interval(found.level))
        misses += not found.low <= effect.truth <= found.high
        if effect.truth <= 0:
            assert found.verdict != "better"
    assert misses <= 1


def test_a_large_effect_is_called_better(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A skill without which the agent never succeeds, at a dozen cases."""
    monkeypatch.chdir(tmp_path)
    _, found = run_planted(SkillEffect(1.0, 0.0, 12, 1), random.Random(1), tmp_path)
    assert (found.difference, found.verdict) == (1.0, "better")
    assert found.low > 0
