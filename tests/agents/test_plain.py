"""Foreign values are kept as plain JSON."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.agents.plain import as_text, plain


class Text(str):
    """A text of a framework."""

    __slots__ = ()


@dataclass
class Point:
    x: int


class Model:
    """What a model of pydantic looks like from outside."""

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return {"name": "kim", "at": Point(1)}


class Answer:
    """A model of pydantic with a field that is null."""

    def model_dump(self, *, exclude_none: bool, **_: Any) -> dict[str, Any]:
        return {"plan": "rest"} if exclude_none else {"plan": "rest", "doctor": None}


class Hostile:
    def __repr__(self) -> str:
        raise ValueError("no")


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (Point(1), {"x": 1}),
        (Model(), {"name": "kim", "at": {"x": 1}}),
        ((1, {"a"}), [1, ["a"]]),
        (float("nan"), None),
        ("a\ud800b", "a�b"),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00Z"),
        (Hostile(), "<Hostile>"),
        ({1: "a"}, {"1": "a"}),
        (Text("a"), "a"),
    ],
)
def test_foreign_values_become_json(value: Any, kept: Any) -> None:
    """Each value has the JSON that says most of it."""
    assert plain(value) == kept


def test_a_kind_of_text_becomes_a_text() -> None:
    """Frameworks have subclasses of `str`, which no encoder of JSON knows."""
    assert type(plain(Text("a"))) is str
    assert type(as_text(Text("a"))) is str


def test_a_structured_answer_keeps_what_is_null() -> None:
    """The user's program gets the field too. Results of tools leave it out, because the types of SDKs have many."""
    assert as_text([Answer()]) == '[{"plan":"rest","doctor":null}]'
    assert plain([Answer()]) == [{"plan": "rest"}]


def test_a_circle_ends() -> None:
    """A value that holds itself becomes JSON of bounded depth."""
    circle: list[Any] = []
    circle.append(circle)
    msgspec.json.encode(plain(circle))


@pytest.mark.long
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
        max_leaves=12,
    )
)
def test_json_stays_as_it_is(value: Any) -> None:
    """What is JSON already is not changed."""
    assert plain(value) == value
