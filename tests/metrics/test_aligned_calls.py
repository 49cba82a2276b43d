"""Scores state which expected call stands beside which actual call."""

from __future__ import annotations

from typing import Any

from builders import call, case, trace, turn
from fairtrial.metrics.trajectory import ToolTrajectory
from fairtrial.records.score import AlignedCall, Score
from fairtrial.records.trace import ToolCall

A, B, C = call("a", x=1), call("b", x=1), call("c")


def scored(actual: list[ToolCall], expected: list[ToolCall], **options: Any) -> Score:
    """The score of one invocation with these calls."""
    metric = ToolTrajectory(**options)
    (part,) = metric(trace(turn(*actual)), case(turn(*expected))).parts
    return part


def rows(actual: list[ToolCall], expected: list[ToolCall], **options: Any) -> list[tuple[object, ...]]:
    """The rows of the alignment: relation, place of the expected and of the actual call, and whether it is allowed."""
    calls = scored(actual, expected, **options).calls
    return [(row.relation, row.expected, row.actual, row.allowed) for row in calls]


def test_calls_that_match_pairwise_need_no_rows() -> None:
    """An empty alignment says that each call equals the expected call at the same position."""
    assert scored([A, B], [A, B]).calls == ()


def test_a_missing_and_a_surplus_call_are_rows_of_one_side() -> None:
    """With EXACT neither is allowed."""
    assert rows([A, C], [A, B]) == [
        ("equal", 0, 0, True),
        ("missing", 1, None, False),
        ("surplus", None, 1, False),
    ]


def test_a_changed_argument_has_a_pointer_to_its_innermost_value() -> None:
    """A slash and a tilde in a key are escaped (RFC 6901)."""
    actual = call("a", same=1, deep={"list": [1, {"x/y~": 2}]})
    expected = call("a", same=1, deep={"list": [1, {"x/y~": 3}]}, absent=True)
    (row,) = scored([actual], [expected]).calls
    assert row == AlignedCall("changed", 0, 0, ("/absent", "/deep/list/1/x~1y~0"))


def test_a_call_at_another_place_is_moved() -> None:
    """It is one row, and a fault if the order counts."""
    assert sorted(rows([B, A], [A, B], match_type="IN_ORDER")) == [("equal", 1, 0, True), ("moved", 0, 1, False)]


def test_a_changed_call_among_other_calls_is_one_row() -> None:
    """The refund of another amount is a change of its argument, wherever else the calls differ."""
    expected = [call("login"), call("get_order"), call("list_items"), call("issue_refund", order="A", amount=19.9)]
    actual = [call("get_order"), call("login"), call("search_web"), call("issue_refund", order="A", amount=29.9)]
    found = scored([*actual], [*expected, call("send_mail")]).calls
    (changed,) = (row for row in found if row.relation == "changed")
    assert changed == AlignedCall("changed", 3, 3, ("/amount",))
    assert all(row.actual != 3 for row in found if row is not changed)


def test_of_several_calls_of_a_tool_the_nearest_is_the_changed_one() -> None:
    """The call that shares most arguments."""
    expected = [call("pay", to="ann", amount=1), call("end")]
    actual = [call("end"), call("pay", to="bob", amount=2), call("log"), call("pay", to="ann", amount=2)]
    found = {row.actual: row for row in scored(actual, expected, match_type="IN_ORDER").calls}
    assert found[3] == AlignedCall("changed", 0, 3, ("/amount",))
    assert found[1].relation == "surplus"


def test_in_any_order_a_moved_call_is_allowed() -> None:
    """The calls are paired by the assignment of the criterion, and the score is 1."""
    assert scored([B, A], [A, B], match_type="ANY_ORDER").value == 1
    assert rows([B, A], [A, B], match_type="ANY_ORDER") == [("equal", 0, 1, True), ("moved", 1, 0, True)]


def test_surplus_calls_that_the_match_type_allows_are_marked() -> None:
    """IN_ORDER allows other calls between the expected calls."""
    assert rows([A, C, B], [A, B], match_type="IN_ORDER") == [
        ("equal", 0, 0, True),
        ("surplus", None, 1, True),
        ("equal", 1, 2, True),
    ]


def test_optional_and_forbidden_tools_are_marked() -> None:
    """Places count all calls, also those of optional tools."""
    score = scored([C, A], [A], optional_tools=("c",))
    assert score.value == 1
    assert score.calls == (
        AlignedCall("surplus", None, 0, allowed=True, optional=True),
        AlignedCall("equal", 0, 1, allowed=True),
    )
    forbidden = scored([A, C], [A], match_type="IN_ORDER", forbidden_tools=("c",)).calls[-1]
    assert (forbidden.forbidden, forbidden.allowed) == (True, False)


def test_a_call_object_that_occurs_twice_has_two_places() -> None:
    """Each row names a call of its own."""
    assert rows([A, A, B], [A, A]) == [("equal", 0, 0, True), ("equal", 1, 1, True), ("surplus", None, 2, False)]
