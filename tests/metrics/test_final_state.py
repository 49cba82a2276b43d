"""The state at the end of a conversation is compared with the expected state."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from builders import case, load, trace, turn
from fairtrial.errors import ConfigError
from fairtrial.metrics.catalog import build
from fairtrial.metrics.final_state import FinalStateMatch
from fairtrial.records.score import Score

EXPECTED = {"order": "B-42", "items": [1, 2], "price": 10}


def scored(state: dict[str, Any] | None, expected: dict[str, Any] | None = EXPECTED, **options: Any) -> Score:
    """The score of a conversation that ended in this state."""
    happened = replace(trace(turn(reply="done")), final_state=state)
    return FinalStateMatch(**options)(happened, replace(case(), final_session_state=expected))


def test_other_keys_do_not_count_unless_the_state_must_be_exact() -> None:
    """The session holds more than the author of the case knows. 10 equals 10.0."""
    state = {**EXPECTED, "price": 10.0, "visits": 3}
    assert scored(state).value == 1.0
    exact = scored(state, exact=True)
    assert (exact.value, exact.reason) == (0.0, "visits: expected nothing, got 3")


def test_each_difference_is_named() -> None:
    """A value that differs, and a key that is missing."""
    score = scored({"order": "A-17", "items": [1, 2]})
    assert score.value == 0.0
    assert score.reason == 'order: expected "B-42", got "A-17"; price: expected 10, got nothing'


def test_matchers_of_arguments_compare_values() -> None:
    """By key; every other key is compared exactly."""
    match = {"order": "ignore", "items": "superset", "price": {"tolerance": 0.5}}
    assert scored({"order": "x", "items": [1, 2, 3], "price": 10.4}, match=match).value == 1.0
    assert scored({"order": "x", "items": [1], "price": 10.4}, match=match).value == 0.0


def test_without_an_expectation_it_does_not_apply() -> None:
    """Without a final state it is unscored. An empty expectation is met."""
    assert not scored({}, None).applicable
    assert (scored(None).value, scored(None).applicable) == (None, True)
    assert scored({"a": 1}, {}).value == 1.0


def test_a_matcher_is_checked_before_anything_runs() -> None:
    """With its place in the configuration."""
    config = load({"criteria": {"final_state_match_v1": {"threshold": 1, "match": {"order": "sorted"}}}}).config
    assert config is not None
    with pytest.raises(ConfigError, match="/final_state_match_v1/match"):
        build(config)
