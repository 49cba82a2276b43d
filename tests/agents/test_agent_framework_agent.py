"""Agents of Microsoft's Agent Framework are recorded whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from kinds import recorded
from shop import CRITERIA, get_order, saying

import fairtrial
from fairtrial.records.case import EvalCase, SessionInput
from fairtrial.records.trace import Thought, ToolResult, Usage

pytestmark = pytest.mark.agents
pytest.importorskip("agent_framework")

from agent_framework import (  # noqa: E402
    Agent,
    AgentResponse,
    FunctionInvocationContext,
    Message,
    MiddlewareTermination,
    agent_middleware,
    function_middleware,
)
from agent_framework_shop import ScriptedClient, agent  # noqa: E402

TARGET = "agent-framework:agent_framework_shop:agent"


def test_state_goes_in_and_comes_out() -> None:
    """The initial state is that of the session; tools change it, and thoughts and tokens are recorded."""
    one = recorded(TARGET, "visit", "visit again", session=SessionInput(state={"name": "Kim"}))
    first, second = one.trace.invocations
    assert one.trace.final_state == {"name": "Kim", "visits": 2}
    assert first.steps is not None
    assert first.steps[0] == Thought("Who is it?", "shop")
    assert isinstance(first.steps[2], ToolResult)
    assert first.steps[2].response == "Kim is here."
    assert second.usages == (Usage(10, 5, model="scripted"),) * 2


def test_the_model_sees_the_conversation() -> None:
    """The session of the framework keeps the earlier messages."""
    seen: list[list[str]] = []

    class Seeing(ScriptedClient):
        async def _inner_get_response(self, *, messages: Any, **options: Any) -> Any:
            seen.append([message.text for message in messages])
            return await super()._inner_get_response(messages=messages, **options)

    recorded(Agent(Seeing(), name="shop"), "one", "two")
    assert seen == [["one"], ["one", "You said: one", "two"]]


def test_a_factory_gives_the_keywords_of_tools() -> None:
    """They reach the tools, and an agent without a name is recorded as `agent`."""

    def get_order(order_id: str, ctx: FunctionInvocationContext) -> str:
        return f"{order_id} of {ctx.kwargs['shop']}"

    def make(case: EvalCase) -> Any:
        return Agent(ScriptedClient(), tools=[get_order]), {"function_invocation_kwargs": {"shop": case.id}}

    globals()["make"] = make
    run = fairtrial.evaluate(saying("Where is A-17?", name="corner"), f"agent-framework:{__name__}:make", CRITERIA)
    ((_, recording),) = run.recordings
    assert recording.failure is None, recording.failure.traceback
    results = [step for step in recording.trace.invocations[0].steps or () if isinstance(step, ToolResult)]
    assert [(result.response, result.author) for result in results] == [("A-17 of corner", "agent")]


def test_a_call_of_an_unknown_tool_has_its_refusal_as_result() -> None:
    """The framework answers it, and the answer stands in the trace."""
    (invocation,) = recorded(Agent(ScriptedClient(), name="shop", tools=[get_order]), "Cancel B-42").trace.invocations
    results = [step for step in invocation.steps or () if isinstance(step, ToolResult)]
    assert [result.name for result in results] == ["get_order", "cancel_order"]
    assert results[1].is_error


def test_a_call_that_middleware_answers_has_its_answer_as_result() -> None:
    """The middleware of the agent stands before that of the session, and the tool does not run."""

    @function_middleware  # type: ignore[untyped-decorator]
    async def closed(context: Any, call_next: Callable[[], Awaitable[None]]) -> None:  # noqa: ARG001
        context.result = "The shop is closed."

    shop = Agent(ScriptedClient(), name="shop", tools=[get_order], middleware=[closed])
    (invocation,) = recorded(shop, "Where is A-17?").trace.invocations
    results = [step for step in invocation.steps or () if isinstance(step, ToolResult)]
    assert [(result.name, result.response) for result in results] == [("get_order", "The shop is closed.")]


def test_middleware_may_end_the_run() -> None:
    """The agent has said nothing more."""

    @function_middleware  # type: ignore[untyped-decorator]
    async def closed(context: Any, call_next: Callable[[], Awaitable[None]]) -> None:  # noqa: ARG001
        raise MiddlewareTermination(result="The shop is closed.")

    shop = Agent(ScriptedClient(), name="shop", tools=[get_order], middleware=[closed])
    recording = recorded(shop, "Where is A-17?")
    assert recording.failure is None
    (invocation,) = recording.trace.invocations
    assert [call.name for call in invocation.tool_calls or ()] == ["get_order"]


def test_the_reply_is_what_middleware_makes_of_it() -> None:
    """The user never sees what the model wrote."""

    @agent_middleware  # type: ignore[untyped-decorator]
    async def censored(context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
        await call_next()
        context.result = AgentResponse(messages=[Message("assistant", ["I may not say it."])])

    shop = Agent(ScriptedClient(), name="shop", tools=[get_order], middleware=[censored])
    (invocation,) = recorded(shop, "hello").trace.invocations
    assert invocation.reply == "I may not say it."
    assert len(invocation.usages or ()) == 1


def test_the_agent_itself_is_not_changed() -> None:
    """After a run, the agent has the middleware and the tools that it had."""
    before = (agent.middleware, list(agent.default_options["tools"]))
    recorded(agent, "Where is A-17?")
    assert (agent.middleware, list(agent.default_options["tools"])) == before
