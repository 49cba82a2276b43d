"""A tool whose server is down counts against the infrastructure, whatever framework calls the tool."""

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
import shop
from kinds import every, reached

import fairtrial
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Invocation, Message, ToolCall

CRITERIA: dict[str, Any] = {"response_match_score": 0.9}
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
HTTPX: Any = importlib.import_module("httpx2" if importlib.util.find_spec("httpx2") else "httpx")
every_local_kind = every(lambda kind: not kind.remote)
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
def _refusing() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    yield f"http://127.0.0.1:{port}"


@contextmanager
def _silent() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@contextmanager
def _overloaded() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Overloaded) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def _by_httpx(url: str) -> None:
    with HTTPX.Client(trust_env=False, timeout=0.2) as client:
        client.get(url).raise_for_status()


def _by_urllib(url: str) -> None:
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


@every_local_kind
@pytest.mark.parametrize("client", [_by_httpx, _by_urllib], ids=["httpx", "urllib"])
@pytest.mark.parametrize("server", [_refusing, _silent, _overloaded], ids=["refused", "timeout", "503"])
def test_a_tool_whose_server_is_down_is_not_the_agents_fault(
    kind: str, server: Any, client: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference holds a date that only the tool could tell. The framework may end the run, or tell its model."""
    with server() as url, reached(kind) as target:
        monkeypatch.setattr(shop, "ORDERS", Orders(lambda: client(url)))
        (result,) = fairtrial.evaluate(EvalSet("shop", (NEEDS_RESULT,)), target, CRITERIA).cases
    assert {fault.side for fault in result.invalidations or ()} == {"infrastructure"}


@every_local_kind
def test_a_tool_that_has_no_such_order_leaves_the_fault_with_the_agent(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exception of the tool is an answer: no server was down."""
    with reached(kind) as target:
        monkeypatch.setattr(shop, "ORDERS", {})
        (result,) = fairtrial.evaluate(EvalSet("shop", (NEEDS_RESULT,)), target, CRITERIA).cases
    assert result.invalidations == ()
