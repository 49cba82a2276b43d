"""Sessions with agents behind an OpenAI-compatible chat endpoint."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairtrial.agents.endpoints.chat_replies import (
    separate_thoughts,
    text_of_chunk,
    time_of_first_text,
    whole_reply,
)
from fairtrial.agents.endpoints.endpoint_client import (
    BODY,
    SHOWN,
    EndpointAgent,
    EndpointClient,
    connect,
    fill,
    object_in,
    url_ending_in,
)
from fairtrial.agents.token_usage import token_usage
from fairtrial.agents.user_parts import data_url, detect_kind, encode_base64, file_name
from fairtrial.errors import AgentError
from fairtrial.formats.messages import read_steps
from fairtrial.formats.reading import Diagnostics
from fairtrial.llm.token_counts import read_members
from fairtrial.records.trace import About, Invocation, Message, Part, Step, Usage, split_reply
from fairtrial.text.display import shorten

if TYPE_CHECKING:
    from fairtrial.protocols import Environment, Item
    from fairtrial.records.case import EvalCase
    from fairtrial.records.record import Json

_ENDPOINT = "/chat/completions"


def agent_at(target: str) -> ChatAgent:
    """Return the agent at `URL` or `URL#MODEL`.

    The URL may end in `/chat/completions` or not. For example, `http://localhost:8000/v1#gpt` means the model `gpt`.
    Raises UsageError.
    """
    url, _, model = target.partition("#")
    endpoint = url_ending_in(_ENDPOINT, url, like="http://localhost:8000/v1")
    return ChatAgent(endpoint, model or "default", body=object_in(BODY))


@dataclass(frozen=True, slots=True)
class ChatAgent(EndpointAgent):
    """An agent that answers chat completions: each request carries the conversation so far.

    The agent runs its tools itself. It reports calls in the reply's `tool_calls`, or calls and results in a list
    `messages` beside `choices`. If a reply has `messages`, the list holds every step of the agent.
    """

    model: str = "default"

    def refuses_parts(self, parts: Sequence[Part]) -> str:
        """Return why a request cannot hold the parts. Only a picture has a place for its URL."""
        if any(part.uri and detect_kind(part) != "image" for part in parts):
            return "a chat endpoint takes the URL of pictures only; give the data of other files"
        return ""

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[ChatSession]:  # noqa: ARG002
        """Open a conversation with connections of its own."""
        async with connect(self.url) as client:
            fields = {"model": self.model, **fill(self.body, client.conversation)}
            yield ChatSession(client, self.url, fields)


class ChatSession:
    """One conversation. The session keeps the messages, because the endpoint does not."""

    about: About | None = None

    def __init__(self, client: EndpointClient, url: str, fields: dict[str, Any]) -> None:
        self._client = client
        self._url = url
        self._fields = fields
        self._messages: list[dict[str, Any]] = []

    def take_earlier_turns(self, invocations: Sequence[Invocation], final_state: dict[str, Json] | None) -> bool:  # noqa: ARG002
        """Go on behind the turns of an earlier session: each request carries the whole conversation."""
        for invocation in invocations:
            self._messages += [
                {"role": "user", "content": _content(invocation.query, invocation.user.parts)},
                {"role": "assistant", "content": invocation.reply},
            ]
        return True

    async def send(self, message: str, parts: Sequence[Part] = ()) -> AsyncIterator[Item]:
        """Post the conversation so far. Raises AgentError if the reply is not a chat completion."""
        self._messages.append({"role": "user", "content": _content(message, parts)})
        began = time.monotonic()
        received = await self._client.post(self._url, {**self._fields, "messages": self._messages})
        for times in time_of_first_text(received, began, text_of_chunk):
            yield times
        reply = whole_reply(received)
        if not isinstance(reply, dict):
            raise AgentError(f"{self._url}: must reply an object with 'choices', got {shorten(str(reply), SHOWN)}")
        usage = _usage(reply)
        if usage is not None:
            yield usage
        steps = _steps(reply, self._url)
        for step in steps:
            yield step
        # Only the reply goes back: the calls are answered already, and a strict server wants a result for each.
        _, answer = split_reply(steps)
        self._messages.append({"role": "assistant", "content": answer.text if answer else ""})


def _content(message: str, parts: Sequence[Part]) -> str | list[dict[str, Any]]:
    """Return the content of a message: its text, or its text and its parts."""
    if not parts:
        return message
    return [{"type": "text", "text": message}, *map(_part, parts)]


def _part(part: Part) -> dict[str, Any]:
    kind = detect_kind(part)
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": data_url(part)}}
    if kind == "audio":
        sound = {"data": encode_base64(part), "format": part.mime_type.partition("/")[2]}
        return {"type": "input_audio", "input_audio": sound}
    return {"type": "file", "file": {"filename": file_name(part), "file_data": data_url(part)}}


def _steps(reply: dict[str, Any], url: str) -> list[Step]:
    """Return the steps in a reply: from all messages that it reports, or from the message of the first choice."""
    reading = Diagnostics(url)
    messages = reply.get("messages")
    if isinstance(messages, list) and messages:
        steps = read_steps(messages, ((), "messages"), reading)
    else:
        # The content of a single message is the reply, and the calls were made before it.
        steps = read_steps([_message(reply, url)], ((), "choices"), reading)
        steps.sort(key=lambda step: isinstance(step, Message))
    if reading.errors:
        raise AgentError(f"{url}: {reading.errors[0]}")
    return separate_thoughts(steps)


def _message(reply: dict[str, Any], url: str) -> dict[str, Any]:
    choices = reply.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(message, dict):
        raise AgentError(f"{url}: must reply an object with 'choices', got {shorten(str(reply), SHOWN)}")
    return {**message, "role": "assistant"}


def _usage(reply: dict[str, Any]) -> Usage | None:
    """Return the tokens of a reply. The completion tokens include the reasoning tokens."""
    usage = reply.get("usage")
    model = reply.get("model")
    if not isinstance(usage, dict):
        return Usage(model=model) if isinstance(model, str) else None
    return token_usage(
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        read_members(usage.get("completion_tokens_details")).get("reasoning_tokens"),
        read_members(usage.get("prompt_tokens_details")).get("cached_tokens"),
        model,
    )
