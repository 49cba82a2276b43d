"""Conversations are recorded whole, in every framework."""

from __future__ import annotations

import pytest
from kinds import KINDS, every, every_kind, reached, recorded
from shop import CRITERIA, EVAL_SET, INSTRUCTIONS, PROMPT_TOKENS, REPLY_TOKENS, saying

import fairtrial
from fairtrial.records.trace import Message, ToolCall, ToolResult

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@every_kind
def test_a_conversation_is_scored(kind: str) -> None:
    """Two turns with tool calls pass the deterministic criteria; every call of a model that is told of is counted."""
    with reached(kind) as target:
        run = fairtrial.evaluate(EVAL_SET, target, CRITERIA)
    assert run.verdict == "passed"
    means = {one.criterion: one.mean.value for one in run.summary.criteria}
    assert means["tool_call_count_v1"] == 1.5
    model_calls = 1 if kind == "http" else 2.5  # an endpoint tells of all that its agent used at once
    told = "usages" not in KINDS[kind].untold
    assert means["inference_call_count_v1"] == (model_calls if told else None)
    assert means["token_usage_v1"] == (model_calls * (PROMPT_TOKENS + REPLY_TOKENS) if told else None)


@every_kind
def test_steps_come_in_their_order(kind: str) -> None:
    """What was said before a call comes before it, and the call's result after it, with the same id."""
    with reached(kind) as target:
        _, invocation = recorded(target, "Where is A-17?", "Cancel B-42").trace.invocations
    assert invocation.steps is not None
    author = KINDS[kind].author
    said, first, order, second, cancelled = invocation.steps
    assert isinstance(said, Message)
    assert isinstance(first, ToolCall)
    assert isinstance(second, ToolCall)
    assert first.id != second.id
    # ADK's events name the model of each step.
    assert said == Message("Let me look at it first.", author, model=said.model)
    assert first == ToolCall("get_order", {"order_id": "B-42"}, first.id, author, model=first.model)
    assert order == ToolResult("get_order", {"item": "lamp", "state": "in preparation"}, first.id, author)
    assert second == ToolCall("cancel_order", {"order_id": "B-42"}, second.id, author, model=second.model)
    assert cancelled == ToolResult("cancel_order", {"cancelled": True}, second.id, author)
    assert invocation.final_response is not None
    assert (invocation.reply, invocation.final_response.author) == ("Order B-42 is cancelled.", author)


@every(lambda kind: "about" not in kind.untold)
def test_what_the_model_got_is_known(kind: str) -> None:
    """Instructions and tool declarations, handovers too, are those of the request."""
    with reached(kind) as target:
        (invocation,) = recorded(target, "hello").trace.invocations
    assert invocation.about is not None
    (shop,) = invocation.about.agents
    assert shop.name == "shop"
    # ADK and CrewAI add their own to them.
    assert INSTRUCTIONS in shop.instructions if kind in ("adk", "crewai") else shop.instructions == INSTRUCTIONS
    assert shop.tool_names == KINDS[kind].tools


@every_kind
def test_time_is_split(kind: str) -> None:
    """Models and tools, where they are told of, take some of an invocation's time, and not more than all of it."""
    with reached(kind) as target:
        (invocation,) = recorded(target, "Where is A-17?").trace.invocations
    times = invocation.durations
    assert times is not None
    assert times.total is not None
    parts = {"model": times.model, "tool": times.tool}
    known = {name: seconds for name, seconds in parts.items() if seconds is not None}
    assert known.keys() == parts.keys() - KINDS[kind].untold
    assert all(seconds > 0 for seconds in known.values())
    assert sum(known.values()) <= times.total


@every_kind
def test_sessions_never_mix(kind: str) -> None:
    """20 conversations of 4 turns at once: each reply carries the token of its own conversation."""
    sets = [saying(*(f"hello {name}-{turn}" for turn in range(4)), name=str(name)) for name in range(20)]
    many = fairtrial.EvalSet("many", tuple(case for one in sets for case in one.cases))
    with reached(kind) as target:
        run = fairtrial.evaluate(many, target, {"response_match_score": 0.0}, concurrency=20)
    for _, one in run.recordings:
        assert one.failure is None
        replies = [invocation.reply for invocation in one.trace.invocations]
        assert replies == [f"You said: hello {one.case_id}-{turn}" for turn in range(4)]
