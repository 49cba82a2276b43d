"""Is a graph of LangChain recorded whole?"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from shop import CRITERIA, EVAL_SET, INSTRUCTIONS, PROMPT_TOKENS, REPLY_TOKENS, saying

import assay
from assay.agents import agent_of
from assay.data.case import SessionInput
from assay.data.recording import Recording
from assay.data.trace import Message, Thought, ToolCall, ToolResult

pytestmark = pytest.mark.agents
pytest.importorskip("langgraph")

TARGET = "langgraph:langgraph_shop:agent"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agents' modules are importable."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


def recorded(*queries: str, target: str = TARGET, state: dict[str, Any] | None = None) -> Recording:
    """What is recorded of a conversation."""
    eval_set = saying(*queries)
    session = None if state is None else SessionInput(state=state)
    case = msgspec.structs.replace(eval_set.cases[0], session_input=session)
    run = assay.evaluate(msgspec.structs.replace(eval_set, cases=(case,)), target, CRITERIA)
    return next(run.recordings)[1]


def test_a_conversation_is_scored() -> None:
    """Two turns with tool calls pass the deterministic criteria; every model call's tokens are counted."""
    run = assay.evaluate(EVAL_SET, TARGET, CRITERIA)
    assert run.verdict == "passed"
    means = {one.criterion: one.mean.value for one in run.summary.criteria}
    assert means["inference_call_count_v1"] == 2.5
    assert means["token_usage_v1"] == 2.5 * (PROMPT_TOKENS + REPLY_TOKENS)


def test_steps_come_in_their_order() -> None:
    """What was said before a call comes before it, and the call's result after it, with the same id."""
    _, invocation = recorded("Where is A-17?", "Cancel B-42").trace.invocations
    assert invocation.steps is not None
    said, call, result, *_ = invocation.steps
    assert said == Message("Let me look at it first.", "shop")
    assert isinstance(call, ToolCall)
    assert result == ToolResult("get_order", {"item": "lamp", "state": "in preparation"}, call.id, "shop")


def test_a_broken_model_keeps_what_came_before() -> None:
    """The failure is the agent's, its cause the model's error; the first turn is whole, of the second what happened."""
    one = recorded("Where is A-17?", "break")
    assert one.failure is not None
    assert one.failure.cause == "RuntimeError: the model is broken"
    first, second = one.trace.invocations
    assert first.reply == "Your teapot is shipped."
    assert [type(step) for step in second.steps or ()] == [ToolCall, ToolResult]


def test_what_the_model_got_is_known() -> None:
    """Instructions and tool declarations are those of the request."""
    (invocation,) = recorded("hello").trace.invocations
    assert invocation.about is not None
    (shop,) = invocation.about.agents
    assert shop.instructions == INSTRUCTIONS
    assert shop.tool_names == ("get_order", "cancel_order")


def test_state_goes_in_and_comes_out() -> None:
    """The initial state is merged into the graph's, is carried from message to message, and comes out at the end."""
    one = recorded("hello", "again", target="langgraph:langgraph_shop:counting", state={"visits": 4})
    assert one.trace.final_state == {"visits": 6}
    assert [invocation.reply for invocation in one.trace.invocations] == ["Welcome.", "Welcome."]


def test_thoughts_are_no_part_of_the_reply() -> None:
    """Reasoning blocks are thoughts."""
    (invocation,) = recorded("think").trace.invocations
    assert invocation.steps == (Thought("Who knows?", "shop"),)
    assert invocation.reply == "I do."


def test_a_graph_that_remembers_has_a_thread_for_each_conversation() -> None:
    """A graph with a checkpointer gets new messages only, and keeps nothing of a conversation that ended."""
    one = recorded("Where is A-17?", "Cancel B-42", target="langgraph_shop:remembering")
    assert [invocation.reply for invocation in one.trace.invocations] == [
        "Your teapot is shipped.",
        "Order B-42 is cancelled.",
    ]
    assert not importlib.import_module("langgraph_shop").saver.storage


def test_a_graph_that_asks_is_answered_by_the_next_message() -> None:
    """An interrupt is the reply, and the user's next message resumes the graph."""
    one = recorded("hello", "the blue one", target="langgraph_shop:asking")
    assert [invocation.reply for invocation in one.trace.invocations] == ["Which one?", "You chose the blue one."]


def test_a_runnable_is_talked_to_with_its_messages() -> None:
    """A chain of prompt and model gets the conversation so far."""
    one = recorded("hello", "again", target="langgraph_shop:chain")
    assert [invocation.reply for invocation in one.trace.invocations] == ["You said: hello", "You said: again"]
    about = one.trace.invocations[0].about
    assert about is not None
    assert about.agents[0].instructions == INSTRUCTIONS


def test_a_state_without_messages_is_told() -> None:
    """A graph that cannot be talked to fails with what its state holds."""
    one = recorded("hello", target="langgraph_shop:silent")
    assert one.failure is not None
    assert "must hold 'messages'" in one.failure.cause


def test_something_else_is_refused() -> None:
    """What is no runnable is found out before anything runs."""
    with pytest.raises(assay.UsageError, match="must be a graph or another runnable, got str"):
        agent_of("langgraph:langgraph_shop:INSTRUCTIONS")


def test_time_is_split() -> None:
    """Models and tools take some of an invocation's time, and not more than all of it."""
    (invocation,) = recorded("Where is A-17?").trace.invocations
    times = invocation.durations
    assert times is not None
    assert times.total is not None
    assert times.model is not None
    assert times.tool is not None
    assert 0 < times.model + times.tool <= times.total


def test_sessions_never_mix() -> None:
    """50 conversations of 6 turns at once: each reply carries the token of its own conversation."""
    sets = [saying(*(f"{name}-{turn}" for turn in range(6)), name=str(name)) for name in range(50)]
    many = assay.EvalSet("many", tuple(case for one in sets for case in one.cases))
    run = assay.evaluate(many, TARGET, {"response_match_score": 0.0}, concurrency=50)
    for _, one in run.recordings:
        replies = [invocation.reply for invocation in one.trace.invocations]
        assert replies == [f"You said: {one.case_id}-{turn}" for turn in range(6)]
