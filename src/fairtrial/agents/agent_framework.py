"""Sessions with agents and workflows of Microsoft's Agent Framework, through its own session and middleware."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from fairtrial.agents.calling import declaration
from fairtrial.agents.factories import AgentSource, one_conversation
from fairtrial.agents.framework_workflows import (
    answer_question,
    find_workflow,
    is_workflow,
    output_text,
    question_text,
    workflow_input,
)
from fairtrial.agents.nested_runs import ToolAtWork, observe_in_tools, on_stage
from fairtrial.agents.observed_framework import FrameworkSession, ObservedFramework, ObservedSession, Opening
from fairtrial.agents.observer import Observer, observer_here
from fairtrial.agents.plain import as_text, is_reply, plain
from fairtrial.agents.routing import describe_object
from fairtrial.agents.token_usage import token_usage
from fairtrial.agents.user_parts import data_url, refuse_parts
from fairtrial.errors import UsageError
from fairtrial.formats.message_entries import read_arguments, read_response
from fairtrial.records.trace import AgentDetails, Approval, Message, Part, Thought, ToolCall
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.protocols import Item
    from fairtrial.records.record import Json

EXTRA = "agents-agent-framework"
Next = Callable[[], Awaitable[None]]
_APPROVAL = "function_approval_request"
_RANDOM_ID = re.compile("-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
"""The end of the name of a workflow that has no name of its own."""


class FrameworkAgent(ObservedFramework):
    """An agent of Agent Framework. The case's initial state becomes the state of its session."""

    package_extra, library, kind = EXTRA, "agent_framework", "an agent_framework.Agent"
    options = ("client_kwargs", "function_invocation_kwargs", "options", "tools")

    @staticmethod
    def is_agent(thing: Any) -> bool:
        """Whether an object is an agent of the framework, or a workflow."""
        is_agent = hasattr(thing, "create_session") or is_workflow(thing)
        return is_agent and hasattr(thing, "run") and not inspect.isclass(thing)

    @classmethod
    def make_source(cls, thing: Any) -> AgentSource:
        """Return the source of agents. Raises UsageError for a workflow: its executors hold one conversation."""
        if cls.is_agent(thing) and find_workflow(thing) is not None:
            raise UsageError(one_conversation("a workflow of Agent Framework"), code="unusable-agent")
        return super().make_source(thing)

    def session(self, opening: Opening) -> FrameworkSession:
        """Return the session of a conversation. The agent is not changed: each run gets middleware that reports it."""
        if find_workflow(opening.thing) is not None:
            return WorkflowSession(opening)
        return MiddlewareSession(opening)


class MiddlewareSession(ObservedSession):
    """One conversation, in a session of the framework."""

    def __init__(self, opening: Opening) -> None:
        self._agent = opening.thing
        super().__init__(opening, FrameworkAgent.read_name(self._agent))
        self._options = opening.options
        self._session = self._agent.create_session()
        self._session.state.update(opening.state)
        self._middleware = _middleware(self._name, self._observer)
        observe_in_tools(import_extra("agent_framework", EXTRA).Agent, "run", _run_in_tool)
        self._approvals_asked: list[Any] = []

    def _state(self) -> Json:
        providers = {getattr(provider, "source_id", None) for provider in self._agent.context_providers}
        return {key: value for key, value in self._session.state.items() if key not in providers}

    def _declare(self) -> Iterable[AgentDetails]:
        """Return the agent with its instructions and tools. What a provider of context adds is not known yet."""
        options = self._agent.default_options
        tools = tuple(_declaration(tool) for tool in options.get("tools") or ())
        return (AgentDetails(self._name, str(options.get("instructions") or ""), tools),)

    async def _run(self, message: str, parts: Sequence[Part]) -> Iterable[Item]:
        return await self._answer(_user_message(message, parts))

    async def _answer(self, message: Any) -> Iterable[Item]:
        """Run the agent with a message. Return the reply if no model wrote it."""
        response = await self._agent.run(message, session=self._session, middleware=self._middleware, **self._options)
        self._approvals_asked = [request for request in response.user_input_requests if request.type == _APPROVAL]
        needs = [
            str(request.name or request.type) for request in response.user_input_requests if request.type != _APPROVAL
        ]
        if needs:
            raise self._observer.refuse(
                f"{self._name}: the results of {', '.join(needs)} come from elsewhere, and nobody gives them here"
            )
        latest = self._observer.latest_message
        last_text = response.messages[-1].text if response.messages else ""
        is_recorded = self._observer.has_reply and latest is not None and is_reply(latest.text, last_text)
        if self._approvals_asked or is_recorded:
            return ()
        return (Message(str(response.text), self._name),)

    def _waiting(self) -> list[ToolCall]:
        return [_call(request.function_call, self._name) for request in self._approvals_asked]

    async def _go_on(self, decisions: Sequence[Approval]) -> Iterable[Item]:
        answers = []
        for request, decision in zip(self._approvals_asked, decisions, strict=True):
            if decision.args is not None:
                self._observer.edits[str(request.function_call.call_id)] = decision.args
            answers.append(request.to_function_approval_response(decision.decision != "reject"))
        return await self._answer(import_extra("agent_framework", EXTRA).Message("user", answers))


class WorkflowSession(ObservedSession):
    """One conversation with a workflow. Its agents are agents of the conversation."""

    def __init__(self, opening: Opening) -> None:
        self._workflow = find_workflow(opening.thing)
        super().__init__(opening, _RANDOM_ID.sub("", FrameworkAgent.read_name(opening.thing)))
        self._options = opening.options
        self._questions: list[Any] = []
        self._approvals_asked: list[Any] = []
        self._answers: dict[str, Any] = {}
        observe_in_tools(import_extra("agent_framework", EXTRA).Agent, "run", _run_in_tool)

    def _declare(self) -> Iterable[AgentDetails]:
        """Return the agents of the workflow, as far as its executors hold them."""
        list_executors = getattr(self._workflow, "get_executors_list", list)
        for agent in filter(None, (getattr(executor, "agent", None) for executor in list_executors())):
            options = getattr(agent, "default_options", {})
            tools = tuple(_declaration(tool) for tool in options.get("tools") or ())
            yield AgentDetails(FrameworkAgent.read_name(agent), str(options.get("instructions") or ""), tools)

    async def _run(self, message: str, parts: Sequence[Part]) -> Iterable[Item]:
        """Run the workflow with a message, or go on with the answer to its question. Its last output is the reply."""
        if self._questions:
            refuse_parts(parts)
            self._answers |= {request.request_id: answer_question(request, message) for request in self._questions}
            return await self._advance()
        request = workflow_input(self._workflow, message, lambda: _user_message(message, parts))
        if isinstance(request, str):
            refuse_parts(parts, "a workflow that takes a text")
        return await self._follow(lambda: self._workflow.run(request, **self._options))

    async def _advance(self) -> Iterable[Item]:
        """Go on if all questions have answers. Otherwise return the questions."""
        if self._questions and any(request.request_id not in self._answers for request in self._questions):
            return (Message(question_text(self._questions), self._name),)
        answers, self._answers = self._answers, {}
        return await self._follow(lambda: self._workflow.run(responses=answers, **self._options))

    def _waiting(self) -> list[ToolCall]:
        return [_call(request.data.function_call, self._name) for request in self._approvals_asked]

    async def _go_on(self, decisions: Sequence[Approval]) -> Iterable[Item]:
        for request, decision in zip(self._approvals_asked, decisions, strict=True):
            if decision.args is not None:
                self._observer.edits[str(request.data.function_call.call_id)] = decision.args
            self._answers[request.request_id] = request.data.to_function_approval_response(
                decision.decision != "reject"
            )
        self._approvals_asked = []
        return await self._advance()

    async def _follow(self, run: Callable[[], Awaitable[Any]]) -> Iterable[Item]:
        """Run the workflow, and return what it asks, or its last output."""
        with on_stage("agent_framework", self._observer):
            result = await run()
        requests = list(result.get_request_info_events())
        self._approvals_asked = [request for request in requests if getattr(request.data, "type", "") == _APPROVAL]
        self._questions = [request for request in requests if request not in self._approvals_asked]
        if self._approvals_asked:
            return ()
        text = output_text(result, self._questions)
        latest = self._observer.latest_message
        is_known = latest is not None and self._observer.has_reply and latest.text.strip() == text.strip()
        return () if is_known or (not text and self._observer.has_reply) else (Message(text, self._name),)


def _run_in_tool(
    original: Any, _: ToolAtWork | None, agent: Any, messages: Any = None, *, middleware: Any = None, **options: Any
) -> Any:
    """Run an agent inside a tool of another agent, or in a workflow, with middleware that reports."""
    observer = observer_here(agent, "agent_framework")
    own = [] if observer is None else _middleware(FrameworkAgent.read_name(agent), observer)
    return original(agent, messages, middleware=[*(middleware or ()), *own], **options)


def _user_message(message: str, parts: Sequence[Part]) -> Any:
    library = import_extra("agent_framework", EXTRA)
    contents = [library.Content.from_uri(data_url(part), media_type=part.mime_type or None) for part in parts]
    return library.Message("user", [library.Content.from_text(message), *contents])


def _middleware(author: str, observer: Observer) -> list[Any]:
    """Return the middleware that reports requests, responses and calls, and that asks the environment."""
    return [_model_middleware(author, observer), _tool_middleware(author, observer)]


def _model_middleware(author: str, observer: Observer) -> Any:
    def report_response(response: Any) -> Any:
        observer.note(*_items(response, author))
        return response

    async def report_request(context: Any, call_next: Next) -> None:
        options = context.options or {}
        if options.get("tools") and observer.environment is not None:
            tools = [describe_object(observer.environment, tool) for tool in options["tools"]]
            context.options = options = {**options, "tools": tools}
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


def _tool_middleware(author: str, observer: Observer) -> Any:
    async def answer_call(context: Any, call_next: Next) -> None:
        function = context.function
        call_id = str(context.metadata["call_id"])
        arguments = observer.edits.pop(call_id, None)
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
    """Return the result of a tool. The framework makes it contents, of which texts are mostly JSON."""
    if isinstance(value, list) and all(getattr(content, "type", "") == "text" for content in value):
        return read_response("".join(content.text for content in value))
    return plain([content.to_dict() for content in value]) if isinstance(value, list) else read_response(as_text(value))


def _result(content: Any) -> Json:
    return _response(content.items or content.result)


def _call(content: Any, author: str) -> ToolCall:
    return ToolCall(str(content.name), plain(read_arguments(content.arguments)), str(content.call_id or ""), author)


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


agent_at, agent_around = FrameworkAgent.at, FrameworkAgent.around
