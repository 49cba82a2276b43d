"""The HTTP client of a model, which keeps keys from every server but the one that they are for.

This module loads httpx2, so it is imported only when a model is opened.
"""

from __future__ import annotations

import base64
import functools
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import httpx2

from fairtrial.llm.address import Address
from fairtrial.llm.secrets import known_secrets

SECONDS = 86_400.0
"""The longest silence of a server. It is long, because the pace decides when a call has timed out."""

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
"""The headers that a server of a configuration needs. The SDKs add others from the environment, such as the user's
organization."""


def guarded_client(address: Address) -> httpx2.AsyncClient:
    """Return a client for the requests of a model. It follows no redirects. The caller closes it."""
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
    """Return the certificates of the system. They are loaded once, because loading takes long."""
    return httpx2.create_ssl_context()


@dataclass
class Exchange:
    """A request that is not sent, and the response that stands in for the server's.

    For example, a batch needs the body of a request first, and gets the body of the response a day later.
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
            return await exchange.respond(request)
        url, address = request.url, self._address
        headers = dict(request.headers)
        if not address.receives_user_keys:
            headers = dict(self._harmless(headers.items()))
        headers |= self._authorization() | {name.lower(): value for name, value in address.endpoint.headers}
        url = url.copy_merge_params(dict(address.query)) if address.query else url
        guarded = httpx2.Request(
            request.method, url, headers=headers, stream=request.stream, extensions=request.extensions
        )
        return await self._inner.handle_async_request(guarded)

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
