"""The HTTP client with which sessions exchange JSON with an agent server."""

from __future__ import annotations

import functools
import os
import re
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple
from urllib.parse import SplitResult, urlsplit

import msgspec

from fairtrial.agents.endpoints.urls import HttpStatusError, check_answers, split_parts
from fairtrial.errors import AgentError, UsageError
from fairtrial.system.importing import import_extra
from fairtrial.text.display import shorten

KEY = "FAIRTRIAL_AGENT_API_KEY"
HEADERS = "FAIRTRIAL_AGENT_HEADERS"
BODY = "FAIRTRIAL_AGENT_BODY"
CONVERSATION = "{conversation}"
"""Stands for the id of the conversation in the values of the headers and of the body."""
SHOWN = 300
"""The longest piece of a reply, in characters, that a message shows."""
_MOST_REDIRECTS = 3
_CONNECT_SECONDS = 10.0
_LINE_END = re.compile(rb"\r\n|\n|\r")


class StreamEvent(NamedTuple):
    """An event of a stream: its name, which may be empty, the JSON of its data, and when it came (monotonic)."""

    name: str
    data: Any
    came: float = 0.0


def url_parts(url: str, *, like: str) -> SplitResult:
    """Return the parts of the URL of an agent. Raises UsageError, also if a needed variable or library is missing."""
    import_extra("httpx2", "http")
    parts = split_parts(url, like=like)
    if parts.username or parts.password:
        raise UsageError(
            f"must hold no password; a key is taken from the environment variable {KEY}", code="unsafe-input"
        )
    object_in(HEADERS)
    return parts


def parse_named_target(target: str, *, noun: str, like: str) -> tuple[str, str]:
    """Return the URL and the name in `KIND:URL#NAME`, where `noun` says what the name is of. Raises UsageError."""
    url, _, name = target.partition(":")[2].partition("#")
    parts = url_parts(url, like=like)
    if not name:
        raise UsageError(f"must name the {noun} behind the URL, for example {like}", code="unusable-agent")
    return parts._replace(path=parts.path.rstrip("/")).geturl(), name


def url_ending_in(ending: str, url: str, *, like: str) -> str:
    """Return the URL of an agent with a path at its end, whether the user wrote that or not. Raises UsageError."""
    parts = url_parts(url, like=like)
    path = parts.path.rstrip("/")
    return parts._replace(path=path if path.endswith(ending) else path + ending).geturl()


def object_in(variable: str) -> dict[str, Any]:
    """Return the JSON object in a variable. Raises UsageError without the value, because the value may be secret."""
    text = os.environ.get(variable) or "{}"
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or (variable == HEADERS and not all(isinstance(v, str) for v in value.values())):
        kind = " of strings" if variable == HEADERS else ""
        raise UsageError(f"the environment variable {variable} must hold a JSON object{kind}", code="unusable-agent")
    return value


def fill(value: Any, conversation: str) -> Any:
    """Return a value with the id of the conversation in its texts."""
    if isinstance(value, str):
        return value.replace(CONVERSATION, conversation)
    if isinstance(value, dict):
        return {name: fill(inner, conversation) for name, inner in value.items()}
    return [fill(inner, conversation) for inner in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class EndpointAgent:
    """An agent behind a URL. `body` are more fields of each request."""

    url: str
    body: dict[str, Any] = field(default_factory=dict, kw_only=True)
    refuses_environment: ClassVar[str] = (
        "an agent behind an endpoint runs its tools itself, and an environment cannot answer the calls"
    )

    async def check_target(self) -> None:
        """Raise UsageError if no server accepts connections at the URL. Any response is good enough."""
        httpx = import_extra("httpx2", "http")
        async with httpx.AsyncClient(timeout=_CONNECT_SECONDS, verify=_verify(self.url)) as client:
            await check_answers(client, httpx, self.url)


@asynccontextmanager
async def connect(url: str) -> AsyncIterator[EndpointClient]:
    """Open the connections of one conversation with the server of a URL."""
    httpx = import_extra("httpx2", "http")
    key = os.environ.get(KEY)
    conversation = str(uuid.uuid4())
    headers = {"authorization": f"Bearer {key}"} if key else {}
    headers |= fill(object_in(HEADERS), conversation)
    async with httpx.AsyncClient(headers=headers, timeout=None, verify=_verify(url)) as client:
        yield EndpointClient(client, httpx.HTTPError, conversation)


@functools.cache
def _certificates() -> Any:
    return import_extra("httpx2", "http").create_ssl_context()


def _verify(url: str) -> Any:
    """Return the certificates for a URL. They are loaded once and only if needed, because loading takes long."""
    return _certificates() if url.startswith("https:") else False


class EndpointClient:
    """The connections of one conversation. `conversation` is the id of the conversation in headers and bodies."""

    def __init__(self, client: Any, http_error: type[Exception], conversation: str) -> None:
        self._client = client
        self._http_error = http_error
        self.conversation = conversation

    async def post(self, url: str, body: Any, headers: dict[str, str] | None = None) -> Any:
        """Return the JSON of the reply to a request. The reply of a stream is the list of its `StreamEvent`s.

        Raises AgentError if the reply is not a success or not JSON.
        """
        return await self.send("POST", url, body, headers)

    async def send(self, method: str, url: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        """Return the JSON of the reply to a request of any method. The body is left out if it is None."""
        response = await self._response(method, url, body, headers)
        content = b""
        try:
            if _kind(response) == "text/event-stream":
                return [event async for event in _events(response)]
            if _kind(response) in ("application/x-ndjson", "application/jsonl"):
                return [_event("", content) async for content in _lines(response) if content.strip()]
            content = await response.aread()
            return msgspec.json.decode(content) if content else None
        except self._http_error as error:
            raise self._failure(url, error) from error
        except (ValueError, RecursionError) as error:
            text = shorten(content.decode(errors="replace"), SHOWN)
            raise AgentError(f"{url}: replied no JSON ({error}): {text}") from None
        finally:
            await response.aclose()

    async def events(self, url: str, body: Any) -> AsyncGenerator[StreamEvent, None]:
        """Yield the events of a stream when they come. A reply that is not a stream is one event."""
        response = await self._response("POST", url, body, None)
        try:
            if _kind(response) != "text/event-stream":
                yield _event("", await response.aread())
                return
            async for event in _events(response):
                yield event
        except self._http_error as error:
            raise self._failure(url, error) from error
        except (ValueError, RecursionError) as error:
            raise AgentError(f"{url}: sent an event without JSON ({error})") from None
        finally:
            await response.aclose()

    async def _response(self, method: str, url: str, body: Any, headers: dict[str, str] | None) -> Any:
        """Return the response to a request, whose content is still to be read."""
        content = {} if body is None else {"json": body}
        try:
            request = self._client.build_request(method, url, headers=headers, **content)
            response = await self._client.send(request, stream=True)
            for _ in range(_MOST_REDIRECTS):
                if response.status_code not in (307, 308) or not _stays(response):
                    break
                await response.aclose()
                request = self._client.build_request(method, response.next_request.url, headers=headers, **content)
                response = await self._client.send(request, stream=True)
            if not response.is_success:
                await response.aread()
        except self._http_error as error:
            raise self._failure(url, error) from error
        if not response.is_success:
            await response.aclose()
            problem = f"{url}: HTTP {response.status_code}: {shorten(response.text, SHOWN)}"
            raise HttpStatusError(problem, response)
        return response

    @staticmethod
    def _failure(url: str, error: Exception) -> AgentError:
        return AgentError(f"{url}: {type(error).__name__}: {error}".rstrip(": "))


def _kind(response: Any) -> str:
    """Return the media type of a response without its parameters."""
    return str(response.headers.get("content-type", "")).partition(";")[0].strip()


def _stays(response: Any) -> bool:
    """Whether a redirect leads to the same server. Another server must not get the headers, which may be secret."""
    target = response.next_request
    return target is not None and urlsplit(str(target.url))[:2] == urlsplit(str(response.url))[:2]


def _event(name: str, data: bytes) -> StreamEvent:
    return StreamEvent(name, msgspec.json.decode(data), time.monotonic())


async def _lines(response: Any) -> AsyncIterator[bytes]:
    """Yield the lines of a response when they come, without their ends."""
    rest = b""
    async for chunk in response.aiter_bytes():
        rest += chunk
        held = b"\r" if rest.endswith(b"\r") else b""  # its line feed may be in the next chunk
        *lines, rest = _LINE_END.split(rest.removesuffix(held))
        rest += held
        for line in lines:
            yield line
    yield rest.removesuffix(b"\r")


async def _events(response: Any) -> AsyncIterator[StreamEvent]:
    """Yield the events of a stream when they come. A blank line ends an event; `[DONE]` is not an event."""
    name, data = "", b""
    async for line in _lines(response):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"event":
            name = value.decode()
        elif field == b"data":
            data += (b"\n" if data else b"") + value
        elif not line:
            if data.strip() not in (b"", b"[DONE]"):
                yield _event(name, data)
            name, data = "", b""
    if data.strip() not in (b"", b"[DONE]"):
        yield _event(name, data)
