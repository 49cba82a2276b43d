"""Serve models to a run's workers. One process makes all calls, with one pace, one budget and one cache.

A call that a worker has sent is finished even if the worker is killed meanwhile: it is paid for, and the worker that
repeats the work gets its reply from the cache.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import msgspec

from fairtrial.errors import StoreError, UsageError
from fairtrial.llm.model import CallError, DeferredCallError, UnsentError
from fairtrial.llm.remote_calls import (
    Answer,
    Call,
    Keep,
    Link,
    Problem,
    Request,
    read_message,
    write_message,
)
from fairtrial.records.decoding import msgpack_decoder

if TYPE_CHECKING:
    from fairtrial.protocols import Model
    from fairtrial.records.ballot import Ballot


@dataclass
class CallServer:
    """Answers the calls of workers. `failure` is the first error that makes every further call useless."""

    models: Sequence[Model]
    keep: Callable[[Ballot], None]
    failure: UsageError | StoreError | None = None
    _secret: str = field(init=False, default_factory=lambda: secrets.token_hex(32))
    _tasks: set[asyncio.Task[None]] = field(init=False, default_factory=set)

    @asynccontextmanager
    async def listening(self, host: str) -> AsyncIterator[Link]:
        """Listen at an address of this machine during the block. The workers' calls are ended with it."""
        server = await asyncio.start_server(self._serve, host, 0)
        try:
            yield Link(host, server.sockets[0].getsockname()[1], self._secret)
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  (the server runs each connection in a task)
        self._tasks.add(task)
        decoder: msgspec.msgpack.Decoder[Request] = msgpack_decoder(cast("Any", Request))
        try:
            secret = await read_message(reader)
            if not secrets.compare_digest(secret, self._secret.encode()):
                return
            while True:
                self._take(decoder.decode(await read_message(reader)), writer)
        except (ConnectionError, asyncio.IncompleteReadError, ValueError):
            pass  # the worker has finished, was killed, or is none of ours
        finally:
            self._tasks.discard(task)
            writer.close()

    def _take(self, request: Request, writer: asyncio.StreamWriter) -> None:
        if isinstance(request, Call):
            task = asyncio.create_task(self._answer(request, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif isinstance(request, Keep):
            try:
                self.keep(request.ballot)
            except StoreError as error:
                self.failure = self.failure or error
        else:
            problem: Problem | None = None if self.failure is None else "unusable"
            _send(writer, Answer(request.id, None, problem, str(self.failure or "")))

    async def _answer(self, call: Call, writer: asyncio.StreamWriter) -> None:
        try:
            answer = Answer(call.id, await self.models[call.model](call.prompt))
        except DeferredCallError:
            answer = Answer(call.id, None, "deferred")
        except CallError as error:
            answer = Answer(call.id, None, "unsent" if isinstance(error, UnsentError) else "failed", str(error))
        except (UsageError, StoreError) as error:
            self.failure = self.failure or error
            answer = Answer(call.id, None, "unusable", str(error))
        except Exception as error:  # noqa: BLE001  (a model of the caller may raise anything, which concerns this call)
            answer = Answer(call.id, None, "failed", f"{type(error).__name__}: {error}")
        _send(writer, answer)


def _send(writer: asyncio.StreamWriter, answer: Answer) -> None:
    if not writer.is_closing():
        write_message(writer, msgspec.msgpack.encode(answer))
