"""Copies of agents of the OpenAI Agents SDK whose tools an environment answers, and hooks that report a run."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fairtrial.agents.nested_runs import ToolAtWork, current_tool, tool_at_work
from fairtrial.agents.observers.openai_items import EXTRA, declaration, find_model, read_steps, read_usage
from fairtrial.agents.outages import describe_failure
from fairtrial.agents.plain import as_response, as_text, plain
from fairtrial.agents.routing import describe_object, route_call
from fairtrial.agents.stopwatch import Stopwatch
from fairtrial.formats.message_entries import read_arguments
from fairtrial.records.trace import AgentDetails, Message, ToolCall, ToolResult, Usage
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.protocols import Environment, Item

_ON_HANDLED_ERROR = "_on_handled_error"
_DEFAULT_FAILURE = "An error occurred while running the tool."
"""The text that the SDK makes of the exception of a tool, unless the tool has a function for it."""


class Routing:
    """Makes copies of agents with tools that an environment answers. Handovers go to copies as well.

    `edits` are arguments that a user gave instead of the agent's, by the id of the call. `works` are the tools that
    have worked, by the id of the call, with the agents inside them. `agents` are the agents of the latest run.
    """

    def __init__(self, environment: Environment | None) -> None:
        self.edits: dict[str, str] = {}
        self.works: dict[str, ToolAtWork] = {}
        self.agents: dict[str, AgentDetails] = {}
        self._environment = environment
        self._copies: dict[int, Any] = {}
        self._originals: list[Any] = []

    def agent(self, agent: Any) -> Any:
        """Return the copy of an agent. Each agent is copied once, because agents may hand over in circles."""
        if id(agent) in self._copies:
            return self._copies[id(agent)]
        copied = agent.clone(tools=[self._tool(tool) for tool in agent.tools])
        self._copies |= {id(agent): copied, id(copied): copied}
        self._originals.append(agent)  # an agent that is kept alive cannot lose its id to another object
        copied.handoffs = [self._handoff(handoff) for handoff in agent.handoffs]

        async def get_mcp_tools(context: Any) -> list[Any]:
            return [self._tool(tool) for tool in await agent.get_mcp_tools(context)]

        get_all_tools = copied.get_all_tools

        async def get_described_tools(context: Any) -> list[Any]:
            return [describe_object(self._environment, tool) for tool in await get_all_tools(context)]

        copied.get_mcp_tools = get_mcp_tools
        copied.get_all_tools = get_described_tools
        return copied

    def _handoff(self, handoff: Any) -> Any:
        if not hasattr(handoff, "on_invoke_handoff"):
            return self.agent(handoff)
        copied = copy.copy(handoff)

        async def on_invoke_handoff(context: Any, arguments: str) -> Any:
            return self.agent(await handoff.on_invoke_handoff(context, arguments))

        copied.on_invoke_handoff = on_invoke_handoff
        return copied

    def _tool(self, tool: Any) -> Any:
        """Return the copy of a tool that runs here. A tool that the provider runs stays as it is."""
        if not hasattr(tool, "on_invoke_tool"):
            return tool
        copied = copy.copy(tool)
        invoke = self._noting_failures(tool.on_invoke_tool)

        async def on_invoke_tool(context: Any, arguments: str) -> Any:
            call_id = str(context.tool_call_id)
            arguments = self.edits.get(call_id, arguments)
            call = ToolCall(tool.name, plain(read_arguments(arguments)), call_id)
            with tool_at_work(call, self._environment, self.agents) as self.works[call_id]:
                if self._environment is None:
                    return await invoke(context, arguments)
                real = functools.partial(invoke, context, arguments)
                answer = await route_call(self._environment, call, declaration(tool), real, as_json=as_response)
            # The SDK would write a dictionary with `str`, which is not JSON.
            return answer.value if answer.own else as_text(answer.value)

        copied.on_invoke_tool = on_invoke_tool
        return copied

    def _noting_failures(self, invoke: Any) -> Any:
        """Return a copy of the function that runs a tool, which notes the exceptions that the SDK makes texts."""
        original = getattr(invoke, _ON_HANDLED_ERROR, None)
        if original is None:
            return invoke

        def on_handled_error(function_tool: Any, error: Exception, *args: Any) -> Any:
            tool = current_tool()
            if tool is not None:
                tool.error = error
            return original(function_tool, error, *args)

        copied = copy.copy(invoke)
        setattr(copied, _ON_HANDLED_ERROR, on_handled_error)
        return copied


class Watch:
    """Turns the reports of the hooks into items."""

    def __init__(
        self,
        report: Callable[[Item], None],
        agents: dict[str, AgentDetails],
        open_calls: dict[str, ToolCall],
        works: dict[str, ToolAtWork],
    ) -> None:
        self.times = Stopwatch()
        self.agents = agents
        self.has_reply = False
        self.usages: list[Usage] = []
        self._report = report
        self._works = works
        self._open_calls = open_calls

    async def note_request(self, context: Any, agent: Any, instructions: str | None, inputs: list[Any]) -> None:
        """Note the request of an agent. Results without a hook, for example of a handover, are among its inputs."""
        for input_item in inputs:
            raw = input_item if isinstance(input_item, dict) else plain(input_item)
            if raw.get("type") == "function_call_output":
                self.note_result(str(raw.get("call_id")), raw.get("output"))
        if agent.name not in self.agents:
            declarations = tuple(map(declaration, [*await agent.get_all_tools(context), *agent.handoffs]))
            self.agents[agent.name] = AgentDetails(agent.name, instructions or "", declarations)
        self.times.start("model", agent.name)

    def note_response(self, agent: Any, response: Any) -> None:
        """Note the response of a model."""
        self.times.end("model", agent.name)
        usage = read_usage(response.usage, find_model(agent))
        self.usages.append(usage)
        self._report(usage)
        self.has_reply = False
        for output in response.output:
            for item in read_steps(plain(output), agent.name):
                if isinstance(item, Message):
                    self.has_reply = True
                elif isinstance(item, ToolCall):
                    self.has_reply = False
                    self._open_calls[item.id] = item
                elif isinstance(item, ToolResult):
                    self._open_calls.pop(item.id, None)
                self._report(item)

    def note_result(self, call_id: str, result: Any) -> None:
        """Note the result of a tool. The first report of a result counts."""
        call = self._open_calls.pop(call_id, None)
        if call is None:
            return
        work = self._works.pop(call_id, None)
        inner = work.inner if work is not None else None
        error = work.error if work is not None else None
        is_error = error is not None or str(result).startswith(_DEFAULT_FAILURE)
        response = as_response(result)
        if error is not None:
            # The text that the agent reads need not tell the failure, for example that a server was down.
            response = {"error": describe_failure(error), "result": response}
        self.usages += work.usages if work is not None else ()
        self._report(ToolResult(call.name, response, call_id, call.author, is_error=is_error, inner=inner))


def make_hooks(watch: Watch) -> Any:
    """Return hooks of the SDK that report to a watch.

    The class is defined in this function, because its base class is the SDK's, which is imported late.
    """
    base: Any = import_extra("agents.lifecycle", EXTRA).RunHooksBase

    class Hooks(base):  # type: ignore[misc]
        async def on_llm_start(self, context: Any, agent: Any, system_prompt: str | None, input_items: Any) -> None:
            await watch.note_request(context, agent, system_prompt, input_items)

        async def on_llm_end(self, _context: Any, agent: Any, response: Any) -> None:
            watch.note_response(agent, response)

        async def on_tool_start(self, context: Any, _agent: Any, _tool: Any) -> None:
            watch.times.start("tool", str(getattr(context, "tool_call_id", "")))

        async def on_tool_end(self, context: Any, _agent: Any, _tool: Any, result: object) -> None:
            call_id = str(getattr(context, "tool_call_id", ""))
            watch.times.end("tool", call_id)
            watch.note_result(call_id, result)

    return Hooks()
