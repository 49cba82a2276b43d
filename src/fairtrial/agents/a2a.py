"""Sessions with agents behind the Agent2Agent protocol, through the official SDK and the agent card."""

from __future__ import annotations

import base64
import functools
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from msgspec.structs import replace

from fairtrial.agents.endpoints.urls import split_parts
from fairtrial.agents.stopwatch import Stopwatch
from fairtrial.agents.user_parts import read_content
from fairtrial.errors import AgentError, UsageError
from fairtrial.records.trace import About, Message, Part, Step, Thought, ToolCall, ToolResult
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.protocols import Environment, Item
    from fairtrial.records.case import EvalCase

EXTRA = "agents-a2a"
_CARD_SECONDS = 10.0
_FAILURES = ("TASK_STATE_FAILED", "TASK_STATE_REJECTED", "TASK_STATE_CANCELED")
_UNFINISHED = ("TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED")


def agent_at(target: str) -> A2AAgent:
    """Return the agent at `a2a:URL`, the URL of its card without the path. Raises UsageError."""
    import_extra("a2a.client", EXTRA)
    url = target.partition(":")[2]
    parts = split_parts(url, like="a2a:http://localhost:9999")
    if parts.username or parts.password:
        raise UsageError("must hold no password", code="unsafe-input")
    return A2AAgent(url)


@dataclass(frozen=True, slots=True)
class A2AAgent:
    """An agent behind the Agent2Agent protocol, whose server remembers the conversation by its context.

    The artifacts of a task are its reply. If a task has no artifact, the last message is the reply. The protocol does
    not report tool calls. They are recorded only if the agent sends them as data parts, for example an agent of ADK.
    """

    url: str
    refuses_environment: ClassVar[str] = (
        "an A2A agent runs its tools itself, and an environment cannot answer the calls"
    )

    async def check_target(self) -> None:
        """Raise UsageError if the card of the agent cannot be read."""
        await read_card(self.url)

    def refuses_parts(self, parts: Sequence[Part]) -> str:  # noqa: ARG002
        """Return an empty text: the protocol has a place for files and their URLs."""
        return ""

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[A2ASession]:  # noqa: ARG002
        """Open a conversation with connections of its own."""
        httpx = import_extra("httpx", EXTRA)
        client = import_extra("a2a.client", EXTRA)
        async with httpx.AsyncClient(timeout=None, verify=_certificates()) as connections:
            card = await client.A2ACardResolver(connections, self.url).get_agent_card()
            factory = client.ClientFactory(client.ClientConfig(httpx_client=connections))
            yield A2ASession(factory.create(card), card.name)


async def read_card(url: str) -> Any:
    """Return the card of an agent. Raises UsageError if it cannot be read."""
    httpx = import_extra("httpx", EXTRA)
    client = import_extra("a2a.client", EXTRA)
    errors = import_extra("a2a.client.errors", EXTRA)
    async with httpx.AsyncClient(timeout=_CARD_SECONDS, verify=_certificates()) as connections:
        try:
            return await client.A2ACardResolver(connections, url).get_agent_card()
        except errors.A2AClientError as error:
            problem = f"{url} does not answer with the card of an agent: {error}; is the server running?"
            raise UsageError(problem, code="unusable-agent") from error


@functools.cache
def _certificates() -> Any:
    """Return the certificates for all connections. They are loaded once, because loading takes long."""
    return import_extra("httpx", EXTRA).create_ssl_context()


class A2ASession:
    """One conversation: a context of the protocol. A task that asks for more input continues with the next message.

    The final state holds the state of a task that needed input or a sign-in, for example `input-required`. Until the
    agent reports a call, nobody knows whether it has called tools.
    """

    about: About | None = None
    hides_calls = True

    def __init__(self, client: Any, author: str) -> None:
        self._client = client
        self._author = author
        self._context = ""
        self._task = ""

    async def send(self, message: str, parts: Sequence[Part] = ()) -> AsyncIterator[Item]:
        """Send a message and yield the steps of the agent. Raises AgentError for a task that did not succeed."""
        types = import_extra("a2a.types.a2a_pb2", EXTRA)
        request = types.Message(
            role=types.Role.ROLE_USER,
            parts=[types.Part(text=message), *map(_encode_part, parts)],
            message_id=str(uuid.uuid4()),
            context_id=self._context,
            task_id=self._task,
        )
        received = _ReceivedParts(self._author)
        times, count = Stopwatch(), 0
        async with aclosing(self._client.send_message(types.SendMessageRequest(message=request))) as responses:
            async for response in responses:
                kind = response.WhichOneof("payload")
                event = getattr(response, kind)
                self._context = event.context_id or self._context
                for step in getattr(received, kind)(event):
                    if isinstance(step, Message):
                        times.note_token()
                    self.hides_calls = self.hides_calls and not isinstance(step, ToolCall)
                    yield step
                if received.has_artifact_text:
                    times.note_token()
                count += 1
        if count > 1:  # a single response is no stream
            yield replace(times.durations, model=None, tool=None)
        state = types.TaskState.Name(received.state)
        self._task = received.task_id if state in _UNFINISHED else ""
        if state in _UNFINISHED or self.about is not None:
            self.about = About(final_state={"task_state": state.removeprefix("TASK_STATE_").lower().replace("_", "-")})
        if state in _FAILURES:
            reason = received.last.text if received.last else "no message"
            raise AgentError(f"{self._author}: {state.removeprefix('TASK_STATE_').lower()}: {reason}")
        for step in received.artifact_steps():
            self.hides_calls = self.hides_calls and not isinstance(step, ToolCall)
            yield step


def _encode_part(part: Part) -> Any:
    types = import_extra("a2a.types.a2a_pb2", EXTRA)
    names = {"media_type": part.mime_type, "filename": part.name}
    return types.Part(url=part.uri, **names) if part.uri else types.Part(raw=read_content(part), **names)


class _ReceivedParts:
    """The parts of one task so far. Each method takes one kind of event, and returns the steps of the event."""

    def __init__(self, author: str) -> None:
        self.state = 0
        self.task_id = ""
        self.last: Message | None = None
        self._author = author
        self._artifacts: dict[str, list[Any]] = {}
        self._message_ids: set[str] = set()

    def message(self, message: Any) -> list[Step]:
        """Return the steps of a message, only once for each message."""
        if not message.parts or message.message_id in self._message_ids or message.role == _user():
            return []
        self._message_ids.add(message.message_id)
        steps = _steps(message.parts, self._author)
        self.last = next((step for step in reversed(steps) if isinstance(step, Message)), self.last)
        return steps

    def task(self, task: Any) -> list[Step]:
        """Return the new steps of a task: its history, then its status."""
        self.task_id = task.id
        for artifact in task.artifacts:
            self._artifacts[artifact.artifact_id] = list(artifact.parts)
        messages = _after_user(list(task.history))
        return [*(step for message in messages for step in self.message(message)), *self._status(task.status)]

    def status_update(self, update: Any) -> list[Step]:
        """Return the new steps of a task with a new status."""
        self.task_id = update.task_id
        return self._status(update.status)

    def artifact_update(self, update: Any) -> list[Step]:
        """Add a piece of an artifact, or a whole artifact. Its steps come at the end of the task."""
        self.task_id = update.task_id
        parts = self._artifacts.setdefault(update.artifact.artifact_id, [])
        if not update.append:
            parts.clear()
        parts += update.artifact.parts
        return []

    @property
    def has_artifact_text(self) -> bool:
        """Whether a piece of an artifact is text or a file, and not a call."""
        return any(part.text or part.raw or part.url for parts in self._artifacts.values() for part in parts)

    def artifact_steps(self) -> list[Step]:
        """Return the steps of the artifacts: calls and results, then all texts as one message."""
        if not self._artifacts:
            return []
        texts: list[str] = []
        media: list[Part] = []
        steps: list[Step] = []
        for parts in self._artifacts.values():
            # A streamed text arrives in pieces, each a part of its own.
            artifact = _steps(parts, self._author, glue="")
            messages = [step for step in artifact if isinstance(step, Message)]
            texts.append("".join(message.text for message in messages))
            media += [part for message in messages for part in message.parts]
            steps += [step for step in artifact if not isinstance(step, Message)]
        return [*steps, Message("\n".join(texts), self._author, parts=tuple(media))]

    def _status(self, status: Any) -> list[Step]:
        self.state = status.state
        return self.message(status.message)


def _user() -> int:
    role: int = import_extra("a2a.types.a2a_pb2", EXTRA).Role.ROLE_USER
    return role


def _after_user(history: list[Any]) -> list[Any]:
    """Return the messages after the last message of the user."""
    places = [i for i, message in enumerate(history) if message.role == _user()]
    return history[places[-1] + 1 :] if places else history


def _steps(parts: Any, author: str, *, glue: str = "\n") -> list[Step]:
    """Return the steps in the parts of a message. Adjacent texts become one message, joined by `glue`."""
    steps: list[Step] = []
    for part in parts:
        step = _step(part, author)
        last = steps[-1] if steps else None
        if isinstance(step, Message) and isinstance(last, Message):
            steps[-1] = _join_items(last, step, glue)
        elif step is not None:
            steps.append(step)
    return steps


def _join_items(first: Message, second: Message, glue: str) -> Message:
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
