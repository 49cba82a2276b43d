"""How is an agent behind the Agent2Agent protocol talked to? With the official SDK, by the agent's own card."""

from __future__ import annotations

import base64
import functools
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from fairtrial.agents.urls import parts_of
from fairtrial.errors import AgentError, UsageError
from fairtrial.importing import import_extra
from fairtrial.protocols import Environment, Item
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import About, Message, Part, Step, Thought, ToolCall, ToolResult

EXTRA = "agents-a2a"
_BROKEN = ("TASK_STATE_FAILED", "TASK_STATE_REJECTED", "TASK_STATE_CANCELED")
_UNFINISHED = ("TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED")


def agent_at(target: str) -> A2AAgent:
    """Return the agent at `a2a:URL`, the URL below which its card is; raises UsageError."""
    import_extra("a2a.client", EXTRA)
    url = target.partition(":")[2]
    parts = parts_of(url, like="a2a:http://localhost:9999")
    if parts.username or parts.password:
        raise UsageError("must hold no password")
    return A2AAgent(url)


@dataclass(frozen=True, slots=True)
class A2AAgent:
    """An agent behind the Agent2Agent protocol, whose server remembers the conversation by its context.

    The artifacts of a task are its reply; without one, the last message is. The protocol does not tell of tool calls:
    they are recorded where an agent sends them as data parts, as ADK's does.
    """

    url: str
    refuses_environment: ClassVar[str] = "an A2A agent runs its tools itself, where nothing can stand before them"

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[A2ASession]:  # noqa: ARG002
        """Open a conversation with connections of its own."""
        httpx = import_extra("httpx", EXTRA)
        client = import_extra("a2a.client", EXTRA)
        async with httpx.AsyncClient(timeout=None, verify=_certificates()) as connections:
            card = await client.A2ACardResolver(connections, self.url).get_agent_card()
            factory = client.ClientFactory(client.ClientConfig(httpx_client=connections))
            yield A2ASession(factory.create(card), card.name)


@functools.cache
def _certificates() -> Any:
    """What servers are verified by; loading it takes long, and is done once."""
    return import_extra("httpx", EXTRA).create_ssl_context()


class A2ASession:
    """One conversation: a context, in which a task that needs more goes on."""

    about: About | None = None

    def __init__(self, client: Any, author: str) -> None:
        self._client = client
        self._author = author
        self._context = ""
        self._task = ""

    async def send(self, message: str) -> AsyncIterator[Item]:
        """Send a message and yield what the agent tells; raises AgentError for a task that did not succeed."""
        types = import_extra("a2a.types.a2a_pb2", EXTRA)
        said = types.Message(
            role=types.Role.ROLE_USER,
            parts=[types.Part(text=message)],
            message_id=str(uuid.uuid4()),
            context_id=self._context,
            task_id=self._task,
        )
        heard = _ReceivedParts(self._author)
        async with aclosing(self._client.send_message(types.SendMessageRequest(message=said))) as responses:
            async for response in responses:
                kind = response.WhichOneof("payload")
                event = getattr(response, kind)
                self._context = event.context_id or self._context
                for step in getattr(heard, kind)(event):
                    yield step
        state = types.TaskState.Name(heard.state)
        self._task = heard.task_id if state in _UNFINISHED else ""
        if state in _BROKEN:
            why = heard.last.text if heard.last else "no message"
            raise AgentError(f"{self._author}: {state.removeprefix('TASK_STATE_').lower()}: {why}")
        for step in heard.artifact_steps():
            yield step


class _ReceivedParts:
    """What an agent told of one task; each method takes one kind of event, and returns its steps."""

    def __init__(self, author: str) -> None:
        self.state = 0
        self.task_id = ""
        self.last: Message | None = None
        self._author = author
        self._artifacts: dict[str, list[Any]] = {}
        self._known: set[str] = set()

    def message(self, message: Any) -> list[Step]:
        """A message, once."""
        if not message.parts or message.message_id in self._known or message.role == _user():
            return []
        self._known.add(message.message_id)
        steps = _steps(message.parts, self._author)
        self.last = next((step for step in reversed(steps) if isinstance(step, Message)), self.last)
        return steps

    def task(self, task: Any) -> list[Step]:
        """A whole task, as far as it has come: its history, then its status."""
        self.task_id = task.id
        for artifact in task.artifacts:
            self._artifacts[artifact.artifact_id] = list(artifact.parts)
        past = _since_user(list(task.history))
        return [*(step for message in past for step in self.message(message)), *self._status(task.status)]

    def status_update(self, update: Any) -> list[Step]:
        """News of a task's status."""
        self.task_id = update.task_id
        return self._status(update.status)

    def artifact_update(self, update: Any) -> list[Step]:
        """A piece of an artifact, or a whole one."""
        self.task_id = update.task_id
        parts = self._artifacts.setdefault(update.artifact.artifact_id, [])
        if not update.append:
            parts.clear()
        parts += update.artifact.parts
        return []

    def artifact_steps(self) -> list[Step]:
        """The artifacts: what they tell of calls, and all their text as one message."""
        if not self._artifacts:
            return []
        texts: list[str] = []
        media: list[Part] = []
        steps: list[Step] = []
        for parts in self._artifacts.values():
            # A streamed text arrives in pieces, each a part of its own.
            told = _steps(parts, self._author, glue="")
            messages = [step for step in told if isinstance(step, Message)]
            texts.append("".join(message.text for message in messages))
            media += [part for message in messages for part in message.parts]
            steps += [step for step in told if not isinstance(step, Message)]
        return [*steps, Message("\n".join(texts), self._author, parts=tuple(media))]

    def _status(self, status: Any) -> list[Step]:
        self.state = status.state
        return self.message(status.message)


def _user() -> int:
    role: int = import_extra("a2a.types.a2a_pb2", EXTRA).Role.ROLE_USER
    return role


def _since_user(history: list[Any]) -> list[Any]:
    """The messages after the user's last."""
    places = [i for i, message in enumerate(history) if message.role == _user()]
    return history[places[-1] + 1 :] if places else history


def _steps(parts: Any, author: str, *, glue: str = "\n") -> list[Step]:
    """The steps that the parts of a message stand for; adjacent texts are one."""
    steps: list[Step] = []
    for part in parts:
        step = _step(part, author)
        last = steps[-1] if steps else None
        if isinstance(step, Message) and isinstance(last, Message):
            steps[-1] = _joined(last, step, glue)
        elif step is not None:
            steps.append(step)
    return steps


def _joined(first: Message, second: Message, glue: str) -> Message:
    """Return two adjacent messages as one."""
    texts = [message.text for message in (first, second) if message.text or not message.parts]
    return Message(glue.join(texts), first.author, parts=(*first.parts, *second.parts))


def _step(part: Any, author: str) -> Step | None:
    convert = import_extra("google.protobuf.json_format", EXTRA).MessageToDict
    metadata = convert(part.metadata)
    kind = part.WhichOneof("content")
    if kind == "text":
        return Thought(part.text, author) if metadata.get("adk_thought") else Message(part.text, author)
    if kind != "data":
        data = base64.b64encode(part.raw).decode()
        return Message("", author, parts=(Part(part.media_type, part.url, data, part.filename),))
    data = convert(part.data)
    if isinstance(data, dict) and metadata.get("adk_type") == "function_call":
        return ToolCall(str(data.get("name", "")), data.get("args") or {}, str(data.get("id", "")), author)
    if isinstance(data, dict) and metadata.get("adk_type") == "function_response":
        return ToolResult(str(data.get("name", "")), data.get("response"), str(data.get("id", "")), author)
    encoded = base64.b64encode(msgspec.json.encode(data)).decode()
    return Message("", author, parts=(Part(part.media_type or "application/json", data=encoded, name=part.filename),))
