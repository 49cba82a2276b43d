"""How is an agent of the OpenAI Agents SDK talked to? A run for each message, watched through the SDK's hooks."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fairtrial.agents.plain import as_text, plain
from fairtrial.agents.routing import routed
from fairtrial.agents.stopwatch import Stopwatch
from fairtrial.errors import UsageError
from fairtrial.formats.messages import arguments_of, response_of
from fairtrial.importing import import_extra, import_object
from fairtrial.protocols import Environment, Item
from fairtrial.records.case import EvalCase
from fairtrial.records.record import Json
from fairtrial.records.trace import HANDOVER, About, AgentDetails, Message, Thought, ToolCall, ToolResult, Usage

EXTRA = "agents-openai"
_SPENT = ("id", "type", "status", "output", "name", "arguments", "call_id")


def agent_at(target: str) -> OpenAIAgent:
    """Return the agent at `openai-agents:MODULE:NAME`; raises UsageError."""
    import_extra("agents.lifecycle", EXTRA)
    path = target.partition(":")[2]
    found = import_object(path, path)
    if not hasattr(found, "get_all_tools"):
        raise UsageError(f"must be an agents.Agent, got {type(found).__name__}")
    return OpenAIAgent(path, found)


def agent_around(thing: Any) -> OpenAIAgent:
    """Return the agent that is one of the OpenAI Agents SDK."""
    return OpenAIAgent(thing.name, thing)


@dataclass(frozen=True, slots=True)
class OpenAIAgent:
    """An agent of the OpenAI Agents SDK. The case's initial state is the run's context, a dictionary.

    Where one agent hands over to another, the next message goes to that one.
    """

    path: str
    agent: Any = field(repr=False)

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[OpenAISession]:
        """Open a conversation."""
        agent = self.agent if environment is None else _Routing(environment).agent(self.agent)
        yield OpenAISession(agent, copy.deepcopy(case.session_input.state) if case.session_input else None)


class _Routing:
    """Copies of agents whose tools ask an environment; handovers go to copies as well."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._copies: dict[int, Any] = {}
        self._held: list[Any] = []

    def agent(self, agent: Any) -> Any:
        """Return the copy of an agent; agents may hand over to each other in circles."""
        if id(agent) in self._copies:
            return self._copies[id(agent)]
        copied = agent.clone(tools=[self._tool(tool) for tool in agent.tools])
        self._copies |= {id(agent): copied, id(copied): copied}
        self._held.append(agent)  # so that no other agent can get its id
        copied.handoffs = [self._handoff(one) for one in agent.handoffs]

        async def get_mcp_tools(context: Any) -> list[Any]:
            return [self._tool(tool) for tool in await agent.get_mcp_tools(context)]

        copied.get_mcp_tools = get_mcp_tools
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
        """The copy of a tool that runs here; what the provider runs stays as it is."""
        if not hasattr(tool, "on_invoke_tool"):
            return tool
        copied = copy.copy(tool)

        async def on_invoke_tool(context: Any, arguments: str) -> Any:
            call = ToolCall(tool.name, plain(arguments_of(arguments)), str(context.tool_call_id))
            answer = await routed(
                self._environment,
                call,
                _declaration(tool),
                lambda: tool.on_invoke_tool(context, arguments),
                as_json=_response,
            )
            return answer.value if answer.own else as_text(answer.value)  # else the SDK would write it as Python does

        copied.on_invoke_tool = on_invoke_tool
        return copied


def _response(result: Any) -> Json:
    """What a tool returned, as it is recorded."""
    value = plain(result)
    return response_of(value) if isinstance(value, str) else value


class OpenAISession:
    """One conversation; it carries the SDK's input items, and the agent that spoke last, from run to run."""

    def __init__(self, agent: Any, context: dict[str, Any] | None) -> None:
        self._agent = agent
        self._context = context
        self._history: list[Any] = []
        self._agents: dict[str, AgentDetails] = {}

    @property
    def about(self) -> About:
        """The agents that asked their model in the latest run, as they asked it, and the run's context."""
        return About(tuple(self._agents.values()), None if self._context is None else plain(self._context))

    async def send(self, message: str) -> AsyncIterator[Item]:
        """Run the agent, and yield what happens as it happens."""
        happened: asyncio.Queue[Item | None] = asyncio.Queue()
        watch = _Watch(happened)
        self._agents = watch.agents
        running = asyncio.create_task(self._run(message, watch))
        running.add_done_callback(lambda _: happened.put_nowait(None))
        try:
            while (item := await happened.get()) is not None:
                yield item
        finally:
            running.cancel()
            await asyncio.wait([running])
        result = running.result()
        self._agent, self._history = result.last_agent, result.to_input_list()
        if not watch.said:
            yield Message(as_text(result.final_output), self._agent.name)
        yield watch.times.durations

    async def _run(self, message: str, watch: _Watch) -> Any:
        runner = import_extra("agents", EXTRA).Runner
        said = {"role": "user", "content": message}
        return await runner.run(self._agent, [*self._history, said], context=self._context, hooks=_hooks(watch))


class _Watch:
    """Tells what the hooks hear."""

    def __init__(self, happened: asyncio.Queue[Item | None]) -> None:
        self.times = Stopwatch()
        self.agents: dict[str, AgentDetails] = {}
        self.said = False
        self._happened = happened
        self._waiting: dict[str, ToolCall] = {}

    async def asked(self, context: Any, agent: Any, instructions: str | None, inputs: list[Any]) -> None:
        """An agent asks its model; results that no tool's hook told of (of a handover, say) are among the inputs."""
        for one in inputs:
            raw = one if isinstance(one, dict) else plain(one)
            if raw.get("type") == "function_call_output":
                self.answered(str(raw.get("call_id")), raw.get("output"))
        if agent.name not in self.agents:
            declared = tuple(map(_declaration, [*await agent.get_all_tools(context), *agent.handoffs]))
            self.agents[agent.name] = AgentDetails(agent.name, instructions or "", declared)
        self.times.start("model", agent.name)

    def replied(self, agent: Any, response: Any) -> None:
        """A model replied."""
        self.times.end("model", agent.name)
        self._happened.put_nowait(_usage(response.usage, agent.model))
        self.said = False
        for output in response.output:
            for item in _steps(plain(output), agent.name):
                if isinstance(item, Message):
                    self.said = True
                elif isinstance(item, ToolCall):
                    self.said = False
                    self._waiting[item.id] = item
                elif isinstance(item, ToolResult):
                    self._waiting.pop(item.id, None)
                self._happened.put_nowait(item)

    def answered(self, call_id: str, result: Any) -> None:
        """A tool answered; the first that is heard of it counts."""
        call = self._waiting.pop(call_id, None)
        if call is not None:
            self._happened.put_nowait(ToolResult(call.name, _response(result), call_id, call.author))


def _steps(raw: dict[str, Any], author: str) -> list[Item]:
    """The steps that one output of a model stands for; tools that the provider runs are calls too."""
    kind = str(raw.get("type"))
    if kind == "message":
        texts = [part.get("text") or part.get("refusal") or "" for part in raw.get("content", [])]
        return [Message("".join(texts), author)]
    if kind == "reasoning":
        parts = [*(raw.get("summary") or []), *(raw.get("content") or [])]
        return [Thought("\n".join(str(part.get("text", "")) for part in parts), author)] if parts else []
    if not kind.endswith("_call"):
        return []
    call_id = str(raw.get("call_id") or raw.get("id") or "")
    name = raw.get("name") or kind.removesuffix("_call")
    own = {key: value for key, value in raw.items() if key not in _SPENT}
    call = ToolCall(name, arguments_of(raw["arguments"]) if "arguments" in raw else own, call_id, author)
    if raw.get("output") is None:
        return [call]
    return [call, ToolResult(name, plain(raw["output"]), call_id, author)]


def _usage(used: Any, model: Any) -> Usage:
    """Return the tokens of a model call; the output tokens include the reasoning tokens."""
    return Usage(
        used.input_tokens,
        used.output_tokens,
        getattr(used.output_tokens_details, "reasoning_tokens", None),
        getattr(used.input_tokens_details, "cached_tokens", None),
        model if isinstance(model, str) else str(getattr(model, "model", "")),
    )


def _declaration(tool: Any) -> dict[str, Any]:
    """How a tool, or an agent to hand over to, is declared to the model; of the latter we add which it is."""
    if hasattr(tool, "params_json_schema"):
        return _declared(tool.name, tool.description, tool.params_json_schema)
    if hasattr(tool, "on_invoke_handoff"):
        declared = _declared(tool.tool_name, tool.tool_description, tool.input_json_schema)
        return {**declared, HANDOVER: tool.agent_name}
    if hasattr(tool, "get_all_tools"):
        handoff = import_extra("agents", EXTRA).Handoff
        declared = _declared(handoff.default_tool_name(tool), handoff.default_tool_description(tool), {})
        return {**declared, HANDOVER: tool.name}
    return {"name": str(getattr(tool, "name", type(tool).__name__))}


def _declared(name: str, description: str, schema: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "parameters_json_schema": plain(schema)}


def _hooks(watch: _Watch) -> Any:
    """Hooks of the SDK that tell a watch; made here, because their class derives from one of the SDK's."""
    base: Any = import_extra("agents.lifecycle", EXTRA).RunHooksBase

    class Hooks(base):  # type: ignore[misc]
        async def on_llm_start(self, context: Any, agent: Any, system_prompt: str | None, input_items: Any) -> None:
            await watch.asked(context, agent, system_prompt, input_items)

        async def on_llm_end(self, _context: Any, agent: Any, response: Any) -> None:
            watch.replied(agent, response)

        async def on_tool_start(self, context: Any, _agent: Any, _tool: Any) -> None:
            watch.times.start("tool", str(getattr(context, "tool_call_id", "")))

        async def on_tool_end(self, context: Any, _agent: Any, _tool: Any, result: object) -> None:
            call_id = str(getattr(context, "tool_call_id", ""))
            watch.times.end("tool", call_id)
            watch.answered(call_id, result)

    return Hooks()
