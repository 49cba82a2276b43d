"""Sessions with agents of Microsoft's Agent Framework, through its own session and middleware."""

from __future__ import annotations

import copy
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fairtrial.agents.approvals import Approvals
from fairtrial.agents.calling import declaration
from fairtrial.agents.factories import AgentSource
from fairtrial.agents.nested_runs import observe_method
from fairtrial.agents.observer import Observer, observer_here
from fairtrial.agents.plain import as_text, plain
from fairtrial.agents.token_usage import token_usage
from fairtrial.agents.user_parts import data_url
from fairtrial.formats.messages import arguments_of, response_of
from fairtrial.protocols import Environment, Item
from fairtrial.records.case import EvalCase
from fairtrial.records.record import Json
from fairtrial.records.trace import About, AgentDetails, Approval, Message, Part, Thought, ToolCall
from fairtrial.system.importing import import_extra, import_object

EXTRA = "agents-agent-framework"
_OPTIONS = ("client_kwargs", "function_invocation_kwargs", "options", "tools")
Next = Callable[[], Awaitable[None]]


def agent_at(target: str) -> FrameworkAgent:
    """Return the agent at `agent-framework:MODULE:NAME`, or of the factory with this name. Raises UsageError."""
    import_extra("agent_framework", EXTRA)
    path = target.partition(":")[2]
    return FrameworkAgent(path, _source(import_object(path, path)))


def agent_around(thing: Any) -> FrameworkAgent:
    """Return a session-opening agent for an agent of the framework."""
    return FrameworkAgent(thing.name or "agent", _source(thing))


def _source(thing: Any) -> AgentSource:
    return AgentSource(thing, _is_agent, "an agent_framework.Agent", _OPTIONS)


def _is_agent(thing: Any) -> bool:
    return hasattr(thing, "create_session") and hasattr(thing, "run") and not inspect.isclass(thing)


@dataclass(frozen=True, slots=True)
class FrameworkAgent:
    """An agent of Agent Framework. The case's initial state becomes the state of its session."""

    path: str
    source: AgentSource = field(repr=False)

    def refuses_parts(self, parts: Sequence[Part]) -> str:  # noqa: ARG002
        """Return an empty text: the framework passes data and URIs of any type on."""
        return ""

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[FrameworkSession]:
        """Open a conversation. The agent is not changed: each run gets the middleware that reports it."""
        state = copy.deepcopy(case.session_input.state) if case.session_input else {}
        async with self.source.open(case) as (agent, options):
            yield FrameworkSession(agent, state, options, Approvals(case), Observer(environment))


class FrameworkSession:
    """One conversation, in a session of the framework."""

    def __init__(
        self, agent: Any, state: dict[str, Any], options: dict[str, Any], approvals: Approvals, observer: Observer
    ) -> None:
        self._agent = agent
        self._name = str(agent.name or "agent")
        self._options = options
        self._session = agent.create_session()
        self._session.state.update(state)
        self._approvals = approvals
        self._observer = observer
        self._edited: dict[str, dict[str, Json]] = {}
        self._middleware = _middleware(self._name, observer, self._edited)
        observe_method(import_extra("agent_framework", EXTRA).Agent, "run", _observed_in_tools)
        self._requests: list[Any] = []

    @property
    def about(self) -> About:
        """The agent if its model got a request in the latest invocation, and the state of the session."""
        providers = {getattr(provider, "source_id", None) for provider in self._agent.context_providers}
        state = {key: plain(value) for key, value in self._session.state.items() if key not in providers}
        return About(tuple(self._observer.agents.values()), state or None)

    async def declared(self) -> About:
        """Return the agent with its instructions and tools. What a provider of context adds is not known yet."""
        options = self._agent.default_options
        tools = tuple(_declaration(tool) for tool in options.get("tools") or ())
        return About((AgentDetails(self._name, str(options.get("instructions") or ""), tools),))

    async def send(self, message: str, parts: Sequence[Part] = ()) -> AsyncIterator[Item]:
        """Run the agent, and yield the items. If calls wait for a decision, the message decides."""
        self._observer.begin_invocation()
        items = self._approvals.send(
            message,
            lambda: self._observer.items(lambda: self._run(_user_message(message, parts))),
            self._resume,
            lambda: [_call(request.function_call, self._name) for request in self._requests],
            lambda: self._name,
        )
        async with aclosing(items):
            async for item in items:
                yield item

    async def _run(self, message: Any) -> Iterable[Item]:
        """Run the agent with a message. Return the reply if no model wrote it."""
        response = await self._agent.run(message, session=self._session, middleware=self._middleware, **self._options)
        self._requests = [
            request for request in response.user_input_requests if request.type == "function_approval_request"
        ]
        if self._requests or self._observer.has_reply:
            return ()
        return (Message(str(response.text), self._name),)

    def _resume(self, decisions: Sequence[Approval]) -> AsyncGenerator[Item, None]:
        """Go on with the calls that wait."""
        library = import_extra("agent_framework", EXTRA)
        answers = []
        for request, decision in zip(self._requests, decisions, strict=True):
            if decision.args is not None:
                self._edited[str(request.function_call.call_id)] = decision.args
            answers.append(request.to_function_approval_response(decision.decision != "reject"))
        return self._observer.items(lambda: self._run(library.Message("user", answers)))


def _observed_in_tools(original: Any) -> Any:
    """Return the method that runs an agent, with middleware that reports if a tool of another agent runs it."""

    def run(agent: Any, messages: Any = None, *, middleware: Sequence[Any] | None = None, **options: Any) -> Any:
        observer = observer_here(agent)
        if observer is None:
            return original(agent, messages, middleware=middleware, **options)
        own = _middleware(str(agent.name or "agent"), observer, {})
        return original(agent, messages, middleware=[*(middleware or ()), *own], **options)

    return run


def _user_message(message: str, parts: Sequence[Part]) -> Any:
    library = import_extra("agent_framework", EXTRA)
    contents = [library.Content.from_uri(data_url(part), media_type=part.mime_type or None) for part in parts]
    return library.Message("user", [library.Content.from_text(message), *contents])


def _middleware(author: str, observer: Observer, edited: dict[str, dict[str, Json]]) -> list[Any]:
    """Return the middleware that reports requests, responses and calls, and that asks the environment.

    `edited` are the arguments that users have given instead of the model's, by the ids of the calls.
    """
    return [_model_middleware(author, observer), _tool_middleware(author, observer, edited)]


def _model_middleware(author: str, observer: Observer) -> Any:
    def report_response(response: Any) -> Any:
        observer.note(*_items(response, author))
        return response

    async def report_request(context: Any, call_next: Next) -> None:
        options = context.options or {}
        texts = [str(options.get("instructions") or "")]
        texts += [message.text for message in context.messages if message.role == "system"]
        observer.note_request(author, "\n\n".join(filter(None, texts)), map(_declaration, options.get("tools") or ()))
        for content in (content for message in context.messages for content in message.contents):
            if content.type == "function_result":
                is_error = content.exception is not None
                observer.note_result(str(content.call_id), _result(content), is_error=is_error)
        if context.stream:
            context.stream_result_hooks.append(report_response)
        with observer.model_at_work():
            await call_next()
        if not context.stream:
            report_response(context.result)

    return import_extra("agent_framework", EXTRA).chat_middleware(report_request)


def _tool_middleware(author: str, observer: Observer, edited: dict[str, dict[str, Json]]) -> Any:
    async def answer_call(context: Any, call_next: Next) -> None:
        function = context.function
        call_id = str(context.metadata["call_id"])
        arguments = edited.pop(call_id, None)
        call = ToolCall(function.name, plain(context.arguments) if arguments is None else arguments, call_id, author)

        async def real() -> Any:
            if arguments is not None:
                # The framework would ask for another approval if the arguments of its own context changed.
                own = copy.copy(context)
                own.arguments, own.metadata = arguments, {}
                context.result = await function.invoke(arguments=arguments, context=own, tool_call_id=call_id)
            else:
                await call_next()
            return context.result

        answer = await observer.answer(call, _declaration(function), real, as_json=_response)
        if not answer.own:
            context.result = as_text(answer.value)

    return import_extra("agent_framework", EXTRA).function_middleware(answer_call)


def _response(value: Any) -> Json:
    """Return what a tool returned. The framework makes it contents, of which texts are mostly JSON."""
    if isinstance(value, list) and all(getattr(content, "type", "") == "text" for content in value):
        return response_of("".join(content.text for content in value))
    return plain([content.to_dict() for content in value]) if isinstance(value, list) else response_of(as_text(value))


def _result(content: Any) -> Json:
    return _response(content.items or content.result)


def _call(content: Any, author: str) -> ToolCall:
    return ToolCall(str(content.name), plain(arguments_of(content.arguments)), str(content.call_id or ""), author)


def _declaration(tool: Any) -> dict[str, Json]:
    if not hasattr(tool, "to_json_schema_spec"):
        return declaration(tool) if callable(tool) else {"name": str(getattr(tool, "name", None) or "tool")}
    return {
        "name": str(tool.name),
        "description": str(tool.description or ""),
        "parameters_json_schema": plain(tool.parameters()),
    }


def _items(response: Any, author: str) -> list[Item]:
    """Return the tokens and the steps of a response."""
    counts = response.usage_details or {}
    usage = token_usage(
        counts.get("input_token_count"),
        counts.get("output_token_count"),
        counts.get("reasoning_output_token_count"),
        counts.get("cache_read_input_token_count"),
        str(response.model or ""),
    )
    items: list[Item] = [usage]
    texts: list[str] = []
    calls: list[Item] = []
    for content in (content for message in response.messages for content in message.contents):
        if content.type == "text_reasoning" and content.text:
            items.append(Thought(str(content.text), author))
        elif content.type == "text":
            texts.append(str(content.text or ""))
        elif content.type == "function_call":
            calls.append(_call(content, author))
    if "".join(texts) or not calls:
        items.append(Message("".join(texts), author))
    return [*items, *calls]
