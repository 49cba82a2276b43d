"""Sessions with OpenAI Agents SDK agents. Each user message is a run, and hooks observe it."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fairtrial.agents.approvals import Approvals
from fairtrial.agents.factories import AgentSource
from fairtrial.agents.nested_runs import ToolAtWork, current_tool, observe_method, observe_unreached, tool_at_work
from fairtrial.agents.plain import as_text, plain
from fairtrial.agents.routing import route_call
from fairtrial.agents.stopwatch import Stopwatch
from fairtrial.agents.token_usage import token_usage
from fairtrial.agents.user_parts import responses_content
from fairtrial.formats.messages import arguments_of, response_of
from fairtrial.protocols import Environment, Item
from fairtrial.records.case import EvalCase
from fairtrial.records.record import Json
from fairtrial.records.trace import (
    HANDOVER,
    About,
    AgentDetails,
    Approval,
    Message,
    Part,
    Thought,
    ToolCall,
    ToolResult,
    Usage,
)
from fairtrial.system.importing import import_extra, import_object

EXTRA = "agents-openai"
_ON_HANDLED_ERROR = "_on_handled_error"
_DEFAULT_FAILURE = "An error occurred while running the tool."
"""The text that the SDK makes of the exception of a tool, unless the tool has a function for it."""
_COMMON_KEYS = ("id", "type", "status", "output", "name", "arguments", "call_id")


def agent_at(target: str) -> OpenAIAgent:
    """Return the agent at `openai-agents:MODULE:NAME`, or of the factory with this name. Raises UsageError."""
    import_extra("agents.lifecycle", EXTRA)
    path = target.partition(":")[2]
    return OpenAIAgent(path, _source(import_object(path, path)))


def agent_around(thing: Any) -> OpenAIAgent:
    """Return a session-opening agent for an agent of the OpenAI Agents SDK."""
    return OpenAIAgent(thing.name, _source(thing))


def _source(thing: Any) -> AgentSource:
    return AgentSource(thing, _is_agent, "an agents.Agent", ("context", "max_turns", "run_config", "session"))


def _is_agent(thing: Any) -> bool:
    return hasattr(thing, "get_all_tools") and not inspect.isclass(thing)


@dataclass(frozen=True, slots=True)
class OpenAIAgent:
    """An agent of the OpenAI Agents SDK. The case's initial state is the run's context, unless a factory gives another.

    If an agent hands over to another agent, the next message goes to the other agent.
    """

    path: str
    source: AgentSource = field(repr=False)

    def refuses_parts(self, parts: Sequence[Part]) -> str:  # noqa: ARG002
        """Return an empty text: the SDK has a place for pictures, sounds, files and their URLs."""
        return ""

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[OpenAISession]:
        """Open a conversation."""
        edits: dict[str, str] = {}
        async with self.source.open(case) as (original, options):
            routing = _Routing(environment, edits)
            state = copy.deepcopy(case.session_input.state) if case.session_input else None
            yield OpenAISession(routing.agent(original), {"context": state} | options, Approvals(case), routing)


def _target(handoff: Any) -> Any:
    """Return the agent that a handover goes to, as far as it is known before the handover."""
    reference = getattr(handoff, "_agent_ref", None)
    return handoff if reference is None else reference()


class _Routing:
    """Makes copies of agents with tools that an environment answers. Handovers go to copies as well.

    `edits` are arguments that a user gave instead of the agent's, by the id of the call. `works` are the tools that
    have worked, by the id of the call, with the agents inside them. `agents` are the agents of the latest run.
    """

    def __init__(self, environment: Environment | None, edits: dict[str, str]) -> None:
        self.edits = edits
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
        """Return the copy of a tool that runs here. A tool that the provider runs stays as it is."""
        if not hasattr(tool, "on_invoke_tool"):
            return tool
        copied = copy.copy(tool)
        invoke = self._noting_failures(tool.on_invoke_tool)

        async def on_invoke_tool(context: Any, arguments: str) -> Any:
            call_id = str(context.tool_call_id)
            arguments = self.edits.get(call_id, arguments)
            call = ToolCall(tool.name, plain(arguments_of(arguments)), call_id)
            with tool_at_work(call, self._environment, self.agents) as self.works[call_id]:
                if self._environment is None:
                    return await invoke(context, arguments)
                real = functools.partial(invoke, context, arguments)
                answer = await route_call(self._environment, call, _declaration(tool), real, as_json=_response)
            # The SDK would write a dictionary with `str`, which is not JSON.
            return answer.value if answer.own else as_text(answer.value)

        copied.on_invoke_tool = on_invoke_tool
        return copied

    def _noting_failures(self, invoke: Any) -> Any:
        """Return a copy of the function that runs a tool, which notes the exceptions that the SDK makes texts."""
        original = getattr(invoke, _ON_HANDLED_ERROR, None)
        if original is None:
            return invoke

        def on_handled_error(*args: Any) -> Any:
            tool = current_tool()
            if tool is not None:
                tool.has_failed = True
            return original(*args)

        copied = copy.copy(invoke)
        setattr(copied, _ON_HANDLED_ERROR, on_handled_error)
        return copied


def _response(result: Any) -> Json:
    """Return the result of a tool as JSON. A text that holds a JSON object or array is decoded."""
    value = plain(result)
    return response_of(value) if isinstance(value, str) else value


class OpenAISession:
    """One conversation. The session carries the input items and the last agent from run to run."""

    def __init__(self, agent: Any, options: dict[str, Any], approvals: Approvals, routing: _Routing) -> None:
        self._agent = agent
        self._options = options
        self._approvals = approvals
        self._routing = routing
        self._waiting: list[Any] = []
        self._state: Any = None
        self._open_calls: dict[str, ToolCall] = {}
        self._history: list[Any] = []
        self._usages: list[Usage] = []
        self._agents: dict[str, AgentDetails] = {}

    @property
    def about(self) -> About:
        """The agents with a request to a model in the latest run, and the context of the run."""
        context = plain(self._options["context"])
        return About(tuple(self._agents.values()), context if isinstance(context, dict) else None)

    async def declared(self) -> About:
        """Return the agent and the agents that it may hand over to."""
        context = import_extra("agents", EXTRA).RunContextWrapper(self._options["context"])
        agents: dict[str, AgentDetails] = {}
        await _declare(self._agent, context, agents)
        return About(tuple(agents.values()))

    async def send(self, message: str, parts: Sequence[Part] = ()) -> AsyncIterator[Item]:
        """Run the agent, and yield each item. If calls wait for a decision, the message decides."""
        self._agents = self._routing.agents = {}
        items = self._approvals.send(
            message,
            lambda: self._run(self._input({"role": "user", "content": responses_content(message, parts)})),
            self._resume,
            lambda: [_waiting_call(item) for item in self._waiting],
            lambda: str(self._agent.name),
        )
        async with aclosing(items):
            async for item in items:
                yield item

    def _input(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        """Return a message with the earlier items. A session of the SDK adds them itself."""
        return [message] if self._options.get("session") is not None else [*self._history, message]

    def _resume(self, decisions: Sequence[Approval]) -> AsyncGenerator[Item, None]:
        """Go on with the run that waits. The SDK keeps the arguments of a call in the item that waits."""
        for item, decision in zip(self._waiting, decisions, strict=True):
            if decision.decision == "reject":
                self._state.reject(item, rejection_message=decision.reason or None)
                continue
            self._state.approve(item)
            if decision.args is not None:
                # The SDK binds an approval to the arguments of the model. The copy of the tool replaces them.
                self._routing.edits[_waiting_call(item).id] = as_text(decision.args)
        return self._run(self._state)

    async def _run(self, run_input: Any) -> AsyncGenerator[Item, None]:
        """Yield each item of a run when the hooks report it."""
        queue: asyncio.Queue[Item | None] = asyncio.Queue()
        watch = _Watch(queue.put_nowait, self._agents, self._open_calls, self._routing.works)
        observe_method(import_extra("agents.run", EXTRA).AgentRunner, "run", _observed_in_tools)
        observe_unreached(import_extra("agents.run", EXTRA).AgentRunner, "run_streamed")
        # A run that waited goes on with its usage so far. A new run begins to count.
        self._usages = self._usages if run_input is self._state else []
        watch.usages = self._usages
        run = asyncio.create_task(self._result(run_input, watch))
        run.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (item := await queue.get()) is not None:
                yield item
        finally:
            run.cancel()
            await asyncio.wait([run])
        result = run.result()
        for usage in _nested_usages(result.context_wrapper.usage, self._usages):
            yield usage
        self._waiting = list(result.interruptions)
        self._agent = result.last_agent
        if self._waiting:
            self._state = result.to_state()
        else:
            self._history = result.to_input_list()
            if not watch.has_reply:
                yield Message(as_text(result.final_output), self._agent.name)
        yield watch.times.durations

    async def _result(self, run_input: Any, watch: _Watch) -> Any:
        runner = import_extra("agents", EXTRA).Runner
        return await runner.run(self._agent, run_input, hooks=_hooks(watch), **self._options)


async def _declare(agent: Any, context: Any, agents: dict[str, AgentDetails]) -> None:
    """Add an agent and its handovers. Agents may hand over in circles."""
    if agent.name in agents or not hasattr(agent, "get_all_tools"):
        return
    declarations = tuple(map(_declaration, [*await agent.get_all_tools(context), *agent.handoffs]))
    agents[agent.name] = AgentDetails(agent.name, await agent.get_system_prompt(context) or "", declarations)
    for handoff in agent.handoffs:
        await _declare(_target(handoff), context, agents)


def _waiting_call(item: Any) -> ToolCall:
    """Return the call that waits for a decision."""
    raw = item.raw_item if isinstance(item.raw_item, dict) else plain(item.raw_item)
    return ToolCall(str(item.tool_name), arguments_of(raw.get("arguments")), str(raw.get("call_id") or raw.get("id")))


class _Watch:
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
            declarations = tuple(map(_declaration, [*await agent.get_all_tools(context), *agent.handoffs]))
            self.agents[agent.name] = AgentDetails(agent.name, instructions or "", declarations)
        self.times.start("model", agent.name)

    def note_response(self, agent: Any, response: Any) -> None:
        """Note the response of a model."""
        self.times.end("model", agent.name)
        usage = _usage(response.usage, _model_of(agent))
        self.usages.append(usage)
        self._report(usage)
        self.has_reply = False
        for output in response.output:
            for item in _steps(plain(output), agent.name):
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
        is_error = (work is not None and work.has_failed) or str(result).startswith(_DEFAULT_FAILURE)
        self.usages += work.usages if work is not None else ()
        self._report(ToolResult(call.name, _response(result), call_id, call.author, is_error=is_error, inner=inner))


def _steps(raw: dict[str, Any], author: str) -> list[Item]:
    """Return the steps in an output of a model. Tools that the provider runs are calls too."""
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
    arguments = {key: value for key, value in raw.items() if key not in _COMMON_KEYS}
    call = ToolCall(name, arguments_of(raw["arguments"]) if "arguments" in raw else arguments, call_id, author)
    if raw.get("output") is None:
        return [call]
    return [call, ToolResult(name, plain(raw["output"]), call_id, author)]


def _usage(counts: Any, model: Any) -> Usage:
    """Return the tokens of a model call. The output tokens include the reasoning tokens."""
    return token_usage(
        counts.input_tokens,
        counts.output_tokens,
        getattr(counts.output_tokens_details, "reasoning_tokens", None),
        getattr(counts.input_tokens_details, "cached_tokens", None),
        model if isinstance(model, str) else str(getattr(model, "model", "")),
    )


def _model_of(agent: Any) -> Any:
    """Return the model of an agent, or the default of the SDK."""
    return import_extra("agents.models", EXTRA).get_default_model() if agent.model is None else agent.model


def _nested_usages(total: Any, reported: list[Usage]) -> list[Usage]:
    """Return the tokens of agents that are tools, and add them to the reported tokens.

    The SDK adds the tokens of these agents to those of the run, but reports their requests to no hook.
    """
    remaining = [(usage.input_tokens, usage.output_tokens) for usage in reported]
    nested: list[Usage] = []
    for entry in getattr(total, "request_usage_entries", None) or ():
        usage = _usage(entry, "")
        counts = (usage.input_tokens, usage.output_tokens)
        if counts in remaining:
            remaining.remove(counts)
        else:
            nested.append(usage)
    reported += nested
    return nested


def _declaration(tool: Any) -> dict[str, Any]:
    """Return the declaration of a tool or of a handover. A handover also names the agent that it hands over to."""
    if hasattr(tool, "params_json_schema"):
        return _function(tool.name, tool.description, tool.params_json_schema)
    if hasattr(tool, "on_invoke_handoff"):
        function = _function(tool.tool_name, tool.tool_description, tool.input_json_schema)
        return {**function, HANDOVER: tool.agent_name}
    if hasattr(tool, "get_all_tools"):
        handoff = import_extra("agents", EXTRA).Handoff
        function = _function(handoff.default_tool_name(tool), handoff.default_tool_description(tool), {})
        return {**function, HANDOVER: tool.name}
    return {"name": str(getattr(tool, "name", type(tool).__name__))}


def _function(name: str, description: str, schema: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "parameters_json_schema": plain(schema)}


def _observed_in_tools(original: Any) -> Any:
    """Return the method that runs an agent, with hooks that report if a tool of another agent runs it."""

    async def run(runner: Any, starting_agent: Any, input: Any, **options: Any) -> Any:  # noqa: A002
        tool = current_tool()
        if tool is None:
            return await original(runner, starting_agent, input, **options)
        routing = _Routing(tool.environment, {})
        routing.agents = tool.agents
        watch = _Watch(tool.items.append, tool.agents, {}, routing.works)
        options["hooks"] = _both(_hooks(watch), options.get("hooks"))
        # The state of a run that goes on has its agents already.
        agent = routing.agent(starting_agent) if isinstance(input, str | list) else starting_agent
        result = await original(runner, agent, input, **options)
        if not watch.has_reply:
            tool.items.append(Message(as_text(result.final_output), result.last_agent.name))
        return result

    return run


def _both(own: Any, other: Any) -> Any:
    """Return hooks that report to two hooks."""
    if other is None:
        return own

    def reporting(name: str) -> Callable[..., Awaitable[None]]:
        async def report(*args: Any, **options: Any) -> None:
            await getattr(own, name)(*args, **options)
            await getattr(other, name)(*args, **options)

        return report

    both = import_extra("agents.lifecycle", EXTRA).RunHooksBase()
    for name in (name for name in dir(own) if name.startswith("on_")):
        setattr(both, name, reporting(name))
    return both


def _hooks(watch: _Watch) -> Any:
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
