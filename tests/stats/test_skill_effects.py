"""The worth of a skill is estimated as it is: with planted chances of success, the truth is known."""

from __future__ import annotations

import pytest

from skill_effects import SkillEffect


@pytest.mark.long
@pytest.mark.parametrize(
    "effect",
    [
        SkillEffect(0.5, 0.5, 3, 1),
        SkillEffect(0.98, 0.98, 5, 3),
        SkillEffect(0.5, 0.5, 20, 5, spread=True),
        SkillEffect(0.55, 0.45, 8, 3, spread=True),
        SkillEffect(0.9, 0.6, 12, 3),
        SkillEffect(0.95, 0.05, 3, 5),
    ],
    ids=str,
)
def test_the_interval_holds_the_planted_effect(effect: SkillEffect) -> None:
    """The interval holds it in at least 94 % of the runs, and no effect is called better in at most 5 %."""
    held, better = effect.shares(400, seed=7)
    assert held >= 0.94
    assert better <= 0.05 or effect.truth > 0
