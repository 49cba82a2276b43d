"""The process of an agent: it serves the sessions of one run, and ends when the run closes its input."""

from __future__ import annotations

import asyncio
import io
import itertools
import os
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from msgspec.structs import replace

from fairtrial.agents import find_agent
from fairtrial.agents.model_requests import FailedRequests, failed_requests
from fairtrial.agents.outages import find_outage
from fairtrial.agents.sending import send_message
from fairtrial.errors import AgentError, SimulatedToolError, UsageError
from fairtrial.protocols import Agent, HidesCalls, Real, ReportsGaps, Session, TakesEarlierTurns
from fairtrial.recording.error_descriptions import find_cause, find_place, find_side, shorten_traceback, unwrap_group
from fairtrial.recording.isolation.frames import (
    LENGTH,
    CallTool,
    CloseSession,
    EndedByTool,
    FailedModel,
    OpenSession,
    Report,
    Request,
    RequestEnd,
    RequestFailure,
    SendMessage,
    TakeTurns,
    ToolAnswered,
    ToolAsked,
    ToolReturned,
    make_frame,
    pack,
    read_request,
)
from fairtrial.records.attempt import Failure
from fairtrial.records.trace import ToolCall, ToolResult
from fairtrial.text.display import describe_error, shorten

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_END_SECONDS = 5.0


def main(target: str, record: str, folder: str) -> None:
    """Serve an agent until the input ends. Its own output goes to standard error, because frames go to the output."""
    requests = os.fdopen(os.dup(0), "rb")
    reports = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    asyncio.run(_serve(target, record, folder, requests, reports))
    os._exit(0)  # threads of the agent do not keep its process alive


async def _serve(target: str, record: str, folder: str, requests: BinaryIO, reports: BinaryIO) -> None:
    server = _AgentServer(reports)
    loop = asyncio.get_running_loop()
    frames: asyncio.Queue[Request | None] = asyncio.Queue()

    def read() -> None:
        try:
            while len(head := requests.read(LENGTH.size)) == LENGTH.size:
                loop.call_soon_threadsafe(frames.put_nowait, read_request(requests.read(*LENGTH.unpack(head))))
            loop.call_soon_threadsafe(frames.put_nowait, None)
            time.sleep(_END_SECONDS)
        finally:
            os._exit(1)  # an agent that blocks the loop, or its own import, does not outlive its run

    threading.Thread(target=read, daemon=True, name="fairtrial-requests").start()
    try:
        agent = find_agent(target)
        if record == "spans":
            from fairtrial.agents.tracing.span_sessions import with_spans

            agent = with_spans(agent)
    except BaseException as error:  # noqa: BLE001  (the run is the reader of every error)
        server.report(_make_failure(0, error))
        return
    if folder:
        os.chdir(folder)  # the modules of the agent are found from the folder of the run
    server.report(RequestEnd(0))
    while (frame := await frames.get()) is not None:
        server.take(agent, frame)


class _AgentServer:
    """The open sessions with an agent, by their numbers."""

    def __init__(self, reports: BinaryIO) -> None:
        self._reports = reports
        self._writing = threading.Lock()
        self._queues: dict[int, asyncio.Queue[Request]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._environments: dict[int, _RemoteEnvironment] = {}

    def report(self, frame: Report) -> None:
        """Write a frame."""
        data = pack(frame)
        with self._writing:
            self._reports.write(data)
            self._reports.flush()

    def take(self, agent: Agent, frame: Request) -> None:
        """Begin a session, or hand a request to the session that it is for."""
        if isinstance(frame, OpenSession):
            self._queues[frame.session] = asyncio.Queue()
            task = asyncio.create_task(self._hold(agent, frame, self._queues[frame.session]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif isinstance(frame, CallTool | ToolAnswered):
            if frame.session in self._environments:
                self._environments[frame.session].take(frame)
        elif frame.session in self._queues:
            self._queues[frame.session].put_nowait(frame)

    async def _hold(self, agent: Agent, opening: OpenSession, queue: asyncio.Queue[Request]) -> None:
        """Hold a session until it is closed, or until it breaks."""
        number = opening.session
        environment = None
        if opening.has_environment:
            environment = self._environments[number] = _RemoteEnvironment(number, self)
        context: AbstractAsyncContextManager[Session] = agent(opening.case, environment)
        try:
            async with context as session:
                self.report(RequestEnd(number, resumes=isinstance(session, TakesEarlierTurns)))
                while not isinstance(frame := await queue.get(), CloseSession):
                    if isinstance(frame, TakeTurns) and isinstance(session, TakesEarlierTurns):
                        session.take_earlier_turns(frame.invocations, frame.final_state)
                    elif isinstance(frame, SendMessage):
                        async with self._report_end(number, session):
                            async for item in send_message(session, frame.text, frame.parts):
                                self.report(_make_item_frame(number, item))
        except BaseException as error:  # noqa: BLE001  (the run is the reader of every error)
            self.report(_make_failure(number, unwrap_group(error)))
        else:
            self.report(RequestEnd(number))
        finally:
            del self._queues[number]
            self._environments.pop(number, None)

    @asynccontextmanager
    async def _report_end(self, number: int, session: Session) -> AsyncIterator[None]:
        """Report the end of a request. A session is open after an error, too: it has to be closed."""
        try:
            with failed_requests() as failed:
                yield
        except Exception as error:  # noqa: BLE001  (the run is the reader of every error)
            self.report(replace(_make_failure(number, error), failed_model=_first_failed(failed)))
        else:
            gap = session.incomplete if isinstance(session, ReportsGaps) else ""
            hides = isinstance(session, HidesCalls) and session.hides_calls
            end = RequestEnd(number, session.about, gap, hides_calls=hides, failed_model=_first_failed(failed))
            self.report(end)


class _RemoteEnvironment:
    """The environment of a session, which answers in the process of the run."""

    def __init__(self, session: int, server: _AgentServer) -> None:
        self._session = session
        self._server = server
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Queue[CallTool | ToolAnswered]] = {}

    def take(self, frame: CallTool | ToolAnswered) -> None:
        """Take a frame about one of the calls."""
        if frame.ask in self._answers:
            self._answers[frame.ask].put_nowait(frame)

    def end_conversation(self, error: SimulatedToolError) -> None:
        """End the conversation with an error, also if the agent catches it."""
        self._server.report(EndedByTool(self._session, str(error)))

    async def answer(self, call: ToolCall, declared: dict[str, Json], real: Real) -> ToolResult:
        """Ask the environment for the answer to a call. It may call the tool, which is here."""
        ask = next(self._numbers)
        queue = self._answers[ask] = asyncio.Queue()
        value: Json = None
        failure: Exception | None = None
        try:
            self._server.report(ToolAsked(self._session, ask, call, declared))
            while isinstance(frame := await queue.get(), CallTool):
                failure = None
                try:
                    value = await real()
                except Exception as error:  # noqa: BLE001  (the environment decides about it)
                    failure = error
                problem = None if failure is None else describe_error(failure)
                self._server.report(ToolReturned(self._session, ask, None if failure else value, problem))
        finally:
            del self._answers[ask]
        if frame.problem:
            raise SimulatedToolError(frame.problem)
        if frame.is_own and failure is not None:
            raise failure
        response = value if frame.is_own else frame.response
        return ToolResult(call.name, response, call.id, is_error=frame.is_error)


def _make_item_frame(number: int, item: Any) -> Report:
    """Return the frame of an item. Raises AgentError if it is not JSON."""
    frame = make_frame(number, item)
    try:
        pack(frame)
    except Exception as error:
        raise AgentError(f"a {type(item).__name__} must be JSON: {describe_error(error)}") from error
    return frame


def _first_failed(failed: FailedRequests) -> FailedModel | None:
    outages = map(find_outage, failed.values())
    return next((FailedModel(*failed.first, own.status, failed.is_latest) for own in outages if own), None)


def _make_failure(number: int, error: BaseException) -> RequestFailure:
    """Return the frame of an error, with its side, its cause and its place."""
    kinds = {UsageError: "usage", SimulatedToolError: "environment", AgentError: "agent"}
    kind = next((name for base, name in kinds.items() if isinstance(error, base)), "other")
    cause = str(error) if kind == "usage" else find_cause(error)
    failure = Failure(find_side(error), shorten(f"{cause}{find_place(error)}", 4000), shorten_traceback(error))
    outage = find_outage(error)
    if outage is None:
        return RequestFailure(number, kind, failure)
    return RequestFailure(number, kind, failure, True, outage.status, outage.after)


if __name__ == "__main__":
    main(*sys.argv[1:4])
