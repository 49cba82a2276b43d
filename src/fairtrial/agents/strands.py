"""Sessions with agents, swarms and graphs of Strands. Each user message is an invocation, and hooks observe it."""

from __future__ import annotations

import copy
import inspect
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fairtrial.agents.nested_runs import ToolAtWork, observe_in_tools, on_stage
from fairtrial.agents.observed_framework import FrameworkSession, ObservedFramework, ObservedSession, Opening
from fairtrial.agents.observer import Observer, observer_here
from fairtrial.agents.outages import describe_failure, find_outage
from fairtrial.agents.plain import as_text, is_reply, plain
from fairtrial.agents.routing import describe_declaration
from fairtrial.agents.token_usage import token_usage
from fairtrial.agents.user_parts import detect_kind, read_content, refuse_parts
from fairtrial.errors import AgentError
from fairtrial.formats.message_entries import read_response
from fairtrial.records.trace import AgentDetails, Message, Part, Thought, ToolCall
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.protocols import Item
    from fairtrial.records.record import Json

EXTRA = "agents-strands"
_OUTPUT_TOOL = "StructuredOutputTool"
_NESTED = "_fairtrial_observed"


class StrandsAgent(ObservedFramework):
    """A function that makes an agent of Strands for each conversation. The case gives the agent its initial state.

    The function may also make a swarm or a graph, whose agents are agents of the conversation.
    """

    package_extra, library, kind = EXTRA, "strands", "an agent, a swarm or a graph of Strands"
    options = ("invocation_state",)
    holds_conversation = True

    @staticmethod
    def is_agent(thing: Any) -> bool:
        """Whether an object is an agent, or a swarm or a graph of agents."""
        is_agent = all(hasattr(thing, name) for name in ("stream_async", "hooks", "tool_registry"))
        return (is_agent or _is_group(thing)) and not inspect.isclass(thing)

    def refuses_parts(self, parts: Sequence[Part]) -> str:
        """Return why a message cannot hold the parts. The models have no place for sounds, and for few URLs."""
        if any(detect_kind(part) == "audio" for part in parts):
            return "an agent of Strands takes no sounds"
        if any(part.uri and not part.uri.startswith("s3:") for part in parts):
            return "an agent of Strands takes the URLs of S3 only; give the data of other files"
        return ""

    def session(self, opening: Opening) -> FrameworkSession:
        """Return the session of a conversation."""
        return StrandsGroupSession(opening) if _is_group(opening.thing) else StrandsSession(opening)


class StrandsSession(ObservedSession):
    """One conversation, with an agent of its own."""

    def __init__(self, opening: Opening) -> None:
        self._agent = opening.thing
        super().__init__(opening, _read_name(self._agent))
        for key, value in opening.state.items():
            self._agent.state.set(key, value)
        self._options = opening.options
        self._interrupts: list[Any] = []
        _observe(self._agent, self._name, lambda: self._observer)
        observe_in_tools(import_extra("strands", EXTRA).Agent, "stream_async", _run_in_tool)

    def _state(self) -> Json:
        state: Json = self._agent.state.get()
        return state

    def _declare(self) -> Iterable[AgentDetails]:
        tools = tuple(map(_declaration, self._agent.tool_registry.get_all_tool_specs()))
        return (AgentDetails(self._name, str(self._agent.system_prompt or ""), tools),)

    async def _run(self, message: str, parts: Sequence[Part]) -> Iterable[Item]:
        """Invoke the agent. If a tool has interrupted the agent with a question, the message is the answer."""
        result = await self._agent.invoke_async(_prompt(message, parts, self._interrupts), **self._options)
        self._interrupts = list(result.interrupts or ())
        if self._interrupts:
            return [_question(self._interrupts, self._name)]
        if result.structured_output is not None:
            return [Message(as_text(result.structured_output), self._name)]
        latest, reply = self._observer.latest_message, str(result).strip()
        is_recorded = self._observer.has_reply and latest is not None and is_reply(latest.text, reply)
        return [] if is_recorded else [Message(reply, self._name)]


class StrandsGroupSession(ObservedSession):
    """One conversation with a swarm or a graph. Each message is a task of its own, as in Strands."""

    def __init__(self, opening: Opening) -> None:
        self._group = opening.thing
        super().__init__(opening, str(getattr(self._group, "id", "") or type(self._group).__name__.lower()))
        self._options = opening.options
        self._interrupts: list[Any] = []
        for agent in _members(self._group):
            for key, value in opening.state.items():
                agent.state.set(key, value)
        observe_in_tools(import_extra("strands", EXTRA).Agent, "stream_async", _run_in_tool)

    def _declare(self) -> Iterable[AgentDetails]:
        for agent in _members(self._group):
            tools = tuple(map(_declaration, agent.tool_registry.get_all_tool_specs()))
            yield AgentDetails(_read_name(agent), str(agent.system_prompt or ""), tools)

    def _state(self) -> Json:
        """Return the states of the agents, by their names."""
        states = {_read_name(agent): agent.state.get() for agent in _members(self._group)}
        return {name: state for name, state in states.items() if state}

    async def _run(self, message: str, parts: Sequence[Part]) -> Iterable[Item]:
        """Give the task to the swarm or the graph, or the answer to its questions. The last agent gives the reply."""
        with on_stage("strands", self._observer):
            result = await self._group.invoke_async(_prompt(message, parts, self._interrupts), **self._options)
        status = str(getattr(result.status, "value", result.status)).lower()
        self._interrupts = list(result.interrupts or ())
        if self._interrupts:
            return (_question(self._interrupts, self._name),)
        if status != "completed":
            errors = [node.result for node in result.results.values() if isinstance(node.result, Exception)]
            raise self._observer.error or (errors[0] if errors else AgentError(f"{self._name}: it is {status}"))
        results = list(_list_results(result))
        structured = getattr(results[-1], "structured_output", None) if results else None
        if structured is not None:
            return (Message(as_text(structured), self._name),)
        latest = self._observer.latest_message if self._observer.has_reply else None
        # Nodes that work side by side end in another order than they speak.
        if latest is not None and any(is_reply(latest.text, str(agent_result).strip()) for agent_result in results):
            return ()
        return (Message(str(results[-1] if results else result).strip(), self._name),)


def _prompt(message: str, parts: Sequence[Part], interrupts: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the input of an invocation: the message, or the message as the answer to the questions that wait."""
    if not interrupts:
        return [{"text": message}, *map(_encode_part, parts)]
    refuse_parts(parts)
    return [{"interruptResponse": {"interruptId": interrupt.id, "response": message}} for interrupt in interrupts]


def _question(interrupts: Sequence[Any], author: str) -> Message:
    return Message("\n".join(as_text(interrupt.reason or interrupt.name) for interrupt in interrupts), author)


def _list_results(result: Any) -> Iterator[Any]:
    """Yield the results of the agents of a swarm or a graph in the order of their work, also of groups inside it."""
    nodes = getattr(result, "node_history", None) or getattr(result, "execution_order", None) or ()
    for node in nodes:
        own = getattr(result.results.get(node.node_id), "result", None)
        if isinstance(getattr(own, "results", None), dict):
            yield from _list_results(own)
        elif own is not None:
            yield own


def _is_group(thing: Any) -> bool:
    return isinstance(getattr(thing, "nodes", None), dict) and hasattr(thing, "invoke_async")


def _members(group: Any) -> Iterator[Any]:
    """Yield the agents of a swarm or a graph, and of groups inside it."""
    for node in group.nodes.values():
        member = node.executor
        if _is_group(member):
            yield from _members(member)
        elif hasattr(member, "tool_registry"):
            yield member


def _observe(agent: Any, name: str, observer_of: Callable[[], Observer | None]) -> None:
    """Let the model, the messages and the tools of an agent report to the observer of the moment, if there is one."""
    events = import_extra("strands.hooks", EXTRA)

    def note_message(event: Any) -> None:
        observer = observer_of()
        if observer is not None:
            _note_message(event.message, name, observer, _output_tools(agent))

    def route_tool(event: Any) -> None:
        observer = observer_of()
        is_output = type(event.selected_tool).__name__ == _OUTPUT_TOOL
        if observer is not None and event.selected_tool is not None and not is_output:
            event.selected_tool = _wrap_routed_tool(event.selected_tool, name, observer)

    agent.model = _observe_model(agent.model, name, observer_of, lambda: _output_tools(agent))
    agent.hooks.add_callback(events.MessageAddedEvent, note_message)
    agent.hooks.add_callback(events.BeforeToolCallEvent, route_tool)


def _run_in_tool(original: Any, _: ToolAtWork | None, agent: Any, *args: Any, **options: Any) -> Any:
    """Run an agent inside a tool of another agent, or in a swarm. It is observed from then on."""
    if not hasattr(agent, _NESTED):
        setattr(agent, _NESTED, True)
        _observe(agent, _read_name(agent), lambda: observer_here(agent, "strands"))
    return original(agent, *args, **options)


def _read_name(agent: Any) -> str:
    return "agent" if agent.name in (None, "Strands Agents") else str(agent.name)


def _output_tools(agent: Any) -> set[str]:
    """Return the names of the tools by which a model gives a structured answer. Their calls are no calls."""
    tools = getattr(agent.tool_registry, "dynamic_tools", {})
    return {name for name, tool in tools.items() if type(tool).__name__ == _OUTPUT_TOOL}


def _note_message(message: Any, name: str, observer: Observer, output_tools: set[str]) -> None:
    """Note the steps of a message of the model, and the results that the framework wrote itself."""
    for block in message["content"]:
        if "toolResult" in block:
            result = block["toolResult"]
            is_error = result.get("status") == "error"
            observer.note_result(str(result["toolUseId"]), _response(result["content"]), is_error=is_error)
    if message["role"] == "assistant":
        observer.note(*_steps(message["content"], name, output_tools))


def _encode_part(part: Part) -> dict[str, Any]:
    kind = {"file": "document"}.get(detect_kind(part), detect_kind(part))
    source = {"location": {"type": "s3", "uri": part.uri}} if part.uri else {"bytes": read_content(part)}
    block: dict[str, Any] = {"format": part.mime_type.rpartition("/")[2] or "txt", "source": source}
    if kind == "document":
        block["name"] = part.name.rpartition(".")[0] or part.name or "file"
        block["format"] = {"plain": "txt", "markdown": "md"}.get(block["format"], block["format"])
    return {kind: block}


def _steps(content: list[dict[str, Any]], author: str, output_tools: set[str]) -> list[Item]:
    """Return the steps in the blocks of a message. Adjacent texts become one message."""
    steps: list[Item] = []
    texts = [block["text"] for block in content if "text" in block]
    for block in content:
        if "reasoningContent" in block:
            text = (block["reasoningContent"].get("reasoningText") or {}).get("text")
            steps += [Thought(text, author)] if text else []
    calls = [block["toolUse"] for block in content if "toolUse" in block]
    if "".join(texts) or not calls:
        steps.append(Message("".join(texts), author))
    steps += [
        ToolCall(call["name"], plain(call["input"]), str(call["toolUseId"]), author)
        for call in calls
        if call["name"] not in output_tools
    ]
    return steps


def _response(content: list[dict[str, Any]]) -> Json:
    """Return the answer of a tool from its blocks. A text that holds a JSON object or array is decoded."""
    values = [
        block["json"] if "json" in block else read_response(str(block["text"])) if "text" in block else plain(block)
        for block in content
    ]
    return plain(values[0] if len(values) == 1 else values)


def _observe_model(
    model: Any, author: str, observer_of: Callable[[], Observer | None], output_tools: Callable[[], set[str]]
) -> Any:
    """Return a copy of a model that reports its requests and its tokens."""
    copied = copy.copy(model)

    async def stream(
        messages: Any, tool_specs: Any = None, system_prompt: Any = None, **more: Any
    ) -> AsyncGenerator[Any, None]:
        observer = observer_of()
        if observer is None:
            async for event in model.stream(messages, tool_specs, system_prompt, **more):
                yield event
            return
        if tool_specs:
            tool_specs = [describe_declaration(observer.environment, spec) for spec in tool_specs]
        specs = [spec for spec in tool_specs or () if spec["name"] not in output_tools()]
        observer.note_request(author, str(system_prompt or ""), map(_declaration, specs))
        with observer.model_at_work():
            async for event in model.stream(messages, tool_specs, system_prompt, **more):
                if _has_text(event):
                    observer.note_token()
                usage = event.get("metadata", {}).get("usage") if isinstance(event, dict) else None
                if usage:
                    config = model.get_config()
                    name = config.get("model_id", "") if isinstance(config, dict) else ""
                    cached = usage.get("cacheReadInputTokens")
                    observer.note(token_usage(usage.get("inputTokens"), usage.get("outputTokens"), None, cached, name))
                yield event

    copied.stream = stream
    return copied


def _has_text(event: Any) -> bool:
    """Whether an event of a model is a piece of text, and not of a call or a thought."""
    block = event.get("contentBlockDelta") if isinstance(event, dict) else None
    return isinstance(block, dict) and bool(block.get("delta", {}).get("text"))


def _declaration(spec: Any) -> dict[str, Json]:
    schema = spec.get("inputSchema") or {}
    return {
        "name": spec["name"],
        "description": spec.get("description", ""),
        "parameters_json_schema": plain(schema.get("json", schema)),
    }


def _wrap_routed_tool(tool: Any, author: str, observer: Observer) -> Any:
    """Return a tool that asks the environment, if there is one, and reports its result.

    The class is defined in this function, because its base class is that of Strands, which is imported late.
    """
    base: Any = import_extra("strands.types.tools", EXTRA).AgentTool
    result_event: Any = import_extra("strands.types._events", EXTRA).ToolResultEvent

    class RoutedTool(base):  # type: ignore[misc]
        tool_name = property(lambda _: tool.tool_name)
        tool_spec = property(lambda _: tool.tool_spec)
        tool_type = property(lambda _: tool.tool_type)

        async def stream(self, tool_use: Any, invocation_state: Any, **more: Any) -> AsyncGenerator[Any, None]:
            call = ToolCall(tool_use["name"], plain(tool_use["input"]), str(tool_use["toolUseId"]), author)

            errors: list[BaseException] = []

            def as_json(result: Any) -> Json:
                # The text that the model reads need not tell the cause of an error.
                response = _result_json(result)
                is_down = bool(errors) and find_outage(errors[-1]) is not None
                return {"error": describe_failure(errors[-1]), "result": response} if is_down else response

            async def real() -> Any:
                last = None
                async for last in tool.stream(tool_use, invocation_state, **more):
                    if type(last).__name__ == "ToolInterruptEvent":
                        raise _ToolInterrupt(last)
                if isinstance(error := getattr(last, "exception", None), BaseException):
                    errors.append(error)
                return last.get("tool_result", last) if isinstance(last, dict) else last

            try:
                answer = await observer.answer(call, _declaration(tool.tool_spec), real, as_json=as_json)
            except _ToolInterrupt as stop:
                yield stop.event
                return
            if answer.own:
                yield result_event(answer.value)
            else:
                content = [
                    {"json": answer.value} if isinstance(answer.value, dict) else {"text": as_text(answer.value)}
                ]
                yield result_event({"toolUseId": call.id, "status": "success", "content": content})

    return RoutedTool()


class _ToolInterrupt(BaseException):
    """A tool asks a question instead of giving a result."""

    def __init__(self, event: Any) -> None:
        super().__init__()
        self.event = event


def _result_json(result: Any) -> Json:
    return _response(result["content"]) if isinstance(result, dict) and "content" in result else plain(result)


agent_at, agent_around = StrandsAgent.at, StrandsAgent.around
