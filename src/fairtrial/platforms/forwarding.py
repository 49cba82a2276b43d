"""Forward received requests to another service, unchanged."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, Self
from urllib.parse import unquote

from fairtrial.errors import UsageError, spell
from fairtrial.platforms.http_client import HttpClient

HEADERS = "FAIRTRIAL_FORWARD_HEADERS"
"""The variable with the headers of forwarded requests, as in OpenTelemetry: `name=value,name=value`."""
_ROOM = 256
_PATIENCE = 10.0
"""Seconds that requests may take at the end."""


class _ForwardedRequest(NamedTuple):
    path: str
    body: bytes
    headers: Mapping[str, str]


class Forwarder:
    """Sends requests to a service in a thread of its own. `failures` counts the requests that the service did not take.

    `problem` is the last error.
    """

    def __init__(self, url: str, *, wait: Callable[[float], None] = time.sleep) -> None:
        """Send requests to a URL, for example http://collector:4318. Raises UsageError if the URL cannot be used."""
        headers = parse_headers(os.environ.get(HEADERS, ""), HEADERS)
        self.failures = 0
        self.problem = ""
        self._client = HttpClient(
            spell("forward"), url, headers, keys=[HEADERS], secrets=list(headers.values()), wait=wait
        )
        self._requests: queue.Queue[_ForwardedRequest | None] = queue.Queue(_ROOM)
        self._thread = threading.Thread(target=self._send_each, daemon=True, name="fairtrial-forward")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._requests.put(None)
        self._thread.join(_PATIENCE)
        self._client.close()
        self.failures += self._requests.qsize()

    def __call__(self, path: str, body: bytes, headers: Mapping[str, str]) -> bool:
        """Let a request be sent, or return False if too many wait."""
        try:
            self._requests.put_nowait(_ForwardedRequest(path, body, headers))
        except queue.Full:
            return False
        return True

    def _send_each(self) -> None:
        while (request := self._requests.get()) is not None:
            try:
                self._client.send("POST", request.path, content=request.body, headers=request.headers)
            except UsageError as error:
                self.failures += 1
                self.problem = str(error)


def parse_headers(text: str, variable: str) -> dict[str, str]:
    """Return the headers in the text of a variable, such as `api-key=abc,team=x`. Values may be percent-encoded."""
    headers: dict[str, str] = {}
    for pair in filter(None, map(str.strip, text.split(","))):
        name, separator, value = pair.partition("=")
        if not separator or not name.strip():
            raise UsageError(f"{variable}: must be name=value pairs with commas between them")
        headers[name.strip()] = unquote(value.strip())
    return headers
