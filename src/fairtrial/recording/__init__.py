"""Record conversations of an eval set with an agent."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from fairtrial.agents.restarts import Restarts
from fairtrial.errors import SimulatorError, StoreError, UsageError
from fairtrial.protocols import ExplainsMissingCalls
from fairtrial.recording.error_descriptions import find_cause
from fairtrial.recording.held_conversation import HeldConversation, Limits
from fairtrial.recording.holding import DIRECT, Holding
from fairtrial.recording.message_pace import MessagePace
from fairtrial.records.trace import Invocation, Message, Trace
from fairtrial.system.concurrency import concurrently
from fairtrial.text.display import count, shorten

if TYPE_CHECKING:
    from fairtrial.planned_case import Pair, PlannedCase
    from fairtrial.protocols import Agent
    from fairtrial.records.attempt import Recording

KEEP_SECONDS = 5.0
"""The shortest time between two recordings of one unfinished conversation."""
WAIT_SECONDS = 60.0
"""The time after which a conversation counts as long, and between two remarks about long ones."""


@runtime_checkable
class OwnProcesses(Protocol):
    """Agents in processes of their own."""

    def expect(self, attempts: Iterable[tuple[int, int]]) -> None:
        """Say which attempts will follow, by position and number."""
        ...

    def for_attempt(self, position: int, attempt: int) -> Agent:
        """Return the agent of an attempt at a case."""
        ...

    async def release(self, position: int, attempt: int) -> None:
        """Say that an attempt is over."""
        ...

    async def end(self) -> None:
        """End all processes."""
        ...


@dataclass(frozen=True)
class Watcher:
    """The functions that are called while conversations are held.

    `note` receives remarks about the run at its end. `on_wait` receives a remark about long conversations now and then.
    `on_turn` receives unfinished recordings, so that an interrupted run can go on behind their last turn.
    """

    note: Callable[[str], None] = lambda _: None
    on_wait: Callable[[str], None] = lambda _: None
    on_turn: Callable[[PlannedCase, Recording], None] | None = None


QUIET = Watcher()


async def record(
    planned_cases: Iterable[PlannedCase],
    agent: Agent | OwnProcesses,
    *,
    attempts: int = 1,
    concurrency: int = 8,
    reply_timeout: float | None = None,
    skip: Collection[tuple[int, int]] = (),
    holding: Holding = DIRECT,
    earlier: Mapping[tuple[int, int], Recording] | None = None,
    watcher: Watcher = QUIET,
) -> AsyncIterator[Pair]:
    """Yield a recording of each attempt at each case, in the order of completion, at most `concurrency` at once.

    The user's messages come from the fixed conversation of a case, or from the simulator if the case is a scenario.
    `reply_timeout` is in seconds. Each result of a tool lists the injections of a simulated environment. If the
    environment fails, its conversation ends. Pairs of position and attempt in `skip` are left out. An error of an
    agent or a simulator ends its own conversation only. An attempt in `earlier` goes on behind its last turn, if its
    session can.

    If the first call of a conversation fails with a status that may pass, the conversation begins again.
    """
    running = _RunningConversations(agent, reply_timeout, holding, earlier or {}, watcher)
    plans: Iterable[tuple[PlannedCase, int]] = (
        (planned_case, attempt)
        for planned_case in planned_cases
        for attempt in _attempts(planned_case, attempts)
        if (planned_case.position, attempt) not in skip
    )
    if isinstance(agent, OwnProcesses):
        plans = list(plans)
        agent.expect((planned_case.position, attempt) for planned_case, attempt in plans)
    if holding.shuffle is not None:
        plans = _interleave(plans, holding.shuffle)

    async def plan_attempts() -> AsyncIterator[tuple[PlannedCase, int]]:
        for plan in plans:
            yield plan

    try:
        async with _remarks(running):
            async for pair in concurrently(plan_attempts(), running.record, limit=concurrency):
                yield pair
    finally:
        if isinstance(agent, OwnProcesses):
            await agent.end()
    for remark in running.restarts.describe():
        watcher.note(remark)
    silent: object = agent if running.lacks_calls else None
    if isinstance(silent, ExplainsMissingCalls) and silent.missing_calls:
        watcher.note(silent.missing_calls)


def _attempts(planned_case: PlannedCase, attempts: int) -> range:
    first = planned_case.first_attempt
    return range(first, first + (planned_case.attempts or attempts))


def shuffle_positions(positions: Iterable[int], attempt: int, seed: int) -> list[int]:
    """Return the order of cases in an attempt at all of them."""
    order = sorted(positions)
    random.Random(f"{seed}/{attempt}").shuffle(order)  # noqa: S311  (no secret)
    return order


def _interleave(plans: Iterable[tuple[PlannedCase, int]], seed: int) -> list[tuple[PlannedCase, int]]:
    """Return attempts so that those with the same number come in their own order, and the numbers take turns."""
    cases: dict[int, dict[int, PlannedCase]] = {}
    for planned_case, attempt in plans:
        cases.setdefault(attempt, {})[planned_case.position] = planned_case
    ranks = [
        (rank, attempt, own[position])
        for attempt, own in cases.items()
        for rank, position in enumerate(shuffle_positions(own, attempt, seed))
    ]
    return [(planned_case, attempt) for _, attempt, planned_case in sorted(ranks, key=lambda item: item[:2])]


class _KeptTurns:
    """The turns of a conversation that is not over. At most one recording is stored every few seconds."""

    def __init__(self, store: Callable[[Recording], None], last: int) -> None:
        self._store = store
        self._last = last
        self._time = time.monotonic()
        self._latest: Recording | None = None

    def take(self, recording: Recording) -> None:
        """Take a recording with one turn more. The last turn is left to the finished conversation."""
        self._latest = recording if len(recording.trace.invocations) != self._last else None
        if time.monotonic() - self._time >= KEEP_SECONDS:
            self.store_latest()

    def store_latest(self) -> None:
        """Store the turns that are not stored yet, for example because the user interrupts the run."""
        if self._latest is not None:
            self._time = time.monotonic()
            self._store(self._latest)
            self._latest = None


@dataclass
class _RunningConversations:
    """The conversations of a run that are being held."""

    agent: Agent | OwnProcesses
    reply_timeout: float | None
    holding: Holding
    earlier: Mapping[tuple[int, int], Recording]
    watcher: Watcher
    restarts: Restarts = field(default_factory=Restarts)
    by_place: dict[tuple[int, int], tuple[str, HeldConversation]] = field(default_factory=dict)
    _turns: dict[int, asyncio.Lock] = field(default_factory=dict)
    _pace: MessagePace | None = field(init=False)
    _has_calls: bool = False
    _expects_calls: bool = False

    def __post_init__(self) -> None:
        rate = self.holding.requests_per_second
        self._pace = None if rate is None else MessagePace(rate)

    @property
    def lacks_calls(self) -> bool:
        """Whether cases expect calls, and no conversation holds any. A conversation may be silent about its calls."""
        return self._expects_calls and not self._has_calls

    async def record(self, plan: tuple[PlannedCase, int]) -> Pair:
        """Hold a conversation. With a shuffled order, the cases of an attempt follow one another."""
        if self.holding.shuffle is None:
            return await self._record(*plan)
        async with self._turns.setdefault(plan[1], asyncio.Lock()):
            return await self._record(*plan)

    async def _record(self, planned_case: PlannedCase, attempt: int) -> Pair:
        place = (planned_case.position, attempt)
        kept = self._keep_turns(planned_case)
        limits = Limits(
            self.reply_timeout, self.holding.conversation_timeout, self._pace, None if kept is None else kept.take
        )
        conversation = HeldConversation(planned_case, attempt, limits, self.restarts, self.earlier.get(place))
        self.by_place[place] = (planned_case.name, conversation)
        script = planned_case.case.conversation
        requests = (
            _play_script(script) if script is not None else _simulate_messages(planned_case, attempt, conversation)
        )
        own = self.agent.for_attempt(*place) if isinstance(self.agent, OwnProcesses) else self.agent
        try:
            recording = await conversation.record(own, requests)
        except (asyncio.CancelledError, KeyboardInterrupt):
            if kept is not None:
                kept.store_latest()
            raise
        finally:
            del self.by_place[place]
            if isinstance(self.agent, OwnProcesses):
                await self.agent.release(*place)
        turns = recording.trace.invocations
        self._has_calls |= any(turn.tool_calls or turn.steps is None for turn in turns)
        self._expects_calls |= bool(turns) and any(turn.tool_calls for turn in script or ())
        return planned_case, recording

    def _keep_turns(self, planned_case: PlannedCase) -> _KeptTurns | None:
        """Return what keeps the turns of a conversation, or None if it could not go on behind them."""
        on_turn = self.watcher.on_turn
        script = planned_case.case.conversation
        if on_turn is None or (script is not None and len(script) < 2) or planned_case.environments is not None:
            return None
        return _KeptTurns(partial(on_turn, planned_case), 0 if script is None else len(script))

    def remark(self) -> str:
        """Return a remark about the conversations that take long. It is empty if there are none."""
        now = time.monotonic()
        long = sorted(
            (conversation.start, name, attempt, conversation)
            for (_, attempt), (name, conversation) in self.by_place.items()
            if now - conversation.start >= WAIT_SECONDS
        )
        if not long:
            return ""
        start, name, attempt, conversation = long[0]
        return (
            f"waiting for {count(len(long), 'long conversation')}; the longest: {shorten(name, 60)}, "
            f"attempt {attempt}, {conversation.progress}, {now - start:.0f} s"
        )


@asynccontextmanager
async def _remarks(conversations: _RunningConversations) -> AsyncIterator[None]:
    """Say now and then which conversations take long."""

    async def name_long_turn() -> None:
        while True:
            await asyncio.sleep(WAIT_SECONDS)
            if remark := conversations.remark():
                conversations.watcher.on_wait(remark)

    task = asyncio.create_task(name_long_turn())
    try:
        yield
    finally:
        task.cancel()


async def _play_script(script: Iterable[Invocation]) -> AsyncIterator[Invocation]:
    for invocation in script:
        yield Invocation(invocation.user, id=invocation.id)


async def _simulate_messages(
    planned_case: PlannedCase, attempt: int, conversation: HeldConversation
) -> AsyncIterator[Invocation]:
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
            raise SimulatorError(find_cause(error)) from error
        if message is None:
            conversation.ending = "stop"
            return
        yield Invocation(Message(message))
    conversation.ending = "cap"
