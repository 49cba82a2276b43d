"""LangChain graphs are recorded whole."""

from __future__ import annotations

import importlib
import json
import types
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

import pytest
from kinds import recorded
from shop import CRITERIA, EVAL_SET, INSTRUCTIONS, TOOLS

import fairtrial
from fairtrial.agents import find_agent
from fairtrial.errors import UsageError
from fairtrial.records.case import SessionInput
from fairtrial.records.trace import Message, Thought, ToolCall, ToolResult

pytestmark = pytest.mark.agents
pytest.importorskip("langgraph.graph")

import langgraph.types  # noqa: E402
from langchain.agents import create_agent  # noqa: E402
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage  # noqa: E402
from langchain_core.runnables import RunnableLambda  # noqa: E402
from langchain_core.tools import tool  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402
from langgraph.func import entrypoint, task  # noqa: E402
from langgraph.graph import START, StateGraph  # noqa: E402
from langgraph.graph.message import add_messages  # noqa: E402
from langgraph.types import interrupt  # noqa: E402
from langgraph_shop import ScriptedChat, State  # noqa: E402

TARGET = "langgraph:langgraph_shop:agent"


def test_state_goes_in_and_comes_out() -> None:
    """The initial state is merged into the graph's, is carried from message to message, and comes out at the end."""
    one = recorded("langgraph:langgraph_shop:counting", "hello", "again", session=SessionInput(state={"visits": 4}))
    assert one.trace.final_state == {"visits": 6}
    assert [invocation.reply for invocation in one.trace.invocations] == ["Welcome.", "Welcome."]


def test_thoughts_are_no_part_of_the_reply() -> None:
    """Reasoning blocks are thoughts."""
    (invocation,) = recorded(TARGET, "think").trace.invocations
    assert invocation.steps == (Thought("Who knows?", "shop"),)
    assert invocation.reply == "I do."


def test_the_status_of_a_tool_message_is_read() -> None:
    """A result with the status `error` is an error, whatever its text says."""
    (invocation,) = recorded("langgraph_shop:failing", "hello").trace.invocations
    assert [step.is_error for step in invocation.steps or () if isinstance(step, ToolResult)] == [True]


def test_a_graph_that_remembers_has_a_thread_for_each_conversation() -> None:
    """A graph with a checkpointer gets new messages only, and keeps nothing of a conversation that ended."""
    one = recorded("langgraph_shop:remembering", "Where is A-17?", "Cancel B-42")
    assert [invocation.reply for invocation in one.trace.invocations] == [
        "Your teapot is shipped.",
        "Order B-42 is cancelled.",
    ]
    assert not importlib.import_module("langgraph_shop").saver.storage


def test_a_graph_that_asks_is_answered_by_the_next_message() -> None:
    """An interrupt is the reply, and the user's next message resumes the graph."""
    one = recorded("langgraph_shop:asking", "hello", "the blue one")
    assert [invocation.reply for invocation in one.trace.invocations] == ["Which one?", "You chose the blue one."]


def ask_colour() -> str:
    """Ask by a helper of a node."""
    return str(interrupt("Which one?"))


def ask_by_import(_: Any) -> dict[str, Any]:
    """Ask with an import inside of the function."""
    from langgraph.types import interrupt as ask

    return {"messages": [AIMessage(f"You chose {ask('Which one?')}.")]}


def ask_by_module(_: Any) -> dict[str, Any]:
    """Ask by the module of LangGraph."""
    return {"messages": [AIMessage(f"You chose {langgraph.types.interrupt('Which one?')}.")]}


class Asking:
    """A node whose method calls another one."""

    def ask(self) -> str:
        """Ask."""
        return str(interrupt("Which one?"))

    def confirm(self, _: Any) -> dict[str, Any]:
        """Reply with the answer."""
        return {"messages": [AIMessage(f"You chose {self.ask()}.")]}


def asking_graph(node: Any) -> Any:
    """A graph without a checkpointer."""
    return StateGraph(State).add_node("confirm", node).add_edge(START, "confirm").compile()


@tool("get_order")  # type: ignore[untyped-decorator]
def ask_in_tool(order_id: str) -> str:
    """Look up an order after a question."""
    return f"{order_id} in {interrupt('Which one?')} is lost"


@entrypoint()  # type: ignore[untyped-decorator]
def asking_workflow(messages: list[BaseMessage]) -> AIMessage:
    """Ask without a checkpointer."""
    assert messages[-1].text == "hello"
    return AIMessage(f"You chose {interrupt('Which one?')}.")


WITHOUT_CHECKPOINTER: dict[str, Any] = {
    "helper": asking_graph(lambda _: {"messages": [AIMessage(f"You chose {ask_colour()}.")]}),
    "import": asking_graph(ask_by_import),
    "module": asking_graph(ask_by_module),
    "method": asking_graph(Asking().confirm),
    "inner graph": asking_graph(asking_graph(ask_by_module)),
    "workflow": asking_workflow,
}


@pytest.mark.parametrize("name", WITHOUT_CHECKPOINTER)
def test_a_graph_that_asks_without_a_checkpointer_gets_one(name: str) -> None:
    """A server such as LangGraph Platform would bring it."""
    one = recorded(WITHOUT_CHECKPOINTER[name], "hello", "the blue one")
    assert one.failure is None, one.failure
    assert [invocation.reply for invocation in one.trace.invocations] == ["Which one?", "You chose the blue one."]


def test_a_tool_that_asks_without_a_checkpointer_is_answered() -> None:
    """The result of the tool holds the answer."""
    one = recorded(create_agent(ScriptedChat(), tools=[ask_in_tool]), "Where is A-17?", "blue")
    assert one.failure is None, one.failure
    results = [step.response for step in one.trace.invocations[1].steps or () if isinstance(step, ToolResult)]
    assert results == ["A-17 in blue is lost"]


def test_a_graph_that_asks_out_of_sight_is_no_fault_of_the_agent() -> None:
    """A registry hides the question. Without a checkpointer, the answer cannot come."""
    registry = types.SimpleNamespace(ask=ask_by_module)
    one = recorded(asking_graph(lambda state: registry.ask({**state})), "hello", "the blue one")
    assert one.failure is not None
    assert one.failure.side == "infrastructure"
    assert "without a checkpointer" in one.failure.cause


class Proxy:
    """An object such as the request of Flask, which refuses to be looked at outside of a request."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"no request for {name}")


REQUEST = Proxy()


def test_a_proxy_in_the_code_of_a_graph_is_left_alone() -> None:
    """The search for questions calls no code of the user."""

    def greet(_: Any) -> dict[str, Any]:
        return {"messages": [AIMessage("Welcome." if type(REQUEST) is Proxy else "Who?")]}

    assert recorded(asking_graph(greet), "hello").trace.invocations[0].reply == "Welcome."


def test_a_graph_that_never_asks_keeps_its_state_without_a_checkpointer() -> None:
    """The whole state goes from message to message, also if its messages have no reducer."""
    seen = []

    def look(state: Any) -> dict[str, Any]:
        seen.append(len(state["messages"]))
        return {"messages": [*state["messages"], AIMessage("Welcome.")]}

    class Plain(TypedDict):
        messages: list[AnyMessage]

    recorded(StateGraph(Plain).add_node("look", look).add_edge(START, "look").compile(), "hello", "again")
    assert seen == [1, 3]


def test_questions_at_once_are_one_reply() -> None:
    """Two interrupted nodes ask in one reply, and the next message answers both."""
    first, second = recorded("langgraph_shop:asking_twice", "hello", "the blue one").trace.invocations
    assert first.reply == "Which one?\nWhich one?"
    said = [step.text for step in second.steps or () if isinstance(step, Message)] + [second.reply]
    assert said == ["You chose the blue one."] * 2


def test_a_graph_that_keeps_its_latest_message_only_is_heard() -> None:
    """A message without an id, in the place of the one before, is another message."""
    one = recorded("langgraph_shop:forgetful", "hello", "again")
    assert [invocation.reply for invocation in one.trace.invocations] == ["Welcome.", "Welcome."]


def test_a_runnable_is_talked_to_with_its_messages() -> None:
    """A chain of prompt and model gets the conversation so far."""
    one = recorded("langgraph_shop:chain", "hello", "again")
    assert [invocation.reply for invocation in one.trace.invocations] == ["You said: hello", "You said: again"]
    about = one.trace.invocations[0].about
    assert about is not None
    assert about.agents[0].instructions == INSTRUCTIONS


def test_a_graph_declares_the_tools_of_all_its_models() -> None:
    """Each node asks its model with tools of its own; no other node's tool is missing."""
    about = recorded("langgraph_shop:two_models", "hello").trace.invocations[0].about
    assert about is not None
    assert [one.tool_names for one in about.agents] == [("get_order", "cancel_order")]


def test_a_chain_may_return_a_record() -> None:
    """Its JSON is the reply."""
    chain = RunnableLambda(lambda state: {"said": state["messages"][-1].text})
    assert recorded(chain, "hello").trace.invocations[0].reply == '{"said":"hello"}'


def test_messages_of_another_kind_are_named() -> None:
    """A list of dictionaries is no list of messages."""
    one = recorded(RunnableLambda(lambda _: {"messages": [{"role": "assistant", "content": "Hi."}]}), "hello")
    assert one.failure is not None
    assert "it holds 'messages' of another kind: list of dict" in one.failure.cause


def calling_workflow(**options: Any) -> Any:
    """The agent of LangGraph's functional API: a task for the model, a task for each call of a tool."""

    @task  # type: ignore[untyped-decorator]
    def call_model(messages: list[BaseMessage]) -> BaseMessage:
        return ScriptedChat().invoke(messages)

    @task  # type: ignore[untyped-decorator]
    def call_tool(call: Any) -> ToolMessage:
        result = json.dumps(TOOLS[call["name"]](**call["args"]))
        return ToolMessage(result, name=call["name"], tool_call_id=call["id"])

    def shop(messages: list[BaseMessage], previous: Any = None) -> Any:
        messages = add_messages(previous or [], messages)
        reply = call_model(messages).result()
        while reply.tool_calls:
            results = [call_tool(call).result() for call in reply.tool_calls]
            messages = add_messages(messages, [reply, *results])
            reply = call_model(messages).result()
        return entrypoint.final(value=reply, save=add_messages(messages, [reply]))

    return entrypoint(**options)(shop)


@pytest.mark.parametrize("options", [{}, {"checkpointer": InMemorySaver()}])
def test_a_workflow_of_functions_is_recorded_as_a_graph_is(options: dict[str, Any]) -> None:
    """With its calls and results, whether it keeps the conversation itself or not."""
    run = fairtrial.evaluate(EVAL_SET, calling_workflow(**options), CRITERIA)
    assert run.verdict == "passed"
    ((_, recording),) = run.recordings
    _, second = recording.trace.invocations
    kinds = [type(step) for step in second.steps or ()]
    assert kinds == [Message, ToolCall, ToolResult, ToolCall, ToolResult]


def test_a_workflow_may_take_and_return_texts() -> None:
    """As the first examples of LangGraph's documentation do."""

    @entrypoint()  # type: ignore[untyped-decorator]
    def echo(text: str) -> str:
        return f"You said: {text}"

    (invocation,) = recorded(echo, "hello").trace.invocations
    assert invocation.reply == "You said: hello"


class Conversation(TypedDict):
    """A state of a workflow."""

    messages: list[BaseMessage]


class Topic(TypedDict):
    """A state without messages."""

    topic: str


TAKES: dict[str, tuple[Any, str]] = {
    "list": (list[BaseMessage], "list of HumanMessage"),
    "abstract list": (Sequence[AnyMessage], "list of HumanMessage"),
    "annotated list": (Annotated[list[AnyMessage], add_messages], "list of HumanMessage"),
    "optional list": (list[BaseMessage] | None, "list of HumanMessage"),
    "text": ("list[BaseMessage]", "list of HumanMessage"),
    "anything": (Any, "list of HumanMessage"),
    "one message": (BaseMessage, "HumanMessage"),
    "record": (Conversation, "dict of str"),
    "dictionary": (dict[str, Any], "dict of str"),
    "string": (str, "str of str"),
}


@pytest.mark.parametrize("kind", TAKES)
def test_a_workflow_gets_what_its_parameter_wants(kind: str) -> None:
    """The annotation tells, or the name of the parameter."""
    annotation, expected = TAKES[kind]

    def tell(messages: Any) -> str:
        return f"{type(messages).__name__}" + (
            f" of {type(next(iter(messages))).__name__}" * hasattr(messages, "__len__")
        )

    tell.__annotations__["messages"] = annotation
    assert recorded(entrypoint()(tell), "hello").trace.invocations[0].reply == expected


@pytest.mark.parametrize("annotation", [int, list[str], Topic])
def test_a_workflow_that_takes_no_conversation_is_refused_before_the_run(annotation: Any) -> None:
    """The message says what the parameter is."""

    def count(topic: Any) -> str:
        return str(topic)

    count.__annotations__["topic"] = annotation
    with pytest.raises(UsageError, match=r"must take a text, a message.*'topic'"):
        find_agent(entrypoint()(count))


def test_a_workflow_may_ask_the_user() -> None:
    """The question is the reply, and the next message goes on with the workflow."""

    @entrypoint(checkpointer=InMemorySaver())  # type: ignore[untyped-decorator]
    def essay(messages: list[BaseMessage]) -> AIMessage:
        return AIMessage(f"{messages[-1].text}: {interrupt('Shall I?')}")

    asked, answered = recorded(essay, "Write", "yes").trace.invocations
    assert (asked.reply, answered.reply) == ("Shall I?", "Write: yes")
