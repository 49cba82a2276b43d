"""The criterion `tool_trajectory_avg_score` is as criteria.md describes it, option by option."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from msgspec.structs import replace

from builders import call, case, trace, turn, unknown_turn, values
from fairtrial.errors import ConfigError
from fairtrial.metrics.trajectory import MatchType, ToolTrajectory
from fairtrial.records.case import EvalCase, Scenario
from fairtrial.records.score import Score
from fairtrial.records.trace import ToolCall

A, B, C = call("A"), call("B"), call("C")


def score(actual: list[ToolCall], expected: list[ToolCall], **options: Any) -> Score:
    """The score of one invocation."""
    return ToolTrajectory(**options)(trace(turn(*actual)), case(turn(*expected)))


@pytest.mark.parametrize(
    ("actual", "expected", "exact", "in_order", "any_order"),
    [
        ([], [], 1, 1, 1),
        ([A], [], 0, 1, 1),
        ([], [A], 0, 0, 0),
        ([A, C, B], [A, B], 0, 1, 1),
        ([B, C, A], [A, B], 0, 0, 1),
        ([A], [A, A], 0, 0, 0),
        ([A, A], [A], 0, 1, 1),
        ([A, A, B], [A, B, A], 0, 0, 1),
    ],
)
def test_match_types(
    actual: list[ToolCall], expected: list[ToolCall], exact: int, in_order: int, any_order: int
) -> None:
    """Rows 1 to 8 of the table in adk-2.13.md, section 7."""
    kinds: tuple[MatchType, ...] = ("EXACT", "IN_ORDER", "ANY_ORDER")
    assert [score(actual, expected, match_type=kind).value for kind in kinds] == [exact, in_order, any_order]


@pytest.mark.parametrize(
    ("actual", "expected", "same"),
    [
        ({"x": 1}, {"x": 1.0}, True),
        ({"x": True}, {"x": 1}, False),
        ({"x": [{"y": False}]}, {"x": [{"y": 0}]}, False),
        ({"x": "1"}, {"x": 1}, False),
        ({"x": None}, {}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"x": [1, 2]}, {"x": [2, 1]}, False),
        ({"x": {"y": 1, "z": 2}}, {"x": {"y": 1}}, False),
        ({"x": 9007199254740993}, {"x": 9007199254740992.0}, False),
        ({"x": "é"}, {"x": "e\u0301"}, False),
    ],
)
def test_arguments_are_equal_as_json(actual: dict[str, Any], expected: dict[str, Any], same: bool) -> None:
    """Keys in any order, lists in order, 1 equal to 1.0, true not equal to 1, null not absent."""
    assert score([ToolCall("f", actual)], [ToolCall("f", expected)]).value == same


def test_names_are_case_sensitive() -> None:
    """A tool's name is exact."""
    assert score([call("f")], [call("F")]).value == 0


def test_ignore_args() -> None:
    """Only the names are compared."""
    assert score([call("f", x=1)], [call("f", x=2)], ignore_args=True).value == 1


def test_results_and_text_are_not_compared() -> None:
    """Ids, authors and unknown keys of a call do not count."""
    assert score([ToolCall("f", {"x": 1}, "1", "agent", {"k": 1})], [call("f", x=1)]).value == 1


def test_a_case_is_the_mean_of_its_invocations() -> None:
    """One of two matches."""
    found = ToolTrajectory()(trace(turn(A), turn(B)), case(turn(A), turn(A)))
    assert (found.value, values(found)) == (0.5, [1, 0])


def test_absent_intermediate_data_expects_nothing() -> None:
    """Where the intermediate data is absent the invocation leaves the mean."""
    found = ToolTrajectory()(trace(turn(A), turn(B)), case(unknown_turn(), turn(B)))
    assert (found.value, values(found)) == (1, [None, 1])


@pytest.mark.parametrize("scope", ["invocation", "conversation"])
@pytest.mark.parametrize("options", [{}, {"match_type": "IN_ORDER"}, {"partial": "f1"}])
def test_unknown_steps_do_not_prove_that_a_call_is_missing(scope: Any, options: dict[str, Any]) -> None:
    """What was not recorded gives no verdict of absence, so that the agent is not at fault."""
    found = ToolTrajectory(scope=scope, **options)(trace(unknown_turn()), case(turn(A)))
    assert {(own.value, own.side) for own in found.parts or (found,)} == {(None, "infrastructure")}


def test_a_wrong_call_is_wrong_beside_unknown_steps() -> None:
    """Whatever the other invocation called, this call was not expected."""
    scope: Any = {"scope": "conversation"}
    assert ToolTrajectory(**scope)(trace(turn(C), unknown_turn()), case(turn(A), turn(B))).value == 0
    assert ToolTrajectory(**scope)(trace(turn(A), unknown_turn()), case(turn(A), turn(B))).value is None


@pytest.mark.parametrize("scope", ["invocation", "conversation"])
@pytest.mark.parametrize("options", [{}, {"match_type": "ANY_ORDER", "forbidden_tools": ("A",)}])
def test_a_recording_that_says_nothing_of_steps_cannot_pass(scope: Any, options: dict[str, Any]) -> None:
    """Nobody knows that no tool, or no forbidden tool, was called."""
    found = ToolTrajectory(scope=scope, **options)(trace(unknown_turn()), case(turn()))
    assert (found.value, found.applicable) == (None, True)


@pytest.mark.parametrize(
    ("matcher", "actual", "expected", "same"),
    [
        ("exact", 1, 1.0, True),
        ("ignore", 1, "anything", True),
        ("subset", {"a": 1}, {"a": 1, "b": 2}, True),
        ("subset", {"a": 1, "b": 2}, {"a": 1}, False),
        ("subset", [2], [1, 2], True),
        ("subset", [2, 2], [1, 2], False),
        ("superset", {"a": 1, "b": 2}, {"a": 1}, True),
        ("superset", [1], [1, 2], False),
        ("case_insensitive", "STRASSE", "straße", True),
        ("case_insensitive", "a", "b", False),
        ("case_insensitive", [{"city": "PARIS"}], [{"city": "Paris"}], True),
        ("case_insensitive", {"City": "Paris"}, {"city": "Paris"}, False),
        ({"tolerance": 0.5}, 1.5, 1, True),
        ({"tolerance": 0.5}, 1.6, 1, False),
        ({"tolerance": 0.01}, 1.01, 1, True),
        ({"tolerance": 0.01}, [1.01, {"y": 2}], [1, {"y": 2.001}], True),
        ({"tolerance": 0.01}, [1.01, 2], [1], False),
        ({"tolerance": 1}, 10**400, 1.0, False),
        ({"tolerance": 5}, True, 1, False),
        ({"tolerance": 5}, "a", "a", True),
        ({"regex": r"\d{4}-\d\d-\d\d"}, "2026-01-19", "any day", True),
        ({"regex": r"\d{4}"}, "2026-01-19", "any day", False),
        ({"regex": "1"}, 1, 1, False),
        ({"function": "operator.ge"}, 3, 2, True),
        ({"function": "operator:ge"}, 2, 3, False),
    ],
)
def test_matchers_of_an_argument(matcher: Any, actual: Any, expected: Any, same: bool) -> None:
    """Each matcher is asked (actual, expected)."""
    found = score([call("f", x=actual)], [call("f", x=expected)], match={"f": {"x": matcher}})
    assert found.value == same


def test_matchers_per_tool_and_argument() -> None:
    """`*` is any tool or argument that is not named; a tool may have one matcher for all its arguments."""
    match = {"search": {"query": "case_insensitive", "*": "ignore"}, "*": "superset"}
    assert score([call("search", query="A", page=2)], [call("search", query="a")], match=match).value == 1
    assert score([call("search", query="B", page=2)], [call("search", query="a")], match=match).value == 0
    assert score([call("other", x=1, y=2)], [call("other", x=1)], match=match).value == 1
    assert score([call("other", y=2)], [call("other", x=1)], match=match).value == 0


@pytest.mark.parametrize(
    ("matcher", "matching", "differing"),
    [
        ("case_insensitive", {"q": "PARIS", "n": 1}, {"q": "Rome", "n": 1}),
        ({"tolerance": 0.5}, {"q": "Paris", "n": 1.5}, {"q": "Paris", "n": 2}),
        ({"function": "operator.eq"}, {"q": "Paris", "n": 1}, {"q": "Paris"}),
    ],
)
def test_a_matcher_of_a_tool_takes_its_arguments_together(
    matcher: Any, matching: dict[str, Any], differing: dict[str, Any]
) -> None:
    """Each of them must match."""
    expected = [call("f", q="Paris", n=1)]
    assert score([call("f", **matching)], expected, match={"f": matcher}).value == 1
    assert score([call("f", **differing)], expected, match={"f": matcher}).value == 0


@pytest.mark.parametrize("name", ["regex", "function", "tolerance"])
def test_an_argument_may_be_called_as_a_matcher_is(name: str) -> None:
    """`{"regex": "ignore"}` of a tool says how its argument `regex` is compared."""
    assert score([call("f", **{name: "a"})], [call("f", **{name: "b"})], match={"f": {name: "ignore"}}).value == 1
    assert score([call("f", **{name: "a"})], [call("f", **{name: "b"})], match={"f": {name: "exact"}}).value == 0


def test_tools_without_a_matcher_are_compared_by_equality() -> None:
    """Only what is named is compared otherwise."""
    match = {"search": "ignore"}
    assert score([call("other", x=1)], [call("other", x=2)], match=match).value == 0


def test_a_regular_expression_that_does_not_end_matches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern that backtracks without end is given up, and the run goes on."""
    monkeypatch.setattr("fairtrial.metrics.argument_matching._SECONDS", 0.02)
    match = {"f": {"x": {"regex": r"(a|a)+b"}}}
    assert score([call("f", x="a" * 60)], [call("f", x="")], match=match).value == 0


def test_a_metric_with_matchers_goes_to_another_process() -> None:
    """A compiled pattern cannot be pickled; its text is sent, and compiled there."""
    metric = ToolTrajectory(match={"f": {"x": {"regex": r"\d+"}, "y": {"function": "operator.eq"}}})
    sent = pickle.loads(pickle.dumps(metric))  # noqa: S301  (the bytes are our own)
    expected = case(turn(call("f", x="1", y=2)))
    assert [sent(trace(turn(call("f", x=x, y=2))), expected).value for x in ("27", "x")] == [1, 0]


def test_the_assignment_is_optimal_where_greed_fails() -> None:
    """Expected 5 and 6, within 1: actual 6 serves 5 or 6, actual 4 only 5. Greed gives 6 to 5, and 4 to nobody."""
    match = {"f": {"x": {"tolerance": 1}}}
    found = score(
        [call("f", x=6), call("f", x=4)], [call("f", x=5), call("f", x=6)], match_type="ANY_ORDER", match=match
    )
    assert found.value == 1


def test_optional_tools_are_not_compared() -> None:
    """Calls of an optional tool may be made or not, expected or not."""
    assert score([A, B], [A], optional_tools=("B",)).value == 1
    assert score([A], [A, B], optional_tools=("B",)).value == 1


def test_one_call_of_a_forbidden_tool_makes_the_score_0() -> None:
    """Whatever else matches."""
    found = score([A, B], [A], match_type="ANY_ORDER", forbidden_tools=("B",))
    assert found.value == 0
    assert found.parts[0].reason.startswith("forbidden tool called: B")


@pytest.mark.parametrize(
    ("kind", "partial", "value"),
    [
        ("EXACT", "f1", 2 * 1 / (2 + 3)),
        ("IN_ORDER", "f1", 2 * 1 / (2 + 3)),
        ("ANY_ORDER", "f1", 2 * 2 / (2 + 3)),
        ("EXACT", "edit", 1 - 3 / 3),
    ],
)
def test_partial_credit_by_hand(kind: MatchType, partial: str, value: float) -> None:
    """Actual B A against expected A C B: in order one is matched, in any order two; from one to the other 3 edits."""
    assert score([B, A], [A, C, B], match_type=kind, partial=partial).value == pytest.approx(value)


def test_partial_credit_names_what_was_not_expected() -> None:
    """Where every expected call was made, the surplus ones are what the credit is short of."""
    found = score([A, C, B], [A, B], match_type="IN_ORDER", partial="f1").parts[0]
    assert found.reason.splitlines()[0] == "not expected: C"


def test_partial_credit_of_nothing_expected_and_nothing_done() -> None:
    """Nothing is missing from nothing."""
    assert [score([], [], partial=kind).value for kind in ("f1", "edit")] == [1, 1]


def test_conversation_scope_compares_all_calls_at_once() -> None:
    """Calls may be made in another invocation than expected, surplus invocations included."""
    metric = ToolTrajectory(scope="conversation")
    assert metric(trace(turn(), turn(A), turn(B)), case(turn(A), turn(B))).value == 1
    assert metric(trace(turn(B), turn(A)), case(turn(A), turn(B))).value == 0


def test_conversation_scope_takes_the_cases_own_calls() -> None:
    """`expected_tool_uses` on the case counts more than what its invocations expect."""
    metric = ToolTrajectory(scope="conversation")
    expected = replace(case(turn(B)), expected_calls=(A,))
    assert metric(trace(turn(A)), expected).value == 1


def test_conversation_scope_needs_no_fixed_conversation() -> None:
    """With expected calls a simulated conversation is scored as well."""
    expected = EvalCase("c", scenario=Scenario("hi", "buy"), expected_calls=(A,))
    assert ToolTrajectory(scope="conversation")(trace(turn(A)), expected).value == 1
    assert not ToolTrajectory()(trace(turn(A)), expected).applicable


def test_conversation_scope_without_expected_calls_is_not_applicable() -> None:
    """Neither the case nor its invocations expect anything; an empty list expects no calls."""
    metric = ToolTrajectory(scope="conversation")
    assert not metric(trace(turn(A)), case(unknown_turn())).applicable
    assert metric(trace(turn(A)), replace(case(unknown_turn()), expected_calls=())).value == 0


def test_conversation_scope_of_a_broken_conversation_is_unscored() -> None:
    """Nobody knows which calls would have come."""
    found = ToolTrajectory(scope="conversation")(trace(turn(A), broken="timeout"), case(turn(A)))
    assert (found.value, found.applicable) == (None, True)
    assert "timeout" in found.reason


@pytest.mark.parametrize("rules", [{"a": {"tolerance": 1}}, {"*": "case_insensitive", "a": "ignore"}])
def test_the_reason_names_the_argument_that_breaks_the_match(rules: dict[str, Any]) -> None:
    """Not one that differs as it may."""
    found = score([call("f", a=1, b=2)], [call("f", a=1.5, b=3)], match={"f": rules}).parts[0]
    assert found.reason.startswith("first difference at call 1: f: argument b: expected 3, got 2")


def test_the_reason_leaves_out_arguments_that_a_superset_may_have() -> None:
    """More than expected is allowed, less is not."""
    found = score([call("f", a=1)], [call("f", b=3)], match={"f": "superset"}).parts[0]
    assert found.reason.startswith("first difference at call 1: f: argument b is missing, expected 3")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"match_type": "SORTED"}, "match_type: must be one of EXACT, IN_ORDER, ANY_ORDER, got 'SORTED'"),
        ({"scope": "turn"}, "scope: must be one of invocation, conversation, got 'turn'"),
        ({"partial": "F1"}, "partial: must be one of f1, edit, or null, got 'F1'"),
        ({"forbidden_tools": "f"}, "forbidden_tools: must be an array of strings, got 'f'"),
    ],
)
def test_options_are_checked_where_it_is_made_in_python_too(options: dict[str, Any], message: str) -> None:
    """An unknown value would silently be another one."""
    with pytest.raises(ConfigError) as error:
        ToolTrajectory(**options)
    assert str(error.value) == message


def test_match_types_are_spelt_as_leniently_in_python() -> None:
    """As in a config."""
    assert ToolTrajectory(match_type="in order") == ToolTrajectory(match_type="IN_ORDER")  # type: ignore[arg-type]


def test_the_reason_shows_both_sides_with_the_first_difference_marked() -> None:
    """Expected and actual stand under each other."""
    found = score([call("look", id=1), call("buy", n=2)], [call("look", id=1), call("buy", n=3)]).parts[0]
    assert found.reason.splitlines() == [
        "first difference at call 2: buy: argument n: expected 3, got 2",
        "expected: look(id=1), »buy(n=3)«",
        "actual:   look(id=1), »buy(n=2)«",
    ]


@pytest.mark.parametrize(
    ("actual", "expected", "difference"),
    [
        ([], [A], "first difference at call 1: A is missing"),
        ([A], [], "first difference at call 1: A is not expected"),
        ([B], [A], "first difference at call 1: expected A, got B"),
        ([call("A", x=1)], [A], "first difference at call 1: A: argument x=1 is not expected"),
        ([A], [call("A", x=1)], "first difference at call 1: A: argument x is missing, expected 1"),
        ([A, C, B], [A, B], "first difference at call 2: C is not expected"),
    ],
)
def test_the_first_difference_is_said(actual: list[ToolCall], expected: list[ToolCall], difference: str) -> None:
    """One sentence says what is different."""
    assert score(actual, expected).parts[0].reason.splitlines()[0] == difference


def test_long_lists_of_calls_are_compared() -> None:
    """Beyond 400 calls both sides are still shown."""
    found = score([call("f", i=i) for i in range(900)], [call("f", i=i) for i in range(901)]).parts[0]
    assert found.value == 0
    assert len(found.quotes) >= 901
