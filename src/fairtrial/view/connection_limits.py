"""The connections of a server: their number is limited, and so is the time that a request may take to arrive."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_LATE = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True)
class ConnectionLimits:
    """How many connections a server keeps, and how many seconds the head and the body of a request may take."""

    most: int = 500
    head: float = 10.0
    body: float = 60.0


@dataclass
class LimitedConnections:
    """The connections of one server. `waiting` are those that owe a part of a request, the oldest first."""

    limits: ConnectionLimits = ConnectionLimits()
    waiting: dict[_Connection, None] = field(default_factory=dict)

    def protocol(self) -> Any:
        """Return the function that uvicorn calls for each connection."""
        return partial(_Connection, own=self)

    def make_room(self, number: int) -> None:
        """Close the connection that has owed its request for the longest time, if there are too many connections."""
        if number > self.limits.most and self.waiting:
            oldest = next(iter(self.waiting))
            # It is lost only after this step of the loop, in which more connections may come.
            del self.waiting[oldest]
            oldest.transport.abort()


class _Connection(H11Protocol):
    """A connection of HTTP/1.1 with a deadline for each head and each body."""

    def __init__(self, *arguments: Any, own: LimitedConnections, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._own = own
        self._phase: tuple[Any, Any] | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # The head and the body of an answer are two writes. Otherwise the second waits until the first is confirmed.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._watch()
        self._own.make_room(len(self.connections))

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_watching()

    def _watch(self) -> None:
        """Set a deadline if the client owes another part of a request than before."""
        phase = (self.conn.their_state, self.cycle)
        if phase == self._phase or self.transport.is_closing():
            return
        self._stop_watching()
        self._phase = phase
        seconds = {h11.IDLE: self._own.limits.head, h11.SEND_BODY: self._own.limits.body}.get(phase[0])
        if seconds is not None:
            self._deadline = self.loop.call_later(seconds, self._end)
            self._own.waiting[self] = None

    def _stop_watching(self) -> None:
        self._own.waiting.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()

    def _end(self) -> None:
        if not self.transport.is_closing():
            if self.cycle is None or not self.cycle.response_started:
                self.transport.write(_LATE)
            self.transport.close()
