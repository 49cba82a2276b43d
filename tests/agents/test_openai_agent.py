"""Is an agent of the OpenAI Agents SDK recorded whole?"""

from __future__ import annotations

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
pytest.importorskip("agents.lifecycle")

TARGET = "openai-agents:openai_shop:agent"


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
    """Instructions and declarations, of the agents to hand over to too, are those of the request."""
    (invocation,) = recorded("hello").trace.invocations
    assert invocation.about is not None
    (shop,) = invocation.about.agents
    assert shop.instructions == INSTRUCTIONS
    assert shop.tool_names == ("get_order", "cancel_order", "visit", "transfer_to_cashier")


def test_state_is_the_context() -> None:
    """The initial state goes into the run's context, and comes out as the tools left it."""
    one = recorded("visit", state={"name": "Kim"})
    assert one.trace.final_state == {"name": "Kim", "visits": 1}
    (invocation,) = one.trace.invocations
    assert invocation.steps is not None
    assert isinstance(invocation.steps[1], ToolResult)
    assert invocation.steps[1].response == "Kim is here."


def test_a_handover_is_a_call_with_its_result() -> None:
    """Thought, call and result come before what the other agent says, to whom the next message goes too."""
    first, second = recorded("price of A-17?", "hello").trace.invocations
    assert first.steps is not None
    thought, call, result = first.steps
    assert thought == Thought("Somebody else knows.", "shop")
    assert isinstance(call, ToolCall)
    assert call.name == "transfer_to_cashier"
    assert result == ToolResult(call.name, {"assistant": "cashier"}, call.id, "shop")
    assert first.final_response == Message("Your teapot is shipped.", "cashier")
    assert second.final_response == Message("You said: hello", "cashier")


def test_an_output_that_nobody_said_is_the_reply() -> None:
    """Where the first tool's answer ends the run, it is the reply."""
    (invocation,) = recorded("Where is A-17?", target="openai_shop:quiet").trace.invocations
    assert "teapot" in invocation.reply
    assert len(invocation.steps or ()) == 2


def test_something_else_is_refused() -> None:
    """What is no agent is found out before anything runs."""
    with pytest.raises(assay.UsageError, match=r"must be an agents\.Agent, got list"):
        agent_of("openai-agents:openai_shop:tools")


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
