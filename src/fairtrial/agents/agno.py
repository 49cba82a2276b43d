"""Sessions with agents, teams and workflows of Agno. Each user message is a run, and models and tools are wrapped."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fairtrial.agents.calling import declaration
from fairtrial.agents.nested_runs import ToolAtWork, current_stage, observe_in_tools, observe_unreached, on_stage
from fairtrial.agents.observed_framework import FrameworkSession, ObservedFramework, Opening
from fairtrial.agents.observer import Observer
from fairtrial.agents.observers.agno_pauses import EXTRA, AgnoPause, PausingSession, call_in
from fairtrial.agents.plain import as_response, as_text, is_reply, plain
from fairtrial.agents.routing import describe_declaration
from fairtrial.agents.token_usage import token_usage
from fairtrial.agents.user_parts import detect_kind, read_content
from fairtrial.errors import AgentError, UnfitCaseError
from fairtrial.formats.message_entries import read_arguments
from fairtrial.records.trace import AgentDetails, Message, Part, Thought, ToolCall, Usage
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.protocols import Item
    from fairtrial.records.record import Json

_OBSERVED = "_fairtrial_observed"
_MODELS = ("model", "output_model", "parser_model", "reasoning_model")


class AgnoAgent(ObservedFramework):
    """An agent, a team or a workflow of Agno. The case's initial state becomes the state of its session.

    If it has a database, it keeps the conversation itself. Otherwise the session gives the earlier messages to an agent
    or a team. A workflow gets the new message only.
    """

    package_extra, library, kind = EXTRA, "agno.agent", "an Agent, Team or Workflow of Agno"
    options = ("dependencies", "knowledge_filters", "metadata", "session_state", "user_id")

    @staticmethod
    def is_agent(thing: Any) -> bool:
        """Whether an object is an agent, a team or a workflow."""
        names = ("initialize_agent", "initialize_team", "initialize_workflow")
        is_any = any(hasattr(thing, name) for name in names)
        return hasattr(thing, "acontinue_run") and is_any and not inspect.isclass(thing)

    def session(self, opening: Opening) -> FrameworkSession:
        """Return the session of a conversation, with a copy of the agent."""
        is_workflow = hasattr(opening.thing, "initialize_workflow")
        return AgnoWorkflowSession(opening) if is_workflow else AgnoSession(opening)


class AgnoSession(PausingSession):
    """One conversation, in a session of Agno."""

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening, AgnoAgent.read_name(opening.thing))
        self._agent = _observe_agent(opening.thing, self._observer)
        _observe_agents_in_tools()
        self._options = {"session_state": opening.state} | opening.options
        self._session = {"session_id": str(uuid.uuid4())}
        self._history: list[Any] = []
        self._own_input = getattr(self._agent, "additional_input", None) or ()
        self._latest: Any = None

    def _state(self) -> Json:
        state: Json = self._options["session_state"]
        return state

    def _declare(self) -> Iterable[AgentDetails]:
        """Return the agent with its tools, and the members of a team. What a function makes is not known yet."""
        return _describe(self._agent, self._name)

    async def _begin_run(self, message: str, parts: Sequence[Part]) -> Any:
        """Run the agent with a new message. Agno wants pictures and files apart from the text."""
        schema = getattr(self._agent, "input_schema", None)
        _check_input(message, schema, self._name)
        user = import_extra("agno.models.message", EXTRA).Message(role="user", content=message, **_media(parts))
        self._history.append(user)
        keeps_history = getattr(self._agent, "db", None) is not None
        takes_one = keeps_history or schema is not None
        if takes_one and not keeps_history:
            # Agno compares a text with the schema of the input, and refuses a list of messages.
            self._agent.additional_input = [*self._own_input, *self._history[:-1]]
        media = _media(parts) if takes_one else {}
        run_input = message if takes_one else list(self._history)
        self._latest = await self._agent.arun(run_input, **self._session, **self._options, **media)
        return self._latest

    async def _continue_run(self, pause: AgnoPause) -> Any:
        """Go on. A team then runs its member outside of the call by which the team asked the member."""
        requirements = pause.requirements
        for requirement in requirements:
            self._observer.expect_result(call_in(requirement))
        with on_stage("agno", self._observer):
            self._latest = await self._agent.acontinue_run(self._latest, requirements=requirements, **self._session)
        return self._latest

    def _end(self, run: Any, status: str) -> Iterable[Item]:
        if status == "error":
            raise self._observer.error or AgentError(f"{self._name}: {as_text(run.content)}")
        if run.session_state is not None:
            self._options["session_state"] = run.session_state
        text = as_text(run.content) if run.content is not None else ""
        self._history.append(import_extra("agno.models.message", EXTRA).Message(role="assistant", content=text))
        latest = self._observer.latest_message
        is_recorded = self._observer.has_reply and latest is not None and _is_written(run, latest.text)
        return () if is_recorded else (Message(text, self._name),)


class AgnoWorkflowSession(PausingSession):
    """One conversation with a workflow. The agents and teams of its steps are agents of the conversation."""

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening, AgnoAgent.read_name(opening.thing))
        self._workflow = opening.thing
        self._options = {"session_state": opening.state, "session_id": str(uuid.uuid4())} | opening.options
        self._latest: Any = None
        _observe_agents_in_tools()

    def _state(self) -> Json:
        state: Json = self._options["session_state"]
        return state

    def _declare(self) -> Iterable[AgentDetails]:
        """Return the agents of the steps."""
        for executor in _executors(self._workflow):
            yield from _describe(executor, AgnoAgent.read_name(executor))

    async def _begin_run(self, message: str, parts: Sequence[Part]) -> Any:
        _check_input(message, getattr(self._workflow, "input_schema", None), self._name)
        with on_stage("agno", self._observer):
            self._latest = await self._workflow.arun(message, stream=False, **self._options, **_media(parts))
        return self._latest

    async def _continue_run(self, pause: AgnoPause) -> Any:  # noqa: ARG002  (the run holds what it waited for)
        if self._workflow.db is None:
            raise self._observer.refuse(
                f"{self._name}: the workflow waits for a decision, and Agno goes on only with workflows that have a "
                "database, for example Workflow(db=InMemoryDb())"
            )
        with on_stage("agno", self._observer):
            self._latest = await self._workflow.acontinue_run(self._latest, stream=False)
        return self._latest

    def _end(self, run: Any, status: str) -> Iterable[Item]:
        """Return the content of the workflow, also if another step wrote it. A rejected step cancels the workflow."""
        text = as_text(run.content) if run.content is not None else ""
        if status != "completed" and not (status == "cancelled" and self._was_rejected):
            raise self._observer.error or AgentError(f"{self._name}: the workflow is {status}: {text}")
        latest = self._observer.latest_message
        return () if latest is not None and latest.text.strip() == text.strip() else (Message(text, self._name),)

    @property
    def _was_rejected(self) -> bool:
        return any(step.confirmed is False for step in self._latest.step_requirements or ())


def _check_input(message: str, schema: Any, name: str) -> None:
    """Raise UnfitCaseError if a message is not what an agent takes, as Agno itself finds out."""
    if schema is None:
        return
    try:
        import_extra("agno.utils.agent", EXTRA).validate_input(message, schema)
    except (TypeError, ValueError) as error:
        raise UnfitCaseError(f"{name} takes messages of its input_schema: {error}") from error


def _is_written(run: Any, latest: str) -> bool:
    """Whether the model wrote the reply of a run last. Agno joins the texts of a run, also those before calls."""
    if is_reply(latest, run.content):
        return True
    answers = [message for message in run.messages or () if message.role == "assistant"]
    texts = [as_text(answer.content) for answer in answers if answer.content is not None]
    return isinstance(run.content, str) and texts[-1:] == [latest] and "".join(texts).endswith(run.content)


def _executors(step: Any) -> Iterator[Any]:
    """Yield the agents and teams of a workflow, whatever its steps are: steps, loops, branches and functions."""
    for name in ("agent", "team"):
        if hasattr(executor := getattr(step, name, None), "acontinue_run"):
            yield executor
    if hasattr(step, "initialize_agent") or hasattr(step, "initialize_team"):
        yield step
    inner = next((own for name in ("steps", "choices") if (own := getattr(step, name, None)) is not None), ())
    for each in inner if isinstance(inner, list | tuple) else (inner,) if hasattr(inner, "steps") else ():
        yield from _executors(each)


def _describe(agent: Any, name: str) -> Iterator[AgentDetails]:
    texts = agent.instructions
    texts = [texts] if isinstance(texts, str) else texts if isinstance(texts, list) else []
    tools = agent.tools if isinstance(agent.tools, list) else []
    declarations = tuple(each for tool in tools for each in _declarations(tool))
    yield AgentDetails(name, "\n".join(map(str, texts)), declarations)
    members = getattr(agent, "members", None)
    for member in members if isinstance(members, list) else ():
        yield from _describe(member, AgnoAgent.read_name(member))


def _observe_agent(original: Any, observer: Observer) -> Any:
    """Return a copy of an agent or a team whose models report to an observer.

    The members of a team work inside the tool by which the team asks them.
    """
    agent = copy.copy(original)
    # An agent without a model gets Agno's own.
    (agent.initialize_team if hasattr(agent, "initialize_team") else agent.initialize_agent)()
    for attribute in _MODELS:
        model = getattr(agent, attribute, None)
        if hasattr(model, "ainvoke"):
            setattr(agent, attribute, _observe_model(model, AgnoAgent.read_name(original), observer))
    setattr(agent, _OBSERVED, True)
    return agent


def _observe_agents_in_tools() -> None:
    """Observe the agents that tools of other agents run. Sync and streamed runs ask the model in other ways."""
    classes = (import_extra("agno.agent", EXTRA).Agent, import_extra("agno.team", EXTRA).Team)
    for owner in classes:
        observe_unreached(owner, "run")
        observe_in_tools(owner, "arun", _run_in_tool)
        observe_in_tools(owner, "acontinue_run", _run_in_tool)


def _run_in_tool(original: Any, tool: ToolAtWork | None, agent: Any, *args: Any, **options: Any) -> Any:
    if tool is None:
        if getattr(agent, _OBSERVED, False):
            return original(agent, *args, **options)
        if options.get("stream") or (options.get("stream") is None and agent.stream):
            name = AgnoAgent.read_name(agent)
            raise current_stage("agno").refuse(f"{name!r} streams, and a step of a workflow cannot be recorded so")
        return original(_observe_agent(agent, current_stage("agno")), *args, **options)
    if options.get("stream") or (options.get("stream") is None and agent.stream):
        tool.give_up(AgnoAgent.read_name(agent))
        return original(agent, *args, **options)
    return original(_observe_agent(agent, Observer(tool.environment, tool)), *args, **options)


def _media(parts: Sequence[Part]) -> dict[str, list[Any]]:
    """Return the arguments of a message that hold its pictures, sounds, films and files."""
    media = import_extra("agno.media", EXTRA)
    classes = {"image": ("images", "Image"), "audio": ("audio", "Audio"), "video": ("videos", "Video")}
    arguments: dict[str, list[Any]] = {}
    for part in parts:
        argument, name = classes.get(detect_kind(part), ("files", "File"))
        content = {"url": part.uri} if part.uri else {"content": read_content(part)}
        names = {"filename": part.name} if part.name and name == "File" else {}
        kind = {"mime_type": part.mime_type} if part.mime_type else {}
        arguments.setdefault(argument, []).append(getattr(media, name)(**content, **names, **kind))
    return arguments


def _observe_model(model: Any, author: str, observer: Observer) -> Any:
    """Return a copy of a model that reports its requests, its responses and its calls of tools."""
    copied = copy.copy(model)

    async def ainvoke(*args: Any, **options: Any) -> Any:
        if options.get("tools"):
            tools = [describe_declaration(observer.environment, tool) for tool in options["tools"]]
            options["tools"] = tools
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
        routed = _route_function(function_call, author, observer)
        success, timer, _, result = await model.__class__.arun_function_call(copied, routed, *args, **options)
        function_call.error = routed.error
        function_call.result = routed.result
        return success, timer, function_call, result

    copied.ainvoke = ainvoke
    copied.arun_function_call = arun_function_call
    return copied


def _route_function(function_call: Any, author: str, observer: Observer) -> Any:
    """Return a copy of a call whose function asks the environment, if there is one, and reports its result."""
    function = function_call.function
    original = function.entrypoint
    record = ToolCall(function.name, plain(function_call.arguments or {}), str(function_call.call_id or ""), author)

    async def call(**arguments: Any) -> Any:
        async def real() -> Any:
            if inspect.isasyncgenfunction(original):
                # A team asks its members so; the texts are the result, and the events are for the screen.
                return "".join([item async for item in original(**arguments) if isinstance(item, str)])
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
        arguments = plain(read_arguments(function.get("arguments")))
        items.append(ToolCall(str(function.get("name")), arguments, str(raw.get("id") or ""), author))
    return items


agent_at, agent_around = AgnoAgent.at, AgnoAgent.around
