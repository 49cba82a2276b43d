"""Checks of replies and arguments. Expected values are read from the texts by eye."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest

from fairtrial import (
    Check,
    Checks,
    ConfigError,
    EvalCase,
    Invocation,
    Message,
    Score,
    ToolCall,
    Trace,
    UsageError,
)
from fairtrial.text import user_patterns

USER = Message("Where is my order?")
REPLY = "Your order A-17 is on its way."


def trace(reply: str | None = REPLY, *calls: ToolCall) -> Trace:
    """A conversation with one message."""
    return Trace((Invocation(USER, calls, None if reply is None else Message(reply)),))


def find_part(check: dict[str, Any], recorded: Trace) -> Score:
    """The part of one check of an invocation."""
    (invocation,) = Checks(checks=(check,))(recorded, EvalCase("case", (Invocation(USER),))).parts  # type: ignore[arg-type]
    (part,) = invocation.parts
    return part


@pytest.mark.parametrize(
    ("check", "reply", "value"),
    [
        ({"equals": "Paris"}, " Paris\n", 1),
        ({"equals": "Paris"}, "paris", 0),
        ({"equals": "paris", "ignore_case": True}, "ＰＡＲＩＳ", 1),
        ({"equals": "파리"}, "파리", 1),
        ({"contains": "A-17"}, REPLY, 1),
        ({"contains": "A-18"}, REPLY, 0),
        ({"contains": ["A-17", "way"]}, REPLY, 1),
        ({"contains": ["A-17", "gone"]}, REPLY, 0),
        ({"not_contains": "refund"}, REPLY, 1),
        ({"not_contains": ["refund", "order"]}, REPLY, 0),
        ({"not_contains": "refund", "ignore_case": True}, "REFUNDED", 0),
        ({"starts_with": "Your"}, "  Your order", 1),
        ({"starts_with": "order"}, REPLY, 0),
        ({"one_of": ["yes", "no"]}, "no", 1),
        ({"one_of": ["yes", "no"]}, "no.", 0),
        ({"one_of": ["はい", "いいえ"]}, "はい", 1),
        ({"regex": r"A-\d+"}, REPLY, 1),
        ({"regex": r"^A-\d+"}, REPLY, 0),
        ({"json_schema": {"type": "object", "required": ["id"]}}, '{"id": 1}', 1),
        ({"json_schema": {"type": "object", "required": ["id"]}}, '{"number": 1}', 0),
        ({"json_schema": {"type": "object"}}, "no JSON", 0),
        ({"json_schema": {"type": "object"}}, '```json\n{"id": 1}\n```', 0),
        ({"json_schema": {"type": "object"}, "fenced": True}, '```json\n{"id": 1}\n```', 1),
        ({"any": [{"contains": "no"}, {"contains": "way"}]}, REPLY, 1),
        ({"any": [{"contains": "no"}, {"contains": "gone"}]}, REPLY, 0),
        ({"all": [{"contains": "A-17"}, {"contains": "way"}]}, REPLY, 1),
        ({"all": [{"contains": "A-17"}, {"contains": "gone"}]}, REPLY, 0),
        ({"not": {"equals": "Paris"}}, REPLY, 1),
        ({"not": {"contains": "A-17"}}, REPLY, 0),
    ],
)
def test_a_reply_satisfies_a_check_or_not(check: dict[str, Any], reply: str, value: int) -> None:
    """Each failing check says what was expected, and each holding check says nothing."""
    part = find_part(check, trace(reply))
    assert part.value == value
    assert part.reason.startswith("" if value else "expected ")
    assert bool(part.reason) is not bool(value)


@pytest.mark.parametrize(
    ("check", "reply", "reason"),
    [
        (
            {"contains": ["A-17", "gone"]},
            REPLY,
            "expected the reply to contain 'gone', got 'Your order A-17 is on its way.'",
        ),
        ({"not_contains": "A-17"}, REPLY, "expected the reply not to contain 'A-17', got it at character 12"),
        (
            {"equals": "Your order A-18"},
            "Your order A-17",
            "expected the reply to equal 'Your order A-18', got 'Your order A-17'; they differ from character 15 on",
        ),
        (
            {"json_schema": {"properties": {"items": {"items": {"type": "integer"}}}}},
            '{"items": [1, "x"]}',
            'expected the reply to fit the schema, got a misfit at /items/1: "x" is not of type "integer"',
        ),
        ({"one_of": ["yes", "no"]}, "maybe\n", r"expected the reply to be one of 'yes', 'no', got 'maybe\n'"),
    ],
)
def test_a_reason_says_what_was_expected_and_what_came(check: dict[str, Any], reply: str, reason: str) -> None:
    """A place counts characters from 1."""
    assert find_part(check, trace(reply)).reason == reason


@pytest.mark.parametrize(
    ("reply", "character"),
    [
        ("Ｙｏｕｒ ＲＥＦＵＮＤ", 6),
        ("ﬃ refund", 3),  # the ligature becomes three letters
        (unicodedata.normalize("NFD", "한글 refund"), 8),  # six decomposed letters, which NFC joins to two
        ("Straße: refund", 9),
    ],
)
def test_a_place_is_a_place_of_the_text_as_it_is_written(reply: str, character: int) -> None:
    """Folding changes the length of a text."""
    part = find_part({"not_contains": "refund", "ignore_case": True}, trace(reply))
    assert part.reason.endswith(f"got it at character {character}")


def test_a_place_far_inside_is_quoted_with_its_surroundings() -> None:
    """A long reply is not quoted as a whole."""
    part = find_part({"not_contains": "refund"}, trace("x" * 500 + " refund " + "y" * 500))
    assert part.quotes[0].text == "refund"
    assert " refund " in part.quotes[1].text
    assert len(part.quotes[1].text) < 130


def test_control_characters_of_a_reply_are_spelt_out() -> None:
    """A reason is one line that no terminal obeys."""
    assert r"\x1b[31m\nx" in find_part({"contains": "a"}, trace("\x1b[31m\nx")).reason


def test_no_reply_satisfies_no_check() -> None:
    """An agent that says nothing also does not say the forbidden words, which proves nothing."""
    part = find_part({"not_contains": "refund"}, trace(None))
    assert (part.value, part.reason) == (0, "expected a reply (not_contains 'refund'), got none")


def test_a_reply_that_is_not_recorded_is_unscored() -> None:
    """Nobody knows whether it holds the text."""
    recorded = Trace((Invocation(USER, (), Message("", withheld="the capture was off")),))
    part = find_part({"not_contains": "refund"}, recorded)
    assert (part.value, part.side, part.applicable) == (None, "infrastructure", True)


GET = ToolCall("get_order", {"order_id": "A-17", "limit": 3, "tags": ["new", "paid"]})
OTHER = ToolCall("get_order", {"order_id": "A-18"})
SPACED = ToolCall("get_order", {"order_id": "A-17 "})


@pytest.mark.parametrize(
    ("check", "calls", "value"),
    [
        ({"equals": "A-17", "tool": "get_order", "argument": "order_id"}, (GET,), 1),
        ({"equals": "A-17", "tool": "get_order", "argument": "order_id"}, (GET, OTHER), 0),
        ({"equals": "A-17", "tool": "get_order", "argument": "order_id", "calls": "any"}, (OTHER, GET), 1),
        ({"equals": "A-19", "tool": "get_order", "argument": "order_id", "calls": "any"}, (OTHER, GET), 0),
        ({"equals": 3, "tool": "get_order", "argument": "limit"}, (GET,), 1),
        ({"equals": True, "tool": "get_order", "argument": "limit"}, (ToolCall("get_order", {"limit": 1}),), 0),
        ({"equals": "A-17", "tool": "get_order", "argument": "order_id"}, (SPACED,), 0),
        ({"equals": "a-17", "tool": "get_order", "argument": "order_id", "ignore_case": True}, (GET,), 1),
        ({"contains": "paid", "tool": "get_order", "argument": "tags"}, (GET,), 1),
        ({"not_contains": "paid", "tool": "get_order", "argument": "tags"}, (GET,), 0),
        ({"not_contains": "paid", "tool": "get_order", "argument": "note"}, (GET,), 1),
        ({"contains": "1", "tool": "get_order", "argument": "note"}, (GET,), 0),
        ({"regex": r"^A-\d+$", "tool": "get_order", "argument": "order_id"}, (GET, OTHER), 1),
        ({"regex": r"3", "tool": "get_order", "argument": "limit"}, (GET,), 0),
        ({"one_of": [1, 2, 3], "tool": "get_order", "argument": "limit"}, (GET,), 1),
        ({"json_schema": {"required": ["limit"]}, "tool": "get_order"}, (GET,), 1),
        ({"json_schema": {"required": ["limit"]}, "tool": "get_order"}, (OTHER,), 0),
        ({"equals": {"order_id": "A-18"}, "tool": "get_order"}, (OTHER,), 1),
        ({"equals": "A-17", "tool": "get_order", "argument": "order_id"}, (), 0),
        ({"not_contains": "A-17", "tool": "get_order", "argument": "order_id"}, (), 0),
    ],
)  # fmt: skip
def test_the_calls_of_a_tool_satisfy_a_check_or_not(
    check: dict[str, Any], calls: tuple[ToolCall, ...], value: int
) -> None:
    """Without a call there is nothing that could satisfy a check."""
    assert find_part(check, trace(REPLY, ToolCall("search", {}), *calls)).value == value


def test_a_check_of_calls_that_need_not_be_does_not_apply_without_a_call() -> None:
    """It guards the arguments if the tool is called."""
    check = {"one_of": ["EUR", "USD"], "tool": "pay", "argument": "currency", "calls": "if_called"}
    assert find_part(check, trace()).applicable is False
    assert find_part(check, trace(REPLY, ToolCall("pay", {"currency": "JPY"}))).value == 0


def test_arguments_that_are_not_recorded_are_unscored() -> None:
    """A call with other arguments still breaks a check of every call."""
    hidden = ToolCall("get_order", withheld="the capture was off")
    check = {"equals": "A-17", "tool": "get_order", "argument": "order_id"}
    assert find_part(check, trace(REPLY, hidden)).value is None
    assert find_part(check, trace(REPLY, hidden, OTHER)).value == 0


def test_unknown_calls_are_no_missing_calls() -> None:
    """A recording without steps says nothing about calls."""
    recorded = Trace((Invocation(USER, None, Message(REPLY)),))
    assert find_part({"equals": "A-17", "tool": "get_order", "argument": "order_id"}, recorded).value is None


def test_checks_of_criterion_invocation_and_case_are_joined() -> None:
    """The criterion's are about each invocation, the case's about the last reply and all calls."""
    turns = (
        Invocation(USER, checks=(Check("contains", "A-17"),)),
        Invocation(Message("Thanks"), checks=(Check("contains", "welcome"),)),
    )
    checks = (Check("not_contains", "A-17"), Check("equals", "A-17", tool="get_order", argument="order_id"))
    recorded = Trace(
        (Invocation(USER, (GET,), Message(REPLY)), Invocation(Message("Thanks"), (), Message("You are welcome.")))
    )
    score = Checks(checks=(Check("not_contains", "refund"),))(recorded, EvalCase("case", turns, checks=checks))
    assert [len(part.parts) for part in score.parts] == [2, 2, 0, 0]
    assert score.value == 1
    worse = Checks(checks=(Check("contains", "way"),))(recorded, EvalCase("case", turns, checks=checks))
    assert worse.value == pytest.approx((1 + 0.5 + 1 + 1) / 4)
    assert worse.reason == "1 of 6 checks fail: contains 'way'"


def test_checks_work_without_an_expected_conversation() -> None:
    """A simulated conversation has no expected invocations."""
    case = EvalCase("case", checks=(Check("contains", "way"),))
    assert Checks()(trace(), case).value == 1


def test_a_case_without_checks_does_not_apply() -> None:
    """Other cases of the set may have some."""
    assert Checks()(trace(), EvalCase("case", (Invocation(USER),))).applicable is False


def test_a_turn_that_was_never_reached_fails_its_checks() -> None:
    """A broken conversation is unscored instead."""
    turns = (Invocation(USER), Invocation(USER, checks=(Check("contains", "a"),)))
    assert Checks()(trace(), EvalCase("case", turns)).value == 0
    broken = Trace((Invocation(USER, ()),), broken="the agent crashed")
    case = EvalCase("case", (Invocation(USER, checks=(Check("contains", "a"),)),), checks=(Check("contains", "b"),))
    assert [part.value for part in Checks()(broken, case).parts] == [None, None]


def test_equal_checks_have_names_of_their_own() -> None:
    """A part is known by its name in every report."""
    checks = (Check("contains", "a"), Check("contains", "a"), Check("contains", "a", name="the letter"))
    (invocation,) = Checks(checks)(trace(), EvalCase("case", (Invocation(USER),))).parts
    assert [part.title for part in invocation.parts] == ["contains 'a'", "contains 'a' (2)", "the letter"]


def test_an_expression_without_an_answer_is_unscored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow expression is neither a match nor a mismatch, and `not` does not make it one."""
    monkeypatch.setattr(user_patterns, "SECONDS", 0.01)
    slow = {"regex": "(a|aa)+b"}
    for check in (slow, {"not": slow}, {"any": [slow, {"contains": "c"}]}):
        part = find_part(check, trace("a" * 5000))
        assert (part.value, part.applicable, part.side) == (None, True, "expectation")
    assert find_part({"any": [slow, {"contains": "a"}]}, trace("a" * 5000)).value == 1


def test_a_deep_reply_is_a_misfit_and_no_crash() -> None:
    """A hostile reply may nest brackets without end."""
    check = {"json_schema": {"items": {"$ref": "#"}}}
    assert find_part(check, trace("[" * 100_000)).value == 0


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        ({"contain": "x"}, "checks/0/contain: is not a known key; did you mean 'contains'?"),
        ({"contains": "x", "equals": "x"}, "checks/0: must have exactly one of"),
        ({"tool": "f"}, "checks/0: must have exactly one of"),
        ({"regex": "("}, "checks/0/regex: must be a regular expression"),
        ({"equals": 3}, "checks/0/equals: must be a string, because a reply is a text"),
        ({"contains": " "}, "checks/0/contains: must not be blank"),
        ({"contains": []}, "checks/0/contains: must hold at least one text"),
        ({"one_of": "a"}, "checks/0/one_of: must be an array"),
        ({"json_schema": "x"}, "checks/0/json_schema: must be a JSON Schema"),
        ({"json_schema": {"type": "objct"}}, "checks/0/json_schema: must be a JSON Schema"),
        ({"json_schema": {"$ref": "file:///etc/passwd"}}, "is outside of the schema, and is not read"),
        ({"json_schema": {"$ref": "http://127.0.0.1:9/a"}}, "is outside of the schema, and is not read"),
        ({"contains": "x", "fenced": True}, "checks/0/fenced: belongs to json_schema"),
        ({"regex": "x", "threshold": 0.5}, "checks/0/threshold: belongs to similar"),
        ({"contains": "x", "argument": "a"}, "checks/0/argument: needs 'tool'"),
        ({"contains": "x", "tool": "f"}, "checks/0: must have 'argument'"),
        ({"equals": "x", "tool": "f", "calls": "all"}, "checks/0/calls: must be one of every, any, if_called"),
        ({"any": []}, "checks/0/any: must be an array of at least one check"),
        ({"any": [{"equals": "x"}], "tool": "f"}, "checks/0/tool: stands in the checks inside any"),
        ({"not": [{"equals": "x"}]}, "checks/0/not: must be a check such as"),
        ({"similar": "x", "threshold": 2}, "checks/0/threshold: must be a number from -1 to 1"),
    ],
)
def test_a_check_that_cannot_be_used_is_refused_with_its_place(check: dict[str, Any], problem: str) -> None:
    """Python and files say the same."""
    with pytest.raises(ConfigError) as caught:
        Checks(checks=(check,))  # type: ignore[arg-type]
    assert problem in str(caught.value)


def test_checks_cannot_be_nested_without_end() -> None:
    """A configuration of somebody else may be hostile."""
    check: dict[str, Any] = {"equals": "x"}
    for _ in range(200):
        check = {"not": check}
    with pytest.raises(ConfigError, match="more than 8 levels"):
        Checks(checks=(check,))  # type: ignore[arg-type]


def test_a_tool_that_no_agent_declares_is_a_problem_of_the_check() -> None:
    """No agent could make that call."""
    from fairtrial import About, AgentDetails

    agent = AgentDetails("shop", tool_declarations=({"name": "get_order"},))
    recorded = Trace((Invocation(USER, (), Message(REPLY), about=About((agent,))),))
    metric = Checks(checks=(Check("equals", "A-17", tool="get_ordr", argument="order_id"),))
    (problem,) = metric.expectation_problems(recorded, EvalCase("case"))
    assert "did you mean 'get_order'?" in problem


@pytest.mark.long
@pytest.mark.parametrize(
    ("expected", "reply", "value"),
    [
        ("Your parcel is on its way.", "Your parcel is on its way.", 1),
        ("Your parcel is on its way.", "소포가 배송 중입니다.", 1),
        ("Your parcel is on its way.", "We do not sell lamps on Sundays.", 0),
        ("Your parcel is on its way.", "", 0),
    ],
)
def test_a_similar_reply_is_near_the_text(expected: str, reply: str, value: int) -> None:
    """The multilingual embedder finds a translation near, and another topic far."""
    metric = Checks(checks=(Check("similar", expected, threshold=0.5),), embedder="multilingual")
    ((part,),) = (own.parts for own in metric(trace(reply), EvalCase("case", (Invocation(USER),))).parts)
    assert part.value == value
    assert part.reason.startswith("" if value else "expected the reply to be ")


def test_an_unknown_embedder_stops_the_run() -> None:
    """No case would fare better."""
    metric = Checks(checks=(Check("similar", "a"),), embedder="minilms")
    with pytest.raises(UsageError, match="did you mean 'minilm'"):
        metric(trace(), EvalCase("case", (Invocation(USER),)))
