"""Servers that are down, and clients of tools that ask them."""

from __future__ import annotations

import importlib.util
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from fairtrial.records.case import EvalCase
from fairtrial.records.trace import Invocation, Message, ToolCall

HTTPX: Any = importlib.import_module("httpx2" if importlib.util.find_spec("httpx2") else "httpx")
NEEDS_RESULT = EvalCase(
    "order",
    (
        Invocation(
            Message("Where is A-17?"),
            (ToolCall("get_order", {"order_id": "A-17"}),),
            Message("It comes on 2026-12-24."),
        ),
    ),
)


class _Overloaded(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(503)

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


@contextmanager
def refusing() -> Iterator[str]:
    """Nobody listens at the address."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    yield f"http://127.0.0.1:{port}"


@contextmanager
def silent() -> Iterator[str]:
    """The server does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@contextmanager
def overloaded() -> Iterator[str]:
    """The server answers with the status 503."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Overloaded) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def by_httpx(url: str) -> None:
    """Ask with httpx."""
    with HTTPX.Client(trust_env=False, timeout=0.2) as client:
        client.get(url).raise_for_status()


def by_urllib(url: str) -> None:
    """Ask with the standard library."""
    try:
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=0.2)
    except urllib.error.HTTPError as error:
        error.close()
        raise


class Orders(dict[str, Any]):
    """Orders that stand on a server."""

    def __init__(self, look_up: Callable[[], None]) -> None:
        self._look_up = look_up

    def __getitem__(self, order_id: str) -> Any:
        self._look_up()
        raise AssertionError(f"the server answered about {order_id}")


class OrdersError(Exception):
    """An error of the shop's own."""


def by_own_client(url: str) -> None:
    """Ask with a client that raises an error of its own. Only the cause of the error tells the outage."""
    try:
        by_urllib(url)
    except Exception as error:
        raise OrdersError("no order") from error


every_client = pytest.mark.parametrize(
    "client", [by_httpx, by_urllib, by_own_client], ids=["httpx", "urllib", "own error"]
)
every_server = pytest.mark.parametrize("server", [refusing, silent, overloaded], ids=["refused", "timeout", "503"])
