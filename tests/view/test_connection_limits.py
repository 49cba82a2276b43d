"""Servers stay free for honest requests, whatever connections others open."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import uvicorn
from test_receiver import REPLIES
from uvicorn.server import ServerState

from fairtrial.view import receiver
from fairtrial.view.connection_limits import ConnectionLimits, LimitedConnections
from receivers import PATIENCE, receiving
from span_files import call, otlp
from viewers import two_runs, viewing

HEAD = b"POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
QUICK = ConnectionLimits(head=0.05, body=0.05)
PATIENT = ConnectionLimits(most=8, head=PATIENCE, body=PATIENCE)


@contextmanager
def connection(url: str, data: bytes) -> Iterator[socket.socket]:
    """A connection that has sent some bytes."""
    address = urlsplit(url)
    with closing(socket.create_connection((address.hostname, address.port), timeout=PATIENCE)) as own:
        own.sendall(data)
        yield own


def everything_from(own: socket.socket) -> bytes:
    """What the server sends until it closes the connection."""
    return b"".join(iter(lambda: own.recv(4096), b""))


@pytest.mark.parametrize("start", [b"", HEAD, HEAD + b"Content-Length: 9\r\n\r\n{"], ids=["none", "head", "body"])
def test_a_request_that_does_not_arrive_is_given_up(tmp_path: Path, start: bytes) -> None:
    """Before its head, in its head, and in its body."""
    with receiving(tmp_path, None, REPLIES, limits=QUICK) as running, connection(running.url, start) as own:
        assert everything_from(own).startswith(b"HTTP/1.1 408 ")


def test_the_rest_of_a_refused_request_is_not_awaited(tmp_path: Path) -> None:
    """The answer came before the body, and nobody needs the body any more."""
    refused = HEAD.replace(b"/json", b"/x") + b"Content-Length: 9\r\n\r\n{"
    with receiving(tmp_path, None, REPLIES, limits=QUICK) as running, connection(running.url, refused) as own:
        answer = everything_from(own)
    assert answer.startswith(b"HTTP/1.1 415 ")
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize("start", [b"", HEAD, HEAD + b"Content-Length: 9\r\n\r\n{"], ids=["none", "head", "body"])
def test_a_new_connection_takes_the_place_of_the_oldest_that_waits(tmp_path: Path, start: bytes) -> None:
    """An honest sender is answered, although more connections than the server keeps are open."""
    with ExitStack() as stack:
        running = stack.enter_context(receiving(tmp_path, None, REPLIES, limits=PATIENT))
        own = [stack.enter_context(connection(running.url, start)) for _ in range(2 * PATIENT.most)]
        running.send(otlp(call(1, ["Hello?"], "Hi.")))
        with suppress(ConnectionResetError):
            assert everything_from(own[0]) == b""


@pytest.mark.long
def test_bodies_that_are_not_whole_fill_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their sizes count together. A sender is asked to come again, until the others are whole or given up."""
    body = json.dumps(otlp(call(1, ["Hello?"], "Hi."))).encode()
    monkeypatch.setattr(receiver, "MOST_HELD_BYTES", 2 * len(body))
    most = HEAD + b"Content-Length: %d\r\n\r\n" % (2 * len(body)) + b" " * (2 * len(body) - 1)
    with receiving(tmp_path, None, REPLIES, limits=PATIENT) as running:
        with connection(running.url, most):
            while (status := running.post(body, "application/json")) == 200:
                pass  # the bytes of the other connection are on their way
            assert status == 429
        while running.post(body, "application/json") == 429:
            pass  # the end of the other connection is on its way
        assert running.post(body, "application/json") == 200


def test_the_viewer_has_the_same_limits(tmp_path: Path) -> None:
    """A head that does not arrive is given up."""
    with (
        viewing(two_runs(tmp_path, cases=2), limits=QUICK) as site,
        connection(f"http://127.0.0.1:{site.port}", b"GET / HTTP/1.1\r\n") as own,
    ):
        assert everything_from(own).startswith(b"HTTP/1.1 408 ")


def test_connections_that_come_at_once_are_limited_too() -> None:
    """They are accepted in one step of the loop, before any connection that was given up is lost."""

    async def kept() -> int:
        config, state = uvicorn.Config(lambda: None, lifespan="off"), ServerState()
        config.load()
        protocol = LimitedConnections(PATIENT).protocol()
        server = await asyncio.get_running_loop().create_server(
            lambda: protocol(config=config, server_state=state, app_state={}), sock=listener, backlog=200
        )
        for _ in range(50):
            await asyncio.sleep(0)
        server.close()
        count = len(state.connections)
        for connection in [*state.connections]:
            connection.transport.abort()
        await asyncio.sleep(0)
        return count

    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=200))
        for _ in range(100):
            stack.enter_context(closing(socket.create_connection(listener.getsockname())))
        assert asyncio.run(kept()) == PATIENT.most
