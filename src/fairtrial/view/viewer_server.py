"""A viewer as a server of this machine: which addresses it has, and how it starts and ends."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

import uvicorn

from fairtrial import api
from fairtrial.errors import UsageError
from fairtrial.view.connection_limits import ConnectionLimits, LimitedConnections
from fairtrial.view.viewer_app import ViewerApp
from fairtrial.view.viewer_guard import Guard, is_loopback, new_token

LOOPBACK = ("127.0.0.1", "::1")
_PATIENCE = 1
"""Seconds that open requests may take at the end. The events of a page never end by themselves."""


@dataclass(frozen=True)
class ViewerOptions:
    """Where a viewer listens. Without a `host`, only this machine can reach it. `language` is that of its pages."""

    port: int = 0
    host: str = ""
    token: str = ""
    language: str = ""
    limits: ConnectionLimits = ConnectionLimits()

    def __post_init__(self) -> None:
        if self.host and not is_loopback(self.host):
            if not self.token:
                raise UsageError(
                    f"--host {self.host}: others can reach this address, so it needs --token", code="unsafe-input"
                )
            if self.host in ("0.0.0.0", "::"):  # noqa: S104  (refused here)
                raise UsageError(
                    f"--host {self.host}: name the address that browsers use, so that others are refused",
                    code="unsafe-input",
                )


@contextmanager
def open_viewer(store: str, options: ViewerOptions) -> Iterator[tuple[uvicorn.Server, list[socket.socket], str]]:
    """Yield a server that listens, its sockets, and the address to open. Raises UsageError if it cannot listen."""
    with ExitStack() as stack:
        viewer = stack.enter_context(closing(api.StoreViewer(store)))
        sockets = list(_listen(options))
        for own in sockets:
            stack.callback(own.close)
        port = sockets[0].getsockname()[1]
        names = [options.host] if options.host else [*LOOPBACK, "localhost"]
        hosts = [f"[{name}]:{port}" if ":" in name else f"{name}:{port}" for name in names]
        token, write_token = options.token or new_token(), new_token()
        app = ViewerApp(viewer, write_token=write_token, language=options.language).build()
        guard = Guard(app, hosts, token, api.viewer_policy(), write_token)
        config = uvicorn.Config(
            guard,
            http=LimitedConnections(options.limits).protocol(),
            lifespan="off",
            log_config=None,
            access_log=False,
            ws="none",
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_PATIENCE,
        )
        yield uvicorn.Server(config), sockets, f"http://{hosts[0]}/?token={token}"


def _listen(options: ViewerOptions) -> Iterator[socket.socket]:
    """Yield the sockets. On a machine without IPv6, there is one."""
    names = [options.host] if options.host else list(LOOPBACK)
    port = options.port
    for name in names:
        family = socket.AF_INET6 if ":" in name else socket.AF_INET
        try:
            listener = socket.create_server((name, port), family=family)
        except (OSError, OverflowError) as error:
            if name == LOOPBACK[1] and not options.host:
                return
            reason = getattr(error, "strerror", None) or error
            raise UsageError(
                f"--port: cannot listen at {name}:{port}: {reason}; choose another port", code="no-answer"
            ) from None
        port = listener.getsockname()[1]
        yield listener


def run_viewer(store: str, options: ViewerOptions, *, ready: Callable[[str], object]) -> None:
    """Serve a store until Ctrl-C. `ready` receives the address to open."""
    with open_viewer(store, options) as (server, sockets, address):
        ready(address)
        server.run(sockets=sockets)
