"""Functions around agents of a framework are recorded by the spans that the framework writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from shop import CRITERIA, cancel_order, get_order, saying

import fairtrial

pytestmark = [
    pytest.mark.agents,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
pytest.importorskip("opentelemetry.sdk")
pytest.importorskip("opentelemetry.proto")
Ask = Callable[[str], Any]


def strands() -> Ask:
    """Two agents of Strands, the second of which gets the answer of the first."""
    pytest.importorskip("strands")
    from strands import Agent, tool
    from strands_shop import ScriptedModel

    async def ask(query: str) -> str:
        tools = [tool(get_order), tool(cancel_order)]
        clerk = Agent(model=ScriptedModel(), name="clerk", tools=tools, callback_handler=None)
        found = await clerk.invoke_async(query)
        polite = Agent(model=ScriptedModel(), name="polite", callback_handler=None)
        return str(await polite.invoke_async(f"Politely: {found}".replace("\n", "")))

    return ask


def pydantic_ai() -> Ask:
    """Two agents of Pydantic AI."""
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai_shop import scripted

    async def ask(query: str) -> str:
        clerk: Any = Agent(FunctionModel(scripted), name="clerk", tools=[get_order, cancel_order])
        found = await clerk.run(query)
        polite: Any = Agent(FunctionModel(scripted), name="polite")
        return str((await polite.run(f"Politely: {found.output}")).output)

    return ask


def agent_framework() -> Ask:
    """Two agents of Microsoft Agent Framework."""
    pytest.importorskip("agent_framework")
    from agent_framework import Agent
    from agent_framework.observability import ChatTelemetryLayer
    from agent_framework_shop import ScriptedClient

    class Client(ChatTelemetryLayer, ScriptedClient):  # type: ignore[misc, unused-ignore]
        """The scripted model, with the layer of spans that the clients of providers have."""

    async def ask(query: str) -> str:
        found = await Agent(Client(), name="clerk", tools=[get_order, cancel_order]).run(query)
        return str((await Agent(Client(), name="polite").run(f"Politely: {found.text}")).text)

    return ask


@pytest.mark.parametrize("make", [strands, pydantic_ai, agent_framework], ids=lambda make: make.__name__)
def test_agents_that_a_function_runs_are_recorded(make: Callable[[], Ask]) -> None:
    """The function returns its reply only; calls, results and tokens of both agents come from the spans."""
    ask = make()
    run = fairtrial.evaluate(saying("Where is A-17?"), ask, CRITERIA, record="spans")
    ((_, recording),) = run.recordings
    assert recording.failure is None, recording.failure
    (invocation,) = recording.trace.invocations
    assert [call.name for call in invocation.tool_calls] == ["get_order"]
    assert invocation.reply is not None
    assert invocation.reply.strip() == "You said: Politely: Your teapot is shipped."
    assert sum(usage.total_tokens or 0 for usage in invocation.usages or ()) == 45
    assert recording.trace.incomplete == ""
