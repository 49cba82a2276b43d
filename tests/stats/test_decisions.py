"""Error rates of decisions. The finite situations of `benchmarks/decisions.py`, summed over every outcome."""

from __future__ import annotations

import pytest

from decision_situations import Situation, every

_LARGE = ("100 cases, 0.5", "100 cases, 1 ", "200 cases", "500 cases", "2,000 cases", "50 labels")
EXACT = [one for one in every() if one.exact and not one.name.startswith(_LARGE)]


@pytest.mark.parametrize("situation", EXACT, ids=lambda one: f"{one.command}: {one.name}")
def test_a_decision_keeps_its_word(situation: Situation) -> None:
    """Errors exceed what is said by a tenth at most, coverage is at least 0.93, and power is 0.78 to 0.9."""
    assert situation.holds(situation.share(0), 0)


def test_there_are_enough_situations() -> None:
    """The bench has at least 60, of which few are named as impossible."""
    situations = list(every())
    assert len(situations) >= 60
    assert sum(bool(situation.impossible) for situation in situations) <= 5
