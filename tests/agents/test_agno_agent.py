"""Agno agents are recorded whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kinds import recorded
from pydantic import BaseModel
from shop import CRITERIA, get_order, saying

import fairtrial
from fairtrial.records.case import EvalCase, SessionInput
from fairtrial.records.trace import Thought, ToolResult, Usage

pytestmark = pytest.mark.agents
pytest.importorskip("agno")

from agno.agent import Agent  # noqa: E402
from agno.db.in_memory import InMemoryDb  # noqa: E402
from agno_shop import ScriptedModel, agent  # noqa: E402

TARGET = "agno:agno_shop:agent"


def test_state_goes_in_and_comes_out() -> None:
    """The initial state is that of the session; tools change it, and thoughts and tokens are recorded."""
    one = recorded(TARGET, "visit", "visit again", session=SessionInput(state={"name": "Kim"}))
    first, second = one.trace.invocations
    assert one.trace.final_state is not None
    assert (one.trace.final_state["name"], one.trace.final_state["visits"]) == ("Kim", 2)
    assert first.steps is not None
    assert first.steps[0] == Thought("Who is it?", "shop")
    assert isinstance(first.steps[2], ToolResult)
    assert first.steps[2].response == "Kim is here."
    assert second.usages == (Usage(10, 5, model="scripted"),) * 2


@pytest.mark.parametrize("db", [None, InMemoryDb()])
def test_the_model_sees_the_conversation(db: Any) -> None:
    """An agent without a database gets the earlier messages; an agent with one reads them itself."""
    seen: list[list[str]] = []

    class Seeing(ScriptedModel):
        async def ainvoke(self, messages: Any, **options: Any) -> Any:
            seen.append([message.get_content_string() for message in messages if message.role != "system"])
            return await super().ainvoke(messages, **options)

    recorded(Agent(name="shop", model=Seeing(), db=db, add_history_to_context=True, telemetry=False), "one", "two")
    assert seen == [["one"], ["one", "You said: one", "two"]]


@pytest.mark.parametrize("db", [None, InMemoryDb()])
def test_an_agent_with_a_schema_of_its_input_takes_json(db: Any) -> None:
    """Agno compares each message with the schema. The model sees the earlier messages here, too."""
    seen: list[list[str]] = []

    class Seeing(ScriptedModel):
        async def ainvoke(self, messages: Any, **options: Any) -> Any:
            seen.append([message.get_content_string() for message in messages if message.role != "system"])
            return await super().ainvoke(messages, **options)

    class Request(BaseModel):
        ticker: str
        depth: str = "quick"

    shop = Agent(name="shop", model=Seeing(), db=db, add_history_to_context=True, telemetry=False, input_schema=Request)
    found = recorded(shop, '{"ticker": "A"}', '{"ticker": "B", "depth": "deep"}', "C")
    first, second, third = found.trace.invocations
    assert [first.reply, second.reply] == [f"You said: {seen[0][0]}", f"You said: {seen[1][2]}"]
    assert json.loads(seen[0][0]) == {"ticker": "A", "depth": "quick"}
    assert json.loads(seen[1][0])["ticker"] == "A"
    assert json.loads(seen[1][2]) == {"ticker": "B", "depth": "deep"}
    assert seen[1][1] == first.reply
    assert found.failure is not None
    assert found.failure.side == "expectation"
    assert found.failure.cause == (
        "shop takes messages of its input_schema: Failed to parse input. Is it a valid JSON string?: "
        "Expecting value: line 1 column 1 (char 0)"
    )
    assert third.reply == ""


def test_the_reply_is_what_the_user_gets() -> None:
    """A hook changes it after the model, and suggestions of what to ask next come after it.

    Agno joins it with the texts before calls, which are messages of their own here.
    """

    class Suggesting(ScriptedModel):
        async def ainvoke(self, messages: Any, **options: Any) -> Any:
            response = await super().ainvoke(messages, **options)
            if options.get("response_format"):
                response.content = '{"suggestions": ["And then?"]}'
            return response

    def sign(run_output: Any) -> None:
        run_output.content = f"{run_output.content} -- the shop"

    def look() -> str:
        """Look."""
        return "5"

    class Speaking(ScriptedModel):
        async def ainvoke(self, messages: Any, **options: Any) -> Any:
            response = await super().ainvoke(messages, **options)
            response.content = "It is 5."
            if messages[-1].role == "user":
                function = {"name": "look", "arguments": "{}"}
                response.content = "Let me see."
                response.tool_calls = [{"id": "1", "type": "function", "function": function}]
            return response

    speaking = Agent(name="shop", model=Speaking(), tools=[look], telemetry=False)
    assert recorded(speaking, "one").trace.invocations[0].reply == "It is 5."
    suggesting = Agent(name="shop", model=Suggesting(), followups=True, num_followups=1, telemetry=False)
    signing = Agent(name="shop", model=ScriptedModel(), post_hooks=[sign], telemetry=False)
    suggested, signed = (recorded(shop, "one").trace.invocations[0] for shop in (suggesting, signing))
    assert (suggested.reply, signed.reply) == ("You said: one", "You said: one -- the shop")
    assert len(suggested.usages or ()) == 2


def test_a_factory_gives_dependencies() -> None:
    """They reach the tools, and the agent that the factory returns has no name of its own."""

    def make_shop(run_context: Any) -> str:
        return str(run_context.dependencies["shop"])

    class Calling(ScriptedModel):
        async def ainvoke(self, messages: Any, **options: Any) -> Any:
            response = await super().ainvoke(messages, **options)
            for call in response.tool_calls:
                call["function"] = {"name": "make_shop", "arguments": "{}"}
            return response

    def make(case: EvalCase) -> Any:
        return Agent(model=Calling(), tools=[make_shop], telemetry=False), {"dependencies": {"shop": case.id}}

    globals()["make"] = make
    run = fairtrial.evaluate(saying("Where is A-17?", name="corner"), f"agno:{__name__}:make", CRITERIA)
    ((_, recording),) = run.recordings
    assert recording.failure is None, recording.failure.traceback
    results = [step for step in recording.trace.invocations[0].steps or () if isinstance(step, ToolResult)]
    assert [(result.response, result.author) for result in results] == [("corner", "agent")]


def test_a_call_of_an_unknown_tool_has_its_refusal_as_result() -> None:
    """The framework answers it, and the answer stands in the trace."""
    (invocation,) = recorded(
        Agent(name="shop", model=ScriptedModel(), tools=[get_order], telemetry=False), "Cancel B-42"
    ).trace.invocations
    results = [step for step in invocation.steps or () if isinstance(step, ToolResult)]
    assert [result.name for result in results] == ["get_order", "cancel_order"]
    assert results[1].is_error


def test_the_agent_itself_is_not_changed() -> None:
    """After a run, the agent has the model and the tools that it had."""
    before = (agent.model, list(agent.tools))
    recorded(agent, "Where is A-17?")
    assert (agent.model, list(agent.tools)) == before
    assert "ainvoke" not in vars(agent.model)
