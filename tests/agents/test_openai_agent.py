"""OpenAI Agents SDK agents are recorded whole."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, completion
from kinds import recorded
from shop import get_order

import fairtrial
from fairtrial.records.case import EvalCase, EvalSet, SessionInput
from fairtrial.records.trace import Invocation, Message, Thought, ToolCall, ToolResult
from fairtrial.system.event_loop import blocking

pytestmark = pytest.mark.agents
pytest.importorskip("agents.lifecycle")

from agents import Agent, ModelResponse, OpenAIChatCompletionsModel, SQLiteSession, Usage, function_tool, handoff  # noqa: E402
from agents.mcp import MCPServerStdio  # noqa: E402
from openai import AsyncOpenAI  # noqa: E402
from openai_shop import ScriptedModel, _text, cashier  # noqa: E402

TARGET = "openai-agents:openai_shop:agent"


def test_state_is_the_context() -> None:
    """The initial state goes into the run's context, and comes out as the tools left it."""
    one = recorded(TARGET, "visit", session=SessionInput(state={"name": "Kim"}))
    assert one.trace.final_state == {"name": "Kim", "visits": 1}
    (invocation,) = one.trace.invocations
    assert invocation.steps is not None
    assert isinstance(invocation.steps[1], ToolResult)
    assert invocation.steps[1].response == "Kim is here."


@pytest.mark.parametrize("name", ["transfer_to_cashier", "escalate"])
def test_an_agent_that_does_not_hand_over_has_itself_to_blame(name: str) -> None:
    """The tools of the other agent are there, whatever the tool is called by which it would have been reached."""
    handing = handoff(cashier, tool_name_override=name)
    agent = Agent(name="shop", model=ScriptedModel(), handoffs=[handing], tools=[function_tool(get_order)])
    case = EvalCase("visit", (Invocation(Message("hello"), (ToolCall("visit"),)),))
    (result,) = fairtrial.evaluate(EvalSet("shop", (case,)), agent, {"tool_trajectory_avg_score": 1.0}).cases
    assert (result.verdict, result.invalidations) == ("failed", ())


def test_a_handover_is_a_call_with_its_result() -> None:
    """Thought, call and result come before what the other agent says, to whom the next message goes too."""
    first, second = recorded(TARGET, "price of A-17?", "hello").trace.invocations
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
    (invocation,) = recorded("openai_shop:quiet", "Where is A-17?").trace.invocations
    assert "teapot" in invocation.reply
    assert len(invocation.steps or ()) == 2


class RepeatingModel(ScriptedModel):
    """A model that repeats its instructions."""

    async def get_response(self, system_instructions: str | None, *_: Any, **__: Any) -> ModelResponse:
        """Answer with the instructions."""
        return ModelResponse([_text(system_instructions or "")], Usage(), None)


def test_the_exception_of_a_tool_is_an_error() -> None:
    """The SDK makes it a text, with its own function or with that of the tool. The result holds both."""

    def failing(**options: Any) -> Any:
        def get_order(order_id: str) -> str:
            raise RuntimeError(f"no {order_id}")

        return Agent(name="shop", model=ScriptedModel(), tools=[function_tool(get_order, **options)])

    for options in ({}, {"failure_error_function": lambda *_: "Sorry."}):
        (turn,) = recorded(failing(**options), "Where is A-17?").trace.invocations
        (result,) = (step for step in turn.steps or () if isinstance(step, ToolResult))
        assert result.is_error
        assert isinstance(result.response, dict)
        assert result.response["error"] == "RuntimeError: no A-17"
        assert str(result.response["result"]).startswith("Sorry." if options else "An error occurred while running")


def test_a_factory_may_give_a_session(tmp_path: Path) -> None:
    """The session of the SDK keeps the conversation: no message is sent twice."""
    seen: list[int] = []

    class Counting(ScriptedModel):
        async def get_response(self, system_instructions: str | None, input: Any, *args: Any, **more: Any) -> Any:  # noqa: A002
            seen.append(len(input))
            return await super().get_response(system_instructions, input, *args, **more)

    def make(case: EvalCase) -> Any:
        return Agent(name="shop", model=Counting()), {"session": SQLiteSession(case.id, tmp_path / "sessions.db")}

    vars(sys.modules[__name__])["factory"] = make
    one = recorded(f"openai-agents:{__name__}:factory", "hello", "again")
    assert one.failure is None, one.failure.traceback
    assert seen == [1, 3]
    assert [turn.reply for turn in one.trace.invocations] == ["You said: hello", "You said: again"]


@asynccontextmanager
async def with_server(command: str, *arguments: str) -> AsyncIterator[Agent[Any]]:
    """Yield an agent whose tools stand on a server of MCP."""
    async with MCPServerStdio({"command": command, "args": list(arguments)}) as server:
        yield Agent(name="shop", model=ScriptedModel(), mcp_servers=[server])


def server_missing() -> Any:
    """Return an agent whose server does not exist."""
    return with_server("/nowhere/server")


def server_that_ends() -> Any:
    """Return an agent whose server ends before it answers."""
    return with_server(sys.executable, "-c", "raise SystemExit(1)")


@pytest.mark.parametrize("name", ["server_missing", "server_that_ends"])
def test_an_mcp_server_that_cannot_start_is_not_the_agents_fault(name: str) -> None:
    """The agent was never asked."""
    one = recorded(f"openai-agents:{__name__}:{name}", "hello")
    assert one.failure is not None
    assert one.failure.side == "infrastructure", one.failure


def test_a_client_of_a_module_serves_one_evaluation_after_another() -> None:
    """The client keeps its connections, so that all evaluations of a process share an event loop."""
    answer = completion({"role": "assistant", "content": "Hello!"})
    with ChatServer(lambda _: answer) as server:
        client = AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0)
        agent = Agent(name="shop", model=OpenAIChatCompletionsModel("scripted", client))
        case = EvalCase("c", (Invocation(Message("Hi"), (), Message("Hello!")),))
        runs = [
            fairtrial.evaluate(EvalSet("s", (case,)), agent, {"response_match_score": 0.9}, store=None)
            for _ in range(4)
        ]
        blocking(client.close())
    assert [run.verdict for run in runs] == ["passed"] * 4
    assert len(server.requests) == 4
