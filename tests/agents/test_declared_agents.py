"""The declarations of an agent are known before it speaks, and if it never speaks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from kinds import KINDS, every, reached, recorded
from shop import INSTRUCTIONS, get_order

from fairtrial.agents import find_agent
from fairtrial.protocols import DeclaresAgents
from fairtrial.records.case import EvalCase, SessionInput
from fairtrial.records.trace import About
from fairtrial.simulate.scenarios import describe_agent

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def declared(target: Any) -> About:
    """What a session tells before its first message."""

    async def tell() -> About:
        case = EvalCase("new", session_input=SessionInput(state={"name": "Kim"}))
        async with find_agent(target)(case, None) as session:
            assert isinstance(session, DeclaresAgents)
            return await session.declared()

    return asyncio.run(tell())


@every(lambda kind: not kind.remote and kind.module != "fairtrial")
def test_an_agent_is_known_before_it_speaks(kind: str) -> None:
    """The author of scenarios sees the instructions, and the tools with their purposes."""
    with reached(kind) as target:
        text = describe_agent(declared(target), "")
    assert "- tool get_order: Look up an order." in text
    assert "- tool cancel_order: Cancel an order." in text
    # The instructions of LangChain's agents are known to their model only.
    assert (INSTRUCTIONS in text) == (kind != "langgraph")
    assert KINDS[kind].author in text


@pytest.mark.agents
def test_handovers_are_known_before() -> None:
    """The agent that may take over is described as well."""
    pytest.importorskip("agents.lifecycle")
    from openai_shop import agent

    assert [one.name for one in declared(agent).agents] == ["shop", "cashier"]


@pytest.mark.agents
def test_a_graph_to_which_nobody_routes_is_known() -> None:
    """A router that does not route is the agent's fault: the tools behind it exist."""
    graphs = pytest.importorskip("langgraph.graph")
    from langchain.agents import create_agent
    from langchain_core.messages import AIMessage
    from langgraph_shop import ScriptedChat

    graph = graphs.StateGraph(graphs.MessagesState)
    graph.add_node("router", lambda _: {"messages": [AIMessage("I do it myself.")]})
    graph.add_node("orders", create_agent(ScriptedChat(), tools=[get_order]))
    graph.add_edge(graphs.START, "router").add_conditional_edges("router", lambda _: graphs.END, ["orders", graphs.END])
    (turn,) = recorded(graph.compile(), "Where is A-17?").trace.invocations
    assert turn.about is not None
    assert [(one.name, one.tool_names) for one in turn.about.agents] == [("orders", ("get_order",))]
