"""Failure modes have names by which people can tell them apart."""

from __future__ import annotations

from fairtrial.analysis.failures.mode_names import name_modes
from fairtrial.records.failure_mode import Signature


def test_modes_of_one_name_are_told_apart_by_what_differs() -> None:
    """A name holds only what the signatures of a mode share, so that two modes may have the same."""
    first = [Signature("changed", "pay", "amount"), Signature("changed", "pay", "card")]
    second = [Signature("changed", "pay", "day"), Signature("changed", "pay", "time")]
    other = [Signature("missing", "pay")]
    assert name_modes([first, second, other]) == [
        "pay: arguments differ (amount, card)",
        "pay: arguments differ (day, time)",
        "pay is not called",
    ]


def test_modes_without_a_difference_that_a_name_can_hold_get_a_number() -> None:
    """The template of a reply may be too long for a name, or the signatures differ in nothing that people read."""
    long = [[Signature("empty", template="x" * 200)], [Signature("empty", template="y" * 200)]]
    assert name_modes(long) == ["the reply is empty", "the reply is empty (2)"]


def test_a_name_that_is_the_only_one_stays_short() -> None:
    """Nothing is added to it."""
    assert name_modes([[Signature("missing", "pay")], [Signature("missing", "get")]]) == [
        "pay is not called",
        "get is not called",
    ]
