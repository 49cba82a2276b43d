"""Remote model calls from workers to the process that started them, so that no worker holds a key."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from fairtrial.errors import UsageError
from fairtrial.llm.model import CallError, DeferredCallError, UnsentError
from fairtrial.records.ballot import Ballot
from fairtrial.records.decoding import msgpack_decoder
from fairtrial.records.record import Record
from fairtrial.records.reply import Prompt, Reply

MOST_BYTES = 256 << 20
"""The largest message on a connection."""
_LENGTH = 4


class Link(Record, frozen=True):
    """The address of that process that calls the models. It answers only a worker that knows the secret."""

    host: str
    port: int
    secret: str


class Call(Record, frozen=True, tag=True):
    """A worker calls a model, by its number in the run."""

    id: int
    model: int
    prompt: Prompt


class Keep(Record, frozen=True, tag=True):
    """A worker has finished a ballot."""

    ballot: Ballot


class Settle(Record, frozen=True, tag=True):
    """A worker asks whether everything that it sent has been received."""

    id: int


Request = Call | Keep | Settle
Problem = Literal["failed", "unsent", "deferred", "unusable"]


class Answer(Record, frozen=True):
    """The reply to a call, or the problem with its cause."""

    id: int
    reply: Reply | None = None
    problem: Problem | None = None
    cause: str = ""


_PROBLEMS: dict[Problem, type[Exception]] = {
    "failed": CallError,
    "unsent": UnsentError,
    "deferred": DeferredCallError,
    "unusable": UsageError,
}


async def read_message(reader: asyncio.StreamReader) -> bytes:
    """Return the next message. Raises `IncompleteReadError` at the end, and `ValueError` for a message too large."""
    length = int.from_bytes(await reader.readexactly(_LENGTH), "big")
    if length > MOST_BYTES:
        raise ValueError(f"a message of {length} bytes")
    return await reader.readexactly(length)


def write_message(writer: asyncio.StreamWriter, message: bytes) -> None:
    """Write a message."""
    writer.write(len(message).to_bytes(_LENGTH, "big") + message)


@dataclass
class CallConnection:
    """A worker's connection to the process that calls the models."""

    writer: asyncio.StreamWriter
    deferred: int = 0
    _waiting: dict[int, asyncio.Future[Answer]] = field(default_factory=dict)
    _last_id: int = 0
    _encoder: msgspec.msgpack.Encoder = field(default_factory=msgspec.msgpack.Encoder)

    async def call(self, model: int, prompt: Prompt) -> Reply:
        """Return a model's reply. Raises `CallError` as the model does, or `DeferredCallError`."""
        answer = await self._ask(Call(self._next_id(), model, prompt))
        if answer.reply is not None:
            return answer.reply
        self.deferred += answer.problem == "deferred"
        raise _PROBLEMS[answer.problem or "failed"](answer.cause)

    def keep(self, ballot: Ballot) -> None:
        """Send a finished ballot."""
        write_message(self.writer, self._encoder.encode(Keep(ballot)))

    async def settle(self) -> None:
        """Wait until everything that was sent has been received and stored."""
        answer = await self._ask(Settle(self._next_id()))
        if answer.problem is not None:
            raise _PROBLEMS[answer.problem](answer.cause)

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    async def _ask(self, request: Call | Settle) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[request.id] = future
        try:
            write_message(self.writer, self._encoder.encode(request))
            await self.writer.drain()
            return await future
        except ConnectionError as error:
            raise UsageError(f"the process that calls the models is gone: {error}", code="unusable-model") from error
        finally:
            del self._waiting[request.id]

    async def receive(self, reader: asyncio.StreamReader) -> None:
        """Pass each answer to the call that waits for it, until the connection ends."""
        decoder = msgpack_decoder(Answer)
        try:
            while True:
                answer = decoder.decode(await read_message(reader))
                if answer.id in self._waiting:
                    self._waiting[answer.id].set_result(answer)
        except (ConnectionError, asyncio.IncompleteReadError):
            for future in self._waiting.values():
                future.set_exception(UsageError("the process that calls the models is gone"))


_CONNECTION: ContextVar[CallConnection] = ContextVar("_CONNECTION")
_BALLOTS: ContextVar[MutableMapping[str, Ballot]] = ContextVar("_BALLOTS")


@asynccontextmanager
async def connect_to(link: Link) -> AsyncIterator[CallConnection]:
    """Connect the remote models of this task during the block. At its end, every ballot has been stored."""
    reader, writer = await asyncio.open_connection(link.host, link.port)
    connection = CallConnection(writer)
    write_message(writer, link.secret.encode())
    receiving = asyncio.create_task(connection.receive(reader))
    token = _CONNECTION.set(connection)
    try:
        yield connection
        await connection.settle()
    finally:
        _CONNECTION.reset(token)
        receiving.cancel()
        writer.close()
        await asyncio.gather(receiving, return_exceptions=True)


@dataclass(frozen=True)
class RemoteModel:
    """A model in the process that started this worker, by its number. It is picklable."""

    number: int

    async def __call__(self, prompt: Prompt) -> Reply:
        """Return the model's reply."""
        return await _CONNECTION.get().call(self.number, prompt)


def collect_ballots(ballots: MutableMapping[str, Ballot]) -> None:
    """Let the current task's ballots go into a mapping, too."""
    _BALLOTS.set(ballots)


def keep_ballot(ballot: Ballot) -> None:
    """Keep a current task's ballot, and send it to the process that started this worker."""
    _BALLOTS.get()[ballot.id] = ballot
    _CONNECTION.get().keep(ballot)
