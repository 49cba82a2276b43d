"""A plugin of Google's ADK that reports the models and tools of a run, and lets an environment answer the tools."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.agents.adk_events import declarations_of_tool, items_of_event, text_of_instruction
from fairtrial.agents.declarations import add_declarations
from fairtrial.agents.nested_runs import ToolAtWork, begin_tool, current_tool, end_tool
from fairtrial.agents.outages import describe_failure
from fairtrial.agents.plain import plain
from fairtrial.agents.routing import describe_declaration, route_call
from fairtrial.agents.stopwatch import Stopwatch
from fairtrial.records.trace import AgentDetails, Event, ToolCall, ToolResult
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.protocols import Environment, Item
    from fairtrial.records.record import Json

EXTRA = "agents-adk"
_STEERING = ("transfer_to_agent", "set_model_response", "finish_task")
_ROUTED = "routed_by_fairtrial"
"""The attribute of a copy of a tool that asks the environment."""
_RESPONSE_KEYS = ("content", "usage_metadata", "model_version")


class Watch:
    """The requests to the models in one invocation, and the times of models and tools."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin a new invocation."""
        self.agents: dict[str, AgentDetails] = {}
        self.times = Stopwatch()
        self._works: dict[str, ToolAtWork] = {}

    def note_response(self, name: str, response: Any) -> None:
        """Note the response of an agent inside a tool. It runs in a session of its own, and its events stay there."""
        tool = current_tool()
        if tool is None or response.partial:
            return
        raw = {"author": name, **plain(response.model_dump(exclude_none=True, include={*_RESPONSE_KEYS}))}
        tool.items += [item for item in items_of_event(raw, is_final=False) if not isinstance(item, Event)]

    def begin_tool(self, name: str, args: dict[str, Any], call_id: str, author: str) -> None:
        """Note the begin of a tool."""
        self.times.start("tool", call_id)
        begin_tool(ToolAtWork(ToolCall(name, plain(args), call_id, author), None, self.agents))

    def end_tool(self, call_id: str, response: Json, *, is_error: bool = False) -> None:
        """Note the end of a tool. The result of a tool inside another tool belongs to the other tool."""
        self.times.end("tool", call_id)
        tool = end_tool()
        if tool is None:
            return
        if tool.outer is None:
            self._works[call_id] = tool
            return
        call = tool.call
        result = ToolResult(call.name, response, call.id, call.author, is_error=is_error, inner=tool.inner)
        tool.outer.items.append(result)

    def with_inner(self, item: Item) -> Item:
        """Return the result of a tool with the work of the agents inside it. Other items stay as they are."""
        work = self._works.pop(item.id, None) if isinstance(item, ToolResult) else None
        return replace(item, inner=work.inner) if work is not None and isinstance(item, ToolResult) else item

    def note_request(self, name: str, request: Any) -> None:
        """Note the request of an agent. As in ADK, the instructions of its first request count, and all its tools."""
        config = request.config
        agent = self.agents.get(name) or AgentDetails(name, text_of_instruction(config.system_instruction))
        declarations = (declaration for tool in config.tools or () for declaration in declarations_of_tool(tool))
        self.agents[name] = add_declarations(agent, declarations)
        self.times.start("model", name)


def _route_tool(tool: Any, environment: Environment) -> Any:
    """Return a copy of a tool that an environment answers. Tools that only control ADK's flow stay as they are."""
    if tool.name in _STEERING:
        return tool
    copied = copy.copy(tool)

    async def run_async(*, args: dict[str, Any], tool_context: Any) -> Any:
        if await _waits(tool, args, tool_context):
            # The tool asks for the confirmation, or refuses, and does nothing else.
            return await tool.run_async(args=args, tool_context=tool_context)
        call = ToolCall(tool.name, plain(args), str(tool_context.function_call_id or ""))
        declaration = tool._get_declaration()  # noqa: SLF001  (ADK has no public name for it)
        declared = plain(declaration) if declaration is not None else {"name": tool.name}

        async def real() -> Any:
            return await tool.run_async(args=args, tool_context=tool_context)

        return (await route_call(environment, call, declared, real)).value

    copied.run_async = run_async
    setattr(copied, _ROUTED, True)
    return copied


async def _waits(tool: Any, args: dict[str, Any], tool_context: Any) -> bool:
    """Whether a call needs a confirmation that it does not have."""
    check = getattr(tool, "check_require_confirmation", None)
    if check is None or not await check(args, tool_context):
        return False
    confirmation = tool_context.tool_confirmation
    return confirmation is None or not confirmation.confirmed


def make_plugin(watch: Watch, environment: Environment | None) -> Any:
    """Return a plugin of ADK that reports to a watch, and lets an environment answer the tools of every agent.

    The class is defined in this function, because its base class is ADK's, which is imported late.
    """
    base: Any = import_extra("google.adk.plugins.base_plugin", EXTRA).BasePlugin

    class Watcher(base):  # type: ignore[misc]
        async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
            config = llm_request.config
            config.tools = config.tools and [describe_declaration(environment, tool) for tool in config.tools]
            watch.note_request(callback_context.agent_name, llm_request)
            if environment is not None:
                # Only the tools of the request are replaced, so that callbacks and confirmations still run around them.
                llm_request.tools_dict.update(
                    {name: _route_tool(tool, environment) for name, tool in llm_request.tools_dict.items()}
                )

        async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
            watch.times.end("model", callback_context.agent_name)
            watch.note_response(callback_context.agent_name, llm_response)

        async def on_model_error_callback(self, *, callback_context: Any, **_: Any) -> None:
            watch.times.end("model", callback_context.agent_name)

        async def before_tool_callback(self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any) -> Any:
            call_id = str(tool_context.function_call_id)
            watch.begin_tool(tool.name, tool_args, call_id, tool_context.agent_name)
            if environment is None or hasattr(tool, _ROUTED):
                return None
            # After a confirmation ADK calls the tool itself, without a request to the model.
            routed = _route_tool(tool, environment)
            if routed is tool:
                return None
            value = await routed.run_async(args=tool_args, tool_context=tool_context)
            return value if isinstance(value, dict) else {"result": value}

        async def after_tool_callback(self, *, tool_context: Any, result: Any = None, **_: Any) -> None:
            watch.end_tool(str(tool_context.function_call_id), plain(result))

        async def on_tool_error_callback(self, *, tool_context: Any, error: Any = None, **_: Any) -> None:
            watch.end_tool(str(tool_context.function_call_id), {"error": describe_failure(error)}, is_error=True)

    return Watcher(name="fairtrial")
