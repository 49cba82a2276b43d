"""Factories make agents with the context of their framework, as the first examples of the documentations do."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from shop import CRITERIA, saying

import fairtrial
from fairtrial.agents import find_agent
from fairtrial.agents.factories import AgentSource
from fairtrial.errors import UsageError
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase, EvalSet, SessionInput
from fairtrial.records.trace import Message, ToolResult

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def read_recording(
    kind: str, factory: Callable[..., Any], *queries: str, state: dict[str, Any] | None = None
) -> Recording:
    """What is recorded of a conversation with the agent of a factory."""
    vars(sys.modules[__name__])["factory"] = factory
    eval_set = saying(*queries)
    case = replace(eval_set.cases[0], session_input=SessionInput(state=state or {}))
    run = fairtrial.evaluate(replace(eval_set, cases=(case,)), f"{kind}:{__name__}:factory", CRITERIA)
    ((_, recording),) = run.recordings
    return recording


def results(recording: Recording) -> list[Any]:
    """The responses of the tools."""
    assert recording.failure is None, recording.failure.traceback
    steps = [step for invocation in recording.trace.invocations for step in invocation.steps or ()]
    return [step.response for step in steps if isinstance(step, ToolResult)]


# The customer service of the OpenAI Agents SDK: a context that tools and handovers change.


@dataclass
class Passenger:
    """The context of the airline's agents."""

    name: str | None = None
    seat: str | None = None
    flight: str | None = None


def _openai_model(*outputs: Any) -> Any:
    """A model of the SDK that answers with these calls and texts in their order."""
    pytest.importorskip("agents.lifecycle")
    from agents import ModelResponse, Usage
    from openai_shop import ScriptedModel, _call, _text

    remaining = iter(outputs)

    class Replay(ScriptedModel):
        async def get_response(self, *_: Any, **__: Any) -> Any:
            output = next(remaining)
            item = _text(output) if isinstance(output, str) else _call(*output)
            return ModelResponse([item], Usage(1, 10, output_tokens=5, total_tokens=15), None)

    return Replay()


@pytest.mark.agents
def test_the_customer_service_of_openai() -> None:
    """`context=` holds an object; a handover and a tool change it, and it is the final state."""
    model = _openai_model(
        ("transfer_to_seat_booking", {}),
        ("update_seat", {"confirmation_number": "X1", "new_seat": "4A"}),
        "Your seat is 4A.",
    )
    from agents import Agent, RunContextWrapper, function_tool, handoff

    async def update_seat(context: Any, confirmation_number: str, new_seat: str) -> str:
        context.context.seat = new_seat
        return f"{context.context.name}: {new_seat} for {confirmation_number} on {context.context.flight}"

    async def note_flight(context: Any) -> None:
        context.context.flight = "FLT-123"

    update_seat.__annotations__["context"] = note_flight.__annotations__["context"] = RunContextWrapper[Passenger]

    def make(case: EvalCase) -> Any:
        seats = Agent[Passenger](name="seat_booking", model=model, tools=[function_tool(update_seat)])
        triage = Agent[Passenger](name="triage", model=model, handoffs=[handoff(seats, on_handoff=note_flight)])
        return triage, {"context": Passenger(name=case.id), "max_turns": 5}

    recording = read_recording("openai-agents", make, "Change my seat")
    assert results(recording)[-1] == "case: 4A for X1 on FLT-123"
    assert recording.trace.final_state == {"name": "case", "seat": "4A", "flight": "FLT-123"}


@pytest.mark.agents
def test_an_mcp_server_on_stdio(tmp_path: Path) -> None:
    """The factory connects the server for the conversation, and disconnects it at the end."""
    model = _openai_model(("add", {"a": 2, "b": 3}), "Five.")
    from agents import Agent
    from agents.mcp import MCPServerStdio

    script = tmp_path / "server.py"
    script.write_text(
        "try:\n    from mcp.server import MCPServer\nexcept ImportError:\n"
        "    from mcp.server.fastmcp import FastMCP as MCPServer\n"
        "server = MCPServer('sums')\n"
        "@server.tool()\ndef add(a: int, b: int) -> int:\n    '''Add.'''\n    return a + b\n"
        "server.run()\n"
    )
    closed = []

    @asynccontextmanager
    async def make(_: EvalCase) -> AsyncIterator[Any]:
        async with MCPServerStdio(params={"command": sys.executable, "args": [str(script)]}) as server:
            yield Agent(name="sums", model=model, mcp_servers=[server])
        closed.append(True)

    (response,) = results(read_recording("openai-agents", make, "2 + 3?"))
    assert "5" in str(response)
    assert closed == [True]


# LangChain's quickstart: a schema of the context, memory, and structured output.


def _chat_model(*messages: Any) -> Any:
    """A chat model of LangChain that answers with these calls and texts in their order."""
    pytest.importorskip("langgraph.graph")
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langgraph_shop import ScriptedChat

    remaining = enumerate(messages)

    class Replay(ScriptedChat):
        def _generate(self, *_: Any, **__: Any) -> Any:
            number, message = next(remaining)
            calls = [] if isinstance(message, str) else [{"name": message[0], "args": message[1], "id": f"c{number}"}]
            reply = AIMessage(message if isinstance(message, str) else "", tool_calls=calls)
            return ChatResult(generations=[ChatGeneration(message=reply)])

    return Replay()


@dataclass
class Context:
    """The context of LangChain's quickstart."""

    user_id: str


@dataclass
class Weather:
    """The structured output of LangChain's quickstart."""

    punny_response: str
    weather_conditions: str | None = None


@pytest.mark.agents
def test_the_quickstart_of_langchain() -> None:
    """`context=` reaches the tools, and the structured output is in the final state."""
    answer = {"punny_response": "Sun-sational!", "weather_conditions": "sunny"}
    model = _chat_model(("get_user_location", {}), ("get_weather", {"city": "Florida"}), ("Weather", answer))
    from langchain.agents import create_agent
    from langchain.agents.structured_output import ToolStrategy
    from langchain.tools import ToolRuntime, tool
    from langgraph.checkpoint.memory import InMemorySaver

    def get_weather(city: str) -> str:
        """Get weather for a given city."""
        return f"It's always sunny in {city}!"

    def get_user_location(runtime: Any) -> str:
        """Retrieve user information based on user ID."""
        return "Florida" if runtime.context.user_id == "1" else "SF"

    get_user_location.__annotations__["runtime"] = ToolRuntime[Context]

    def make(case: EvalCase) -> Any:
        agent = create_agent(
            model,
            system_prompt="You are an expert weather forecaster, who speaks in puns.",
            tools=[tool(get_user_location), tool(get_weather)],
            context_schema=Context,
            response_format=ToolStrategy(Weather),
            checkpointer=InMemorySaver(),
        )
        state = case.session_input.state if case.session_input else {}
        return agent, {"context": Context(state["user_id"])}

    recording = read_recording("langgraph", make, "What is the weather outside?", state={"user_id": "1"})
    assert results(recording)[:2] == ["Florida", "It's always sunny in Florida!"]
    assert recording.trace.final_state is not None
    assert recording.trace.final_state["structured_response"] == answer


# LangGraph's customer support: `configurable`, a limit of recursion, and a breakpoint before the tools.


@pytest.mark.agents
def test_the_customer_support_of_langgraph() -> None:
    """`configurable` reaches the tools, and the user approves the call at the breakpoint."""
    model = _chat_model(("fetch_flights", {}), "You fly to Basel.")
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import tool
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    def fetch_flights(config: Any) -> str:
        """Fetch all tickets of the user."""
        return f"{config['configurable']['passenger_id']}: Basel"

    fetch_flights.__annotations__["config"] = RunnableConfig
    tools = [tool(fetch_flights)]

    async def make(case: EvalCase) -> Any:
        graph = StateGraph(MessagesState)
        graph.add_node("assistant", lambda state: {"messages": [model.bind_tools(tools).invoke(state["messages"])]})
        graph.add_node("tools", ToolNode(tools))
        graph.add_edge(START, "assistant").add_edge("tools", "assistant")
        graph.add_conditional_edges("assistant", tools_condition)
        options = {"configurable": {"passenger_id": "3442 587242", "thread_id": case.id}, "recursion_limit": 9}
        return graph.compile(interrupt_before=["tools"]), options

    recording = read_recording("langgraph", make, "When is my flight?", "y")
    assert results(recording) == ["3442 587242: Basel"]
    assert recording.trace.invocations[1].reply == "You fly to Basel."


@pytest.mark.agents
def test_a_factory_takes_a_configuration_as_on_a_server_of_langgraph() -> None:
    """`async def make_graph(config)` finds the state of the case in `configurable`."""
    seen = []
    model = _chat_model("Hello.")
    from langchain.agents import create_agent

    async def make_graph(config: Any) -> Any:
        seen.append(config["configurable"])
        return create_agent(model)

    assert read_recording("langgraph", make_graph, "hi", state={"user": "7"}).failure is None
    assert seen == [{"user": "7"}]


# Pydantic AI's bank support and weather agent: dependencies with a connection, and structured output.


class Bank:
    """The database of the bank."""

    async def balance(self, customer: int) -> float:
        """What a customer has."""
        return 123.45 if customer == 123 else 0.0


@dataclass
class Dependencies:
    """The dependencies of the bank's agent."""

    customer_id: int
    db: Bank


@dataclass
class Support:
    """The output of the bank's agent."""

    support_advice: str
    block_card: bool
    risk: int


@pytest.mark.agents
def test_the_bank_support_of_pydantic_ai() -> None:
    """`deps` holds an object that is not JSON, and instructions and tools use it."""
    library: Any = pytest.importorskip("pydantic_ai")
    from pydantic_ai.messages import ModelResponse, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def answer(messages: Any, info: Any) -> Any:
        if len(messages) == 1:
            assert "123" in messages[0].instructions
            return ModelResponse([ToolCallPart("customer_balance", {})])
        advice = {"support_advice": "You have $123.45.", "block_card": False, "risk": 1}
        return ModelResponse([ToolCallPart(info.output_tools[0].name, advice)])

    agent = library.Agent(FunctionModel(answer), deps_type=Dependencies, output_type=Support)

    def add_customer(ctx: Any) -> str:
        return f"The customer's number is {ctx.deps.customer_id}"

    async def customer_balance(ctx: Any) -> str:
        """Return the customer's current account balance."""
        return f"${await ctx.deps.db.balance(ctx.deps.customer_id):.2f}"

    add_customer.__annotations__["ctx"] = customer_balance.__annotations__["ctx"] = library.RunContext[Dependencies]
    agent.instructions(add_customer)
    agent.tool(customer_balance)
    closed = []

    async def make(_: EvalCase) -> Any:
        yield agent, {"deps": Dependencies(123, Bank())}
        closed.append(True)

    recording = read_recording("pydantic-ai", make, "What is my balance?")
    assert results(recording) == ["$123.45"]
    assert recording.trace.invocations[0].reply == '{"support_advice":"You have $123.45.","block_card":false,"risk":1}'
    assert closed == [True]


@pytest.mark.agents
def test_a_factory_of_adk() -> None:
    """`adk:MODULE:FACTORY` makes an agent for each conversation."""
    pytest.importorskip("google.adk")
    from adk_shop.agent import ScriptedLlm
    from google.adk.agents import Agent

    def make() -> Any:
        return Agent(name="shop", model=ScriptedLlm(model="scripted"))

    assert read_recording("adk", make, "hello").trace.invocations[0].reply == "You said: hello"


SOURCE = AgentSource(lambda: None, lambda thing: isinstance(thing, dict), "a dictionary", ("context",))


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (None, "must return a dictionary, or a pair of it and a mapping, got NoneType"),
        (({}, {"contxt": 1}), "option 'contxt' is not known; known are context; did you mean 'context'?"),
    ],
)
def test_a_factory_that_returns_something_else_is_a_usage_error(result: Any, problem: str) -> None:
    """The message says what is allowed."""
    with pytest.raises(UsageError) as failed:
        SOURCE._ensure_valid(result)
    assert str(failed.value) in (problem, f"the function {problem}")


@dataclass(frozen=True)
class MadeAgent:
    """An agent that opens the sessions of a framework, whose agents are dictionaries and hold their reply."""

    source: AgentSource

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Any) -> AsyncIterator[Any]:  # noqa: ARG002
        """Open a session."""
        async with self.source.open(case) as (made, _):
            yield MadeSession(made)


@dataclass
class MadeSession:
    """A session with such an agent."""

    made: dict[str, str]
    about: Any = None

    async def send(self, message: str) -> AsyncIterator[Message]:
        """Say the reply."""
        yield Message(self.made[message])


def made_by(factory: Callable[..., Any]) -> MadeAgent:
    """The agent of a factory."""
    return MadeAgent(AgentSource(factory, lambda thing: isinstance(thing, dict), "a dictionary", ("context",)))


def two_cases() -> EvalSet:
    """An eval set of two conversations."""
    eval_set = saying("hello")
    return replace(eval_set, cases=(*eval_set.cases, replace(eval_set.cases[0], id="other")))


def test_a_mistake_in_a_factory_ends_the_run() -> None:
    """It would be the same in every case, and it is not the agent's."""
    asked = []

    def make(case: EvalCase) -> Any:
        asked.append(case.id)
        return {}, {"session": 1}

    with pytest.raises(UsageError, match="option 'session' is not known; known are context"):
        fairtrial.evaluate(two_cases(), made_by(make), CRITERIA, concurrency=1)
    assert len(asked) == 1


@pytest.mark.agents
def test_a_graph_without_a_field_for_the_text_ends_the_run() -> None:
    """The schema of the first graph tells it, before any message is sent."""
    pytest.importorskip("langgraph.graph")
    from typing import TypedDict

    from langgraph.graph import END, START, StateGraph

    class Essay(TypedDict):
        title: str
        author: str

    made = []

    def make(case: EvalCase) -> Any:
        made.append(case.id)
        builder = StateGraph(Essay)
        builder.add_node("write", lambda state: state)
        builder.add_edge(START, "write")
        builder.add_edge("write", END)
        return builder.compile()

    vars(sys.modules[__name__])["factory"] = make
    with pytest.raises(UsageError, match=r"must hold 'messages'.*its fields are 'title', 'author'"):
        fairtrial.evaluate(two_cases(), f"langgraph:{__name__}:factory", CRITERIA, concurrency=1)
    assert len(made) == 1


@pytest.mark.parametrize("factory", [lambda case, tenant: case, lambda *, tenant: tenant], ids=["two", "by name"])  # noqa: ARG005
def test_a_factory_that_needs_more_than_the_case_is_refused_before_the_run(factory: Callable[..., Any]) -> None:
    """Every conversation would fail in the same way, and it is not the agent's failure."""
    with pytest.raises(UsageError, match=r"must take the case, or 'config', or nothing, got .*tenant"):
        made_by(factory)


@pytest.mark.parametrize(
    "factory",
    [dict, lambda: {"a": "b"}, lambda case: {}, lambda config, extra=1: {}, lambda *cases: {}, lambda **options: {}],  # noqa: ARG005
    ids=["class", "nothing", "case", "config", "any", "options"],
)
def test_a_factory_that_takes_a_case_or_nothing_is_taken(factory: Callable[..., Any]) -> None:
    """Further parameters may have defaults."""
    assert made_by(factory).source.is_factory


def test_a_factory_has_the_shape_of_a_fixture() -> None:
    """A sync generator yields once, and is closed after the conversation, also if that failed."""
    closed = []

    def make(case: EvalCase) -> Any:
        try:
            yield {"hello": "Hello!"}, {"context": case.id}
        finally:
            closed.append(case.id)

    run = fairtrial.evaluate(saying("hello"), made_by(make), CRITERIA)
    assert [recording.trace.invocations[0].reply for _, recording in run.recordings] == ["Hello!"]
    run = fairtrial.evaluate(saying("unknown"), made_by(make), CRITERIA)
    assert [result.failure is not None for result in run.cases] == [True]
    assert len(closed) == 2


def test_something_else_is_refused_before_the_run() -> None:
    """Neither an agent nor a function."""
    with pytest.raises(UsageError, match="must be a dictionary, or a function that returns it, got int"):
        AgentSource(3, lambda thing: isinstance(thing, dict), "a dictionary")


def test_an_agent_in_a_file_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`path/agent.py:name` finds relative imports, and modules in `src` are importable."""
    package = tmp_path / "src" / "cheese_shop"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "prices.py").write_text("PRICE = 'Ten euros.'\n")
    (package / "agent.py").write_text("from .prices import PRICE\ndef reply(message: str) -> str:\n    return PRICE\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for target in ("src/cheese_shop/agent.py:reply", "cheese_shop.agent:reply"):
        agent: Any = find_agent(target)
        assert agent.function("hi") == "Ten euros."


@pytest.mark.agents
def test_the_weather_agent_of_pydantic_ai() -> None:
    """Two tools with dependencies that hold a client, in parallel for two places; models among the results."""
    pytest.importorskip("pydantic_ai")
    from pydantic import BaseModel
    from pydantic_ai import Agent, RunContext
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    class LatLng(BaseModel):
        lat: float
        lng: float

    @dataclass
    class Deps:
        client: dict[str, LatLng]

    async def get_lat_lng(context: Any, location_description: str) -> Any:
        return context.deps.client[location_description]

    async def get_weather(context: Any, lat: float, lng: float) -> dict[str, Any]:
        return {"temperature": f"{lat + lng:g} °C", "known": len(context.deps.client)}

    get_lat_lng.__annotations__["context"] = get_weather.__annotations__["context"] = RunContext[Deps]

    def scripted(messages: Any, _: Any) -> Any:
        answers = [part.content for part in messages[-1].parts if part.part_kind == "tool-return"]
        if not answers:
            places = ("London", "Wiltshire")
            return ModelResponse([ToolCallPart("get_lat_lng", {"location_description": place}) for place in places])
        if isinstance(answers[0], LatLng):
            return ModelResponse([ToolCallPart("get_weather", place.model_dump()) for place in answers])
        return ModelResponse([TextPart(" and ".join(answer["temperature"] for answer in answers))])

    agent = Agent(FunctionModel(scripted), deps_type=Deps, tools=[get_lat_lng, get_weather], retries=2)
    client = {"London": LatLng(lat=51, lng=-1), "Wiltshire": LatLng(lat=51, lng=-2)}
    recording = read_recording(
        "pydantic-ai", lambda: (agent, {"deps": Deps(client)}), "Weather in London and Wiltshire?"
    )
    assert results(recording) == [
        {"lat": 51.0, "lng": -1.0},
        {"lat": 51.0, "lng": -2.0},
        {"temperature": "50 °C", "known": 2},
        {"temperature": "49 °C", "known": 2},
    ]
    assert recording.trace.invocations[0].reply == "50 °C and 49 °C"
