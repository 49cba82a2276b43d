"""Assign agent runs inside a tool to the tool's result, whoever runs them."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fairtrial.agents.model_requests import watch_requests
from fairtrial.agents.plain import as_text
from fairtrial.agents.routing import refusal
from fairtrial.records.trace import (
    AgentDetails,
    Invocation,
    Message,
    Step,
    Thought,
    ToolCall,
    ToolResult,
    Trace,
    Usage,
    split_reply,
)
from fairtrial.system.replaced_methods import replace_method, replacing

if TYPE_CHECKING:
    from fairtrial.protocols import Environment, Item

_CURRENT: ContextVar[ToolAtWork | None] = ContextVar("_CURRENT", default=None)
_REQUESTS: ContextVar[list[bool] | None] = ContextVar("_REQUESTS", default=None)
_CONVERSATION: ContextVar[OpenConversation | None] = ContextVar("_CONVERSATION", default=None)
_OPEN: list[OpenConversation] = []
_GAP = (
    "a thread that has no context asked a model, and it is not known in which conversation and tool, so that model "
    "calls may be missing; give the thread the context (contextvars), or hold one conversation at a time"
)
_WITH_CONTEXT = ("asyncio_", "AnyIO worker")
"""The beginnings of the names of threads that take over the context of their caller."""
_STAGE: ContextVar[tuple[str, Any] | None] = ContextVar("_STAGE", default=None)


@dataclass(eq=False)
class ToolAtWork:
    """A tool at work, with the items of the agents inside it.

    `agents` are the agents of the conversation. `unrecorded` says why the work of an agent inside is not recorded.
    `error` is the exception of the tool, which its framework made a text. `observers` are those of the agents inside.
    `outer` is the tool in which this tool works. `answered_requests` has an element for each request to a model that
    was answered here.
    """

    call: ToolCall
    environment: Environment | None
    agents: dict[str, AgentDetails]
    items: list[Item] = field(default_factory=list)
    unrecorded: str = ""
    error: Exception | None = None
    outer: ToolAtWork | None = None
    observers: dict[int, Any] = field(default_factory=dict)
    answered_requests: list[bool] = field(default_factory=list)

    @property
    def inner(self) -> Trace | None:
        """The work inside the tool as a conversation of one turn, or None if no agent and no model worked there."""
        items = [*self.items, *self._untold_usages]
        if not items and not self.unrecorded:
            return None
        return inner_trace(self.call, items, self.unrecorded)

    @property
    def usages(self) -> list[Usage]:
        """The tokens of the agents inside, and of the requests that no agent reported, which are not known."""
        return [*self._told_usages, *self._untold_usages]

    @property
    def _told_usages(self) -> list[Usage]:
        return [item for item in self.items if isinstance(item, Usage)]

    @property
    def _untold_usages(self) -> list[Usage]:
        return [Usage()] * (len(self.answered_requests) - len(self._told_usages))

    def give_up(self, name: str) -> None:
        """Note that an agent works inside that cannot be observed. Raises SimulatedToolError if it is simulated.

        A simulated environment would not reach the tools of the agent, so that the real tools would run.
        """
        if self.environment is not None:
            raise refusal(
                self.environment,
                f"the environment does not reach the tools of {name!r}, an agent that works inside the tool "
                f"{self.call.name!r}; run the agent asynchronously and without streaming, or simulate the whole tool",
            )
        self.unrecorded = f"the agent {name!r} worked inside the tool {self.call.name!r} without being recorded"


class OpenConversation:
    """A conversation that is open. `gap` says why model calls may be missing.

    `requests` gets the requests to models, if the adapter compares them with the calls that its framework reports.
    `tools` are the tools at work.
    """

    def __init__(self) -> None:
        self.gap = ""
        self.requests: list[bool] | None = None
        self.tools: list[ToolAtWork] = []
        self.thread = threading.get_ident()

    def take_request(self) -> None:
        """Count a request of a thread without a context, if its place is known."""
        tool = self.tools[0] if len(self.tools) == 1 else None
        if tool is not None:
            tool.answered_requests.append(True)
        if self.requests is not None:
            self.requests.append(True)
        elif tool is None:
            self.gap = _GAP


@contextmanager
def open_conversation() -> Iterator[OpenConversation]:
    """Let the block be a conversation. After the last open one, the classes of other packages are as before."""
    conversation = OpenConversation()
    with replacing():
        _CONVERSATION.set(conversation)
        _OPEN.append(conversation)
        try:
            yield conversation
        finally:
            _OPEN.remove(conversation)


def current_conversation() -> OpenConversation:
    """Return the conversation of this context, or a new one outside of all."""
    return _CONVERSATION.get() or OpenConversation()


def inner_trace(call: ToolCall, items: Iterable[Item], incomplete: str = "") -> Trace:
    """Return the work inside a tool as a conversation of one turn. The arguments of the call are its request."""
    items = list(items)
    steps: list[Step] = [item for item in items if isinstance(item, Message | Thought | ToolCall | ToolResult)]
    usages = tuple(item for item in items if isinstance(item, Usage))
    before, reply = split_reply(steps)
    values = list(call.args.values())
    request = Message(as_text(values[0] if len(values) == 1 else call.args))
    return Trace((Invocation(request, before, reply, usages=usages or None),), incomplete=incomplete)


@contextmanager
def tool_at_work(
    call: ToolCall, environment: Environment | None, agents: dict[str, AgentDetails]
) -> Iterator[ToolAtWork]:
    """Let agents that run in the block belong to a tool."""
    tool, tools = ToolAtWork(call, environment, agents), current_conversation().tools
    with replacing():
        watch_requests(_note_request)
        token = _CURRENT.set(tool)
        tools.append(tool)
        try:
            yield tool
        finally:
            tools.remove(tool)
            _CURRENT.reset(token)


def begin_tool(tool: ToolAtWork) -> None:
    """Let agents that run in this task from now on belong to a tool."""
    watch_requests(_note_request)
    tool.outer = _CURRENT.get()
    _CURRENT.set(tool)
    current_conversation().tools.append(tool)


def collect_requests(requests: list[bool]) -> None:
    """Let a list get an element for each request to a model that is answered in this task from now on."""
    watch_requests(_note_request)
    _REQUESTS.set(requests)
    current_conversation().requests = requests


def _note_request() -> None:
    tool, requests = _CURRENT.get(), _REQUESTS.get()
    if tool is not None:
        tool.answered_requests.append(True)
    if requests is not None:
        requests.append(True)
    if _CONVERSATION.get() is None and tool is None:
        _note_elsewhere()


def _note_elsewhere() -> None:
    """Note a request outside of the contexts of all conversations.

    Metrics ask in the thread of the event loop, or in threads that take the context over, whose names are known. Any
    other thread works for an agent.
    """
    thread, conversations = threading.current_thread(), list(_OPEN)
    if thread.name.startswith(_WITH_CONTEXT) or any(
        conversation.thread == thread.ident for conversation in conversations
    ):
        return
    for conversation in conversations:
        if len(conversations) == 1:
            conversation.take_request()
        else:
            conversation.gap = _GAP


def end_tool() -> ToolAtWork | None:
    """Return the tool that began last in this task, and go back to the tool around it."""
    tool = _CURRENT.get()
    if tool is not None:
        _CURRENT.set(tool.outer)
        if tool in (tools := current_conversation().tools):
            tools.remove(tool)
    return tool


def current_tool() -> ToolAtWork | None:
    """Return the tool that is at work here, or None outside of tools."""
    return _CURRENT.get()


@contextmanager
def on_stage(package: str, observer: Any) -> Iterator[None]:
    """Let agents of a package that run in the block, and outside of tools, be agents of the conversation.

    For example, a swarm or a workflow runs them one after the other, and `observer` reports all of them.
    """
    token = _STAGE.set((package, observer))
    try:
        yield
    finally:
        _STAGE.reset(token)


def current_stage(package: str) -> Any:
    """Return the observer of the swarm or workflow of a package that works here, or None."""
    stage = _STAGE.get()
    return stage[1] if stage is not None and stage[0] == package else None


def observe_in_tools(owner: type, name: str, run: Callable[..., Any]) -> None:
    """Let a method that runs an agent call `run(original, tool, agent, ...)` if it runs inside a tool.

    So does an agent on a stage, with None as its tool.
    """
    package = owner.__module__.partition(".")[0]

    def make(original: Any) -> Any:
        @functools.wraps(original)
        def observed(agent: Any, *args: Any, **options: Any) -> Any:
            tool = current_tool()
            if tool is None and current_stage(package) is None:
                return original(agent, *args, **options)
            return run(original, tool, agent, *args, **options)

        return observed

    replace_method(owner, name, make)


def observe_unreached(owner: type, *names: str) -> None:
    """Let methods that run an agent in a way that is not observed say so if they run inside a tool."""
    for name in names:
        replace_method(owner, name, _saying)


def _saying(original: Any) -> Any:
    def run(owner: Any, *args: Any, **options: Any) -> Any:
        tool = current_tool()
        if tool is not None and not tool.unrecorded:
            names = (getattr(each, name, None) for each in (owner, *args) for name in ("name", "role"))
            tool.give_up(next((name for name in names if name and isinstance(name, str)), "agent"))
        return original(owner, *args, **options)

    return run
