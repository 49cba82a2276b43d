"""Calls of agents inside the nodes and tools of a LangChain graph are recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

import pytest
from kinds import recorded
from shop import saying

import fairtrial
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Invocation, Message, Step, ToolCall, ToolResult

pytestmark = pytest.mark.agents
pytest.importorskip("langgraph.graph")

from langchain.agents import create_agent  # noqa: E402
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy  # noqa: E402
from langchain_core.language_models.chat_models import BaseChatModel  # noqa: E402
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage  # noqa: E402
from langchain_core.outputs import ChatGeneration, ChatResult  # noqa: E402
from langchain_core.tools import tool  # noqa: E402
from langchain_core.utils.function_calling import convert_to_openai_tool  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402
from langgraph.graph import END, START, StateGraph  # noqa: E402
from langgraph.graph.message import add_messages  # noqa: E402
from langgraph.types import interrupt  # noqa: E402
from pydantic import BaseModel  # noqa: E402


class Scripted(BaseChatModel):  # type: ignore[misc]
    """A chat model that gives its answers one after the other: a text, or the name and arguments of a call."""

    answers: list[Any]
    given: list[int] = []

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **more: Any) -> Any:
        """Declare tools as OpenAI's models do."""
        return self.bind(tools=[convert_to_openai_tool(each) for each in tools], **more)

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:  # noqa: ARG002
        answer = self.answers[len(self.given) % len(self.answers)]
        self.given.append(1)
        if isinstance(answer, str):
            message = AIMessage(answer)
        else:
            calls = [
                {"name": name, "args": args, "id": f"{id(self)}-{len(self.given)}-{i}"}
                for i, (name, args) in enumerate(answer)
            ]
            message = AIMessage("", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


class State(TypedDict):
    """The messages of a conversation."""

    messages: Annotated[list[AnyMessage], add_messages]


class Answer(BaseModel):
    """A structured answer."""

    sky: str
    degrees: int = 20


@tool  # type: ignore[untyped-decorator]
def add(a: int, b: int) -> int:
    """Add numbers."""
    return a + b


ADDING = [[("add", {"a": 1, "b": 2})], "It is 3."]


def expert(name: str = "expert", answers: Sequence[Any] = ADDING) -> Any:
    """An agent that adds before it answers."""
    return create_agent(Scripted(answers=list(answers)), tools=[add], name=name)


def graph(**nodes: Any) -> Any:
    """A graph whose nodes follow each other."""
    return StateGraph(State).add_sequence(list(nodes.items())).add_edge(START, next(iter(nodes))).compile()


def calls(steps: Sequence[Step] | None) -> list[tuple[str, str, str]]:
    """The calls and results among steps with their names and authors."""
    return [
        (type(step).__name__, step.name, step.author) for step in steps or () if isinstance(step, ToolCall | ToolResult)
    ]


def ask_sync(state: State) -> dict[str, Any]:
    """A node that calls another graph, and returns its answer only."""
    return {"messages": [expert().invoke({"messages": state["messages"]})["messages"][-1]]}


async def ask_async(state: State) -> dict[str, Any]:
    """The same with an async node."""
    answer = await expert().ainvoke({"messages": state["messages"]})
    return {"messages": [answer["messages"][-1]]}


def ask_as_user(state: State) -> dict[str, Any]:
    """The same, but the answer is passed on as a message of a user with the agent's name."""
    answer = expert().invoke({"messages": state["messages"]})
    return {"messages": [HumanMessage(answer["messages"][-1].text, name="expert")]}


@pytest.mark.parametrize("node", [ask_sync, ask_async, ask_as_user])
def test_the_calls_of_an_agent_that_a_node_calls_are_steps(node: Any) -> None:
    """Though its answer alone is among the messages of the graph."""
    (turn,) = recorded(graph(ask=node), "1 + 2?").trace.invocations
    assert calls(turn.steps) == [("ToolCall", "add", "expert"), ("ToolResult", "add", "expert")]
    assert [step.response for step in turn.steps or () if isinstance(step, ToolResult)] == ["3"]
    assert (turn.reply, len(turn.usages or ())) == ("It is 3.", 2)


def test_agents_that_work_side_by_side_keep_their_calls() -> None:
    """Each call has the result of its own agent."""

    async def ask_both(_: State) -> dict[str, Any]:
        answers = await asyncio.gather(
            expert("first", [[("add", {"a": 1, "b": 1})], "2"]).ainvoke({"messages": [("user", "1 + 1?")]}),
            expert("second", [[("add", {"a": 2, "b": 2})], "4"]).ainvoke({"messages": [("user", "2 + 2?")]}),
        )
        return {"messages": [AIMessage(" and ".join(answer["messages"][-1].text for answer in answers))]}

    (turn,) = recorded(graph(ask=ask_both), "hello").trace.invocations
    results = {step.author: step.response for step in turn.steps or () if isinstance(step, ToolResult)}
    assert results == {"first": "2", "second": "4"}
    assert (len(turn.tool_calls), turn.reply) == (2, "2 and 4")


def test_the_messages_of_an_agent_that_come_with_the_answer_are_no_second_steps() -> None:
    """A node that returns all messages of an agent tells its calls itself, also if it returns them later."""
    kept: list[Any] = []

    def ask(state: State) -> dict[str, Any]:
        kept[:] = expert().invoke({"messages": state["messages"]})["messages"][1:]
        return {"messages": []}

    (turn,) = recorded(graph(ask=ask, tell=lambda _: {"messages": kept}), "1 + 2?").trace.invocations
    assert calls(turn.steps) == [("ToolCall", "add", "expert"), ("ToolResult", "add", "expert")]
    assert turn.reply == "It is 3."


def asking_tool(name: str = "ask") -> Any:
    """A tool in which an agent without a name works."""

    @tool(name)  # type: ignore[untyped-decorator]
    def ask(question: str) -> str:
        """Ask the expert."""
        agent = create_agent(Scripted(answers=list(ADDING)), tools=[add])
        return str(agent.invoke({"messages": [("user", question)]})["messages"][-1].text)

    return ask


def boss(*answers: Any) -> Any:
    """An agent whose tool is an agent."""
    return create_agent(Scripted(answers=list(answers)), tools=[asking_tool()], name="boss")


def test_the_work_of_an_agent_in_a_tool_is_inside_the_result() -> None:
    """Its calls, its reply and its tokens."""
    (turn,) = recorded(boss([("ask", {"question": "1 + 2?"})], "Done."), "hello").trace.invocations
    assert calls(turn.steps) == [("ToolCall", "ask", "boss"), ("ToolResult", "ask", "boss")]
    result = next(step for step in turn.steps or () if isinstance(step, ToolResult))
    assert result.inner is not None
    (inner,) = result.inner.invocations
    assert (inner.query, inner.reply) == ("1 + 2?", "It is 3.")
    assert calls(inner.steps) == [("ToolCall", "add", "ask"), ("ToolResult", "add", "ask")]
    assert (len(turn.usages or ()), len(turn.all_usages or ())) == (2, 4)


@pytest.mark.parametrize("agent", [graph(ask=ask_sync), boss([("ask", {"question": "1 + 2?"})], "It is 3.")])
def test_forbidden_tools_are_found_in_every_agent(agent: Any) -> None:
    """Whether it works in a node or in a tool."""
    case = EvalCase("one", (Invocation(Message("hello"), (), Message("It is 3.")),))
    criteria = {"tool_trajectory_avg_score": {"threshold": 1.0, "forbidden_tools": ["add"], "optional_tools": ["ask"]}}
    run = fairtrial.evaluate(EvalSet("one", (case,)), agent, criteria)
    assert run.verdict == "failed"
    assert "forbidden tool called: add" in run.report()


def test_a_node_that_calls_tools_itself_gives_each_result_the_name_of_its_call() -> None:
    """As in the quickstart of LangGraph, whose results have the id of the call only."""

    def call_tools(state: State) -> dict[str, Any]:
        asked = state["messages"][-1].tool_calls
        return {"messages": [ToolMessage(str(add.invoke(call["args"])), tool_call_id=call["id"]) for call in asked]}

    model = Scripted(answers=list(ADDING)).bind_tools([add])

    def call_model(state: State) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    agent = graph(first=call_model, tools=call_tools, second=call_model)
    (turn,) = recorded(agent, "1 + 2?").trace.invocations
    assert [kind[:2] for kind in calls(turn.steps)] == [("ToolCall", "add"), ("ToolResult", "add")]
    assert turn.reply == "It is 3."


def test_a_call_that_decides_and_runs_no_tool_is_no_step() -> None:
    """For example, a router asks a model for a structured decision."""
    router = Scripted(answers=[[("Answer", {"sky": "blue"})]]).with_structured_output(Answer)

    def route(state: State) -> dict[str, Any]:
        return {"messages": [AIMessage(router.invoke(state["messages"]).sky)]}

    (turn,) = recorded(graph(route=route), "hello").trace.invocations
    assert (turn.steps, turn.reply) == ((), "blue")


def structured(response_format: Any, *answers: Any, **options: Any) -> Any:
    """An agent with a structured answer."""
    model = Scripted(answers=list(answers))
    return create_agent(model, tools=[add], response_format=response_format, name="sky", **options)


@pytest.mark.parametrize("options", [{}, {"checkpointer": InMemorySaver()}])
def test_a_structured_response_is_the_reply(options: dict[str, Any]) -> None:
    """The call by which the model gives it is no call, also if it has to be repeated."""
    answers = [[("add", {"a": 1, "b": 2})], [("Answer", {"degrees": "hot"})], [("Answer", {"sky": "blue"})]]
    agent = structured(ToolStrategy(Answer), *answers, **options)
    for turn in recorded(agent, "hello", "again").trace.invocations:
        assert calls(turn.steps) == [("ToolCall", "add", "sky"), ("ToolResult", "add", "sky")]
        assert turn.reply == '{"sky":"blue","degrees":20}'
        assert turn.about is not None
        assert [agent.tool_names for agent in turn.about.agents] == [("add",)]


def test_a_structured_response_that_is_the_text_of_the_model_is_said_once() -> None:
    """A provider that knows schemas writes the answer as its text."""
    (turn,) = recorded(structured(ProviderStrategy(Answer), '{"sky": "blue"}'), "hello").trace.invocations
    assert (turn.steps, turn.reply) == ((), '{"sky": "blue"}')


def test_a_structured_response_of_an_earlier_turn_is_no_reply() -> None:
    """The state of a graph keeps it, and the next turn may end otherwise."""

    class Structured(State):
        structured_response: Any

    def answer(state: Structured) -> dict[str, Any]:
        is_first = sum(message.type == "human" for message in state["messages"]) == 1
        return {"structured_response": Answer(sky="blue")} if is_first else {"messages": [AIMessage("No idea.")]}

    agent = StateGraph(Structured).add_node("answer", answer).add_edge(START, "answer").add_edge("answer", END)
    first, second = recorded(agent.compile(), "hello", "again").trace.invocations
    assert (first.reply, second.reply) == ('{"sky":"blue","degrees":20}', "No idea.")


def test_a_tool_that_runs_again_after_a_question_is_one_call() -> None:
    """LangGraph runs the node again, and so the tools that did not ask."""

    @tool  # type: ignore[untyped-decorator]
    def confirm() -> str:
        """Ask the user."""
        return str(interrupt("Sure?"))

    asked = [("add", {"a": 1, "b": 2}), ("confirm", {})]
    agent = create_agent(
        Scripted(answers=[asked, "Done."]), tools=[add, confirm], name="boss", checkpointer=InMemorySaver()
    )
    first, second = recorded(agent, "hello", "yes").trace.invocations
    assert (first.reply, second.reply) == ("Sure?", "Done.")
    both = [*calls(first.steps), *calls(second.steps)]
    assert sorted(kind[:2] for kind in both) == [
        ("ToolCall", "add"),
        ("ToolCall", "confirm"),
        ("ToolResult", "add"),
        ("ToolResult", "confirm"),
    ]


def test_a_broken_agent_in_a_node_leaves_its_calls() -> None:
    """What it did before the exception is recorded."""

    def ask(state: State) -> dict[str, Any]:
        expert().invoke({"messages": state["messages"]})
        raise RuntimeError("broken")

    (turn,) = recorded(graph(ask=ask), "1 + 2?").trace.invocations
    assert calls(turn.steps) == [("ToolCall", "add", "expert"), ("ToolResult", "add", "expert")]


ADD_FAILS = {
    "tool_simulation_configs": [
        {
            "tool_name": "add",
            "injection_configs": [{"injected_error": {"injected_http_error_code": 503, "error_message": "down"}}],
        }
    ]
}


def held(agent: Any, config: dict[str, Any]) -> Recording:
    """A conversation in a simulated environment."""
    run = fairtrial.evaluate(saying("1 + 2?"), agent, {"response_match_score": 0.5}, environment=config)
    return next(run.recordings)[1]


def with_tools(ask: Any) -> Any:
    """A graph with a tool of its own, before an agent that the environment does not reach."""
    return StateGraph(State).add_sequence([("own", expert("own", ["Hm."])), ("ask", ask)]).add_edge(START, "own")


@pytest.mark.parametrize("agent", [with_tools(ask_sync), boss([("ask", {"question": "1 + 2?"})], "Done.")])
def test_an_environment_never_lets_a_tool_run_that_it_cannot_answer(agent: Any) -> None:
    """The conversation ends before the real tool of an inner agent would run in place of an injection."""
    recording = held(agent, ADD_FAILS)
    assert recording.failure is not None
    assert recording.failure.side == "environment"
    assert "does not reach this tool" in recording.failure.cause


def test_an_environment_that_leaves_an_inner_tool_alone_does_not_disturb_it() -> None:
    """Its injections concern other tools."""
    config = {"chaos_effects": [{"effect": "truncated", "tool_name": "other"}]}
    recording = held(with_tools(ask_sync), config)
    assert recording.failure is None
    assert recording.trace.invocations[0].reply == "It is 3."
