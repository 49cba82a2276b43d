"""The way back to a supervisor of LangGraph is no call, whoever tells of it."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from chat_server import ChatServer, completion
from shop import CRITERIA, saying

import fairtrial

pytestmark = [pytest.mark.agents, pytest.mark.filterwarnings("ignore:create_react_agent:DeprecationWarning")]
pytest.importorskip("langgraph_supervisor")
pytest.importorskip("openinference.instrumentation.langchain")

from langchain.agents import create_agent  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402
from langgraph_supervisor import create_supervisor  # noqa: E402


def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


def _call(name: str, args: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(args)}
    calls = [{"id": f"call-{name}", "type": "function", "function": function}]
    return completion({"role": "assistant", "content": None, "tool_calls": calls})


def _answer(body: dict[str, Any]) -> dict[str, Any]:
    """Answer as the supervisor, or as the agent that adds."""
    contents = [str(message.get("content")) for message in body["messages"]]
    if any(tool["function"]["name"] == "add" for tool in body["tools"]):
        is_done = contents[-1] == "3.0"
        return completion({"role": "assistant", "content": "It is 3."}) if is_done else _call("add", {"a": 1, "b": 2})
    if any("transferred back" in content for content in contents):
        return completion({"role": "assistant", "content": "The sum is 3."})
    return _call("transfer_to_math", {})


@pytest.mark.parametrize("source", ["messages", "spans"])
def test_the_way_back_to_a_supervisor_is_no_call(source: Literal["messages", "spans"]) -> None:
    """The history that the supervisor's model gets holds a call that no model made."""
    with ChatServer(_answer) as server:
        model = ChatOpenAI(model="scripted", base_url=server.url, api_key="none")
        math = create_agent(model, [add], name="math")
        graph = create_supervisor([math], model=model).compile()
        run = fairtrial.evaluate(saying("1 + 2?"), graph, CRITERIA, record=source)
    ((_, recording),) = run.recordings
    assert recording.failure is None
    (invocation,) = recording.trace.invocations
    assert [call.name for call in invocation.tool_calls] == ["transfer_to_math", "add"]
    assert invocation.reply == "The sum is 3."
    assert len(invocation.usages or ()) == 4
    assert recording.trace.incomplete == ""


def test_a_function_that_asks_a_supervisor_is_recorded_without_the_way_back() -> None:
    """Its reply is the text of a message, which is of a class of LangChain's."""
    with ChatServer(_answer) as server:
        model = ChatOpenAI(model="scripted", base_url=server.url, api_key="none")
        graph = create_supervisor([create_agent(model, [add], name="math")], model=model).compile()

        def ask(query: str) -> str:
            return graph.invoke({"messages": [("user", query)]})["messages"][-1].text  # type: ignore[no-any-return]

        run = fairtrial.evaluate(saying("1 + 2?"), ask, CRITERIA, record="spans")
    ((_, recording),) = run.recordings
    assert recording.failure is None
    (invocation,) = recording.trace.invocations
    assert [call.name for call in invocation.tool_calls] == ["transfer_to_math", "add"]
    assert recording.trace.incomplete == ""
