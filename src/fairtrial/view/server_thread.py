"""Serve an ASGI application in a thread while the command works in its own thread."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from fairtrial.errors import UsageError
from fairtrial.view.connection_limits import ConnectionLimits, LimitedConnections

_PATIENCE = 5
"""Seconds that open requests may take at the end."""


@contextmanager
def serve(app: Any, host: str, port: int, limits: ConnectionLimits | None = None) -> Iterator[str]:
    """Serve an application at an address during the block, and yield its URL. Port 0 is any free port.

    Raises UsageError if the address cannot be used.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"--listen: cannot listen at {host}:{port}: {reason}; choose another address", code="no-answer"
        ) from None
    connections = LimitedConnections(limits or ConnectionLimits())
    config = uvicorn.Config(
        app,
        http=connections.protocol(),
        lifespan="off",
        log_config=None,
        access_log=False,
        ws="none",
        timeout_graceful_shutdown=_PATIENCE,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True, name="fairtrial-server")
    # The socket listens already: clients may connect before the server has started.
    thread.start()
    bound_host, bound_port = listener.getsockname()[:2]
    try:
        yield f"http://{f'[{bound_host}]' if ':' in bound_host else bound_host}:{bound_port}"
    finally:
        server.should_exit = True
        thread.join(_PATIENCE + 1)
        listener.close()
