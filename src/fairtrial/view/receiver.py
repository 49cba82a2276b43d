"""OTLP over HTTP: the requests of exporters, and the answers as the protocol says."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from fairtrial import api
from fairtrial.errors import FormatError, StoreError
from fairtrial.text.display import visible_line
from fairtrial.view.viewer_guard import is_loopback

MOST_WAITING = 64
"""Requests that are being stored at once. Others are asked to come again."""
MOST_HELD_BYTES = 128 << 20
"""The size of all bodies that are in memory at once. The senders of others are asked to come again."""
_MOST_UNPACKED = 4
"""Requests that are unpacked and read at once. Each may become as large as `MOST_OTLP_BYTES`."""
_RETRY_AFTER = {"Retry-After": "1"}
_CONTENT_TYPES = (api.OTLP_PROTOBUF, api.OTLP_JSON)

Forward = Callable[[str, bytes, Mapping[str, str]], bool]
"""Receives the path, the body and the headers of a request. Returns False if it has no room for the request."""


class _RefusedError(Exception):
    """A request is answered with an error."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})


@dataclass
class ReceiverApp:
    """The requests to a receiver. With a `token`, a request needs it as a bearer token.

    `forward` receives every request unchanged after its data is stored.
    """

    receiver: api.Receiver
    token: str = field(default="", repr=False)
    forward: Forward | None = None
    waiting: int = 0
    bytes_in_memory: int = 0

    def __post_init__(self) -> None:
        self._unpacking = anyio.CapacityLimiter(_MOST_UNPACKED)

    def build(self) -> Starlette:
        """Return the ASGI application."""
        paths = {f"/v1/{signal}": self.take for signal in ("traces", "logs", "metrics")}
        paths["/v1/conversations/{name:path}/end"] = self.end
        return Starlette(routes=[Route(path, endpoint, methods=["POST"]) for path, endpoint in paths.items()])

    async def take(self, request: Request) -> Response:
        """Answer a request with spans, log records or metrics. Metrics are accepted, and nothing reads them."""
        content_type = _content_type(request)
        signal = request.url.path.rpartition("/")[2]
        try:
            self._check_sender(request)
            _check_content_type(content_type)
            with self._counting() as sizes:
                packed = await self._body(request, sizes)
                refused = 0
                if signal in ("traces", "logs"):
                    kind: Literal["traces", "logs"] = "traces" if signal == "traces" else "logs"
                    refused = await self._store(request, kind, packed, content_type)
                self._pass_on(request, packed, content_type)
        except _RefusedError as error:
            if content_type not in _CONTENT_TYPES:
                return Response(str(error), error.status, error.headers, "text/plain")
            return Response(api.otlp_failure(content_type, str(error)), error.status, error.headers, content_type)
        except ClientDisconnect:
            return Response(status_code=400)
        return Response(api.otlp_success(signal, content_type, refused=refused), media_type=content_type)

    async def end(self, request: Request) -> Response:
        """Let a conversation be scored now."""
        try:
            self._check_sender(request)
            # Any page may send a form or a text without asking. A request without a body has no type.
            if "content-type" in request.headers:
                _check_content_type(_content_type(request), (api.OTLP_JSON,))
        except _RefusedError as error:
            return Response(str(error), error.status, error.headers, "text/plain")
        name = request.path_params["name"]
        if await run_in_threadpool(self.receiver.end, name):
            return Response(status_code=202)
        return Response(f"no spans of the conversation {visible_line(name)!r} wait", 404, media_type="text/plain")

    def _check_sender(self, request: Request) -> None:
        """Refuse a request without the token, and what a browser sends for a page of somebody else.

        Without a token, only this machine can reach the receiver. A page whose name resolves to this machine has its
        own name in the header Host.
        """
        host = request.headers.get("host", "")
        if not self.token and not is_loopback(_host_name(host)):
            raise _RefusedError(
                421,
                "the header Host names another server; send to 127.0.0.1 or localhost, or set FAIRTRIAL_RECEIVE_TOKEN",
            )
        if request.headers.get("origin", f"http://{host}").lower() != f"http://{host}".lower():
            raise _RefusedError(403, "the header Origin names another page")
        given = request.headers.get("authorization", "").encode()
        if self.token and not hmac.compare_digest(given, f"Bearer {self.token}".encode()):
            raise _RefusedError(401, "the header Authorization must be 'Bearer TOKEN'", {"WWW-Authenticate": "Bearer"})

    async def _store(
        self, request: Request, signal: Literal["traces", "logs"], packed: bytes, content_type: str
    ) -> int:
        """Store the data of a request, and return the number of refused items."""
        if self.waiting >= MOST_WAITING:
            raise _RefusedError(429, "too many requests wait; send this request again", _RETRY_AFTER)
        self.waiting += 1
        try:
            return await anyio.to_thread.run_sync(
                self._store_now, request, signal, packed, content_type, limiter=self._unpacking
            )
        finally:
            self.waiting -= 1

    def _store_now(self, request: Request, signal: Literal["traces", "logs"], packed: bytes, content_type: str) -> int:
        try:
            return self.receiver.accept(_unpack_bytes(packed, _encoding(request)), signal, content_type)
        except api.TooLargeError as error:
            raise _RefusedError(413, str(error)) from None
        except FormatError as error:
            raise _RefusedError(400, str(error)) from None
        except StoreError as error:
            raise _RefusedError(503, f"the store failed: {error}", _RETRY_AFTER) from None

    @contextmanager
    def _counting(self) -> Iterator[list[int]]:
        """Count the sizes in the list until the block ends."""
        sizes: list[int] = []
        try:
            yield sizes
        finally:
            self.bytes_in_memory -= sum(sizes)

    async def _body(self, request: Request, sizes: list[int]) -> bytes:
        """Return the body of a request as it was sent. A body that is too large is refused before all of it is there.

        Its size counts, for example against the limit of all bodies.
        """
        body = bytearray()
        async for chunk in request.stream():
            sizes.append(len(chunk))
            self.bytes_in_memory += len(chunk)
            body += chunk
            if len(body) > api.MOST_OTLP_BYTES:
                raise _RefusedError(
                    413, f"the request is larger than {api.MOST_OTLP_BYTES >> 20} MiB; send smaller batches"
                )
            if self.bytes_in_memory > MOST_HELD_BYTES:
                raise _RefusedError(429, "too many requests arrive at once; send this request again", _RETRY_AFTER)
        return bytes(body)

    def _pass_on(self, request: Request, packed: bytes, content_type: str) -> None:
        """Forward a request after its data is stored. Metrics are forwarded too."""
        headers = {"Content-Type": content_type, "Content-Encoding": _encoding(request)}
        if self.forward is not None and not self.forward(request.url.path, packed, headers):
            # The sender sends the request again. A span that is stored twice counts once.
            raise _RefusedError(429, "too many requests wait to be forwarded; send this request again", _RETRY_AFTER)


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _host_name(host: str) -> str:
    """Return the name in a header Host, without its port, or an empty text."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _encoding(request: Request) -> str:
    return request.headers.get("content-encoding", "identity").lower()


def _check_content_type(content_type: str, allowed_types: Sequence[str] = _CONTENT_TYPES) -> None:
    if content_type not in allowed_types:
        allowed = " or ".join(allowed_types)
        raise _RefusedError(415, f"the content type must be {allowed}, got {visible_line(content_type)!r}")


def _unpack_bytes(packed: bytes, encoding: str) -> bytes:
    if encoding in ("gzip", "zstd"):
        return api.unpack_otlp(packed, encoding)
    if encoding in ("identity", ""):
        return packed
    raise _RefusedError(415, f"the content encoding must be gzip or zstd, or none, got {visible_line(encoding)!r}")
