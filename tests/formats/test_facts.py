"""Facts of two readings of the same span become the facts of both."""

from __future__ import annotations

from typing import Any

import pytest

from fairtrial.formats.dialects.facts import Facts, combined
from fairtrial.records.trace import Message, ToolResult, Usage

_EMPTY_VALUES: dict[str, Any] = {"input": (), "output": (), "args": {}, "hands_over": False, "invocation_fields": {}}
"""Values that a span says although they are empty. None means that it does not say."""
_VALUES: dict[str, Any] = {
    "kind": "tool",
    "input": (Message("a"),),
    "output": (Message("b"),),
    "declarations": ({"name": "c"},),
    "args": {"d": 1},
    "result": ToolResult("e"),
    "usage": Usage(1),
    "hands_over": True,
    "reply": Message("f"),
    "invocation_fields": {"g": 1},
}


@pytest.mark.parametrize("field", Facts.__struct_fields__)
def test_a_field_that_one_reading_says_stays(field: str) -> None:
    """Each field fills the gap of the other reading, whichever comes first."""
    says = Facts(**{field: _VALUES.get(field, field)})
    silent = Facts()
    assert combined(says, silent) == says
    assert combined(silent, says) == says


@pytest.mark.parametrize("field", _EMPTY_VALUES)
def test_an_empty_value_of_the_first_reading_counts(field: str) -> None:
    """An empty value is not a gap."""
    empty = Facts(**{field: _EMPTY_VALUES[field]})
    assert combined(empty, Facts(**{field: _VALUES[field]})) == empty


def test_the_usages_of_two_readings_fill_each_others_gaps() -> None:
    """The counts of the first usage come first."""
    first, second = Usage(1, None, 0, model="a"), Usage(9, 2, 9, 3, model="b")
    assert combined(Facts(usage=first), Facts(usage=second)).usage == Usage(1, 2, 0, 3, "a")
