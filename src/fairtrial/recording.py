"""EvalSet x Agent -> recordings: holds the conversations."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from fairtrial.concurrency import concurrently, ends_the_run
from fairtrial.errors import AgentError, CaseError, SimulatedToolError, SimulatorError, UsageError
from fairtrial.formats.tool_failures import is_failure
from fairtrial.planned_case import Pair, PlannedCase
from fairtrial.protocols import Agent, Closable, Item, Session, Simulator
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

_LONGEST_TRACEBACK = 20_000
_SIDES: dict[type[BaseException], Side] = {SimulatorError: "simulator", SimulatedToolError: "environment"}
_GRACE = 1.0
"""Seconds that an agent may take to stop after it was told to; then it is left behind."""
N = TypeVar("N", bound=Record)


async def record(
    works: Iterable[PlannedCase],
    agent: Agent,
    *,
    attempts: int = 1,
    concurrency: int = 8,
    reply_timeout: float | None = None,
    held: Collection[tuple[int, int]] = (),
) -> AsyncIterator[Pair]:
    """Yield a recording of each attempt at each case, in the order of completion, at most `concurrency` at once.

    A fixed conversation is said as it stands, a scenario by those who play its user. `reply_timeout` is in seconds.
    Where there is a simulated environment, what it did stands on the results, and its failure ends the conversation.
    Conversations in `held` (position, attempt) are not held again. Whatever an agent or a simulated user does ends its
    own conversation only.
    """

    async def planned() -> AsyncIterator[tuple[PlannedCase, int]]:
        for work in works:
            for attempt in range(1, attempts + 1):
                if (work.position, attempt) not in held:
                    yield work, attempt

    async def hold(plan: tuple[PlannedCase, int]) -> Pair:
        work, attempt = plan
        talk = _Conversation(work, attempt, reply_timeout)
        script = work.case.conversation
        asking = _scripted(script) if script is not None else _simulated(work, attempt, talk)
        return work, await talk.held(agent, asking)

    async for pair in concurrently(planned(), hold, limit=concurrency):
        yield pair


async def _scripted(script: Iterable[Invocation]) -> AsyncIterator[Invocation]:
    for asked in script:
        yield Invocation(asked.user, id=asked.id)


async def _simulated(work: PlannedCase, attempt: int, talk: _Conversation) -> AsyncIterator[Invocation]:
    """What a simulated user says, until it stops or has said as much as it may."""
    if work.users is None:
        raise SimulatorError("the case is a scenario, and nobody plays its user")
    user = talk.user = work.users(work.case, attempt)
    while work.cap is None or len(talk.done) < work.cap:
        try:
            message = await user.next_message(Trace(tuple(talk.done)))
        except UsageError as error:
            talk.ends = error  # a cassette without the call, say: no other conversation would fare better
            raise
        except Exception as error:
            raise SimulatorError(_cause(error)) from error
        if message is None:
            talk.ended_by = "stop"
            return
        yield Invocation(Message(message))
    talk.ended_by = "cap"


class _Conversation:
    """One conversation as far as it has come; what came before a break is kept."""

    def __init__(self, work: PlannedCase, attempt: int, reply_timeout: float | None) -> None:
        self.done: list[Invocation] = []
        self.ended_by: EndedBy = "script"
        self.user: Simulator | None = None
        self.ends: UsageError | None = None
        self._work = work
        self._attempt = attempt
        self._reply_timeout = reply_timeout
        self._asked: Invocation | None = None
        self._heard = _InvocationBuilder()
        self._witness: ObservedEnvironment | None = None
        self._final_state: dict[str, Json] | None = None
        self._stuck = asyncio.Event()

    async def held(self, agent: Agent, asking: AsyncIterator[Invocation]) -> Recording:
        """Hold the conversation; an agent that cannot be stopped when it is late is left behind.

        Frameworks wait for a tool in a thread of its own, which nothing can stop.
        """
        holding = asyncio.ensure_future(self.hold(agent, asking))
        stuck = asyncio.ensure_future(self._stuck.wait())
        try:
            await asyncio.wait({holding, stuck}, return_when=asyncio.FIRST_COMPLETED)
            return holding.result() if holding.done() else self._broken(self._late())
        finally:
            stuck.cancel()
            if not holding.done():
                holding.cancel()
                await asyncio.wait({holding}, timeout=0 if self._stuck.is_set() else _GRACE)

    async def hold(self, agent: Agent, asking: AsyncIterator[Invocation]) -> Recording:
        """Ask and wait for the replies, to the end or to a break."""
        try:
            self._witness = self._environment()
            async with AsyncExitStack() as stack:
                async with self._limited():
                    session = await stack.enter_async_context(agent(self._work.case, self._witness))
                async for asked in asking:
                    self._asked, self._heard = asked, _InvocationBuilder(self._witness)
                    self.done.append(await self._reply(session, asked))
                    self._asked = None
                    self._learn(session.about)
        except BaseException as error:
            if ends_the_run(error) or error is self.ends:
                raise
            failed = self._witness.failure if self._witness is not None else None
            if isinstance(failed, UsageError):
                raise failed from None
            return self._broken(failed or error)  # whatever else an agent raises is its own failure
        return self._recorded(None, self.ended_by)

    async def _reply(self, session: Session, asked: Invocation) -> Invocation:
        """Send a message and return the finished invocation; what came is kept, should it break."""
        started = time.perf_counter()
        async with self._limited(), aclosing(_sent(session, asked.query)) as items:
            async for item in items:
                self._heard.add(_kept(item))
        self._heard.check()
        return self._heard.answered(asked, time.perf_counter() - started)

    @asynccontextmanager
    async def _limited(self) -> AsyncIterator[None]:
        """Raise AgentError where something takes longer than a reply may; say so where it does not even stop then."""
        limit = self._reply_timeout
        watch = asyncio.get_running_loop().call_later(limit + _GRACE, self._stuck.set) if limit is not None else None
        try:
            async with asyncio.timeout(limit) as waiting:
                yield
        except TimeoutError as error:
            if not waiting.expired():
                raise
            raise self._late() from error
        finally:
            if watch is not None:
                watch.cancel()

    def _late(self) -> CaseError:
        late = f"no reply within {self._reply_timeout:g} seconds"
        if self._witness is not None and self._witness.asking:
            return SimulatedToolError(f"{late}: the model that plays {self._witness.asking!r} did not answer")
        return AgentError(late)

    def _recorded(self, failure: Failure | None, ended_by: EndedBy) -> Recording:
        return Recording(
            self._work.case.id,
            self._trace,
            self._attempt,
            failure,
            ended_by,
            usage_of(self.user),
            self._witness.spent if self._witness is not None else None,
            self._work.eval_set,
        )

    def _environment(self) -> ObservedEnvironment | None:
        environments = self._work.environments
        if environments is None:
            return None
        try:
            return ObservedEnvironment(environments(self._work.case, self._attempt))
        except Exception as error:
            raise SimulatedToolError(_cause(error)) from error

    @property
    def _trace(self) -> Trace:
        session = self._work.case.session_input
        session_id = session.session_id if session else ""
        return Trace(tuple(self.done), session_id or self._work.name, self._final_state)

    def _learn(self, about: About | None) -> None:
        """Keep what the agents are beside the invocation, and the state for the end."""
        if about is not None:
            about = _kept(about)
            self._final_state = about.final_state
            self.done[-1] = replace(self.done[-1], about=replace(about, final_state=None) if about.agents else None)

    def _broken(self, error: BaseException) -> Recording:
        if self._asked is not None:
            self.done.append(self._heard.broken(self._asked))
        side: Side = _SIDES.get(type(error), "agent")
        failure = Failure(side, _cause(error), _traceback(error))
        return self._recorded(failure, "failure")


@dataclass(slots=True)
class _InvocationBuilder:
    """What came from a session since it was asked, with what its environment did to it."""

    witness: ObservedEnvironment | None = None
    steps: list[Step] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    durations: Durations = Durations()

    def add(self, item: Item) -> None:
        """Take in one item."""
        if isinstance(item, Usage):
            self.usages.append(item)
        elif isinstance(item, Event):
            self.events.append(item)
        elif isinstance(item, Durations):
            self.durations = item
        elif isinstance(item, ToolResult):
            item = item if item.is_error else replace(item, is_error=is_failure(item.response))
            self.steps.append(item if self.witness is None else self.witness.marked(item))
        else:
            self.steps.append(item)
        self.check()

    def check(self) -> None:
        """Raise SimulatedToolError where the environment has failed: an agent may have taken it for its tool."""
        if self.witness is not None and self.witness.failure is not None:
            raise self.witness.failure

    def broken(self, asked: Invocation) -> Invocation:
        """The invocation that was not answered: no message in it is a reply."""
        usages, events = tuple(self.usages) or None, tuple(self.events) or None
        return replace(
            asked,
            steps=tuple(self.steps),
            usages=usages,
            events=events,
            unreported_injections=self._unreported_injections(),
        )

    def answered(self, asked: Invocation, seconds: float) -> Invocation:
        """The finished invocation; its reply is no longer among the steps of an event."""
        before, reply = split_reply(self.steps)
        place = next((i for i, step in enumerate(self.steps) if step is reply), None)
        return Invocation(
            asked.user,
            before,
            reply,
            asked.id,
            tuple(self.usages) or None,
            replace(self.durations, total=seconds),
            events=_without(place, self.events) or None,
            unreported_injections=self._unreported_injections(),
        )

    def _unreported_injections(self) -> tuple[ToolResult, ...]:
        return self.witness.unreported_injections() if self.witness is not None else ()


def _without(place: int | None, events: Sequence[Event]) -> tuple[Event, ...]:
    """The events without the step at a place: the one that held it is smaller by one."""
    kept: list[Event] = []
    end = 0
    for event in events:
        start, end = end, end + event.size
        holds = place is not None and start <= place < end
        kept.append(replace(event, size=event.size - 1) if holds else event)
    return tuple(kept)


async def _sent(session: Session, message: str) -> AsyncGenerator[Item, None]:
    """What a session yields; it is closed here, where it is a generator, and not left to the garbage collector."""
    items = session.send(message)
    try:
        async for item in items:
            yield item
    finally:
        if isinstance(items, Closable):
            await items.aclose()


def _kept(item: N) -> N:
    """Return an item as the store will give it back, so that what is scored now and after a resume is the same.

    Raises AgentError for what is no JSON: objects, bytes that are no text, half of a surrogate pair.
    """
    try:
        return msgspec.json.decode(msgspec.json.encode(item), type=type(item))
    except Exception as error:
        raise AgentError(f"a {type(item).__name__} must be JSON: {described(error)}") from error


def _cause(error: BaseException) -> str:
    if isinstance(error, AgentError | SimulatorError | SimulatedToolError):
        return str(error)
    return shortened(described(error), 2000)


def _traceback(error: BaseException) -> str:
    text = "".join(traceback.format_exception(error)).encode("utf-8", "replace").decode()
    return text if len(text) <= _LONGEST_TRACEBACK else f"…{text[-_LONGEST_TRACEBACK:]}"
