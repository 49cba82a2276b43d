"""A port for a server that starts later, or that starts again at the same place."""

from __future__ import annotations

import random
import socket

_BELOW_EPHEMERAL = range(20_000, 30_000)
"""The system gives none of these to whoever asks for any port. A client that calls a closed port of the range of the
system again and again is at last connected to itself, and the port is in use."""


def free_port() -> int:
    """Return a port of this machine that nobody uses."""
    while True:
        port = random.SystemRandom().choice(_BELOW_EPHEMERAL)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue


def accepts(port: int) -> bool:
    """Return whether a server of this machine accepts a connection at a port. The answer comes within a second."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False
