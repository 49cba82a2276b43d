"""JSON values are held against schemas."""

from __future__ import annotations

from typing import Any

import pytest

from fairtrial.text.json_schema import problems, unknown_keywords

PORT = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "pattern": "^[a-z]"},
        "depth": {"type": ["number", "null"], "minimum": 0},
        "tides": {"type": "array", "maxItems": 2, "items": {"enum": ["high", "low"]}},
    },
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "value", [{"name": "a"}, {"name": "a", "depth": None}, {"name": "a", "tides": ["low", "high"]}]
)
def test_values_that_fit_have_no_problem(value: Any) -> None:
    """A value that keeps every rule fits."""
    assert list(problems(value, PORT)) == []


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ([], "/: must be object"),
        ({}, "/: lacks 'name'"),
        ({"name": ""}, "/name: breaks minLength 1"),
        ({"name": "A"}, "/name: does not match"),
        ({"name": "a", "depth": -1}, "/depth: breaks minimum 0"),
        ({"name": "a", "depth": True}, "/depth: must be number or null"),
        ({"name": "a", "tides": ["up"]}, "/tides/0: must be one of"),
        ({"name": "a", "tides": ["low"] * 3}, "/tides: breaks maxItems 2"),
        ({"name": "a", "mud": 1}, "/mud: is not allowed"),
    ],
)
def test_each_broken_rule_is_named_with_its_place(value: Any, place: str) -> None:
    """A problem begins with a JSON pointer."""
    assert any(problem.startswith(place) for problem in problems(value, PORT))


def test_whole_floats_are_integers() -> None:
    """JSON has one kind of number."""
    assert not list(problems(2.0, {"type": "integer"}))
    assert list(problems(2.5, {"type": "integer"}))


def test_keywords_that_are_not_checked_are_found() -> None:
    """A schema with an unknown rule must not look as if it held."""
    schema = {"title": "x", "properties": {"a": {"oneOf": []}}, "items": {"format": "date"}}
    assert unknown_keywords(schema) == ["oneOf", "format"]
