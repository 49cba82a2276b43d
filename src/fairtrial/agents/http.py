"""How does a session talk to an agent behind an OpenAI-compatible chat endpoint?"""

from __future__ import annotations

import functools
import os
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import urlsplit

import msgspec

from fairtrial.agents.chat_replies import decode_reply, separate_thoughts
from fairtrial.agents.urls import HttpStatusError, check_answers, parts_of
from fairtrial.agents.user_parts import base64_of, data_url, file_name, kind_of
from fairtrial.errors import AgentError, UsageError
from fairtrial.formats.messages import steps_of
from fairtrial.formats.reading import Diagnostics
from fairtrial.importing import import_extra
from fairtrial.protocols import Environment, Item
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import About, Message, Part, Step, Usage, split_reply
from fairtrial.text.display import shortened

KEY = "FAIRTRIAL_AGENT_API_KEY"
HEADERS = "FAIRTRIAL_AGENT_HEADERS"
BODY = "FAIRTRIAL_AGENT_BODY"
CONVERSATION = "{conversation}"
"""Stands for the id of the conversation in the values of the headers and of the body."""
_MOST_REDIRECTS = 3
_ENDPOINT = "/chat/completions"
_SHOWN = 300
_CONNECT_SECONDS = 10.0


def agent_at(target: str) -> ChatAgent:
    """Return the agent at `URL` or `URL#MODEL`.

    The URL may end in `/chat/completions` or not. For example, `http://localhost:8000/v1#gpt` means the model `gpt`.
    Raises UsageError.
    """
    import_extra("httpx2", "http")
    url, _, model = target.partition("#")
    parts = parts_of(url, like="http://localhost:8000/v1")
    if parts.username or parts.password:
        raise UsageError(f"must hold no password; a key is taken from the environment variable {KEY}")
    path = parts.path.rstrip("/")
    endpoint = parts._replace(path=path if path.endswith(_ENDPOINT) else path + _ENDPOINT).geturl()
    _object_in(HEADERS)
    return ChatAgent(endpoint, model or "default", _object_in(BODY))


def _object_in(variable: str) -> dict[str, Any]:
    """Return the JSON object in a variable. Raises UsageError without the value, because the value may be secret."""
    text = os.environ.get(variable) or "{}"
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or (variable == HEADERS and not all(isinstance(v, str) for v in value.values())):
        kind = " of strings" if variable == HEADERS else ""
        raise UsageError(f"the environment variable {variable} must hold a JSON object{kind}")
    return value


def _filled(value: Any, conversation: str) -> Any:
    """Return a value with the id of the conversation in its texts."""
    if isinstance(value, str):
        return value.replace(CONVERSATION, conversation)
    if isinstance(value, dict):
        return {name: _filled(inner, conversation) for name, inner in value.items()}
    return [_filled(inner, conversation) for inner in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class ChatAgent:
    """An agent that answers chat completions: each request carries the conversation so far.

    The agent runs its tools itself. It reports calls in the reply's `tool_calls`, or calls and results in a list
    `messages` beside `choices`. If a reply has `messages`, the list holds every step of the agent. `body` are more
    fields of each request.
    """

    url: str
    model: str = "default"
    body: dict[str, Any] = field(default_factory=dict)
    refuses_environment: ClassVar[str] = (
        "a chat endpoint runs its tools itself, and an environment cannot answer the calls"
    )

    def refuses_parts(self, parts: Sequence[Part]) -> str:
        """Return why a request cannot hold the parts. Only a picture has a place for its URL."""
        if any(part.uri and kind_of(part) != "image" for part in parts):
            return "a chat endpoint takes the URL of pictures only; give the data of other files"
        return ""

    async def check_target(self) -> None:
        """Raise UsageError if no server accepts connections at the URL. Any response is good enough."""
        httpx = import_extra("httpx2", "http")
        async with httpx.AsyncClient(timeout=_CONNECT_SECONDS, verify=_verify(self.url)) as client:
            await check_answers(client, httpx, self.url)

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[ChatSession]:  # noqa: ARG002
        """Open a conversation with connections of its own."""
        httpx = import_extra("httpx2", "http")
        key = os.environ.get(KEY)
        conversation = str(uuid.uuid4())
        headers = {"authorization": f"Bearer {key}"} if key else {}
        headers |= _filled(_object_in(HEADERS), conversation)
        async with httpx.AsyncClient(headers=headers, timeout=None, verify=_verify(self.url)) as client:
            fields = {"model": self.model, **_filled(self.body, conversation)}
            yield ChatSession(client, httpx.HTTPError, self.url, fields)


@functools.cache
def _certificates() -> Any:
    return import_extra("httpx2", "http").create_ssl_context()


def _verify(url: str) -> Any:
    """Return the certificates for a URL. They are loaded once and only if needed, because loading takes long."""
    return _certificates() if url.startswith("https:") else False


class ChatSession:
    """One conversation. The session keeps the messages, because the endpoint does not."""

    about: About | None = None

    def __init__(self, client: Any, http_error: type[Exception], url: str, fields: dict[str, Any]) -> None:
        self._client = client
        self._http_error = http_error
        self._url = url
        self._fields = fields
        self._messages: list[dict[str, Any]] = []

    async def send(self, message: str, parts: Sequence[Part] = ()) -> AsyncIterator[Item]:
        """Post the conversation so far. Raises AgentError if the reply is not a chat completion."""
        self._messages.append({"role": "user", "content": _content(message, parts)})
        reply = await self._post({**self._fields, "messages": self._messages})
        usage = _usage(reply)
        if usage is not None:
            yield usage
        steps = _steps(reply, self._url)
        for step in steps:
            yield step
        # Only the reply goes back: the calls are answered already, and a strict server wants a result for each.
        _, answer = split_reply(steps)
        self._messages.append({"role": "assistant", "content": answer.text if answer else ""})

    async def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        try:
            response = await self._client.post(self._url, json=body)
            for _ in range(_MOST_REDIRECTS):
                if response.status_code not in (307, 308) or not self._stays(response):
                    break
                response = await self._client.post(response.next_request.url, json=body)
        except self._http_error as error:
            raise AgentError(f"{self._url}: {type(error).__name__}: {error}".rstrip(": ")) from error
        if not response.is_success:
            problem = f"{self._url}: HTTP {response.status_code}: {shortened(response.text, _SHOWN)}"
            raise HttpStatusError(problem, response)
        try:
            reply = decode_reply(response.headers.get("content-type", ""), response.content)
        except (ValueError, RecursionError) as error:
            raise AgentError(f"{self._url}: replied no JSON ({error}): {shortened(response.text, _SHOWN)}") from None
        if not isinstance(reply, dict):
            raise AgentError(f"{self._url}: must reply an object with 'choices', got {shortened(str(reply), _SHOWN)}")
        return reply

    def _stays(self, response: Any) -> bool:
        """Whether a redirect leads to the same server. Another server must not get the headers, which may be secret."""
        target = response.next_request
        return target is not None and urlsplit(str(target.url))[:2] == urlsplit(str(response.url))[:2]


def _content(message: str, parts: Sequence[Part]) -> str | list[dict[str, Any]]:
    """Return the content of a message: its text, or its text and its parts."""
    if not parts:
        return message
    return [{"type": "text", "text": message}, *map(_part, parts)]


def _part(part: Part) -> dict[str, Any]:
    kind = kind_of(part)
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": data_url(part)}}
    if kind == "audio":
        sound = {"data": base64_of(part), "format": part.mime_type.partition("/")[2]}
        return {"type": "input_audio", "input_audio": sound}
    return {"type": "file", "file": {"filename": file_name(part), "file_data": data_url(part)}}


def _steps(reply: dict[str, Any], url: str) -> list[Step]:
    """Return the steps in a reply: from all messages that it reports, or from the message of the first choice."""
    reading = Diagnostics(url)
    messages = reply.get("messages")
    if isinstance(messages, list) and messages:
        steps = steps_of(messages, ((), "messages"), reading)
    else:
        # The content of a single message is the reply, and the calls were made before it.
        steps = steps_of([_message(reply, url)], ((), "choices"), reading)
        steps.sort(key=lambda step: isinstance(step, Message))
    if reading.errors:
        raise AgentError(f"{url}: {reading.errors[0]}")
    return separate_thoughts(steps)


def _message(reply: dict[str, Any], url: str) -> dict[str, Any]:
    choices = reply.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(message, dict):
        raise AgentError(f"{url}: must reply an object with 'choices', got {shortened(str(reply), _SHOWN)}")
    return {**message, "role": "assistant"}


def _usage(reply: dict[str, Any]) -> Usage | None:
    """Return the tokens of a reply. The completion tokens include the reasoning tokens."""
    usage = reply.get("usage")
    model = reply.get("model")
    if not isinstance(usage, dict):
        return Usage(model=model) if isinstance(model, str) else None
    return Usage(
        _count(usage, "prompt_tokens"),
        _count(usage, "completion_tokens"),
        _count(usage.get("completion_tokens_details"), "reasoning_tokens"),
        _count(usage.get("prompt_tokens_details"), "cached_tokens"),
        model if isinstance(model, str) else "",
    )


def _count(counts: Any, name: str) -> int | None:
    value = counts.get(name) if isinstance(counts, dict) else None
    return value if type(value) is int and value >= 0 else None
