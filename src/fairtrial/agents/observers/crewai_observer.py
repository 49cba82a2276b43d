"""Observe CrewAI agents and crews through copies of their models and tools that report."""

from __future__ import annotations

import asyncio
import concurrent.futures
import copy
import functools
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairtrial.agents.function import result_in_thread
from fairtrial.agents.nested_runs import observe_unreached
from fairtrial.agents.plain import as_response, as_text, plain
from fairtrial.agents.routing import describe_declaration, describe_in_prompt
from fairtrial.agents.token_usage import token_usage
from fairtrial.errors import AgentError, UsageError
from fairtrial.formats.message_entries import read_arguments, read_response
from fairtrial.records.trace import Message, Thought, ToolCall, Usage
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.agents.observed_framework import Opening
    from fairtrial.agents.observer import Observer
    from fairtrial.records.record import Json

EXTRA = "agents-crewai"
_OBSERVATION = "Observation:"


class CrewObserver:
    """Reports the requests and the calls of agents in one conversation. `latest` is the latest message of a model."""

    def __init__(self, observer: Observer) -> None:
        self.latest: Message | None = None
        self._observer = observer
        self._loop = asyncio.get_running_loop()
        self._is_closed = False
        self._ids = itertools.count(1)
        self._calls: list[ToolCall] = []
        self._tasks: list[Any] = []
        observe_agents_in_tools()
        self._clean_name: Callable[[str], str] = import_extra("crewai.utilities.string_utils", EXTRA).sanitize_tool_name

    def close(self) -> None:
        """Let no model and no tool begin. CrewAI goes on after a tool that was cancelled, in a thread of its own."""
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            raise AgentError("the conversation is closed")

    def observe_once(self, thing: Any) -> None:
        """Observe an agent or a crew of a flow. Raises UsageError if another conversation observes it, too."""
        for agent in list_team(thing):
            owner = getattr(agent.llm, "observed_by", None)
            if owner is not None and owner is not self:
                raise UsageError(
                    f"the agent {find_role(agent)!r} is shared by conversations; "
                    "make it in the step of the flow that uses it",
                    code="unusable-agent",
                )
        if any(getattr(agent.llm, "observed_by", None) is None for agent in list_team(thing)):
            self.observe(thing)

    def observe(self, thing: Any) -> None:
        """Put wrappers around the models and the tools of an agent or a crew. Nothing is printed among the reports."""
        self._tasks += getattr(thing, "tasks", ())
        if not is_single(thing):
            thing.verbose = False
            thing.tracing = False
            if thing.manager_llm:
                create_llm = import_extra("crewai.utilities.llm_utils", EXTRA).create_llm
                thing.manager_llm = self._observe_model(create_llm(thing.manager_llm), None)
        observed: dict[int, Any] = {}
        for agent in list_team(thing):
            agent.verbose = False
            agent.llm = self._observe_model(agent.llm, agent)
            agent.tools = [self._observe_tool(tool, agent, observed) for tool in agent.tools or ()]
        for task in getattr(thing, "tasks", ()):
            task.tools = [self._observe_tool(tool, task.agent, observed) for tool in task.tools or ()]

    def list_tools(self, agent: Any) -> Iterator[dict[str, Json]]:
        """Yield the declarations of an agent's tools, and of those that its tasks give it."""
        tasks = [task for task in self._tasks if task.agent is agent]
        tools = [*(agent.tools or ()), *(tool for task in tasks for tool in task.tools or ())]
        yield from {self._clean_name(tool.name): self._declaration(tool) for tool in tools}.values()

    def _declaration(self, tool: Any) -> dict[str, Json]:
        return {
            "name": self._clean_name(tool.name),
            "description": str(tool.description or ""),
            "parameters_json_schema": plain(tool.args_schema.model_json_schema()),
        }

    def _observe_model(self, model: Any, owner: Any) -> Any:
        """Return a copy of a model that reports its requests and responses."""
        observed = copy.copy(model)
        # A shallow copy would count its tokens in the model of all conversations.
        counters = "_token_usage"
        setattr(observed, counters, dict(getattr(observed, counters)))

        def call(messages: Any, tools: Any = None, *args: Any, **options: Any) -> Any:
            self._check_open()
            agent = options.get("from_agent") or owner
            author = find_role(agent)
            if not isinstance(messages, str):
                self._close_calls(messages, author)
            messages, tools = self._describe(agent, messages, tools)
            offered = (
                [_describe_tool(tool) for tool in tools]
                if tools
                else [describe_declaration(self._observer.environment, tool) for tool in self.list_tools(agent)]
            )
            self.in_loop(self._observer.note_request, author, read_system(messages), offered)
            before = observed.get_token_usage_summary()
            with self._observer.model_at_work():
                response = type(observed).call(observed, messages, tools, *args, **options)
            self.in_loop(self._observer.note, _usage(before, observed))
            if options.get("from_agent") is not None:
                self._note_response(response, author, is_native=bool(tools))
            return response

        object.__setattr__(observed, "call", call)
        object.__setattr__(observed, "observed_by", self)
        return observed

    def _describe(self, agent: Any, messages: Any, tools: Any) -> tuple[Any, Any]:
        """Return a request with the descriptions of the environment: in the tools, or in a prompt that lists them."""
        environment = self._observer.environment
        if tools:
            return messages, [describe_declaration(environment, tool) for tool in tools]
        if environment is None or isinstance(messages, str):
            return messages, tools
        listed = {str(tool["name"]): str(tool["description"]) for tool in self.list_tools(agent)}
        prompts = [
            {**message, "content": describe_in_prompt(environment, message["content"], listed)}
            if message.get("role") in ("system", "user") and isinstance(message.get("content"), str)
            else message
            for message in messages
        ]
        return prompts, tools

    def _note_response(self, response: Any, author: str, *, is_native: bool) -> None:
        """Report the text of a response, or its calls. Models that know no calls write them as text."""
        if isinstance(response, list):
            extract = import_extra("crewai.utilities.agent_utils", EXTRA).extract_tool_call_info
            for call_id, name, args in filter(None, map(extract, response)):
                self._begin(ToolCall(self._clean_name(name), plain(read_arguments(args)), str(call_id), author))
            return
        text = as_text(response.model_dump() if hasattr(response, "model_dump") else response)
        thought, answer, call = ("", text, None) if is_native else self._parse_text(text, author)
        if call is not None:
            if thought:
                self._say(Message(thought, author))
            self._begin(call)
            return
        if thought:
            self.in_loop(self._observer.note, Thought(thought, author))
        self._say(Message(answer, author))

    def _parse_text(self, text: str, author: str) -> tuple[str, str, ToolCall | None]:
        """Return the thought in a text of CrewAI's own form, and its answer or its call."""
        parser = import_extra("crewai.agents.parser", EXTRA)
        try:
            parsed = parser.parse(text)
        except parser.OutputParserError:
            return "", text, None
        thought = str(parsed.thought or "").strip().removeprefix("Thought:").strip()
        if not hasattr(parsed, "tool"):
            return thought, as_text(parsed.output), None
        name = self._clean_name(parsed.tool)
        return thought, "", ToolCall(name, plain(read_arguments(parsed.tool_input)), self._new_id(), author)

    def _say(self, message: Message) -> None:
        self.latest = message
        self.in_loop(self._observer.note, message)

    def has_said(self, text: str) -> bool:
        """Whether a text is the latest message of a model, or the same JSON as it."""
        latest = "" if self.latest is None else self.latest.text
        is_same = latest.strip() == text.strip() or read_response(latest) == read_response(text)
        return self.latest is not None and self._observer.has_reply and is_same

    def _begin(self, call: ToolCall) -> None:
        self._calls.append(call)
        self.in_loop(self._observer.note, call)

    def _new_id(self) -> str:
        return f"call-{next(self._ids)}"

    def _observe_tool(self, tool: Any, agent: Any, observed: dict[int, Any]) -> Any:
        """Return a copy of a tool that asks the environment, if there is one, and reports its result."""
        if id(tool) in observed:
            return observed[id(tool)]
        original = getattr(tool, "func", None) or getattr(tool, "_run")  # noqa: B009

        @functools.wraps(original)
        def answer(*args: Any, **arguments: Any) -> Any:
            self._check_open()
            values = plain(dict(zip(tool.args_schema.model_fields, args, strict=False)) | arguments)
            call = self._call(self._clean_name(tool.name), values, agent)

            async def real() -> Any:
                value = await result_in_thread(lambda: original(*args, **arguments))
                return await value if inspect.isawaitable(value) else value

            answering = self._observer.answer(call, self._declaration(tool), real, as_json=as_response)
            try:
                return asyncio.run_coroutine_threadsafe(answering, self._loop).result().value
            except concurrent.futures.CancelledError:
                self.close()
                raise

        copied = copy.copy(tool)
        if hasattr(tool, "func"):
            copied.func = answer
        else:
            object.__setattr__(copied, "_run", answer)
        observed[id(tool)] = observed[id(copied)] = copied
        return copied

    def _call(self, name: str, values: dict[str, Json], agent: Any) -> ToolCall:
        """Return the call of the model that a tool now answers. CrewAI may have filled in defaults."""
        calls = [call for call in self._calls if call.name == name]
        for call in sorted(calls, key=lambda call: call.args != values):
            self._calls.remove(call)
            return call
        call = ToolCall(name, values, self._new_id(), find_role(agent))
        self.in_loop(self._observer.note, call)
        return call

    def _close_calls(self, messages: Sequence[Mapping[str, Any]], author: str) -> None:
        """Report the results of calls that no tool has answered, as the next request has them."""
        for call in [call for call in self._calls if call.author == author]:
            self._calls.remove(call)
            texts = [str(message.get("content")) for message in messages if message.get("tool_call_id") == call.id]
            texts += [
                str(message.get("content")).rpartition(_OBSERVATION)[2].strip()
                for message in messages
                if message.get("role") == "assistant" and _OBSERVATION in str(message.get("content"))
            ][-1:]
            self.in_loop(self._observer.note_result, call.id, read_response(texts[0] if texts else ""))

    def in_loop(self, report: Any, *args: Any) -> None:
        """Call a function in the thread of the event loop, in the order of these requests."""
        self._loop.call_soon_threadsafe(report, *args)


def collect_inputs(opening: Opening) -> dict[str, Any]:
    """Return the inputs of a kickoff: the state of the case, and above it those of the factory."""
    return {**opening.state, **opening.options.get("inputs", {})}


def text_of_output(output: Any) -> str:
    """Return the reply in the output of an agent, a crew or a flow. A structured answer counts before its raw text."""
    answers = (getattr(output, name, None) for name in ("pydantic", "json_dict", "raw"))
    answer = next((answer for answer in answers if answer is not None), output)
    return as_text("" if answer is None else answer)


def observe_agents_in_tools() -> None:
    """Let agents and crews that tools of other agents run say that they are not observed."""
    library = import_extra("crewai", EXTRA)
    for owner in (library.Agent, library.Crew):
        observe_unreached(owner, "kickoff", "kickoff_async", "akickoff")


def is_single(thing: Any) -> bool:
    """Whether an object is an agent, and not a crew."""
    return hasattr(thing, "role")


def list_team(thing: Any) -> Iterator[Any]:
    """Yield an agent, or the agents of a crew."""
    if is_single(thing):
        yield thing
        return
    manager = thing.manager_agent
    yield from thing.agents
    if manager is not None and manager not in thing.agents:
        yield manager


def find_role(agent: Any) -> str:
    """Return the role of an agent, which is its name."""
    return str(getattr(agent, "role", "") or "agent").strip()


def read_system(messages: Any) -> str:
    """Return the instructions in the messages of a request."""
    if isinstance(messages, str):
        return ""
    return "\n\n".join(as_text(message.get("content") or "") for message in messages if message.get("role") == "system")


def _describe_tool(tool: Any) -> dict[str, Json]:
    function = tool.get("function", tool)
    return {
        "name": str(function.get("name", "")),
        "description": str(function.get("description") or ""),
        "parameters_json_schema": plain(function.get("parameters") or {}),
    }


def _usage(before: Any, model: Any) -> Usage:
    """Return the tokens of a call. A model that counts none reports none."""
    tokens = model.get_token_usage_summary().delta_since(before)
    name = str(model.model)
    if not tokens.total_tokens:
        return Usage(model=name)
    return token_usage(
        tokens.prompt_tokens,
        tokens.completion_tokens,
        tokens.reasoning_tokens or None,
        tokens.cached_prompt_tokens or None,
        name,
    )
