"""How does a session talk to a graph on a LangGraph server? The server keeps the conversation, as a thread."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from fairtrial.agents.approvals import Approvals
from fairtrial.agents.chat_replies import separate_thoughts
from fairtrial.agents.endpoint_client import (
    BODY,
    SHOWN,
    EndpointAgent,
    EndpointClient,
    connect,
    fill,
    named_target,
    object_in,
)
from fairtrial.agents.graph_stops import MiddlewareStop, requests_in
from fairtrial.agents.plain import as_text
from fairtrial.agents.user_parts import langchain_content
from fairtrial.errors import AgentError
from fairtrial.formats.chats.assembly import with_name
from fairtrial.formats.chats.langchain_messages import LANGCHAIN
from fairtrial.formats.messages import arguments_of
from fairtrial.formats.reading import Diagnostics
from fairtrial.protocols import Environment, Item
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import About, Approval, Message, Part, Thought, ToolCall, ToolResult, Usage
from fairtrial.text.display import shortened

_INTERRUPT = "__interrupt__"


def agent_at(target: str) -> LangGraphServerAgent:
    """Return the agent at `langgraph-server:URL#ASSISTANT`. Raises UsageError."""
    like = "langgraph-server:http://localhost:2024#ASSISTANT"
    url, assistant = named_target(target, noun="assistant", like=like)
    return LangGraphServerAgent(url, assistant, body=object_in(BODY))


@dataclass(frozen=True, slots=True)
class LangGraphServerAgent(EndpointAgent):
    """An assistant of a LangGraph server. The state of its graph has `messages`.

    Each conversation is a thread, which is deleted at the end. The case's initial state is a part of the first input.
    """

    assistant: str

    def refuses_parts(self, parts: Sequence[Part]) -> str:  # noqa: ARG002
        """Return an empty text: LangChain has a place for pictures, sounds, films, files and their URLs."""
        return ""

    @asynccontextmanager
    async def __call__(
        self,
        case: EvalCase,
        environment: Environment | None,  # noqa: ARG002
    ) -> AsyncIterator[LangGraphServerSession]:
        """Open a conversation with connections of its own."""
        async with connect(self.url) as client:
            created = await client.post(f"{self.url}/threads", {})
            thread = created.get("thread_id") if isinstance(created, dict) else None
            if not isinstance(thread, str):
                raise AgentError(f"{self.url}: must reply the id of a thread, got {shortened(str(created), SHOWN)}")
            fields = {"assistant_id": self.assistant, **fill(self.body, client.conversation)}
            url = f"{self.url}/threads/{thread}"
            try:
                yield LangGraphServerSession(client, url, fields, case)
            finally:
                with suppress(AgentError):  # a server that has no such route keeps the thread
                    await client.send("DELETE", url)


class LangGraphServerSession:
    """One conversation, in a thread of its own."""

    def __init__(self, client: EndpointClient, url: str, fields: dict[str, Any], case: EvalCase) -> None:
        self._client = client
        self._url = url
        self._fields = fields
        self._approvals = Approvals(case)
        self._initial_state = dict(case.session_input.state) if case.session_input else {}
        self._state: dict[str, Any] = {}
        self._reported: set[str] = set()
        self._names: dict[str, str] = {}
        self._is_interrupted = False
        self._stop: MiddlewareStop | None = None

    @property
    def about(self) -> About | None:
        """The state of the graph without messages."""
        state = {key: value for key, value in self._state.items() if key not in ("messages", _INTERRUPT)}
        return About(final_state=state) if state else None

    async def send(self, message: str, parts: Sequence[Part] = ()) -> AsyncIterator[Item]:
        """Run the graph until it ends, or stops with a question. If calls wait for a decision, the message decides."""
        items = self._approvals.send(
            message,
            lambda: self._run(self._input(message, parts)),
            self._resume,
            lambda: self._stop.calls if self._stop is not None else (),
            lambda: str(self._fields["assistant_id"]),
        )
        async with aclosing(items):
            async for item in items:
                yield item

    def _input(self, message: str, parts: Sequence[Part]) -> dict[str, Any]:
        if self._is_interrupted:
            return {"command": {"resume": message}}
        human = {"type": "human", "content": langchain_content(message, parts), "id": str(uuid.uuid4())}
        state, self._initial_state = self._initial_state, {}
        return {"input": {**state, "messages": [human]}}

    def _resume(self, decisions: Sequence[Approval]) -> AsyncGenerator[Item, None]:
        assert self._stop is not None  # noqa: S101  (calls wait)
        return self._run({"command": {"resume": self._stop.answers(decisions)}})

    async def _run(self, request: dict[str, Any]) -> AsyncGenerator[Item, None]:
        """Yield the new steps of each state of the graph."""
        body = {"stream_mode": ["values"], **self._fields, **request}
        async with aclosing(self._client.events(f"{self._url}/runs/stream", body)) as events:
            async for event in events:
                if event.name == "error":
                    raise AgentError(f"{self._url}: {shortened(as_text(event.data), SHOWN)}")
                if event.name == "values" and isinstance(event.data, dict):
                    self._state = event.data
                    for item in self._new_items(event.data.get("messages") or []):
                        yield item
        interrupts = self._state.get(_INTERRUPT) or []
        self._stop = _stop(interrupts, self._state.get("messages") or [])
        self._is_interrupted = bool(interrupts)
        for interrupt in interrupts if self._stop is None else ():
            yield Message(as_text(interrupt.get("value")), str(self._fields["assistant_id"]))

    def _new_items(self, messages: list[Any]) -> Iterator[Item]:
        """Yield the steps of the messages that were not reported yet."""
        reading = Diagnostics(self._url)
        for place, message in enumerate(messages):
            if not isinstance(message, dict) or message.get("type") == "human":
                continue
            key = str(message.get("id") or place)
            if key in self._reported:
                continue
            self._reported.add(key)
            author = str(message.get("name") or self._fields["assistant_id"])
            for item in _items(message, reading):
                if isinstance(item, Usage):
                    yield item
                elif isinstance(item, ToolResult):
                    yield replace(with_name(item, self._names), author=str(self._fields["assistant_id"]))
                else:
                    yield replace(with_name(item, self._names), author=author)
        if reading.errors:
            raise AgentError(f"{self._url}: {reading.errors[0]}")


def _items(message: dict[str, Any], reading: Diagnostics) -> list[Any]:
    """Return the items of a message: the tokens of its model call, and its steps."""
    entries = LANGCHAIN.entries(message, ((), "messages"), reading)
    usages = [entry for entry in entries if isinstance(entry, Usage)]
    steps = [entry for entry in entries if isinstance(entry, Message | Thought | ToolCall | ToolResult)]
    if message.get("type") == "ai" and not any(isinstance(step, Message | ToolCall) for step in steps):
        steps.append(Message(""))  # a model that replies nothing has replied
    return [*usages, *separate_thoughts(steps)]


def _stop(interrupts: list[Any], messages: list[Any]) -> MiddlewareStop | None:
    """Return the stop of a middleware that waits for decisions, or None for any other question."""
    requests = [
        (str(interrupt.get("id")), request)
        for interrupt in interrupts
        for request in requests_in(interrupt.get("value"))
    ]
    if not requests:
        return None
    latest = next((message for message in reversed(messages) if message.get("type") == "ai"), None)
    calls = latest.get("tool_calls") or [] if latest is not None else []
    return MiddlewareStop(
        requests, [ToolCall(str(call["name"]), arguments_of(call["args"]), str(call["id"] or "")) for call in calls]
    )
