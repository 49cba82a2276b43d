"""Agents in processes of their own: a fresh process for each conversation, case or order of cases."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import site
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, NoReturn

from msgspec.structs import replace

from fairtrial.agents.error_relay import relay_errors
from fairtrial.agents.harness.workspace_checks import end_group
from fairtrial.agents.harness.workspaces import Snapshot, compare, remove_folder, take_snapshot
from fairtrial.agents.model_requests import note_reported
from fairtrial.agents.routing import refusal
from fairtrial.errors import AgentError, SimulatedToolError, UsageError
from fairtrial.protocols import ExplainsMissingCalls, RefusesEnvironment
from fairtrial.recording.error_descriptions import ReportedError
from fairtrial.recording.isolation.frames import (
    LENGTH,
    CloseSession,
    EndedByTool,
    OpenSession,
    Report,
    Request,
    RequestEnd,
    RequestFailure,
    SendMessage,
    SentItem,
    TakeTurns,
    ToolAsked,
    ToolReturned,
    pack,
    read_report,
)
from fairtrial.recording.isolation.isolated_tools import ToolCalls
from fairtrial.records.state_delta import StateDelta
from fairtrial.records.trace import About, Invocation, Part
from fairtrial.system.child_processes import exit_code, read_while_running
from fairtrial.text.display import shorten

if TYPE_CHECKING:
    from fairtrial.protocols import Agent, Environment, Item, Session
    from fairtrial.recording.holding import Holding
    from fairtrial.records.case import EvalCase
    from fairtrial.records.record import Json

_LARGEST_FRAME = 2**30
_END_SECONDS = 2.0
_START_SECONDS = 120.0
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "from fairtrial.recording.isolation.agent_process import main; main(*sys.argv[1:4])"
)


class IsolatedAgents:
    """The processes of an agent in a run, by the keys of their attempts.

    `name` is the name by which a process finds the agent, and `target` the agent in this process, which says what it
    can and cannot do. A process starts with its first conversation, and ends with its last.
    """

    def __init__(self, name: str, record: str, holding: Holding, target: object) -> None:
        self._arguments = (name, record)
        self.refuses_environment = target.refuses_environment if isinstance(target, RefusesEnvironment) else ""
        self.missing_calls = target.missing_calls if isinstance(target, ExplainsMissingCalls) else ""
        if record != "messages":
            self.missing_calls = ""  # the spans would hold the calls
        self._holding = holding
        self._remaining: Counter[tuple[int, int]] = Counter()
        self._processes: dict[tuple[int, int], AgentProcess] = {}

    def expect(self, attempts: Iterable[tuple[int, int]]) -> None:
        """Say which attempts will follow, by position and number."""
        self._remaining = Counter(self._holding.key(*pair) for pair in attempts)

    def for_attempt(self, position: int, attempt: int) -> Agent:
        """Return the agent of an attempt at a case."""

        @asynccontextmanager
        async def open_session(case: EvalCase, environment: Environment | None) -> AsyncIterator[Session]:
            key = self._holding.key(position, attempt)
            if key not in self._processes or self._processes[key].has_ended:
                await self._end(key)
                self._processes[key] = AgentProcess(*self._arguments, has_folder=self._holding.has_folders)
            async with self._processes[key].open(case, environment) as session:
                yield session

        return open_session

    async def release(self, position: int, attempt: int) -> None:
        """Say that an attempt is over. The process ends with its last attempt."""
        key = self._holding.key(position, attempt)
        self._remaining[key] -= 1
        if self._remaining[key] <= 0:
            await self._end(key)

    async def _end(self, key: tuple[int, int]) -> None:
        process = self._processes.pop(key, None)
        if process is not None:
            await process.end()

    async def end(self) -> None:
        """End all processes."""
        for key in list(self._processes):
            await self._end(key)


@asynccontextmanager
async def _limit(problem: str) -> AsyncIterator[None]:
    """Raise AgentError with a problem if the code in the block takes longer than a process may take to start."""
    try:
        async with asyncio.timeout(_START_SECONDS) as limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise AgentError(f"the process of the agent {problem} within {_START_SECONDS:g} seconds") from error


class AgentProcess:
    """A process with an agent, and its folder. It starts when the first session opens."""

    def __init__(self, target: str, record: str, *, has_folder: bool) -> None:
        self._target, self._record = target, record
        self._has_folder = has_folder
        self._folder: Path | None = None
        self._before: Snapshot = {}
        self._process: Process | None = None
        self._errors = AsyncExitStack()
        self._reader: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._numbers = itertools.count(1)
        self._queues: dict[int, asyncio.Queue[Report | None]] = {0: asyncio.Queue()}
        self.has_ended = False

    @asynccontextmanager
    async def open(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[IsolatedSession]:
        """Open a session in the process."""
        async with self._starting:
            if self._process is None:
                await self._start()
        number = next(self._numbers)
        self._queues[number] = asyncio.Queue()
        if self.has_ended:
            self._queues[number].put_nowait(None)
        session = IsolatedSession(number, self, environment)
        try:
            self.write(OpenSession(number, case, environment is not None))
            async with _limit("did not open a conversation"):
                opening = await session.wait()
            session.can_resume = opening.resumes
            try:
                yield session
            finally:
                self.write(CloseSession(number))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    await session.wait()
        finally:
            await session.stop()
            del self._queues[number]

    async def _start(self) -> None:
        variables: dict[str, str] = {}
        inherited = dict(os.environ)
        workspace = ""
        if self._has_folder:
            self._folder = Path(tempfile.mkdtemp(prefix="fairtrial-"))
            home, own = self._folder / "home", self._folder / "workspace"
            home.mkdir(mode=0o700)
            own.mkdir(mode=0o700)
            workspace = str(own)
            base = site.getuserbase()  # packages of the user stay importable
            inherited = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
            variables = {"HOME": str(home), "USERPROFILE": str(home), "PYTHONUSERBASE": base}
        path = json.dumps([entry or str(Path.cwd()) for entry in sys.path])
        with await self._errors.enter_async_context(relay_errors(shorten(self._target, 60))) as errors:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", _START, path, self._target, self._record, workspace),
                stdin=PIPE,
                stdout=PIPE,
                stderr=errors,
                env=inherited | variables,
                start_new_session=True,
            )
        self._reader = asyncio.create_task(self._read(self._process))
        is_ready = False
        try:
            async with _limit("was not ready"):
                ready = await self.next_report(0)
            if isinstance(ready, RequestFailure):
                raise_failure(ready)
            is_ready = True
        finally:
            self.has_ended = self.has_ended or not is_ready

    async def _read(self, process: Process) -> None:
        """Hand every frame to the session that it is for, until the process ends."""
        try:
            while head := await _read_bytes(process, LENGTH.size):
                (size,) = LENGTH.unpack(head)
                if size > _LARGEST_FRAME or (frame := await _read_bytes(process, size)) is None:
                    break
                report = read_report(frame)
                if report.session in self._queues:
                    self._queues[report.session].put_nowait(report)
        except (asyncio.IncompleteReadError, ValueError):
            pass
        finally:
            self.has_ended = True
            for queue in self._queues.values():
                queue.put_nowait(None)

    def write(self, frame: Request) -> None:
        """Send a frame. If the process has ended, the next report says so."""
        if self._process is not None and self._process.stdin is not None and not self.has_ended:
            self._process.stdin.write(pack(frame))

    async def next_report(self, session: int) -> Report:
        """Return the next report to a session. Raises AgentError if the process has ended."""
        queue = self._queues[session]
        report = await queue.get()
        if report is not None:
            return report
        queue.put_nowait(None)  # the process stays ended
        assert self._process is not None  # noqa: S101  (it has been read)
        code = await self._exit_code(self._process)
        if code is None:
            raise AgentError("the process of the agent stopped its reports, before it replied")
        how = f"by the signal {-code}" if code < 0 else f"with the exit code {code}"
        raise AgentError(f"the process of the agent ended {how}, before it replied")

    async def _exit_code(self, process: Process) -> int | None:
        """Return the exit code of a process that reports nothing more. None if it was still running, and is killed."""
        code = await exit_code(process, _END_SECONDS)
        if code is None:
            await end_group(process, self._home)
        return code

    @property
    def _home(self) -> Path | None:
        return None if self._folder is None else self._folder / "home"

    def changes(self) -> dict[str, Json]:
        """Return the files that the agent has written so far, as a part of the state of the session."""
        if self._folder is None:
            return {}
        files, omitted = compare(self._before, take_snapshot(self._folder / "workspace"))
        return StateDelta(files, omitted, sandbox="none").state if files else {}

    async def end(self) -> None:
        """End the process with everything that it started, and remove its folder."""
        process = self._process
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            await exit_code(process, _END_SECONDS)
            await end_group(process, self._home)
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.wait([self._reader])
        await self._errors.aclose()
        if self._folder is not None:
            remove_folder(self._folder)


async def _read_bytes(process: Process, size: int) -> bytes | None:
    """Return so many bytes of the output of a process, or None if it has ended. A child may keep the output open."""
    assert process.stdout is not None  # noqa: S101  (it is a pipe)
    output = process.stdout
    return await read_while_running(process, lambda: output.readexactly(size))


class IsolatedSession:
    """One conversation with an agent in another process."""

    def __init__(self, number: int, process: AgentProcess, environment: Environment | None) -> None:
        self.about: About | None = None
        self.incomplete = ""
        self.hides_calls = False
        self.can_resume = False
        self._number = number
        self._process = process
        self._environment = environment
        self._tools = ToolCalls(number, process.write, environment)

    async def send(self, message: str, parts: Sequence[Part] = ()) -> AsyncIterator[Item]:
        """Send a message of the user, and yield the items of the agent."""
        self._process.write(SendMessage(self._number, message, tuple(parts)))
        while True:
            report = await self._next()
            if isinstance(report, SentItem):
                yield report.item
            elif isinstance(report, RequestEnd):
                self._take(report)
                return

    def take_earlier_turns(self, invocations: Sequence[Invocation], final_state: dict[str, Json] | None) -> bool:
        """Go on behind the turns of an earlier session. Return whether the agent can do that."""
        if self.can_resume:
            self._process.write(TakeTurns(self._number, tuple(invocations), final_state))
        return self.can_resume

    async def wait(self) -> RequestEnd:
        """Return the report that a request is done. Raises the error of the agent."""
        while not isinstance(report := await self._next(), RequestEnd):
            pass
        return report

    async def stop(self) -> None:
        """Stop the calls that the environment is answering."""
        await self._tools.stop()

    def _take(self, report: RequestEnd) -> None:
        changes = self._process.changes()
        self.about, self.incomplete, self.hides_calls = report.about, report.incomplete, report.hides_calls
        if changes:
            state = (self.about.final_state if self.about else None) or {}
            self.about = replace(self.about or About(), final_state={**state, **changes})

    async def _next(self) -> Report:
        """Return the next report that is not about a call of a tool. Raises the error of the agent."""
        while True:
            report = await self._process.next_report(self._number)
            if isinstance(report, RequestEnd | RequestFailure) and (failed := report.failed_model):
                note_reported(failed.url, failed.cause, failed.status, is_latest=failed.is_latest)
            if isinstance(report, RequestFailure):
                raise_failure(report)
            if isinstance(report, EndedByTool):
                if self._environment is not None:
                    refusal(self._environment, report.problem)
            elif isinstance(report, ToolAsked | ToolReturned):
                self._tools.take(report)
            else:
                return report


def raise_failure(report: RequestFailure) -> NoReturn:
    """Raise the error of an agent in another process, as if it had been raised here."""
    cause = report.failure.cause
    if report.kind == "usage":
        raise UsageError(cause, code="unusable-agent" if report.failure.side == "infrastructure" else "")
    if report.kind == "environment":
        raise SimulatedToolError(cause)
    error = ReportedError(report.failure)
    if report.is_outage and report.status is None:
        raise error from ConnectionError(cause)
    if report.status is not None:
        headers = {} if report.after is None else {"retry-after": str(report.after)}
        error.status_code, error.response = report.status, SimpleNamespace(headers=headers)
    raise error
