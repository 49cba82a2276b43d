"""Route tool calls of a LangGraph graph to an environment through copies of its tool nodes."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from fairtrial.agents.plain import as_text, plain
from fairtrial.agents.routing import route_call
from fairtrial.formats.message_entries import read_response
from fairtrial.records.trace import ToolCall
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.protocols import Environment
    from fairtrial.records.record import Json

EXTRA = "agents-langgraph"
_LET_THROUGH: ContextVar[str] = ContextVar("_LET_THROUGH", default="")


def is_let_through(call_id: str) -> bool:
    """Whether an environment lets the tool itself answer a call. A call inside of this tool has another id."""
    return bool(call_id) and _LET_THROUGH.get() == call_id


def has_tools(runnable: Any) -> bool:
    """Whether a graph, or a graph inside it, has a `ToolNode`. For example, a graph of `create_agent` has one."""
    nodes = getattr(runnable, "nodes", {})
    if not isinstance(nodes, dict):
        return False
    bound = [getattr(node, "bound", None) for node in nodes.values()]
    return any(_is_tool_node(node) or has_tools(node) for node in bound)


def tools_of_graphs(graph: Any, name: str) -> Iterator[tuple[str, list[dict[str, Json]]]]:
    """Yield each graph that has tool nodes with its name and their tools: the graph itself, and the graphs inside it.

    A graph inside another graph has its own name, or the name of its node.
    """
    nodes = getattr(graph, "nodes", {})
    bound: dict[str, Any] = (
        {key: getattr(node, "bound", None) for key, node in nodes.items()} if isinstance(nodes, dict) else {}
    )
    tools = [
        _read_declared(tool) for node in bound.values() if _is_tool_node(node) for tool in node.tools_by_name.values()
    ]
    if tools:
        yield name, tools
    for key, node in bound.items():
        if has_tools(node):
            own_name = getattr(node, "name", None)
            yield from tools_of_graphs(node, str(own_name if own_name not in (None, "LangGraph") else key))


def route_graph(graph: Any, environment: Environment) -> Any:
    """Return a copy of a graph, and of the graphs inside it, with tool nodes that an environment answers."""
    nodes: dict[str, Any] = {}
    for name, node in graph.nodes.items():
        if _is_tool_node(node.bound):
            nodes[name] = node.copy({"bound": _route_node(node.bound, environment)})
        elif has_tools(node.bound):
            inner = route_graph(node.bound, environment)
            nodes[name] = node.copy({"bound": inner, "subgraphs": [inner]})
        else:
            nodes[name] = node
    return graph.copy({"nodes": nodes})


def _is_tool_node(thing: Any) -> bool:
    return hasattr(thing, "tools_by_name") and hasattr(thing, "_awrap_tool_call")


def _route_node(node: Any, environment: Environment) -> Any:
    """Return a copy of a tool node that an environment answers. The user's own wrappers run around the environment."""
    copied = copy.copy(node)
    copied.func, copied.afunc = copied._func, copied._afunc  # noqa: SLF001  (bound to the original otherwise)
    user_async, user_sync = node._awrap_tool_call, node._wrap_tool_call  # noqa: SLF001

    async def around(request: Any, execute: Callable[[Any], Awaitable[Any]]) -> Any:
        async def answer(request: Any) -> Any:
            return await _answer(request, execute, environment)

        if user_async is not None:
            return await user_async(request, answer)
        if user_sync is not None:
            loop = asyncio.get_running_loop()
            return await asyncio.to_thread(
                user_sync, request, lambda inner: asyncio.run_coroutine_threadsafe(answer(inner), loop).result()
            )
        return await answer(request)

    copied._awrap_tool_call = around  # noqa: SLF001
    return copied


async def _answer(request: Any, execute: Callable[[Any], Awaitable[Any]], environment: Environment) -> Any:
    """Return the output of the tool, a message or a command, with the environment's answer in its place."""
    raw_call = request.tool_call
    call = ToolCall(raw_call["name"], plain(raw_call["args"]), raw_call["id"] or "")
    outputs: list[Any] = []

    async def real() -> Any:
        _LET_THROUGH.set(call.id)
        outputs.append(await execute(request))
        return outputs[-1]

    declared = {"name": call.name} if request.tool is None else _read_declared(request.tool)
    answer = await route_call(environment, call, declared, real, as_json=lambda output: response_in(output, call.id))
    if answer.own:
        return answer.value
    message = import_extra("langchain_core.messages", EXTRA).ToolMessage(
        as_text(answer.value), name=call.name, tool_call_id=raw_call["id"]
    )
    return _with_message(outputs[-1], message) if outputs else message


def _read_declared(tool: Any) -> dict[str, Json]:
    convert = import_extra("langchain_core.utils.function_calling", EXTRA).convert_to_openai_tool
    return declaration(plain(convert(tool)))


def declaration(tool: dict[str, Any]) -> dict[str, Any]:
    """Return a tool as it was declared to the model, without the envelope of the provider."""
    function = tool.get("function")
    declared: dict[str, Any] = plain(function if isinstance(function, dict) else tool)
    for name in ("parameters", "input_schema"):
        if name in declared:
            declared["parameters_json_schema"] = declared.pop(name)
    return declared


def _messages(output: Any) -> list[Any]:
    """Return the messages in the output of a tool: a message, a command with an update, or a list of these."""
    if isinstance(output, list):
        return [message for item in output for message in _messages(item)]
    update = getattr(output, "update", None)
    if isinstance(update, dict):
        return list(update.get("messages") or [])
    return [output]


def response_in(output: Any, call_id: str) -> Json:
    """Return the answer in the output of a tool: the text of the message with the id of the call."""
    for message in _messages(output):
        if getattr(message, "tool_call_id", None) == call_id:
            return read_response(str(message.text))
    return None


def _with_message(output: Any, message: Any) -> Any:
    """Return the output of a tool with another message to the same call. Other updates of a command stay."""
    if isinstance(output, list):
        return [_with_message(item, message) for item in output]
    if getattr(output, "tool_call_id", None) == message.tool_call_id:
        return message
    update = getattr(output, "update", None)
    if isinstance(update, dict) and "messages" in update:
        messages = [_with_message(item, message) for item in update["messages"]]
        return dataclasses.replace(output, update={**update, "messages": messages})
    return output
