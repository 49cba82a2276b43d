"""Properties of every metric, for every pair of conversations."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import call, case, trace, turn
from fairtrial.metrics.alignment import align, align_in_any_order, show
from fairtrial.metrics.argument_matching import CallMatcher, assignment
from fairtrial.metrics.trajectory import MatchType, ToolTrajectory
from fairtrial.records.trace import ToolCall
from fairtrial.text.rouge import characters, rouge

calls = st.builds(lambda name, x: call(name, x=x), st.sampled_from("ab"), st.sampled_from([1, 2, True, "1"]))
lists = st.lists(calls, max_size=6)
MATCH = {"*": {"x": {"tolerance": 1}}}
numbered = st.builds(lambda x: call("a", x=x), st.integers(0, 5))
rules = st.sampled_from([None, MATCH])


def value(metric: ToolTrajectory, actual: Sequence[ToolCall], expected: Sequence[ToolCall]) -> float:
    """The score of one invocation."""
    found = metric(trace(turn(*actual)), case(turn(*expected))).value
    assert found is not None
    return found


@given(lists, lists, rules, st.booleans())
def test_exact_implies_in_order_implies_any_order(
    actual: list[ToolCall], expected: list[ToolCall], match: Any, ignore_args: bool
) -> None:
    """What matches strictly matches loosely."""
    kinds: tuple[MatchType, ...] = ("EXACT", "IN_ORDER", "ANY_ORDER")
    exact, in_order, any_order = (
        value(ToolTrajectory(match_type=kind, match=match, ignore_args=ignore_args), actual, expected) for kind in kinds
    )
    assert exact <= in_order <= any_order


@given(lists)
def test_every_list_matches_itself(actual: list[ToolCall]) -> None:
    """What was expected to the letter scores 1, with and without partial credit."""
    kinds: tuple[MatchType, ...] = ("EXACT", "IN_ORDER", "ANY_ORDER")
    for kind in kinds:
        assert value(ToolTrajectory(match_type=kind), actual, actual) == 1
        assert value(ToolTrajectory(match_type=kind, partial="f1"), actual, actual) == 1
        assert value(ToolTrajectory(match_type=kind, partial="edit"), actual, actual) == 1


@pytest.mark.long
@given(st.lists(numbered, max_size=5), st.lists(numbered, max_size=5), st.data())
def test_any_order_does_not_depend_on_the_order_of_calls(
    actual: list[ToolCall], expected: list[ToolCall], data: st.DataObject
) -> None:
    """With a tolerance, which is not transitive, the assignment is still the best one, whatever the order."""
    shuffled = data.draw(st.permutations(actual)), data.draw(st.permutations(expected))
    for metric in (
        ToolTrajectory(match_type="ANY_ORDER", match=MATCH),
        ToolTrajectory(match_type="ANY_ORDER", match=MATCH, partial="f1"),
    ):
        assert value(metric, actual, expected) == value(metric, *shuffled)


def most(actual: list[ToolCall], expected: list[ToolCall], match: CallMatcher) -> int:
    """The size of a maximum matching, by trying everything."""
    if not expected:
        return 0
    first, rest = expected[0], expected[1:]
    tried = [most(actual[:i] + actual[i + 1 :], rest, match) for i, one in enumerate(actual) if match(one, first)]
    return max([most(actual, rest, match), *(1 + size for size in tried)])


@given(st.lists(numbered, max_size=5), st.lists(numbered, max_size=5))
def test_the_assignment_is_a_maximum_matching(actual: list[ToolCall], expected: list[ToolCall]) -> None:
    """As many calls are paired as any way of pairing could, each with one of its own."""
    match = CallMatcher(MATCH, ignore_args=False)
    mates = assignment(actual, expected, match)
    taken = [i for i in mates if i >= 0]
    assert len(taken) == len(set(taken)) == most(actual, expected, match)
    assert all(match(actual[i], expected[j]) for j, i in enumerate(mates) if i >= 0)


@given(lists, lists, st.sampled_from(["EXACT", "IN_ORDER", "ANY_ORDER"]))
def test_the_alignment_shows_every_call_once_and_a_fault_where_the_score_is_0(
    actual: list[ToolCall], expected: list[ToolCall], kind: MatchType
) -> None:
    """Side by side stand all calls of both sides in their order, and a difference is marked if there is one."""
    match = CallMatcher({}, ignore_args=False)
    start = match.common_prefix(actual, expected)
    if kind == "ANY_ORDER":
        rows, _ = align_in_any_order(actual, expected, assignment(actual, expected, match), match)
    else:
        rows = align(actual, expected, match, surplus_is_fault=kind == "EXACT", start=start)
    shown = [row.actual for row in rows if row.actual]
    assert [row.expected for row in rows if row.expected] == expected
    assert sorted(map(repr, shown)) == sorted(map(repr, actual))
    assert shown == actual or kind == "ANY_ORDER"
    assert any(row.fault for row in rows) == (value(ToolTrajectory(match_type=kind), actual, expected) == 0)
    assert len(show(rows)[1]) >= max(len(actual), len(expected))


@given(lists, lists, st.sampled_from(["EXACT", "IN_ORDER", "ANY_ORDER"]), st.sampled_from(["f1", "edit"]))
def test_partial_credit_lies_between_0_and_1(
    actual: list[ToolCall], expected: list[ToolCall], kind: MatchType, credit: Literal["f1", "edit"]
) -> None:
    """Partial credit is a share, and all of it only for what is the same list."""
    found = value(ToolTrajectory(match_type=kind, partial=credit), actual, expected)
    assert 0 <= found <= 1
    if found == 1 and kind != "ANY_ORDER":
        assert value(ToolTrajectory(), actual, expected) == 1


def longest(left: Sequence[str], right: Sequence[str]) -> int:
    """The length of the longest common subsequence, from its definition."""
    if not left or not right:
        return 0
    if left[0] == right[0]:
        return 1 + longest(left[1:], right[1:])
    return max(longest(left[1:], right), longest(left, right[1:]))


tokens = st.lists(st.sampled_from("abc"), max_size=8)
KINDS = ("rouge1", "rouge2", "rougeL")


@given(tokens, tokens)
def test_rouge_is_symmetric_in_f_and_within_0_and_1(left: list[str], right: list[str]) -> None:
    """Turning the sides around swaps precision and recall, and leaves F."""
    for kind in KINDS:
        there, back = rouge(left, right, kind=kind), rouge(right, left, kind=kind)  # type: ignore[arg-type]
        assert isclose(there.f, back.f)
        assert (there.precision, there.recall) == (back.recall, back.precision)
        assert all(0 <= part <= 1 for part in there)


@given(tokens, tokens)
def test_rouge_l_counts_the_longest_common_subsequence(left: list[str], right: list[str]) -> None:
    """Recall times the length of the reference is the length of the subsequence."""
    found = rouge(left, right, kind="rougeL")
    assert round(found.recall * len(right)) == longest(left, right)


@given(st.text(max_size=30))
def test_every_text_with_tokens_matches_itself(text: str) -> None:
    """Any text of any script shares everything with itself."""
    cut = characters(text)
    assert rouge(cut, cut).f == (1 if cut else 0)
