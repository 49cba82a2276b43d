"""How is an agent of Pydantic AI talked to? A run for each message, watched through hooks."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fairtrial.agents.declared import declaring
from fairtrial.agents.plain import as_text, plain
from fairtrial.agents.routing import routed
from fairtrial.agents.stopwatch import Stopwatch
from fairtrial.errors import AgentError, UsageError
from fairtrial.formats.messages import arguments_of, response_of
from fairtrial.importing import import_extra, import_object
from fairtrial.protocols import Environment, Item
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import About, AgentDetails, Message, Thought, ToolCall, ToolResult, Usage

EXTRA = "agents-pydantic-ai"


def agent_at(target: str) -> PydanticAgent:
    """Return the agent at `pydantic-ai:MODULE:NAME`; raises UsageError."""
    import_extra("pydantic_ai", EXTRA)
    path = target.partition(":")[2]
    found = import_object(path, path)
    if not hasattr(found, "iter"):
        raise UsageError(f"must be a pydantic_ai.Agent, got {type(found).__name__}")
    return PydanticAgent(path, found)


def agent_around(thing: Any) -> PydanticAgent:
    """Return the agent that is a Pydantic AI agent."""
    return PydanticAgent(thing.name or "agent", thing)


@dataclass(frozen=True, slots=True)
class PydanticAgent:
    """A Pydantic AI agent. The case's initial state becomes its dependencies, by their type (`deps_type`)."""

    path: str
    agent: Any = field(repr=False)

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[PydanticSession]:
        """Open a conversation; the agent's toolsets are open as long as any conversation is."""
        state = case.session_input.state if case.session_input else {}
        deps = _dependencies(self.agent.deps_type, copy.deepcopy(state)) if state else None
        async with self.agent:
            yield PydanticSession(self.agent, deps, environment)


def _dependencies(kind: Any, state: dict[str, Any]) -> Any:
    if kind is type(None):
        return None
    adapter = import_extra("pydantic", EXTRA).TypeAdapter(kind)
    try:
        return adapter.validate_python(state)
    except ValueError as error:
        raise AgentError(f"the session's state does not fit the agent's deps_type: {error}") from error


class PydanticSession:
    """One conversation; it carries the messages from run to run."""

    def __init__(self, agent: Any, deps: Any, environment: Environment | None) -> None:
        self._agent = agent
        self._environment = environment
        self._deps = deps
        self._history: list[Any] = []
        self._details: AgentDetails | None = None

    @property
    def about(self) -> About:
        """What the agent sent to its model in the latest run, and its dependencies."""
        agents = () if self._details is None else (self._details,)
        return About(agents, plain(self._deps) if isinstance(plain(self._deps), dict) else None)

    async def send(self, message: str) -> AsyncIterator[Item]:
        """Run the agent, and yield what happened after each step of its graph."""
        watch = _Watch(self._agent.name or "agent", self._environment)
        hooks = import_extra("pydantic_ai.capabilities", EXTRA).Hooks(
            model_request=watch.model, tool_execute=watch.tool
        )
        history = list(self._history)
        try:
            async with self._agent.iter(
                message, message_history=history, deps=self._deps, capabilities=[hooks], infer_name=False
            ) as run:
                async for _ in run:
                    for item in watch.taken():
                        yield item
        except Exception:
            for item in watch.taken():
                yield item
            raise
        self._details = watch.details
        self._history = run.all_messages()
        if not watch.said:
            yield Message(as_text(run.result.output), watch.name)
        yield watch.times.durations


class _Watch:
    """What happened since it was last asked; it stands around the calls of models and tools."""

    def __init__(self, name: str, environment: Environment | None) -> None:
        self.name = name
        self._environment = environment
        self.times = Stopwatch()
        self.details: AgentDetails | None = None
        self.said = False
        self._outputs: set[str] = set()
        self._items: list[Item] = []
        self._calls = 0

    def taken(self) -> list[Item]:
        """Hand over what happened."""
        items, self._items = self._items, []
        return items

    async def model(self, _: Any, *, request_context: Any, handler: Any) -> Any:
        """Stand around a model call: what the tools answered goes into it, steps come out of it."""
        parameters = request_context.model_request_parameters
        self._outputs = {tool.name for tool in parameters.output_tools}
        tools = (*parameters.function_tools, *parameters.native_tools)
        known = self.details.tool_declarations if self.details else ()
        asked = AgentDetails(self.name, _instructions(request_context.messages, parameters), known)
        self.details = declaring(asked, map(_declaration, tools))
        self._items += self._results(request_context.messages[-1])
        self._calls += 1
        call = str(self._calls)
        self.times.start("model", call)
        try:
            response = await handler(request_context)
        finally:
            self.times.end("model", call)
        self._items += self._steps(response)
        return response

    async def tool(self, _: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        """Stand around a tool call, and put the environment before it."""
        self.times.start("tool", call.tool_call_id)
        try:
            if self._environment is None or tool_def.kind == "output":
                return await handler(args)
            made = ToolCall(call.tool_name, plain(arguments_of(call.args)), call.tool_call_id)
            return (await routed(self._environment, made, _declaration(tool_def), lambda: handler(args))).value
        finally:
            self.times.end("tool", call.tool_call_id)

    def _results(self, request: Any) -> list[Item]:
        """What tools answered, or why a call was refused; a result of the output's own tool is no step."""
        return [
            self._result(part)
            for part in request.parts
            if part.part_kind in ("tool-return", "retry-prompt") and part.tool_name not in (None, *self._outputs)
        ]

    def _result(self, part: Any) -> ToolResult:
        value = plain(part.content)
        response = response_of(value) if isinstance(value, str) else value
        is_error = part.part_kind == "retry-prompt"
        return ToolResult(part.tool_name, response, part.tool_call_id, self.name, is_error=is_error)

    def _steps(self, response: Any) -> list[Item]:
        items: list[Item] = [_usage(response)]
        self.said = False
        for part in response.parts:
            kind = part.part_kind
            if kind == "thinking":
                items.append(Thought(part.content, self.name))
            elif kind == "text":
                self.said = True
                last = items[-1]
                # Adjacent texts are one, as in the library's own `ModelResponse.text`.
                before = last.text if isinstance(last, Message) else ""
                items = [
                    *(items[:-1] if isinstance(last, Message) else items),
                    Message(before + part.content, self.name),
                ]
            elif kind in ("tool-call", "builtin-tool-call") and part.tool_name not in self._outputs:
                self.said = False
                items.append(ToolCall(part.tool_name, plain(arguments_of(part.args)), part.tool_call_id, self.name))
            elif kind == "builtin-tool-return":
                items.append(self._result(part))
        return items


def _usage(response: Any) -> Usage:
    """Return the tokens of a model call; the output tokens include the reasoning tokens."""
    used = response.usage
    return Usage(
        used.input_tokens,
        used.output_tokens,
        used.output_reasoning_tokens,
        used.cache_read_tokens,
        response.model_name or "",
    )


def _instructions(messages: list[Any], parameters: Any) -> str:
    """System prompts of the conversation and instructions of this request."""
    prompts = [part.content for message in messages for part in message.parts if part.part_kind == "system-prompt"]
    parts = getattr(parameters, "instruction_parts", None)
    latest = getattr(messages[-1], "instructions", None)
    texts = [part.content for part in parts] if parts else [latest or ""]
    return "\n\n".join(text for text in (*prompts, *texts) if text)


def _declaration(tool: Any) -> dict[str, Any]:
    name = getattr(tool, "name", None)
    if name is None or not hasattr(tool, "parameters_json_schema"):
        return {"name": str(getattr(tool, "kind", name))}
    return {
        "name": name,
        "description": tool.description or "",
        "parameters_json_schema": plain(tool.parameters_json_schema),
    }
