"""Where does a graph of LangGraph call its tools, and how does an environment come to stand before them?"""

from __future__ import annotations

import asyncio
import copy
import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any

from fairtrial.agents.plain import as_text, plain
from fairtrial.agents.routing import routed
from fairtrial.formats.messages import response_of
from fairtrial.importing import import_extra
from fairtrial.protocols import Environment
from fairtrial.records.record import Json
from fairtrial.records.trace import ToolCall

EXTRA = "agents-langgraph"


def has_tools(runnable: Any) -> bool:
    """Whether a graph, or one in it, has a `ToolNode`; that of `create_agent` is one."""
    nodes = getattr(runnable, "nodes", {})
    if not isinstance(nodes, dict):
        return False
    bound = [getattr(node, "bound", None) for node in nodes.values()]
    return any(_is_tool_node(one) or has_tools(one) for one in bound)


def routed_graph(graph: Any, environment: Environment) -> Any:
    """Return a copy of a graph, and of the graphs in it, whose tool nodes ask an environment."""
    nodes: dict[str, Any] = {}
    for name, node in graph.nodes.items():
        if _is_tool_node(node.bound):
            nodes[name] = node.copy({"bound": _routed_node(node.bound, environment)})
        elif has_tools(node.bound):
            inner = routed_graph(node.bound, environment)
            nodes[name] = node.copy({"bound": inner, "subgraphs": [inner]})
        else:
            nodes[name] = node
    return graph.copy({"nodes": nodes})


def _is_tool_node(thing: Any) -> bool:
    return hasattr(thing, "tools_by_name") and hasattr(thing, "_awrap_tool_call")


def _routed_node(node: Any, environment: Environment) -> Any:
    """A copy of a tool node; the wrappers that the user gave it stand around the environment."""
    copied = copy.copy(node)
    copied.func, copied.afunc = copied._func, copied._afunc  # noqa: SLF001  (bound to the original otherwise)
    own_async, own_sync = node._awrap_tool_call, node._wrap_tool_call  # noqa: SLF001

    async def around(request: Any, execute: Callable[[Any], Awaitable[Any]]) -> Any:
        async def asked(request: Any) -> Any:
            return await _answered(request, execute, environment)

        if own_async is not None:
            return await own_async(request, asked)
        if own_sync is not None:
            loop = asyncio.get_running_loop()
            return await asyncio.to_thread(
                own_sync, request, lambda one: asyncio.run_coroutine_threadsafe(asked(one), loop).result()
            )
        return await asked(request)

    copied._awrap_tool_call = around  # noqa: SLF001
    return copied


async def _answered(request: Any, execute: Callable[[Any], Awaitable[Any]], environment: Environment) -> Any:
    """What the tool gives, a message or a command; where its answer was changed, with the other answer in it."""
    made = request.tool_call
    call = ToolCall(made["name"], plain(made["args"]), made["id"] or "")
    given: list[Any] = []

    async def real() -> Any:
        given.append(await execute(request))
        return given[-1]

    declared = {"name": call.name} if request.tool is None else _declared(request.tool)
    answer = await routed(environment, call, declared, real, as_json=lambda output: _response(output, call.id))
    if answer.own:
        return answer.value
    message = import_extra("langchain_core.messages", EXTRA).ToolMessage(
        as_text(answer.value), name=call.name, tool_call_id=made["id"]
    )
    return _with_message(given[-1], message) if given else message


def _declared(tool: Any) -> dict[str, Json]:
    convert = import_extra("langchain_core.utils.function_calling", EXTRA).convert_to_openai_tool
    return declaration(plain(convert(tool)))


def declaration(tool: dict[str, Any]) -> dict[str, Any]:
    """A tool as it was declared to the model, out of the envelope that each provider puts around it."""
    function = tool.get("function")
    declared: dict[str, Any] = plain(function if isinstance(function, dict) else tool)
    for name in ("parameters", "input_schema"):
        if name in declared:
            declared["parameters_json_schema"] = declared.pop(name)
    return declared


def _messages(output: Any) -> list[Any]:
    """The messages in what a tool gave: one, or those of a command's update, or those of several outputs."""
    if isinstance(output, list):
        return [message for one in output for message in _messages(one)]
    update = getattr(output, "update", None)
    if isinstance(update, dict):
        return list(update.get("messages") or [])
    return [output]


def _response(output: Any, call_id: str) -> Json:
    """The answer in what a tool gave: the text of the message to the call."""
    for message in _messages(output):
        if getattr(message, "tool_call_id", None) == call_id:
            return response_of(str(message.text))
    return None


def _with_message(output: Any, message: Any) -> Any:
    """What a tool gave, with another message to the same call; what else a command changes, it changes still."""
    if isinstance(output, list):
        return [_with_message(one, message) for one in output]
    if getattr(output, "tool_call_id", None) == message.tool_call_id:
        return message
    update = getattr(output, "update", None)
    if isinstance(update, dict) and "messages" in update:
        messages = [_with_message(one, message) for one in update["messages"]]
        return dataclasses.replace(output, update={**update, "messages": messages})
    return output
