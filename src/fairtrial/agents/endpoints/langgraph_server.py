"""Sessions with graphs on a LangGraph server. The server keeps the conversation as a thread."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from msgspec.structs import replace

from fairtrial.agents.approvals import Approvals
from fairtrial.agents.endpoints.chat_replies import separate_thoughts
from fairtrial.agents.endpoints.endpoint_client import (
    BODY,
    SHOWN,
    EndpointAgent,
    EndpointClient,
    connect,
    fill,
    object_in,
    parse_named_target,
)
from fairtrial.agents.endpoints.server_stops import ServerBreakpoint, interrupts_in, stop_in
from fairtrial.agents.endpoints.urls import HttpStatusError
from fairtrial.agents.graphs.graph_stops import MiddlewareStop
from fairtrial.agents.outages import outage_named
from fairtrial.agents.plain import as_text
from fairtrial.agents.user_parts import langchain_content, refuse_parts
from fairtrial.errors import AgentError, UsageError
from fairtrial.formats.chats.assembly import with_name
from fairtrial.formats.chats.langchain_messages import LANGCHAIN
from fairtrial.formats.message_entries import read_response
from fairtrial.formats.reading import Diagnostics
from fairtrial.records.trace import About, Approval, Message, Part, Thought, ToolCall, ToolResult, Usage
from fairtrial.text.display import shorten

if TYPE_CHECKING:
    from fairtrial.protocols import Environment, Item
    from fairtrial.records.case import EvalCase

_STRUCTURED = "structured_response"
_INTERRUPT = "__interrupt__"
_NOT_AN_ID = 422
"""The status for an assistant whose name is neither a graph nor a UUID."""


def agent_at(target: str) -> LangGraphServerAgent:
    """Return the agent at `langgraph-server:URL#ASSISTANT`. Raises UsageError."""
    like = "langgraph-server:http://localhost:2024#ASSISTANT"
    url, assistant = parse_named_target(target, noun="assistant", like=like)
    return LangGraphServerAgent(url, assistant, body=object_in(BODY))


@dataclass(frozen=True, slots=True)
class LangGraphServerAgent(EndpointAgent):
    """An assistant of a LangGraph server. The state of its graph has `messages`.

    Each conversation is a thread, which is deleted at the end. The case's initial state is a part of the first input.
    """

    assistant: str

    async def check_target(self) -> None:
        """Raise UsageError if no server accepts connections at the URL, or if the server has no such assistant."""
        await EndpointAgent.check_target(self)
        async with connect(self.url) as client:
            try:
                await client.post(f"{self.url}/assistants/search", {"graph_id": self.assistant, "limit": 1})
            except HttpStatusError as unknown_graph:
                if await _refuses_name(client, f"{self.url}/assistants/{quote(self.assistant, safe='')}"):
                    raise UsageError(
                        f"has no assistant '{self.assistant}': {unknown_graph}", code="unusable-agent"
                    ) from None
            except AgentError:
                return  # the first conversation tells of the error

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
                raise AgentError(f"{self.url}: must reply the id of a thread, got {shorten(str(created), SHOWN)}")
            fields = {"assistant_id": self.assistant, **fill(self.body, client.conversation)}
            url = f"{self.url}/threads/{thread}"
            session = LangGraphServerSession(client, url, fields, case)
            try:
                yield session
            finally:
                if session.left_a_run:
                    await _cancel_runs(client, self.url, thread)
                with suppress(AgentError):  # a server that has no such route keeps the thread
                    await client.send("DELETE", url)


async def _refuses_name(client: EndpointClient, url: str) -> bool:
    """Whether the server of an assistant refuses its name, because it is not an id. A server may have no such route."""
    try:
        await client.send("GET", url)
    except HttpStatusError as refusal:
        return bool(refusal.response.status_code == _NOT_AN_ID)
    except AgentError:
        return False
    return False


async def _cancel_runs(client: EndpointClient, url: str, thread: str) -> None:
    """Cancel the runs of a thread that have not ended. One that waits for a worker is not cancelled by a disconnect."""
    with suppress(AgentError):  # the server has no such route, or the runs have ended in the meantime
        runs = await client.send("GET", f"{url}/threads/{thread}/runs")
        known = [run for run in runs if isinstance(run, dict)] if isinstance(runs, list) else []
        if left := [run.get("run_id") for run in known if run.get("status") in ("pending", "running")]:
            await client.post(f"{url}/runs/cancel", {"thread_id": thread, "run_ids": left})


class LangGraphServerSession:
    """One conversation, in a thread of its own. `left_a_run` tells that the last run was not read to its end."""

    def __init__(self, client: EndpointClient, url: str, fields: dict[str, Any], case: EvalCase) -> None:
        self.left_a_run = False
        self._client = client
        self._url = url
        self._fields = fields
        self._approvals = Approvals(case)
        self._initial_state = dict(case.session_input.state) if case.session_input else {}
        self._state: dict[str, Any] = {}
        self._reported: set[str] = set()
        self._earlier: list[Any] = []
        self._names: dict[str, str] = {}
        self._parse_structured: Any = None
        self._output_calls: set[str] = set()
        self._interrupts: list[dict[str, Any]] = []
        self._stop: MiddlewareStop | ServerBreakpoint | None = None

    @property
    def about(self) -> About | None:
        """The state of the graph without messages."""
        state = {key: value for key, value in self._state.items() if key not in ("messages", _INTERRUPT)}
        return About(final_state=state) if state else None

    async def send(self, message: str, parts: Sequence[Part] = ()) -> AsyncIterator[Item]:
        """Run the graph until it ends, or stops with a question. If calls wait for a decision, the message decides."""
        if self._stop is not None:
            refuse_parts(parts)
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
        if self._interrupts:
            refuse_parts(parts)
            return {"command": {"resume": {str(interrupt["id"]): message for interrupt in self._interrupts}}}
        human = {"type": "human", "content": langchain_content(message, parts), "id": str(uuid.uuid4())}
        state, self._initial_state = self._initial_state, {}
        return {"input": {**state, "messages": [human]}}

    async def _resume(self, decisions: Sequence[Approval]) -> AsyncGenerator[Item, None]:
        """Go on with the graph that waits for decisions."""
        request: dict[str, Any] = {"input": None}
        if isinstance(self._stop, MiddlewareStop):
            request = {"command": {"resume": self._stop.answers(decisions)}}
        elif self._stop is not None and (update := self._stop.update(decisions)) is not None:
            await self._client.post(f"{self._url}/state", update)
        async with aclosing(self._run(request)) as items:
            async for item in items:
                yield item

    async def _run(self, request: dict[str, Any]) -> AsyncGenerator[Item, None]:
        """Yield the new steps of each state of the graph, and its questions to the user."""
        # A run that nobody reads any more would hold a worker of the server, of which `langgraph dev` has one.
        body = {"stream_mode": ["values", "updates"], "on_disconnect": "cancel", **self._fields, **request}
        self.left_a_run = True
        self._parse_structured = None
        async with aclosing(self._client.events(f"{self._url}/runs/stream", body)) as events:
            async for event in events:
                if event.name == "error":
                    name = event.data.get("error") if isinstance(event.data, dict) else None
                    raise AgentError(f"{self._url}: {shorten(as_text(event.data), SHOWN)}") from outage_named(name)
                if event.name == "updates":
                    self._note_updates(event.data)
                if event.name == "values":
                    self._state = self._with_messages(event.data)
                    for item in self._new_items(self._state["messages"]):
                        yield item
        self.left_a_run = False
        thread = await self._client.send("GET", f"{self._url}/state")
        self._interrupts = interrupts_in(thread)
        self._stop = stop_in(thread, self._interrupts, self._state.get("messages") or [])
        if self._interrupts and self._stop is None:
            questions = [as_text(interrupt.get("value")) for interrupt in self._interrupts]
            yield Message("\n".join(questions), str(self._fields["assistant_id"]))
        elif self._parse_structured is not None and not self._is_said_as_json():
            yield Message(as_text(self._parse_structured), str(self._fields["assistant_id"]))

    def _note_updates(self, nodes: Any) -> None:
        """Note the structured response of an agent of LangChain, and the calls by which its model gave it."""
        for update in nodes.values() if isinstance(nodes, dict) else ():
            if isinstance(update, dict) and _STRUCTURED in update:
                messages = update.get("messages")
                answers = [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else []
                self._output_calls |= {str(each["tool_call_id"]) for each in answers if each.get("tool_call_id")}
                self._parse_structured = update[_STRUCTURED]

    def _is_said_as_json(self) -> bool:
        """Whether the latest message is JSON. Then the model wrote the structured response as its text."""
        latest = next(reversed(self._state.get("messages") or ()), None)
        content = latest.get("content") if isinstance(latest, dict) and latest.get("type") == "ai" else None
        return isinstance(content, str) and not isinstance(read_response(content), str)

    def _with_messages(self, state: Any) -> dict[str, Any]:
        """Return a state with its messages. A function with `@entrypoint` may return a list or a text instead."""
        if isinstance(state, list) or (isinstance(state, dict) and _INTERRUPT in state and "messages" not in state):
            return {"messages": state if isinstance(state, list) else self._earlier}
        if isinstance(state, str):
            return {"messages": [*self._earlier, {"type": "ai", "content": state}]}
        if isinstance(state, dict) and isinstance(state.get("messages"), list):
            return state
        got = ", ".join(map(repr, state)) if isinstance(state, dict) else type(state).__name__
        raise AgentError(f"{self._url}: the state must hold 'messages', a list of messages; it holds {got}")

    def _new_items(self, messages: list[Any]) -> Iterator[Item]:
        """Yield the steps of the messages that were not reported yet."""
        reading = Diagnostics(self._url)
        for message in self._yield_unreported(messages):
            author = str(message.get("name") or self._fields["assistant_id"])
            for item in _items(message, reading):
                if isinstance(item, ToolCall | ToolResult) and item.id in self._output_calls:
                    continue
                if isinstance(item, Usage):
                    yield item
                elif isinstance(item, ToolResult):
                    yield replace(with_name(item, self._names), author=str(self._fields["assistant_id"]))
                else:
                    yield replace(with_name(item, self._names), author=author)
        if reading.errors:
            raise AgentError(f"{self._url}: {reading.errors[0]}")

    def _yield_unreported(self, messages: list[Any]) -> Iterator[dict[str, Any]]:
        """Yield the messages of agents and tools that are new.

        A message without an id is new unless the state before had the same messages up to its place.
        """
        earlier, self._earlier = self._earlier, messages
        for place, message in enumerate(messages):
            if not isinstance(message, dict) or message.get("type") == "human":
                continue
            key = str(message.get("id") or "")
            is_known = key in self._reported if key else earlier[: place + 1] == messages[: place + 1]
            self._reported |= {key} if key else set()
            if not is_known:
                yield message


def _items(message: dict[str, Any], reading: Diagnostics) -> list[Any]:
    """Return the items of a message: the tokens of its model call, and its steps."""
    entries = LANGCHAIN.entries(message, ((), "messages"), reading)
    usages = [entry for entry in entries if isinstance(entry, Usage)]
    steps = [entry for entry in entries if isinstance(entry, Message | Thought | ToolCall | ToolResult)]
    if message.get("type") == "ai" and not any(isinstance(step, Message | ToolCall) for step in steps):
        steps.append(Message(""))  # a model that replies nothing has replied
    return [*usages, *separate_thoughts(steps)]
