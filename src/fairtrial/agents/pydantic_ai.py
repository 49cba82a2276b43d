"""Sessions with Pydantic AI agents. Each user message is a run, and hooks observe it."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fairtrial.agents.declarations import add_declarations
from fairtrial.agents.nested_runs import ToolAtWork, observe_in_tools, tool_at_work
from fairtrial.agents.observed_framework import FrameworkSession, ObservedFramework, Opening
from fairtrial.agents.plain import as_text, is_reply, plain
from fairtrial.agents.routing import describe_tool, route_call
from fairtrial.agents.stopwatch import Stopwatch
from fairtrial.agents.token_usage import token_usage
from fairtrial.agents.user_parts import detect_kind, read_content
from fairtrial.errors import UnfitCaseError, UsageError
from fairtrial.formats.message_entries import read_arguments, read_response
from fairtrial.llm.token_counts import parse_count
from fairtrial.records.trace import About, AgentDetails, Approval, Message, Part, Thought, ToolCall, ToolResult, Usage
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.protocols import Environment, Item

EXTRA = "agents-pydantic-ai"


class PydanticAgent(ObservedFramework):
    """A Pydantic AI agent. The case's initial state becomes its dependencies, converted to their type (`deps_type`).

    A factory may give other dependencies.
    """

    package_extra, library, kind = EXTRA, "pydantic_ai", "a pydantic_ai.Agent"
    options = ("deps", "usage_limits", "model_settings")

    @staticmethod
    def is_agent(thing: Any) -> bool:
        """Whether an object is an agent."""
        return hasattr(thing, "iter") and not inspect.isclass(thing)

    def session(self, opening: Opening) -> FrameworkSession:
        """Return the session of a conversation."""
        return PydanticSession(opening)


def _dependencies(kind: Any, state: dict[str, Any]) -> Any:
    if kind is type(None):
        return None
    adapter = import_extra("pydantic", EXTRA).TypeAdapter(kind)
    try:
        return adapter.validate_python(state)
    except ValueError as error:
        raise UnfitCaseError(f"the session's state does not fit the agent's deps_type: {error}") from error


class PydanticSession(FrameworkSession):
    """One conversation. The session carries the messages from run to run."""

    def __init__(self, opening: Opening) -> None:
        self._agent = opening.thing
        super().__init__(opening, PydanticAgent.read_name(self._agent))
        self._environment = opening.environment
        self._options = opening.options
        if "deps" not in self._options:
            self._options["deps"] = _dependencies(self._agent.deps_type, opening.state) if opening.state else None
        self._history: list[Any] = []
        self._agents: tuple[AgentDetails, ...] = ()
        self._requests: Any = None
        self._toolsets = AsyncExitStack()

    async def open(self) -> None:
        """Open the toolsets of the agent. They stay open until the last conversation ends."""
        await self._toolsets.enter_async_context(self._agent)

    async def close(self) -> None:
        """Close the toolsets of the agent."""
        await self._toolsets.aclose()

    @property
    def about(self) -> About:
        """The instructions and tools in the latest requests to the model, and the dependencies as the state."""
        deps = plain(self._options["deps"])
        return About(self._agents, deps if isinstance(deps, dict) else None)

    async def declared(self) -> About:
        """Return the agent as its first request would tell it. The run ends before the model gets the request."""
        watch = _Watch(self._name, None)

        async def stop(_: Any, *, request_context: Any, handler: Any) -> Any:  # noqa: ARG001
            watch.note_request(request_context)
            raise _StoppedError

        hooks = import_extra("pydantic_ai.capabilities", EXTRA).Hooks(model_request=stop)
        with suppress(_StoppedError):
            await self._agent.run("", capabilities=[hooks], infer_name=False, **self._options)
        return About(() if watch.details is None else (watch.details,))

    def _start(self, message: str, parts: Sequence[Part]) -> AsyncGenerator[Item, None]:
        return self._follow([message, *map(_encode_part, parts)] if parts else message)

    def _waiting(self) -> list[ToolCall]:
        parts = self._requests.approvals if self._requests is not None else ()
        return [ToolCall(part.tool_name, plain(read_arguments(part.args)), part.tool_call_id) for part in parts]

    def _resume(self, decisions: Sequence[Approval]) -> AsyncGenerator[Item, None]:
        """Go on with the run that waits."""
        tools = import_extra("pydantic_ai.tools", EXTRA)
        answers: dict[str, Any] = {}
        for call, decision in zip(self._waiting(), decisions, strict=True):
            if decision.decision == "reject":
                answers[call.id] = tools.ToolDenied(decision.reason) if decision.reason else tools.ToolDenied()
            else:
                answers[call.id] = tools.ToolApproved(override_args=decision.args)
        return self._follow(None, deferred_tool_results=self._requests.build_results(approvals=answers))

    async def _follow(self, message: str | list[Any] | None, **more: Any) -> AsyncGenerator[Item, None]:
        """Yield the new items after each step of the agent's graph."""
        watch = _Watch(self._name, self._environment)
        observe_in_tools(import_extra("pydantic_ai", EXTRA).Agent, "iter", _run_in_tool)
        history = list(self._history)
        try:
            async with self._agent.iter(
                message,
                message_history=history,
                capabilities=[watch.hooks],
                infer_name=False,
                output_type=self._output_type(),
                **self._options,
                **more,
            ) as run:
                async for _ in run:
                    for item in watch.take_items():
                        yield item
        except Exception:
            for item in watch.take_items():
                yield item
            raise
        for usage in _collect_nested_usages(run.usage, watch.usages):
            yield usage
        self._agents = tuple(watch.agents.values())
        self._history = run.all_messages()
        self._requests = run.result.output if isinstance(run.result.output, self._deferred) else None
        if self._requests is not None and self._requests.calls:
            names = ", ".join(part.tool_name for part in self._requests.calls)
            problem = f"the results of {names} come from elsewhere (deferred calls), and nobody gives them here"
            raise UsageError(problem, code="unusable-agent")
        if self._requests is None and not watch.has_replied(run.result.output):
            yield Message(as_text(run.result.output), watch.name)
        yield watch.times.durations

    def _output_type(self) -> Any:
        """Return the types of the output. A run may also end with calls that wait for a decision.

        The library refuses other types than those of the agent if the agent has validators of its output. Then the
        agent itself must name the requests among its types.
        """
        if getattr(self._agent, "_output_validators", None):
            return None
        own = self._agent.output_type
        types = list(own) if isinstance(own, list | tuple) else [own]
        return types if self._deferred in types else [*types, self._deferred]

    @property
    def _deferred(self) -> Any:
        return import_extra("pydantic_ai.tools", EXTRA).DeferredToolRequests


@asynccontextmanager
async def _run_in_tool(original: Any, tool: ToolAtWork, agent: Any, *args: Any, **options: Any) -> AsyncIterator[Any]:
    """Run an agent inside a tool of another agent, with hooks that report."""
    watch = _Watch(PydanticAgent.read_name(agent), tool.environment)
    options["capabilities"] = [*(options.get("capabilities") or ()), watch.hooks]
    try:
        async with original(agent, *args, **options) as run:
            yield run
    finally:
        tool.agents.update(watch.agents)
        tool.items += watch.take_items()
    if run.result is not None and not watch.has_replied(run.result.output):
        tool.items.append(Message(as_text(run.result.output), watch.name))


def _encode_part(part: Part) -> Any:
    messages = import_extra("pydantic_ai.messages", EXTRA)
    if not part.uri:
        return messages.BinaryContent(read_content(part), media_type=part.mime_type or "application/octet-stream")
    kinds = {"image": "ImageUrl", "audio": "AudioUrl", "video": "VideoUrl", "file": "DocumentUrl"}
    return getattr(messages, kinds[detect_kind(part)])(part.uri, media_type=part.mime_type or None)


class _StoppedError(Exception):
    """The first request of a run is known, and nothing is sent."""


class _Watch:
    """Wraps the calls of models and tools, and collects the items of a run."""

    def __init__(self, name: str, environment: Environment | None) -> None:
        self.name = name
        self._environment = environment
        self.times = Stopwatch()
        self.details: AgentDetails | None = None
        self.has_reply = False
        self._written = ""
        self.usages: list[Usage] = []
        self.agents: dict[str, AgentDetails] = {}
        self._works: dict[str, ToolAtWork] = {}
        self._outputs: set[str] = set()
        self._items: list[Item] = []
        self._calls = 0

    @property
    def hooks(self) -> Any:
        """The capability that reports to this watch."""
        capabilities = import_extra("pydantic_ai.capabilities", EXTRA)
        return capabilities.Hooks(model_request=self.model, tool_execute=self.tool)

    def has_replied(self, output: Any) -> bool:
        """Whether the latest response of the model is the output of the run."""
        return self.has_reply and is_reply(self._written, output)

    def take_items(self) -> list[Item]:
        """Return the items since the last time, and forget them."""
        items, self._items = self._items, []
        return items

    async def model(self, _: Any, *, request_context: Any, handler: Any) -> Any:
        """Wrap a model call. The request holds the results of tools, the response holds the next steps."""
        self._describe_tools(request_context)
        self.note_request(request_context)
        self._items += self._results(request_context.messages[-1])
        self._calls += 1
        call = str(self._calls)
        self.times.start("model", call)
        try:
            response = await handler(request_context)
        finally:
            self.times.end("model", call)
        self.usages.append(_usage(response))
        self._items += self._steps(response)
        return response

    def _describe_tools(self, request_context: Any) -> None:
        """Give the tools of a request the descriptions of the environment."""
        if self._environment is None:
            return
        parameters = request_context.model_request_parameters
        tools = [
            replace(tool, description=describe_tool(self._environment, tool.name, tool.description))
            for tool in parameters.function_tools
        ]
        request_context.model_request_parameters = replace(parameters, function_tools=tools)

    def note_request(self, request_context: Any) -> None:
        """Note the instructions and tools of a request."""
        parameters = request_context.model_request_parameters
        self._outputs = {tool.name for tool in parameters.output_tools}
        tools = (*parameters.function_tools, *parameters.native_tools)
        earlier_tools = self.details.tool_declarations if self.details else ()
        details = AgentDetails(self.name, _instructions(request_context.messages, parameters), earlier_tools)
        self.details = self.agents[self.name] = add_declarations(details, map(_declaration, tools))

    async def tool(self, _: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        """Wrap a tool call, and let the environment answer it."""
        record = ToolCall(call.tool_name, plain(read_arguments(call.args)), call.tool_call_id, self.name)
        self.times.start("tool", call.tool_call_id)
        try:
            with tool_at_work(record, self._environment, self.agents) as work:
                self._works[call.tool_call_id] = work
                if self._environment is None or tool_def.kind == "output":
                    return await handler(args)
                answer = await route_call(self._environment, record, _declaration(tool_def), lambda: handler(args))
                return answer.value
        finally:
            self.usages += work.usages
            self.times.end("tool", call.tool_call_id)

    def _results(self, request: Any) -> list[Item]:
        """Return the results in a request, and the reasons of refused calls. The tool of the output is skipped."""
        return [
            self._result(part)
            for part in request.parts
            if part.part_kind in ("tool-return", "retry-prompt") and part.tool_name not in (None, *self._outputs)
        ]

    def _result(self, part: Any) -> ToolResult:
        value = plain(part.content)
        response = read_response(value) if isinstance(value, str) else value
        is_error = part.part_kind == "retry-prompt" or part.outcome != "success"
        work = self._works.pop(part.tool_call_id, None)
        inner = work.inner if work is not None else None
        return ToolResult(part.tool_name, response, part.tool_call_id, self.name, is_error=is_error, inner=inner)

    def _steps(self, response: Any) -> list[Item]:
        items: list[Item] = [_usage(response)]
        self.has_reply, self._written = False, ""
        for part in response.parts:
            kind = part.part_kind
            if kind == "thinking":
                items.append(Thought(part.content, self.name))
            elif kind == "text":
                self.has_reply = True
                self._written += part.content
                # Adjacent texts become one message, as in the library's own `ModelResponse.text`.
                adjacent = items.pop() if isinstance(items[-1], Message) else None
                earlier_text = adjacent.text if isinstance(adjacent, Message) else ""
                items.append(Message(earlier_text + part.content, self.name))
            elif kind in ("tool-call", "builtin-tool-call") and part.tool_name not in self._outputs:
                self.has_reply = False
                self._written = ""
                items.append(ToolCall(part.tool_name, plain(read_arguments(part.args)), part.tool_call_id, self.name))
            elif kind == "builtin-tool-return":
                items.append(self._result(part))
        return items


def _usage(response: Any) -> Usage:
    """Return the tokens of a model call. The output tokens include the reasoning tokens."""
    counts = response.usage
    return token_usage(
        counts.input_tokens,
        counts.output_tokens,
        counts.output_reasoning_tokens,
        counts.cache_read_tokens,
        response.model_name or "",
    )


def _collect_nested_usages(total: Any, reported: list[Usage]) -> list[Usage]:
    """Return the tokens of agents that this agent called with its own usage (`usage=ctx.usage`), as one request each.

    The library tells the sum of all requests. The first of the nested requests holds all of their tokens.
    """
    count = total.requests - len(reported)
    if count <= 0:
        return []
    input_tokens = (parse_count(total.input_tokens) or 0) - sum(usage.input_tokens or 0 for usage in reported)
    output_tokens = (parse_count(total.output_tokens) or 0) - sum(usage.output_tokens or 0 for usage in reported)
    return [token_usage(input_tokens, output_tokens), *[Usage(0, 0)] * (count - 1)]


def _instructions(messages: list[Any], parameters: Any) -> str:
    """Return the system prompts of the conversation and the instructions of the latest request."""
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


agent_at, agent_around = PydanticAgent.at, PydanticAgent.around
