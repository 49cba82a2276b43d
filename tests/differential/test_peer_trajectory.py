"""`tool_trajectory_avg_score` is google-adk's, but for the differences that are named here."""

from __future__ import annotations

from typing import Any

import both
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytestmark = both.PEER
NAME = "tool_trajectory_avg_score"


@st.composite
def conversations(draw: st.DrawFn) -> tuple[list[both.Json], list[both.Json]]:
    """Actual and expected turns; the actual calls are mostly the expected ones, moved, repeated, dropped or changed."""
    actual, expected = [], []
    for _ in range(draw(st.integers(1, 3))):
        wanted = draw(both.CALLS)
        kind = draw(st.sampled_from(["same", "moved", "more", "less", "other"]))
        called = list(wanted)
        if kind == "moved":
            called = draw(st.permutations(wanted))
        elif kind == "more":
            called.insert(
                draw(st.integers(0, len(called))), draw(st.sampled_from([*wanted, {"name": "f", "args": {}}]))
            )
        elif kind == "less":
            called = called[1:]
        elif kind == "other":
            called = draw(both.CALLS)
        actual.append(both.turn(called, events=draw(st.booleans())))
        expected.append(both.turn(wanted, events=draw(st.booleans())))
    return actual, expected


@given(conversations(), st.sampled_from(["EXACT", "IN_ORDER", "any-order", 0, 1, 2]), st.booleans())
def test_random_conversations_have_their_score(turns: Any, match_type: Any, ignore_args: bool) -> None:
    """Every match type, with and without arguments: the same value for each invocation and for the case."""
    options = {"threshold": 0.5, "match_type": match_type, "ignore_args": ignore_args}
    ours, theirs = both.our_score(NAME, *turns, **options), both.their_score(NAME, *turns, **options)
    assert both.parts(ours) == both.their_parts(theirs)
    assert ours.value == theirs.overall_score


def _single(actual: both.Json, expected: both.Json) -> tuple[float | None, float | None]:
    pair = ([both.turn([actual])], [both.turn([expected])])
    ours, theirs = both.our_score(NAME, *pair, threshold=1.0), both.their_score(NAME, *pair, threshold=1.0)
    return ours.value, theirs.overall_score


@pytest.mark.parametrize("nested", [False, True])
def test_true_is_not_1_here(nested: bool) -> None:
    """In google-adk true equals 1, as Python has it; here it does not, as JSON has it."""
    one, true = ({"x": [{"y": 1}]}, {"x": [{"y": True}]}) if nested else ({"x": 1}, {"x": True})
    assert _single({"name": "f", "args": one}, {"name": "f", "args": true}) == (0.0, 1.0)
    assert _single({"name": "f", "args": true}, {"name": "f", "args": true}) == (1.0, 1.0)


@pytest.mark.parametrize("absent", [{"name": "f"}, {"name": "f", "args": None}])
def test_absent_arguments_are_no_arguments_here(absent: both.Json) -> None:
    """In google-adk a call without `args` never matches one with `{}`; here it does."""
    assert _single({"name": "f", "args": {}}, absent) == (1.0, 0.0)


def test_without_expected_calls_there_is_nothing_to_score_here() -> None:
    """Absent intermediate data expects no calls in google-adk; here nothing is known of them."""
    expected = [{key: value for key, value in both.turn([]).items() if key != "intermediate_data"}]
    actual = [both.turn([{"name": "f", "args": {}}])]
    assert not both.our_score(NAME, actual, expected).applicable
    assert both.their_score(NAME, actual, expected, threshold=1.0).overall_score == 0.0
