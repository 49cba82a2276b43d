"""The four efficiency criteria are google-adk's, but for the differences that are named here."""

from __future__ import annotations

from typing import Any

import both
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytestmark = both.PEER

COUNTS = st.integers(0, 5000)
USAGE = st.fixed_dictionaries(
    {"prompt_token_count": COUNTS, "candidates_token_count": COUNTS},
    optional={"thoughts_token_count": COUNTS, "tool_use_prompt_token_count": COUNTS, "total_token_count": COUNTS},
)
EVENTS = st.fixed_dictionaries({"author": st.just("shop"), "usage_metadata": USAGE}) | st.fixed_dictionaries(
    {"author": st.just("shop"), "model_version": st.just("instant")}
)


@st.composite
def recorded(draw: st.DrawFn) -> both.Json:
    """A recorded invocation with calls, at least one model call with its tokens, and a duration."""
    one = both.turn(draw(both.CALLS), events=True)
    events = one["intermediate_data"]["invocation_events"]
    events.append({"author": "shop", "usage_metadata": draw(USAGE)})
    events += draw(st.lists(EVENTS, max_size=3))
    return {**one, "duration": draw(st.integers(0, 9000)) / 1000}


@pytest.mark.parametrize("name", ["tool_call_count_v1", "inference_call_count_v1", "token_usage_v1"])
@given(turns=st.lists(recorded(), min_size=1, max_size=4))
def test_counts_of_random_recordings_are_theirs(name: str, turns: list[both.Json]) -> None:
    """The same count for each invocation and for the case, but for tokens that a model call does not tell.

    Their sum is then too low, and ours is unknown.
    """
    ours, theirs = both.our_score(name, turns, turns), both.their_score(name, turns, turns)
    unknown = [name == "token_usage_v1" and lacks_tokens(turn) for turn in turns]
    sums = [None if left_out else count for left_out, count in zip(unknown, both.their_parts(theirs), strict=True)]
    assert both.parts(ours) == sums
    assert any(unknown) or ours.value == theirs.overall_score


def lacks_tokens(turn: both.Json) -> bool:
    """Whether an invocation has a model call that tells no tokens."""
    events = turn["intermediate_data"]["invocation_events"]
    return any("model_version" in event and "usage_metadata" not in event for event in events)


@given(st.lists(recorded(), min_size=1, max_size=4))
def test_durations_of_random_recordings_are_theirs(turns: list[both.Json]) -> None:
    """The same seconds for each invocation; google-adk rounds their mean to milliseconds."""
    name = "invocation_duration_v1"
    ours, theirs = both.our_score(name, turns, turns), both.their_score(name, turns, turns)
    assert both.parts(ours) == both.their_parts(theirs)
    assert ours.value == pytest.approx(theirs.overall_score, abs=0.00051)


@pytest.mark.parametrize("name", ["inference_call_count_v1", "token_usage_v1", "invocation_duration_v1"])
def test_what_a_file_by_hand_does_not_say_is_unknown_on_both_sides(name: str) -> None:
    """Intermediate data that was written by hand tells of no model calls, tokens or seconds."""
    turns = [both.turn([{"name": "f", "args": {}}])]
    assert both.our_score(name, turns, turns).value is None
    assert both.their_score(name, turns, turns).overall_score is None


def test_tokens_are_averaged_over_what_is_recorded_here() -> None:
    """google-adk divides the tokens by all invocations, also by those that recorded none."""
    usage: dict[str, Any] = {"author": "shop", "usage_metadata": {"prompt_token_count": 10}}
    known, unknown = both.turn([], events=True), both.turn([], events=True)
    known["intermediate_data"]["invocation_events"] = [usage]
    turns = [known, unknown]
    assert both.our_score("token_usage_v1", turns, turns).value == 10
    assert both.their_score("token_usage_v1", turns, turns).overall_score == 5


def test_calls_that_were_not_recorded_are_unknown_here() -> None:
    """Without intermediate data google-adk counts 0 calls; here nothing is known of them."""
    turns = [{"user_content": both.content("Please.", "user")}]
    assert both.our_score("tool_call_count_v1", turns, turns).value is None
    assert both.their_score("tool_call_count_v1", turns, turns).overall_score == 0
