"""Pydantic AI agents are recorded whole."""

from __future__ import annotations

from typing import Any

import pytest
from kinds import recorded
from pydantic import BaseModel
from shop import cancel_order, get_order

from fairtrial.records.case import SessionInput
from fairtrial.records.trace import Thought, ToolCall, ToolResult

pytestmark = pytest.mark.agents
pytest.importorskip("pydantic_ai")

from pydantic_ai import Agent, RunContext, TextOutput, Tool  # noqa: E402
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart  # noqa: E402
from pydantic_ai.models.function import AgentInfo, FunctionModel  # noqa: E402
from pydantic_ai_shop import model  # noqa: E402

TARGET = "pydantic-ai:pydantic_ai_shop:agent"


def test_state_becomes_the_dependencies() -> None:
    """The initial state goes into the dependencies, and comes out as the tools left it; thoughts are recorded."""
    one = recorded(TARGET, "visit", session=SessionInput(state={"name": "Kim"}))
    (invocation,) = one.trace.invocations
    assert one.trace.final_state == {"name": "Kim", "visits": 1}
    assert invocation.steps is not None
    assert invocation.steps[0] == Thought("Who is it?", "shop")
    assert isinstance(invocation.steps[2], ToolResult)
    assert invocation.steps[2].response == "Kim is here."


def test_state_that_does_not_fit_is_the_failure_of_its_case() -> None:
    """A state without a required field is told."""
    one = recorded(TARGET, "hello", session=SessionInput(state={"age": 3}))
    assert one.failure is not None
    assert "does not fit the agent's deps_type" in one.failure.cause


def test_structured_output_is_the_reply_as_json() -> None:
    """The tool that the library makes for the output is no tool call of the agent."""
    (invocation,) = recorded("pydantic_ai_shop:pricing", "How much?").trace.invocations
    assert invocation.reply == '{"price":10,"currency":"EUR"}'
    assert invocation.steps == ()


def test_the_reply_is_the_output_of_the_agent() -> None:
    """A function or a validator makes it of what the model wrote. A text beside a structured answer is no reply."""

    def say(_: Any, info: AgentInfo) -> ModelResponse:
        calls = [ToolCallPart(tool.name, {"city": "Bern"}) for tool in info.output_tools]
        return ModelResponse(parts=[TextPart("It is sunny"), *calls])

    class City(BaseModel):
        city: str

    def shout(text: str) -> str:
        return text.upper()

    def split(text: str) -> list[str]:
        return text.split()

    signing: Agent[None, str] = Agent(FunctionModel(say))

    @signing.output_validator
    def sign(output: str) -> str:
        return f"{output} -- the shop"

    assert sign("") == " -- the shop"
    agents: tuple[Any, ...] = (
        Agent(FunctionModel(say), output_type=TextOutput(shout)),
        Agent(FunctionModel(say), output_type=TextOutput(split)),
        Agent(FunctionModel(say), output_type=City),
        signing,
    )
    replies = [recorded(agent, "one").trace.invocations[0].reply for agent in agents]
    assert replies == ["IT IS SUNNY", '["It","is","sunny"]', '{"city":"Bern"}', "It is sunny -- the shop"]


def test_a_refused_call_has_its_refusal_as_result() -> None:
    """Arguments that are not a JSON object are kept, and the refusal is the call's result, an error."""
    (invocation,) = recorded(TARGET, "wrong").trace.invocations
    assert invocation.steps is not None
    call, refusal = invocation.steps
    assert isinstance(call, ToolCall)
    assert call.args == {"arguments": "no json"}
    assert isinstance(refusal, ToolResult)
    assert (refusal.id, refusal.is_error) == (call.id, True)
    assert invocation.reply == "Sorry."


def test_a_tool_that_is_declared_once_is_declared() -> None:
    """One that is prepared for the first request only was there."""

    async def first(context: RunContext[Any], definition: Any) -> Any:
        return definition if context.run_step == 1 else None

    agent = Agent(model, name="shop", tools=[Tool(get_order, prepare=first), cancel_order])
    about = recorded(agent, "Where is A-17?").trace.invocations[0].about
    assert about is not None
    assert about.agents[0].tool_names == ("get_order", "cancel_order")
