"""The graphs of a LangGraph server. The server brings the checkpointer, so that none of them has its own."""

from __future__ import annotations

import asyncio
from typing import Any, TypedDict

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from langgraph_shop import ScriptedChat, State, agent, counting, forgetful, noting, silent
from pydantic import BaseModel
from shop import INSTRUCTIONS, TOOLS

__all__ = ["GRAPHS", "agent", "counting", "forgetful", "noting", "silent"]

GRAPHS = (
    "agent",
    "asking",
    "breaking",
    "counting",
    "deciding",
    "endless",
    "forgetful",
    "made",
    "noting",
    "pausing",
    "refusing",
    "silent",
    "stopping",
    "structured",
    "telling",
    "workflow",
)
_tools = list(TOOLS.values())
stopping = create_agent(ScriptedChat(), tools=_tools, interrupt_before=["tools"])
deciding = create_agent(
    ScriptedChat(), tools=_tools, middleware=[HumanInTheLoopMiddleware(interrupt_on={"cancel_order": True})]
)


class Order(BaseModel):
    """The state of an order."""

    item: str


class Answering(ScriptedChat):
    """A model that gives its answer by a call of the tool that LangChain makes of the schema."""

    def _generate(self, messages: list[Any], *_: Any, **__: Any) -> ChatResult:
        result = super()._generate(messages)
        message = result.generations[0].message
        if message.text:
            call = {"name": "Order", "args": {"item": "teapot"}, "id": f"order-{len(messages)}"}
            result.generations[0].message = AIMessage("", tool_calls=[call])
        return result


structured = create_agent(Answering(), tools=_tools, response_format=ToolStrategy(Order))


def _asks(about: str) -> Any:
    return lambda _: {"messages": [AIMessage(f"Your {about}: {interrupt(f'Which {about}?')}.")]}


asking = (
    StateGraph(State)
    .add_node("colour", _asks("colour"))
    .add_node("size", _asks("size"))
    .add_edge(START, "colour")
    .add_edge(START, "size")
    .compile()
)


def _says(text: str) -> Any:
    return lambda _: {"messages": [AIMessage(text)]}


pausing = (
    StateGraph(State).add_sequence([("greet", _says("Welcome.")), ("part", _says("Goodbye."))]).add_edge(START, "greet")
).compile(interrupt_after=["greet"])


class Context(TypedDict, total=False):
    """What a run is told beside the conversation."""

    tone: str


def _tell(_: MessagesState, config: RunnableConfig, runtime: Runtime[Context]) -> dict[str, Any]:
    tone = (runtime.context or {}).get("tone")
    return {"messages": [AIMessage(f"tone {tone}, model {config['configurable'].get('model')}")]}


telling = StateGraph(MessagesState, context_schema=Context).add_node("tell", _tell).add_edge(START, "tell").compile()


async def _wait(_: Any) -> None:
    await asyncio.Event().wait()


endless = (
    StateGraph(State)
    .add_sequence([("greet", _says("One moment.")), ("wait", _wait)])
    .add_edge(START, "greet")
    .compile()
)


class APIConnectionError(Exception):
    """What a client of a provider raises if nobody answers."""


def _raises(error: Exception) -> Any:
    def node(_: Any) -> None:
        raise error

    return node


def _failing(error: Exception) -> Any:
    nodes = [("greet", _says("One moment.")), ("fail", _raises(error))]
    return StateGraph(State).add_sequence(nodes).add_edge(START, "greet").compile()


breaking = _failing(ValueError("the shelf is empty"))
refusing = _failing(APIConnectionError("no answer"))


@entrypoint()  # type: ignore[untyped-decorator]
def workflow(state: dict[str, list[AnyMessage]]) -> dict[str, list[AnyMessage]]:
    """Return messages, whose answer has no id."""
    return {"messages": [*state["messages"], AIMessage("Welcome.")]}


async def made(config: RunnableConfig) -> Any:
    """Make the graph of a run by its configuration."""
    name = config["configurable"].get("shop")
    return create_agent(ScriptedChat(), tools=_tools, system_prompt=INSTRUCTIONS, name=name)
