"""Environment effects on an answer, and chance that depends on nothing but its place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.simulate.answer_changes import (
    CHANGES,
    corrupted,
    emptied,
    exchange_texts,
    halve_list,
    make_wrong,
    truncated,
)
from fairtrial.simulate.environment import chance, holds
from strategies import json_objects, json_values

places = st.floats(0, 1, exclude_max=True)


def test_chance_is_known_for_a_place() -> None:
    """The first 53 bits of what `printf '["a", 1]' | sha256sum` prints (2657442bb4a48d62...), as a fraction."""
    assert chance("a", 1) == (0x2657442BB4A48D62 >> 11) / 2**53


def test_chance_is_spread_evenly() -> None:
    """Of 4000 places a share of 0.3 is below 0.3; 0.04 is more than five standard errors (0.0072)."""
    below = sum(chance(0, "case", attempt) < 0.3 for attempt in range(4000))
    assert abs(below / 4000 - 0.3) < 0.04


@pytest.mark.long
@given(st.lists(json_values, max_size=4))
def test_chance_is_a_number_from_0_to_1(place: list[Any]) -> None:
    """Any place has one, the same each time."""
    assert 0 <= chance(*place) < 1
    assert chance(*place) == chance(*place)


@given(json_values, places)
def test_what_is_truncated_is_a_beginning(response: Any, where: float) -> None:
    """Of a text its own beginning, of anything else that of its JSON; shorter than before."""
    once = truncated(response, where)
    assert isinstance(once, str)
    if isinstance(response, str):
        assert response.startswith(once)
        assert len(once) < len(response) or not response


@pytest.mark.parametrize(
    ("response", "empty"), [({"a": 1}, {}), ([1], []), ("text", ""), (3, None), (True, None), (None, None)]
)
def test_what_is_emptied_keeps_its_kind(response: Any, empty: Any) -> None:
    """An object without fields, an array without items, a text without characters; anything else is null."""
    assert emptied(response, 0.5) == empty


@pytest.mark.parametrize(
    ("response", "where", "garbled"),
    [
        ({"b": "lamp", "a": [1, "x"]}, 0.0, {"b": "lamp", "a": ["\ufffd", "x"]}),
        ({"b": "lamp", "a": [1, "x"]}, 0.4, {"b": "lamp", "a": [1, "\ufffd"]}),
        ({"b": "lamp", "a": [1, "x"]}, 0.9, {"b": "l\ufffdm\ufffd", "a": [1, "x"]}),
        ("order", 0.5, "o\ufffdd\ufffdr"),
        ({"a": {}}, 0.5, {"a": "\ufffd"}),
        (None, 0.0, "\ufffd"),
    ],
)
def test_one_value_is_corrupted(response: Any, where: float, garbled: Any) -> None:
    """Which one, the number says, keys in their order; every second character of a text, the whole of anything else."""
    assert corrupted(response, where) == garbled


@given(json_values, places)
def test_effects_leave_the_answer_itself_alone(response: Any, where: float) -> None:
    """The real tool's own objects are not changed."""
    before = repr(response)
    for change in CHANGES.values():
        change(response, where)
    assert repr(response) == before


@pytest.mark.long
@given(json_objects)
def test_arguments_hold_themselves_and_nothing(args: dict[str, Any]) -> None:
    """All of the arguments are among them, and none at all are."""
    assert holds(args, args)
    assert holds(args, {})


@pytest.mark.parametrize(
    ("args", "wanted", "held"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": [1, {"b": True}]}, {"a": [1, {"b": True}]}, True),
        ({"a": [1, {"b": True}]}, {"a": [1, {"b": 1}]}, False),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, False),
        ({"a": 1}, {"b": None}, False),
    ],
)
def test_which_arguments_hold(args: dict[str, Any], wanted: dict[str, Any], held: bool) -> None:
    """All wanted ones are there and equal as JSON; only the outermost object may have more."""
    assert holds(args, wanted) is held


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"price": 20}, {"price": 30}),
        ({"price": 95.5}, {"price": 15.5}),
        ({"open": True}, {"open": False}),
        ({"text": "Rooms cost 1,250 dollars."}, {"text": "Rooms cost 1,350 dollars."}),
        ({"name": "Ann"}, {"name": "Ann"}),
        ([-3], [-4]),
        ("", ""),
        (None, None),
    ],
)
def test_a_wrong_answer_is_plausible(answer: Any, expected: Any) -> None:
    """One number gets another digit, or one truth value is reversed. The type of the value stays."""
    assert make_wrong(answer, 0.0) == expected


def test_half_of_the_documents_are_lost() -> None:
    """The longest list loses half of its items, rounded up, and the rest of the answer stays."""
    answer = {"tags": ["a"], "documents": [{"text": name} for name in "abcde"]}
    kept = [tuple(item["text"] for item in halve_list(answer, where)["documents"]) for where in (0.0, 0.5, 0.99)]
    assert kept == [("d", "e"), ("a", "e"), ("a", "b")]
    assert halve_list({"documents": ["only"]}, 0.5) == {"documents": []}
    assert halve_list({"price": 3}, 0.5) == {"price": 3}


def test_documents_exchange_their_texts() -> None:
    """The titles stay, and each title has the text of the next document. A single document stays as it is."""
    documents = [{"title": "Fees", "text": "It costs 20 dollars."}, {"title": "Pets", "text": "Dogs are welcome."}]
    assert exchange_texts({"documents": documents}, 0.0) == {
        "documents": [
            {"title": "Fees", "text": "Dogs are welcome."},
            {"title": "Pets", "text": "It costs 20 dollars."},
        ]
    }
    assert exchange_texts({"documents": documents[:1]}, 0.0) == {"documents": documents[:1]}
    assert exchange_texts(["a", "b"], 0.0) == ["a", "b"]
