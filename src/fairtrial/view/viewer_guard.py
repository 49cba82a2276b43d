"""Guard the viewer: it answers its user's browser, from its own page, and nobody else."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BYTES = 1 << 20
"""The largest body of a request."""
_READING = ("GET", "HEAD")
_WRITING = ("POST", "DELETE")
_OWN_SITES = ("same-origin", "none")


def new_token() -> str:
    """Return a secret that nobody can guess."""
    return secrets.token_urlsafe(32)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _RefusalError(Exception):
    """A request is not answered."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass
class Guard:
    """An ASGI application around another one, which lets only good requests through.

    `hosts` are the names with ports under which browsers may know the server. Another name that resolves to this
    machine is an attack (DNS rebinding). The `token` comes in the printed address. Its place is then taken by a cookie
    of this process, and by `write_token`, which only our page knows and sends in a header.
    """

    app: App
    hosts: Collection[str]
    token: str
    policy: str
    write_token: str = field(default_factory=new_token)
    cookie: str = field(default_factory=new_token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return
        protected = _with_headers(send, {"content-security-policy": self.policy})
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            self._check_host(headers)
            if await self._sign_in(scope, protected):
                return
            self._check_reader(scope, headers)
            if scope["method"] not in _READING:
                self._check_writer(headers)
                receive = await _read_body(receive, headers)
            await self.app(scope, receive, protected)
        except _RefusalError as error:
            await _answer(protected, error.status, str(error))

    @property
    def cookie_name(self) -> str:
        """The name of the cookie. Cookies do not know ports, so that the port is in the name."""
        return f"fairtrial-{next(iter(self.hosts)).rpartition(':')[2]}"

    def _check_host(self, headers: Mapping[str, str]) -> None:
        if headers.get("host", "").lower() not in self.hosts:
            raise _RefusalError(421, "the header Host names another server")

    async def _sign_in(self, scope: Scope, send: Send) -> bool:
        """Give a cookie for the token in the address, and return whether that was the request."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        secret = dict(query).get("token")
        if scope["path"] != "/" or secret is None:
            return False
        if not hmac.compare_digest(secret.encode(), self.token.encode()):
            raise _RefusalError(403, "the token is wrong, or of an earlier process; open the address that is printed")
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        cookie = f"{self.cookie_name}={self.cookie}; Path=/; HttpOnly; SameSite=Strict"
        # The token leaves the address, so that it is not in the history. A browser keeps the fragment.
        await _answer(send, 303, "", {"location": f"/?{rest}" if rest else "/", "set-cookie": cookie})
        return True

    def _check_reader(self, scope: Scope, headers: Mapping[str, str]) -> None:
        if scope["method"] not in (*_READING, *_WRITING):
            raise _RefusalError(405, "the method is not allowed")
        # A link on another page must not even cause a search.
        if headers.get("sec-fetch-site", "none") not in _OWN_SITES and scope["path"] != "/":
            raise _RefusalError(403, "the request comes from another site")
        secret = _cookies(headers).get(self.cookie_name, "")
        if not hmac.compare_digest(secret.encode(), self.cookie.encode()):
            raise _RefusalError(
                403, "the cookie is missing, or of an earlier process; open the address that is printed"
            )

    def _check_writer(self, headers: Mapping[str, str]) -> None:
        origin = headers.get("origin", "")
        if origin.lower() not in {f"http://{host}" for host in self.hosts}:
            raise _RefusalError(403, "the header Origin names another page")
        if headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise _RefusalError(403, "the request comes from another site")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise _RefusalError(415, "the content type must be application/json")
        secret = headers.get("x-fairtrial-token", "")
        if not hmac.compare_digest(secret.encode(), self.write_token.encode()):
            raise _RefusalError(403, "the header X-Fairtrial-Token is missing, or of an earlier process")


def _cookies(headers: Mapping[str, str]) -> dict[str, str]:
    cookies: SimpleCookie = SimpleCookie()
    try:
        cookies.load(headers.get("cookie", ""))
    except CookieError:
        return {}
    return {name: morsel.value for name, morsel in cookies.items()}


async def _read_body(receive: Receive, headers: Mapping[str, str]) -> Receive:
    """Return a `receive` with the whole body of a request. A longer body is refused before all of it is there."""
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length) > MOST_BYTES:
        raise _RefusalError(413, f"the body must have at most {MOST_BYTES} bytes")
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":  # the browser left
            return receive
        body += message.get("body", b"")
        if len(body) > MOST_BYTES:
            raise _RefusalError(413, f"the body must have at most {MOST_BYTES} bytes")
        if not message.get("more_body", False):
            break
    messages = iter([{"type": "http.request", "body": bytes(body), "more_body": False}])

    async def receive_next() -> Message:
        return next(messages, None) or await receive()

    return receive_next


_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def _with_headers(send: Send, more: Mapping[str, str]) -> Send:
    """Return a `send` that adds the headers that protect every answer."""
    protection = [(name.encode(), value.encode()) for name, value in (_HEADERS | dict(more)).items()]

    async def send_protected(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *protection]}
        await send(message)

    return send_protected


async def _answer(send: Send, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
    own = {"content-type": "text/plain; charset=utf-8", **(headers or {})}
    encoded = [(name.encode(), value.encode("latin-1", "replace")) for name, value in own.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": text.encode()})
