"""A model's HTTP client, which keeps keys from every server but the one that they are for.

This module loads httpx2, so it is imported only when a model is opened.
"""

from __future__ import annotations

import base64
import functools
import json
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2

from fairtrial.llm.provider_replies import NoReplyError, ProviderReply, read_reply
from fairtrial.llm.secrets import known_secrets

if TYPE_CHECKING:
    from fairtrial.llm.address import Address
    from fairtrial.llm.known_providers import Protocol

SECONDS = 86_400.0
"""The longest server silence. It is long, because the pace decides when a call has timed out."""

MOST_BYTES = 64_000_000
"""The largest response that is read."""

_KEY_HEADERS = frozenset(("authorization", "x-api-key", "api-key", "x-goog-api-key"))
_PLAIN_HEADERS = frozenset(
    (
        "host",
        "accept",
        "accept-encoding",
        "connection",
        "content-type",
        "content-length",
        "transfer-encoding",
        "user-agent",
        "anthropic-version",
        "anthropic-beta",
    )
)
"""The headers that a configured server needs. The SDKs add others from the environment, such as the user's
organization."""


def guarded_client(address: Address) -> httpx2.AsyncClient:
    """Return a client for a model's requests. It follows no redirects. The caller closes it."""
    client = httpx2.AsyncClient(
        timeout=httpx2.Timeout(SECONDS, connect=5.0),
        limits=httpx2.Limits(max_connections=1000, max_keepalive_connections=100),
        verify=_certificates(),
    )
    # A transport of our own would switch off the proxies that the environment names, so the client's are wrapped.
    client._transport = _GuardedTransport(client._transport, address)  # noqa: SLF001
    mounts = client._mounts.items()  # noqa: SLF001
    client._mounts = {at: inner and _GuardedTransport(inner, address) for at, inner in mounts}  # noqa: SLF001
    return client


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Return system certificates. They are loaded once, because loading takes long."""
    return httpx2.create_ssl_context()


@dataclass
class Exchange:
    """A request that is not sent, and the response that stands in for the server's.

    For example, a batch needs the request body first, and gets the response body a day later.
    """

    status: int = 0
    content: bytes = b""
    request: httpx2.Request | None = None

    async def respond(self, request: httpx2.Request) -> httpx2.Response:
        """Keep the request, and return the response. Raises `NotSentError` if there is none."""
        await request.aread()
        self.request = request
        if not self.status:
            raise NotSentError
        headers = {"content-type": "application/json"}
        return httpx2.Response(self.status, headers=headers, content=self.content, request=request)


class NotSentError(Exception):
    """A request was taken off its way."""


@dataclass
class Arrival:
    """The reply to a call, or its error if a response with status 200 holds no reply."""

    reply: ProviderReply | None = None
    error: NoReplyError | None = None

    def read(self, protocol: Protocol, content: bytes) -> bool:
        """Keep the reply in a response with status 200, and return whether there is one."""
        try:
            self.reply = read_reply(protocol, content)
        except NoReplyError as error:
            self.error = error
        return self.error is None


_ARRIVAL: ContextVar[Arrival | None] = ContextVar("_ARRIVAL", default=None)


@contextmanager
def arriving() -> Iterator[Arrival]:
    """Keep the reply to the call that is made during the block.

    A provider's SDK gets a short reply without any content in its place, because an SDK fails at a field that it does
    not expect.
    """
    arrival = Arrival()
    token = _ARRIVAL.set(arrival)
    try:
        yield arrival
    finally:
        _ARRIVAL.reset(token)


_CHAT = {"object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "-"}}]}
_GEMINI = {"candidates": [{"content": {"role": "model", "parts": [{"text": "-"}]}, "finishReason": "STOP"}]}
_USAGE = {"input_tokens": 1, "output_tokens": 1}
_MESSAGE = {
    "id": "-",
    "type": "message",
    "role": "assistant",
    "model": "-",
    "content": [{"type": "text", "text": "-"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": _USAGE,
}
_CONVERSE = {
    "output": {"message": {"role": "assistant", "content": [{"text": "-"}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    "metrics": {"latencyMs": 1},
}
_EVENTS: tuple[dict[str, object], ...] = (
    {"type": "message_start", "message": {**_MESSAGE, "content": [], "stop_reason": None}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "-"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": _USAGE},
    {"type": "message_stop"},
)
_STREAM = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _EVENTS).encode()
_STAND_INS: dict[Protocol, bytes] = {
    "chat": json.dumps(_CHAT).encode(),
    "responses": b"{}",
    "gemini": json.dumps(_GEMINI).encode(),
    "messages": json.dumps(_MESSAGE).encode(),
    "converse": json.dumps(_CONVERSE).encode(),
}
"""The replies that SDKs get instead of providers' replies."""


def read_converse(response_dict: dict[str, Any], **_: object) -> None:
    """Keep the reply in a response of Bedrock, before boto3 reads it."""
    arrival = _ARRIVAL.get()
    if arrival is None or response_dict["status_code"] != 200:
        return
    is_read = arrival.read("converse", response_dict["body"])
    response_dict["body"] = _STAND_INS["converse"]
    if not is_read:
        response_dict["status_code"] = 502


_EXCHANGE: ContextVar[Exchange | None] = ContextVar("_EXCHANGE", default=None)


@contextmanager
def exchanged(status: int = 0, content: bytes = b"") -> Iterator[Exchange]:
    """Take the requests of guarded clients off their way during the block, and answer them with a response."""
    exchange = Exchange(status, content)
    token = _EXCHANGE.set(exchange)
    try:
        yield exchange
    finally:
        _EXCHANGE.reset(token)


class TooLargeError(Exception):
    """A response is larger than any model reply."""


async def _content(response: httpx2.Response) -> bytes:
    """Return a response's content, and close it. Raises `TooLargeError`."""
    content = bytearray()
    try:
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > MOST_BYTES:
                raise TooLargeError(f"the response has more than {MOST_BYTES:,} bytes")
    finally:
        await response.aclose()
    return bytes(content)


class _GuardedTransport(httpx2.AsyncBaseTransport):
    """Adds headers, query and password to a request at the last moment, so that no log and no exception holds them."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, address: Address) -> None:
        self._inner = inner
        self._address = address
        key = None if address.receives_user_keys else address.api_key
        self._keys_of_others = [] if key is None else [secret for secret in known_secrets() if secret != key]

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        exchange = _EXCHANGE.get()
        if exchange is not None:
            return await self._keep_reply(await exchange.respond(request), request)
        url, address = request.url, self._address
        headers = dict(request.headers)
        if not address.receives_user_keys:
            headers = dict(self._harmless(headers.items()))
        headers |= self._authorization() | {name.lower(): value for name, value in address.endpoint.headers}
        url = url.copy_merge_params(dict(address.query)) if address.query else url
        guarded = httpx2.Request(
            request.method, url, headers=headers, stream=request.stream, extensions=request.extensions
        )
        return await self._keep_reply(await self._inner.handle_async_request(guarded), request)

    async def _keep_reply(self, response: httpx2.Response, request: httpx2.Request) -> httpx2.Response:
        """Keep a call's reply. The response that is returned has the form that the SDK expects."""
        arrival = _ARRIVAL.get()
        if arrival is None or response.status_code != 200 or request.method != "POST":
            return response
        protocol = self._address.known.protocol
        content = await _content(response)
        status = 200 if arrival.read(protocol, content) else 502
        is_stream = protocol == "messages" and b'"stream":true' in (await request.aread()).replace(b" ", b"")
        kind = "text/event-stream" if is_stream else "application/json"
        content = _STREAM if is_stream and status == 200 else _STAND_INS[protocol]
        return httpx2.Response(status, headers={"content-type": kind}, content=content, request=request)

    def _harmless(self, headers: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
        for name, value in headers:
            holds_key = any(key in value for key in self._keys_of_others)
            if (name in _PLAIN_HEADERS or name in _KEY_HEADERS) and not holds_key:
                yield name, value

    def _authorization(self) -> dict[str, str]:
        userinfo = self._address.url.userinfo if self._address.url else ""
        if not userinfo:
            return {}
        return {"authorization": "Basic " + base64.b64encode(userinfo.encode()).decode()}
