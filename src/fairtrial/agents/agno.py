"""Sessions with Agno agents. Each user message is a run, and models and tools are wrapped."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fairtrial.agents.approvals import Approvals
from fairtrial.agents.calling import declaration
from fairtrial.agents.factories import AgentSource
from fairtrial.agents.nested_runs import current_tool, observe_method, observe_unreached
from fairtrial.agents.observer import Observer
from fairtrial.agents.plain import as_response, as_text, plain
from fairtrial.agents.token_usage import token_usage
from fairtrial.agents.user_parts import content_of, kind_of
from fairtrial.errors import AgentError
from fairtrial.formats.messages import arguments_of
from fairtrial.protocols import Environment, Item
from fairtrial.records.case import EvalCase
from fairtrial.records.record import Json
from fairtrial.records.trace import About, AgentDetails, Approval, Message, Part, Thought, ToolCall, Usage
from fairtrial.system.importing import import_extra, import_object

EXTRA = "agents-agno"
_MODELS = ("model", "output_model", "parser_model", "reasoning_model")
_OPTIONS = ("dependencies", "knowledge_filters", "metadata", "session_state", "user_id")


def agent_at(target: str) -> AgnoAgent:
    """Return the agent at `agno:MODULE:NAME`, or of the factory with this name. Raises UsageError."""
    import_extra("agno.agent", EXTRA)
    path = target.partition(":")[2]
    return AgnoAgent(path, _source(import_object(path, path)))


def agent_around(thing: Any) -> AgnoAgent:
    """Return a session-opening agent for an Agno agent."""
    return AgnoAgent(thing.name or "agent", _source(thing))


def _source(thing: Any) -> AgentSource:
    return AgentSource(thing, _is_agent, "an agno.agent.Agent", _OPTIONS)


def _is_agent(thing: Any) -> bool:
    # A team and a workflow can be continued, too, but their members would not be observed.
    return hasattr(thing, "acontinue_run") and hasattr(thing, "initialize_agent") and not inspect.isclass(thing)


@dataclass(frozen=True, slots=True)
class AgnoAgent:
    """An Agno agent. The case's initial state becomes the state of its session.

    If the agent has a database, it keeps the conversation itself. Otherwise the session gives it the earlier messages.
    """

    path: str
    source: AgentSource = field(repr=False)

    def refuses_parts(self, parts: Sequence[Part]) -> str:  # noqa: ARG002
        """Return an empty text: Agno has a place for pictures, sounds, films, files and their URLs."""
        return ""

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[AgnoSession]:
        """Open a conversation. The agent is copied, so that wrappers stand around its models."""
        state = copy.deepcopy(case.session_input.state) if case.session_input else {}
        async with self.source.open(case) as (original, options):
            yield AgnoSession(original, {"session_state": state} | options, Approvals(case), Observer(environment))


class AgnoSession:
    """One conversation, in a session of Agno."""

    def __init__(self, original: Any, options: dict[str, Any], approvals: Approvals, observer: Observer) -> None:
        self._name = _name_of(original)
        self._agent = _observed(original, observer)
        _observe_agents_in_tools()
        self._options = options
        self._session = {"session_id": str(uuid.uuid4())}
        self._approvals = approvals
        self._observer = observer
        self._history: list[Any] = []
        self._run: Any = None

    @property
    def about(self) -> About:
        """The agents with a request to a model in the latest invocation, and the state of the session."""
        state = plain(self._options["session_state"])
        return About(tuple(self._observer.agents.values()), state if isinstance(state, dict) and state else None)

    async def declared(self) -> About:
        """Return the agent with its tools. Instructions and tools that a function makes are not known yet."""
        texts = self._agent.instructions
        texts = [texts] if isinstance(texts, str) else texts if isinstance(texts, list) else []
        tools = self._agent.tools if isinstance(self._agent.tools, list) else []
        declarations = tuple(each for tool in tools for each in _declarations(tool))
        return About((AgentDetails(self._name, "\n".join(map(str, texts)), declarations),))

    async def send(self, message: str, parts: Sequence[Part] = ()) -> AsyncIterator[Item]:
        """Run the agent, and yield the items. If calls wait for a decision, the message decides."""
        self._observer.begin_invocation()
        items = self._approvals.send(
            message,
            lambda: self._observer.items(lambda: self._start(message, parts)),
            self._resume,
            lambda: [_waiting_call(requirement) for requirement in self._waiting()],
            lambda: self._name,
        )
        async with aclosing(items):
            async for item in items:
                yield item

    async def _start(self, message: str, parts: Sequence[Part]) -> Iterable[Item]:
        """Run the agent with a new message. Agno wants pictures and files apart from the text."""
        user = import_extra("agno.models.message", EXTRA).Message(role="user", content=message, **_media(parts))
        self._history.append(user)
        keeps_history = getattr(self._agent, "db", None) is not None
        media = _media(parts) if keeps_history else {}
        run_input = message if keeps_history else list(self._history)
        return self._end(await self._agent.arun(run_input, **self._session, **self._options, **media))

    def _resume(self, decisions: Sequence[Approval]) -> AsyncGenerator[Item, None]:
        """Go on with the run that waits."""
        waiting = self._waiting()
        for requirement, decision in zip(waiting, decisions, strict=True):
            if decision.decision == "reject":
                requirement.reject(decision.reason or None)
                continue
            if decision.args is not None:
                requirement.tool_execution.tool_args = decision.args
            requirement.confirm()

        async def go_on() -> Iterable[Item]:
            return self._end(await self._agent.acontinue_run(self._run, requirements=waiting, **self._session))

        return self._observer.items(go_on)

    def _waiting(self) -> list[Any]:
        requirements = getattr(self._run, "requirements", None) or ()
        return [requirement for requirement in requirements if requirement.needs_confirmation]

    def _end(self, run: Any) -> Iterable[Item]:
        """Return the reply of a run if no model wrote it. Raises the error that ended the run."""
        self._run = run
        status = str(getattr(run.status, "value", run.status)).lower()
        if status == "error":
            raise self._observer.error or AgentError(f"{self._name}: {as_text(run.content)}")
        if run.session_state is not None:
            self._options["session_state"] = run.session_state
        if self._waiting():
            return ()
        text = as_text(run.content) if run.content is not None else ""
        if status == "paused":
            raise AgentError(f"{self._name}: the run waits for a result from elsewhere, and nobody gives it here")
        self._history.append(import_extra("agno.models.message", EXTRA).Message(role="assistant", content=text))
        return () if self._observer.has_reply else (Message(text, self._name),)


def _name_of(agent: Any) -> str:
    return str(agent.name or "agent")


def _observed(original: Any, observer: Observer) -> Any:
    """Return a copy of an agent whose models report to an observer."""
    agent = copy.copy(original)
    agent.initialize_agent()  # an agent without a model gets Agno's own
    for attribute in _MODELS:
        model = getattr(agent, attribute, None)
        if hasattr(model, "ainvoke"):
            setattr(agent, attribute, _observed_model(model, _name_of(original), observer))
    return agent


def _observe_agents_in_tools() -> None:
    """Observe the agents that tools of other agents run. Sync and streamed runs ask the model in other ways."""
    agent_class = import_extra("agno.agent", EXTRA).Agent
    observe_unreached(agent_class, "run")
    observe_method(agent_class, "arun", _observed_in_tools)


def _observed_in_tools(original: Any) -> Any:
    def arun(agent: Any, *args: Any, **options: Any) -> Any:
        tool = current_tool()
        if tool is None:
            return original(agent, *args, **options)
        if options.get("stream") or (options.get("stream") is None and agent.stream):
            tool.give_up(_name_of(agent))
            return original(agent, *args, **options)
        return original(_observed(agent, Observer(tool.environment, tool)), *args, **options)

    return arun


def _waiting_call(requirement: Any) -> ToolCall:
    tool = requirement.tool_execution
    return ToolCall(str(tool.tool_name), arguments_of(plain(tool.tool_args)), str(tool.tool_call_id))


def _media(parts: Sequence[Part]) -> dict[str, list[Any]]:
    """Return the arguments of a message that hold its pictures, sounds, films and files."""
    media = import_extra("agno.media", EXTRA)
    classes = {"image": ("images", "Image"), "audio": ("audio", "Audio"), "video": ("videos", "Video")}
    arguments: dict[str, list[Any]] = {}
    for part in parts:
        argument, name = classes.get(kind_of(part), ("files", "File"))
        content = {"url": part.uri} if part.uri else {"content": content_of(part)}
        names = {"filename": part.name} if part.name and name == "File" else {}
        kind = {"mime_type": part.mime_type} if part.mime_type else {}
        arguments.setdefault(argument, []).append(getattr(media, name)(**content, **names, **kind))
    return arguments


def _observed_model(model: Any, author: str, observer: Observer) -> Any:
    """Return a copy of a model that reports its requests, its responses and its calls of tools."""
    copied = copy.copy(model)

    async def ainvoke(*args: Any, **options: Any) -> Any:
        messages = options.get("messages") or (args[0] if args else ())
        texts = (message.get_content_string() for message in messages if message.role in ("system", "developer"))
        observer.note_request(author, "\n\n".join(texts), map(_declaration, options.get("tools") or ()))
        for message in messages:
            if message.role == "tool":
                is_error = bool(message.tool_call_error)
                observer.note_result(str(message.tool_call_id), _response(message.content), is_error=is_error)
        with observer.model_at_work():
            response = await model.ainvoke(*args, **options)
        observer.note(*_items(response, str(model.id), author))
        return response

    async def arun_function_call(function_call: Any, *args: Any, **options: Any) -> Any:
        routed = _routed(function_call, author, observer)
        success, timer, _, result = await model.__class__.arun_function_call(copied, routed, *args, **options)
        function_call.error = routed.error
        function_call.result = routed.result
        return success, timer, function_call, result

    copied.ainvoke = ainvoke
    copied.arun_function_call = arun_function_call
    return copied


def _routed(function_call: Any, author: str, observer: Observer) -> Any:
    """Return a copy of a call whose function asks the environment, if there is one, and reports its result."""
    function = function_call.function
    original = function.entrypoint
    record = ToolCall(function.name, plain(function_call.arguments or {}), str(function_call.call_id or ""), author)

    async def call(**arguments: Any) -> Any:
        async def real() -> Any:
            if inspect.iscoroutinefunction(original):
                return await original(**arguments)
            return await asyncio.to_thread(original, **arguments)

        answer = await observer.answer(record, _declaration({"function": function.to_dict()}), real, as_json=_response)
        # Agno would write a dictionary with `str`, which is not JSON.
        return answer.value if answer.own else as_text(answer.value)

    routed = copy.copy(function_call)
    routed.function = copy.copy(function)
    # Agno looks at the parameters of the function, and gives it for example the context of the run.
    routed.function.entrypoint = functools.wraps(original)(call)
    return routed


def _response(value: Any) -> Json:
    content = getattr(value, "content", value) if type(value).__name__ == "ToolResult" else value
    return as_response(content)


def _declaration(tool: Any) -> dict[str, Json]:
    raw = tool.get("function", tool) if isinstance(tool, dict) else {"name": str(tool)}
    if "parameters" not in raw:
        declared: dict[str, Json] = plain(raw)
        return declared
    parameters = plain(raw["parameters"])
    return {
        "name": raw.get("name"),
        "description": raw.get("description") or "",
        "parameters_json_schema": parameters,
    }


def _declarations(tool: Any) -> list[dict[str, Json]]:
    """Return the functions of a toolkit, or the declaration of a function."""
    if hasattr(tool, "functions"):
        return [_declaration({"function": function.to_dict()}) for function in tool.functions.values()]
    if hasattr(tool, "to_dict"):
        return [_declaration({"function": tool.to_dict()})]
    return [declaration(tool) if callable(tool) else _declaration(tool)]


def _items(response: Any, model: str, author: str) -> list[Item]:
    """Return the tokens and the steps of a response."""
    counts = response.response_usage
    usage = Usage(model=model)
    if counts is not None:
        details = (counts.reasoning_tokens or None, counts.cache_read_tokens or None)
        usage = token_usage(counts.input_tokens, counts.output_tokens, *details, model)
    items: list[Item] = [usage]
    if response.reasoning_content:
        items.append(Thought(str(response.reasoning_content), author))
    if response.content or not response.tool_calls:
        items.append(Message(as_text(response.content) if response.content is not None else "", author))
    for raw in response.tool_calls or ():
        function = raw.get("function") or {}
        arguments = plain(arguments_of(function.get("arguments")))
        items.append(ToolCall(str(function.get("name")), arguments, str(raw.get("id") or ""), author))
    return items
