"""EvalSet x Agent -> recordings: the stage that holds the conversations."""

from __future__ import annotations

import asyncio
import os
import time
import traceback
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

import msgspec
from msgspec.structs import replace

from fairtrial.agents.outages import outage_of
from fairtrial.agents.restarts import FirstCall, Restarts
from fairtrial.concurrency import concurrently, ends_the_run
from fairtrial.errors import AgentError, CaseError, SimulatedToolError, SimulatorError, StoreError, UsageError
from fairtrial.formats.tool_failures import is_failure
from fairtrial.planned_case import Pair, PlannedCase
from fairtrial.protocols import Agent, Closable, Item, PartsSession, Session, Simulator
from fairtrial.records.attempt import EndedBy, Failure, Recording, Side
from fairtrial.records.record import Json, Record
from fairtrial.records.trace import (
    About,
    Durations,
    Event,
    Invocation,
    Message,
    Step,
    ToolResult,
    Trace,
    Usage,
    split_reply,
)
from fairtrial.simulate.observed_environment import ObservedEnvironment, usage_of
from fairtrial.text.display import described, shortened

_OWN_FOLDERS = (f"{Path(__file__).parent}{os.sep}", f"{Path(asyncio.__file__).parents[1]}{os.sep}")
"""This package, and the standard library."""
_LONGEST_TRACEBACK = 20_000
_SIDES: dict[type[BaseException], Side] = {SimulatorError: "simulator", SimulatedToolError: "environment"}
_GRACE = 1.0
"""Seconds that an agent may take to stop after its time limit. After that, the run goes on without it."""
N = TypeVar("N", bound=Record)


async def record(
    planned_cases: Iterable[PlannedCase],
    agent: Agent,
    *,
    attempts: int = 1,
    concurrency: int = 8,
    reply_timeout: float | None = None,
    skip: Collection[tuple[int, int]] = (),
    note: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Pair]:
    """Yield a recording of each attempt at each case, in the order of completion, at most `concurrency` at once.

    The user's messages come from the fixed conversation of a case, or from the simulator if the case is a scenario.
    `reply_timeout` is in seconds. Each result of a tool lists the injections of a simulated environment. If the
    environment fails, its conversation ends. Pairs of position and attempt in `skip` are left out. An error of an
    agent or a simulator ends its own conversation only.

    If the first call of a conversation fails with a status that may pass, the conversation begins again. `note`
    receives how often that happened, at the end.
    """
    restarts = Restarts()

    async def plan_attempts() -> AsyncIterator[tuple[PlannedCase, int]]:
        for planned_case in planned_cases:
            first = planned_case.first_attempt
            for attempt in range(first, first + (planned_case.attempts or attempts)):
                if (planned_case.position, attempt) not in skip:
                    yield planned_case, attempt

    async def record_attempt(plan: tuple[PlannedCase, int]) -> Pair:
        planned_case, attempt = plan
        conversation = _Conversation(planned_case, attempt, reply_timeout, restarts)
        script = planned_case.case.conversation
        requests = _scripted(script) if script is not None else _simulated(planned_case, attempt, conversation)
        return planned_case, await conversation.record(agent, requests)

    async for pair in concurrently(plan_attempts(), record_attempt, limit=concurrency):
        yield pair
    if restarts.summary:
        note(restarts.summary)


async def _scripted(script: Iterable[Invocation]) -> AsyncIterator[Invocation]:
    for invocation in script:
        yield Invocation(invocation.user, id=invocation.id)


async def _simulated(planned_case: PlannedCase, attempt: int, conversation: _Conversation) -> AsyncIterator[Invocation]:
    """Yield the messages of a simulated user, until the user stops or the cap is reached."""
    if planned_case.users is None:
        raise SimulatorError("the case is a scenario, and no simulator plays its user")
    user = conversation.user = planned_case.users(planned_case.case, attempt)
    conversation.equip(user)
    while planned_case.cap is None or len(conversation.invocations) < planned_case.cap:
        try:
            message = await user.next_message(Trace(tuple(conversation.invocations)))
        except (UsageError, StoreError) as error:
            # For example, a cassette lacks the call: every other conversation would fail in the same way.
            conversation.fatal = error
            raise
        except Exception as error:
            raise SimulatorError(_cause(error)) from error
        if message is None:
            conversation.ending = "stop"
            return
        yield Invocation(Message(message))
    conversation.ending = "cap"


def _take_exception(task: asyncio.Future[Recording]) -> None:
    """Keep asyncio from writing that nobody asked for an exception: an interruption ends the loop before."""
    if not task.cancelled():
        task.exception()


class _Conversation:
    """One conversation, up to its current invocation. If it breaks, the invocations so far are recorded."""

    def __init__(
        self, planned_case: PlannedCase, attempt: int, reply_timeout: float | None, restarts: Restarts
    ) -> None:
        self.invocations: list[Invocation] = []
        self.ending: EndedBy = "script"
        self.user: Simulator | None = None
        self.fatal: UsageError | StoreError | None = None
        self._planned_case = planned_case
        self._attempt = attempt
        self._reply_timeout = reply_timeout
        self._first_call = FirstCall(restarts)
        self._request: Invocation | None = None
        self._started = 0.0
        self._builder = _InvocationBuilder()
        self._environment: ObservedEnvironment | None = None
        self._final_state: dict[str, Json] | None = None
        self._stuck = asyncio.Event()

    async def record(self, agent: Agent, requests: AsyncIterator[Invocation]) -> Recording:
        """Hold the conversation and return its recording, even if the agent does not stop at its time limit.

        For example, a framework waits for a tool in a thread, and a thread cannot be stopped.
        """
        running = asyncio.ensure_future(self._hold(agent, requests))
        running.add_done_callback(_take_exception)
        stuck = asyncio.ensure_future(self._stuck.wait())
        try:
            await asyncio.wait({running, stuck}, return_when=asyncio.FIRST_COMPLETED)
            return running.result() if running.done() else self._record_failure(self._timeout_error())
        finally:
            stuck.cancel()
            if not running.done():
                running.cancel()
                await asyncio.wait({running}, timeout=0 if self._stuck.is_set() else _GRACE)

    def equip(self, user: Simulator) -> None:
        """Give a simulated user the tools that the environment offers."""
        if self._environment is not None:
            self._environment.equip(user)

    async def _hold(self, agent: Agent, requests: AsyncIterator[Invocation]) -> Recording:
        """Send each request and wait for its reply, until the end or a failure."""
        try:
            self._environment = self._open_environment()
            async with AsyncExitStack() as stack:
                session = await self._open(agent, stack)
                async for request in requests:
                    self._request = request
                    session, invocation = await self._reply_or_restart(agent, stack, session, request)
                    self.invocations.append(invocation)
                    self._request = None
                    self._add_about(session.about)
            self._add_state()
        except BaseException as error:
            if ends_the_run(error) or error is self.fatal:
                raise
            failure = self._environment.failure if self._environment is not None else None
            if isinstance(failure, UsageError | StoreError):
                raise failure from None
            # This is the boundary around the user's code: any other exception is a failure of this conversation.
            error = failure or error
            return self._record_expected_failure(error) if self._is_expected(error) else self._record_failure(error)
        expected = self._planned_case.case.expected_failure
        if expected:
            return self._record_failure(AgentError(f"the case expects the failure {expected!r}, and nothing failed"))
        return self._recording(None, self.ending)

    def _is_expected(self, error: BaseException) -> bool:
        """Whether the case expects an error of the agent, for example of a guardrail. An outage never counts."""
        expected = self._planned_case.case.expected_failure
        return bool(expected) and _side_of(error) == "agent" and expected in _cause(error)

    def _record_expected_failure(self, error: BaseException) -> Recording:
        """Return a recording that did not break. The error is the reply to the message that caused it."""
        if self._request is not None:
            self._builder.add(Message(_cause(error)))
            self.invocations.append(self._builder.with_reply(self._request, time.perf_counter() - self._started))
        return self._recording(None, self.ending)

    async def _open(self, agent: Agent, stack: AsyncExitStack) -> Session:
        """Open a session. A failure with a status that may pass is tried again."""
        while True:
            try:
                async with self._time_limit():
                    return await stack.enter_async_context(agent(self._planned_case.case, self._environment))
            except Exception as error:
                if type(error) in _SIDES or not await self._first_call.wait_for_next_try(error):
                    raise

    async def _reply_or_restart(
        self, agent: Agent, stack: AsyncExitStack, session: Session, request: Invocation
    ) -> tuple[Session, Invocation]:
        """Send a message, and return the finished invocation and its session.

        A conversation whose first call failed begins again with a new session. Later calls are not repeated, because
        the tools may have changed the world already.
        """
        while True:
            self._builder = _InvocationBuilder(self._environment)
            try:
                return session, await self._reply(session, request)
            except Exception as error:
                is_first = not self.invocations and self._builder.is_empty and type(error) not in _SIDES
                if not is_first or not await self._first_call.wait_for_next_try(error):
                    raise
            await stack.aclose()
            session = await self._open(agent, stack)

    async def _reply(self, session: Session, request: Invocation) -> Invocation:
        """Send a message and return the finished invocation."""
        self._started = time.perf_counter()
        async with self._time_limit(), aclosing(_send(session, request.user)) as items:
            async for item in items:
                self._builder.add(_as_stored(item))
        self._builder.check()
        return self._builder.with_reply(request, time.perf_counter() - self._started)

    @asynccontextmanager
    async def _time_limit(self) -> AsyncIterator[None]:
        """Raise AgentError if the block takes longer than `reply_timeout`. Set `_stuck` if it does not stop then."""
        limit = self._reply_timeout
        watch = asyncio.get_running_loop().call_later(limit + _GRACE, self._stuck.set) if limit is not None else None
        try:
            async with asyncio.timeout(limit) as waiting:
                yield
        except TimeoutError as error:
            if not waiting.expired():
                raise
            raise self._timeout_error() from error
        finally:
            if watch is not None:
                watch.cancel()

    def _timeout_error(self) -> CaseError:
        problem = f"no reply within {self._reply_timeout:g} seconds"
        if self._environment is not None and self._environment.asking:
            return SimulatedToolError(f"{problem}: the model that plays {self._environment.asking!r} did not answer")
        return AgentError(problem)

    def _recording(self, failure: Failure | None, ending: EndedBy) -> Recording:
        return Recording(
            self._planned_case.case.id,
            self._trace,
            self._attempt,
            failure,
            ending,
            usage_of(self.user),
            self._environment.model_usage if self._environment is not None else None,
            self._planned_case.eval_set,
            self._planned_case.mutation,
        )

    def _open_environment(self) -> ObservedEnvironment | None:
        environments = self._planned_case.environments
        if environments is None:
            return None
        try:
            return ObservedEnvironment(environments(self._planned_case.case, self._attempt))
        except Exception as error:
            raise SimulatedToolError(_cause(error)) from error

    @property
    def _trace(self) -> Trace:
        session = self._planned_case.case.session_input
        session_id = session.session_id if session else ""
        return Trace(tuple(self.invocations), session_id or self._planned_case.name, self._final_state)

    def _add_about(self, about: About | None) -> None:
        """Add the description of the agents to the last invocation, and keep the state for the end of the trace."""
        if about is not None:
            about = _as_stored(about)
            self._final_state = about.final_state
            self.invocations[-1] = replace(
                self.invocations[-1], about=replace(about, final_state=None) if about.agents else None
            )

    def _add_state(self) -> None:
        """Add the state of the environment to the state of the session."""
        state = self._environment.report_state() if self._environment is not None else {}
        if state:
            self._final_state = (self._final_state or {}) | state

    def _record_failure(self, error: BaseException) -> Recording:
        tries = "" if self.invocations else self._first_call.tries
        if self._request is not None:
            self.invocations.append(self._builder.without_reply(self._request))
        failure = Failure(_side_of(error), f"{_cause(error)}{tries}", _traceback(error))
        return self._recording(failure, "failure")


@dataclass(slots=True)
class _InvocationBuilder:
    """Collects the items of a session since the last request, with the injections of the environment."""

    environment: ObservedEnvironment | None = None
    steps: list[Step] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    durations: Durations = Durations()

    def add(self, item: Item) -> None:
        """Add one item."""
        if isinstance(item, Usage):
            self.usages.append(item)
        elif isinstance(item, Event):
            self.events.append(item)
        elif isinstance(item, Durations):
            # An agent that waited for a decision within the invocation reports each of its runs.
            self.durations = _added(self.durations, item)
        elif isinstance(item, ToolResult):
            item = item if item.is_error else replace(item, is_error=is_failure(item.response))
            self.steps.append(item if self.environment is None else self.environment.with_injections(item))
        else:
            self.steps.append(item)
        self.check()

    @property
    def is_empty(self) -> bool:
        """Whether the agent has reported nothing, and has called no tool that the environment answers."""
        called_tools = self.environment is not None and self.environment.has_unreported_results
        return not (self.steps or self.usages or called_tools)

    def check(self) -> None:
        """Raise the failure of the environment, if it has failed.

        The agent may have caught the exception, since it cannot tell the environment from its tool.
        """
        if self.environment is not None and self.environment.failure is not None:
            raise self.environment.failure

    def without_reply(self, request: Invocation) -> Invocation:
        """Return the invocation that has broken. None of its messages is a reply."""
        usages, events = tuple(self.usages) or None, tuple(self.events) or None
        return replace(
            request,
            steps=tuple(self.steps),
            usages=usages,
            events=events,
            unreported_injections=self._unreported_injections(),
        )

    def with_reply(self, request: Invocation, seconds: float) -> Invocation:
        """Return the finished invocation. Its reply does not count as a step of an event."""
        steps, reply = split_reply(self.steps)
        index = next((i for i, step in enumerate(self.steps) if step is reply), None)
        return Invocation(
            request.user,
            steps,
            reply,
            request.id,
            tuple(self.usages) or None,
            replace(self.durations, total=seconds),
            events=_without_step(index, self.events) or None,
            unreported_injections=self._unreported_injections(),
        )

    def _unreported_injections(self) -> tuple[ToolResult, ...]:
        return self.environment.unreported_injections() if self.environment is not None else ()


def _without_step(index: int | None, events: Sequence[Event]) -> tuple[Event, ...]:
    """Return the events without the step at an index: the event that holds it is smaller by one."""
    remaining: list[Event] = []
    end = 0
    for event in events:
        start, end = end, end + event.size
        holds = index is not None and start <= index < end
        remaining.append(replace(event, size=event.size - 1) if holds else event)
    return tuple(remaining)


def _added(first: Durations, second: Durations) -> Durations:
    """Return the sum of two durations in models and in tools."""
    if first.model is None or second.model is None:
        return second
    return Durations(None, first.model + second.model, (first.tool or 0.0) + (second.tool or 0.0))


async def _send(session: Session, message: Message) -> AsyncGenerator[Item, None]:
    """Yield the items of a session, and close its generator at once instead of at garbage collection."""
    if message.parts:
        # That the agent takes parts was checked before the run.
        items = cast("PartsSession", session).send(message.text, message.parts)
    else:
        items = session.send(message.text)
    try:
        async for item in items:
            yield item
    finally:
        if isinstance(items, Closable):
            await items.aclose()


def _as_stored(item: N) -> N:
    """Return an item as the store returns it, so that scores are the same now and after a resume.

    Raises AgentError if the item is not JSON, for example if it holds an object or half of a surrogate pair.
    """
    try:
        return msgspec.json.decode(msgspec.json.encode(item), type=type(item))
    except Exception as error:
        raise AgentError(f"a {type(item).__name__} must be JSON: {described(error)}") from error


def _side_of(error: BaseException) -> Side:
    """Return the side that is responsible for an exception: the infrastructure, if a server did not answer."""
    return _SIDES.get(type(error)) or ("agent" if outage_of(error) is None else "infrastructure")


def _cause(error: BaseException) -> str:
    if isinstance(error, AgentError | SimulatorError | SimulatedToolError):
        return str(error)
    return shortened(described(error), 2000)


def _traceback(error: BaseException) -> str:
    """Return the traceback of an error from the first frame of the user's code, or of the user's framework."""
    first = error.__traceback__
    while first is not None and _is_own(first.tb_frame.f_code.co_filename):
        first = first.tb_next
    lines = traceback.format_exception(type(error), error, first or error.__traceback__)
    text = "".join(lines).encode("utf-8", "replace").decode()
    return text if len(text) <= _LONGEST_TRACEBACK else f"…{text[-_LONGEST_TRACEBACK:]}"


def _is_own(filename: str) -> bool:
    """Whether a file belongs to this package or to Python, rather than to the user or to an installed package."""
    package, library = _OWN_FOLDERS
    return filename.startswith(package) or (filename.startswith(library) and "site-packages" not in filename)
