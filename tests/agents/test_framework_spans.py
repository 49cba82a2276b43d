"""Functions around agents of a framework are recorded by the spans that the framework writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import shop
from down_servers import NEEDS_RESULT, Orders, by_own_client, every_client, every_server
from shop import CRITERIA, cancel_order, get_order, move, saying

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


def agno() -> Ask:
    """Two agents of Agno."""
    pytest.importorskip("openinference.instrumentation.agno")
    from agno.agent import Agent
    from agno_shop import ScriptedModel

    async def ask(query: str) -> str:
        clerk = Agent(name="clerk", model=ScriptedModel(), tools=[get_order, cancel_order], telemetry=False)
        found = await clerk.arun(query)
        polite = Agent(name="polite", model=ScriptedModel(), telemetry=False)
        return str((await polite.arun(f"Politely: {found.content}")).content)

    return ask


def langchain() -> Ask:
    """Two agents of LangChain."""
    pytest.importorskip("openinference.instrumentation.langchain")
    from langchain.agents import create_agent
    from langgraph_shop import ScriptedChat

    async def ask(query: str) -> str:
        clerk: Any = create_agent(ScriptedChat(), tools=[get_order, cancel_order], name="clerk")
        found = await clerk.ainvoke({"messages": [("user", query)]})
        polite: Any = create_agent(ScriptedChat(), name="polite")
        said = await polite.ainvoke({"messages": [("user", f"Politely: {found['messages'][-1].text}")]})
        return str(said["messages"][-1].text)

    return ask


def llama_index() -> Ask:
    """Two agents of LlamaIndex."""
    pytest.importorskip("openinference.instrumentation.llama_index")
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.tools import FunctionTool
    from llama_index_shop import ScriptedLLM

    async def ask(query: str) -> str:
        tools = [FunctionTool.from_defaults(one, description="A tool.") for one in (get_order, cancel_order)]
        found = await FunctionAgent(name="clerk", llm=ScriptedLLM(), tools=tools, streaming=False).run(query)
        polite = FunctionAgent(name="polite", llm=ScriptedLLM(), tools=tools, streaming=False)
        return str(await polite.run(f"Politely: {found}"))

    return ask


def crewai() -> Ask:
    """Two crews of CrewAI."""
    pytest.importorskip("openinference.instrumentation.crewai")
    from crewai import Agent, Crew, Task
    from crewai.tools import tool
    from crewai_shop import ScriptedLLM, latest

    class Calling(ScriptedLLM):
        """A model that knows calls. The instrumentation sees no calls that a model writes as text."""

        def supports_function_calling(self) -> bool:
            return True

        def answer(self, messages: Any) -> Any:
            one = move(*latest(messages))
            function = {"name": one.call, "arguments": json.dumps(one.args)}
            return [{"id": "call-1", "type": "function", "function": function}] if one.call else one.text

    def work(role: str, query: str, tools: list[Any]) -> str:
        agent = Agent(role=role, goal="Sell.", backstory="x", llm=Calling(), tools=tools, cache=False)
        task = Task(description=query, expected_output="an answer", agent=agent)
        return str(Crew(agents=[agent], tasks=[task]).kickoff().raw)

    def ask(query: str) -> str:
        found = work("clerk", query, [tool(one) for one in (get_order, cancel_order)])
        return work("polite", f"Politely: {found}", [])

    return ask


def smolagents() -> Ask:
    """Two agents of smolagents."""
    pytest.importorskip("openinference.instrumentation.smolagents")
    from smolagents import ToolCallingAgent
    from smolagents_shop import ScriptedModel, ShopTool

    def ask(query: str) -> str:
        tools = [ShopTool(one) for one in (get_order, cancel_order)]
        found = ToolCallingAgent(tools, ScriptedModel(), name="clerk", description="Sells.", verbosity_level=0).run(
            query
        )
        polite = ToolCallingAgent([], ScriptedModel(), name="polite", description="Sells.", verbosity_level=0)
        return str(polite.run(f"Politely: {found}"))

    return ask


def claude() -> Ask:
    """Two conversations of the Claude Agent SDK."""
    pytest.importorskip("openinference.instrumentation.claude_agent_sdk")
    import claude_agent_sdk
    from anthropic_server import MessagesServer
    from anthropic_server import shop as scripted
    from claude_shop import options_for

    async def say(query: str, server: Any, **more: Any) -> str:
        messages = claude_agent_sdk.query(prompt=query, options=options_for(server, **more))
        return "".join([str(one.result) async for one in messages if hasattr(one, "result")])

    async def ask(query: str) -> str:
        with MessagesServer(scripted) as server:
            return await say(f"Politely: {await say(query, server)}", server, mcp_servers={})

    return ask


def google_genai() -> Ask:
    """Two chats of the Google Gen AI SDK, the first of which calls functions by itself."""
    pytest.importorskip("openinference.instrumentation.google_genai")
    from genai_shop import client, config

    async def ask(query: str) -> str:
        found = await client.aio.chats.create(model="scripted", config=config).send_message(query)
        polite = await client.aio.chats.create(model="scripted").send_message(f"Politely: {found.text}")
        return str(polite.text)

    return ask


def openai_agents() -> Ask:
    """Two agents of the OpenAI Agents SDK."""
    pytest.importorskip("agents.lifecycle")
    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
    from chat_server import ChatServer, model
    from openai import AsyncOpenAI

    async def ask(query: str) -> str:
        set_tracing_disabled(disabled=False)
        with ChatServer(model) as server:
            async with AsyncOpenAI(base_url=server.url, api_key="none") as client:
                scripted = OpenAIChatCompletionsModel("scripted", client)
                tools = [function_tool(one) for one in (get_order, cancel_order)]
                found = await Runner.run(Agent(name="clerk", model=scripted, tools=tools), query)
                polite = Agent(name="polite", model=scripted)
                last = await Runner.run(polite, f"Politely: {found.final_output}")
        set_tracing_disabled(disabled=True)
        return str(last.final_output)

    return ask


FRAMEWORKS = [
    openai_agents,
    strands,
    pydantic_ai,
    agent_framework,
    agno,
    langchain,
    llama_index,
    crewai,
    smolagents,
    claude,
    google_genai,
]
WITHOUT_TOKENS = [agno, llama_index, crewai, smolagents, claude]
"""The instrumentations that see the models of providers only, and that of Claude, which tells a total of all calls."""
WITHOUT_CAUSES = [agno, claude, google_genai, strands]
"""The frameworks whose spans of a failing tool hold only the text of its exception."""


@pytest.mark.parametrize("make", FRAMEWORKS, ids=lambda make: make.__name__)
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
    expected_tokens = 0 if make in WITHOUT_TOKENS else 45
    assert sum(usage.total_tokens or 0 for usage in invocation.usages or ()) == expected_tokens
    assert recording.trace.incomplete == ""


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "whole"])
@pytest.mark.parametrize("status", [200, 400], ids=["answers", "fails"])
def test_a_request_that_llama_index_prepares_is_no_call_of_the_model(status: int, streaming: bool) -> None:
    """The spans of the preparation have the kind of a model. The server knows how many requests there were."""
    pytest.importorskip("openinference.instrumentation.llama_index")
    pytest.importorskip("llama_index.llms.openai")
    import httpx
    from chat_server import Answer, ChatServer, Streamed, model
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.tools import FunctionTool
    from llama_index.llms.openai import OpenAI
    from openai import BadRequestError

    def script(body: dict[str, Any]) -> Answer:
        if status != 200 and len(body["messages"]) > 1:
            return status
        whole = model(body)
        if not body.get("stream"):
            return whole
        message = whole["choices"][0]["message"]
        calls = [{**call, "index": number} for number, call in enumerate(message.get("tool_calls", ()))]
        delta = message | ({"tool_calls": calls} if calls else {})
        choice = {"index": 0, "delta": delta, "finish_reason": whole["choices"][0]["finish_reason"]}
        chunk = {**whole, "object": "chat.completion.chunk", "choices": [choice]}
        return Streamed(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())

    with ChatServer(script) as server:
        tools = [FunctionTool.from_defaults(get_order, description="A tool.")]

        async def ask(query: str) -> str:
            async with httpx.AsyncClient() as client:
                llm = OpenAI("gpt-4o", api_key="none", api_base=server.url, max_retries=0, async_http_client=client)
                try:
                    return str(await FunctionAgent(name="clerk", llm=llm, tools=tools, streaming=streaming).run(query))
                except BadRequestError:
                    return "Sorry."

        run = fairtrial.evaluate(saying("Where is A-17?"), ask, CRITERIA, record="spans")
    ((_, recording),) = run.recordings
    (invocation,) = recording.trace.invocations
    assert len(server.requests) == 2
    assert len(invocation.usages or ()) == 2
    assert [call.name for call in invocation.tool_calls] == ["get_order"]
    assert [usage.total_tokens for usage in invocation.usages or ()] == [15, 15 if status == 200 else None]


@every_client
@every_server
@pytest.mark.parametrize("make", FRAMEWORKS, ids=lambda make: make.__name__)
def test_a_tool_that_is_down_below_a_function_is_not_the_agents_fault(
    make: Callable[[], Ask], server: Any, client: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The spans tell the error of the tool, or the run notes it while the framework handles it."""
    if client is by_own_client and make in WITHOUT_CAUSES:
        pytest.skip("its spans hold the text of the exception, and not the cause")
    ask = make()
    with server() as url:
        monkeypatch.setattr(shop, "ORDERS", Orders(lambda: client(url)))
        (result,) = fairtrial.evaluate(fairtrial.EvalSet("shop", (NEEDS_RESULT,)), ask, CRITERIA, record="spans").cases
    assert {fault.side for fault in result.invalidations or ()} == {"infrastructure"}


@pytest.mark.parametrize("make", FRAMEWORKS, ids=lambda make: make.__name__)
def test_a_tool_that_has_no_such_order_below_a_function_leaves_the_fault_with_the_agent(
    make: Callable[[], Ask], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exception of the tool is an answer: no server was down."""
    ask = make()
    monkeypatch.setattr(shop, "ORDERS", {})
    (result,) = fairtrial.evaluate(fairtrial.EvalSet("shop", (NEEDS_RESULT,)), ask, CRITERIA, record="spans").cases
    assert result.invalidations == ()


def test_the_error_of_a_tool_is_not_that_of_a_span_with_a_longer_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool of the OpenAI Agents SDK opens a span of an agent whose name holds the name of the tool."""
    pytest.importorskip("agents.lifecycle")
    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
    from chat_server import ChatServer, model
    from openai import AsyncOpenAI
    from opentelemetry import trace

    said = [{"role": "assistant", "parts": [{"type": "text", "content": "No order."}], "finish_reason": "stop"}]
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "get_order_desk",
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "A-17"}]}]),
        "gen_ai.output.messages": json.dumps(said),
    }
    tool = function_tool(get_order)
    look_up = tool.on_invoke_tool

    async def look_up_at_desk(context: Any, args: str) -> Any:
        with trace.get_tracer("shop").start_as_current_span("invoke_agent get_order_desk", attributes=attributes):
            return await look_up(context, args)

    tool.on_invoke_tool = look_up_at_desk

    async def ask(query: str) -> str:
        set_tracing_disabled(disabled=False)
        with ChatServer(model) as server:
            async with AsyncOpenAI(base_url=server.url, api_key="none") as client:
                clerk = Agent(name="clerk", model=OpenAIChatCompletionsModel("scripted", client), tools=[tool])
                last = await Runner.run(clerk, query)
        set_tracing_disabled(disabled=True)
        return str(last.final_output)

    monkeypatch.setattr(shop, "ORDERS", {})
    run = fairtrial.evaluate(saying("Where is A-17?"), ask, CRITERIA, record="spans")
    ((_, recording),) = run.recordings
    steps = recording.trace.invocations[0].steps or ()
    (result,) = (step for step in steps if isinstance(step, fairtrial.ToolResult))
    assert result.is_error
    assert result.inner is not None
    assert result.inner.broken == ""
