"""The call pace for a model at an endpoint, which adapts to server limits."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from fairtrial.llm.model import CallError, ExhaustedError, RefusedError, UnsentError

if TYPE_CHECKING:
    from fairtrial.protocols import Model
    from fairtrial.records.reply import Prompt, Reply

WINDOW = 1.0
"""Seconds over which the rate of accepted calls is measured. Providers count by the second or the minute."""

HOLD = 10.0
"""Seconds without a refusal after which a learnt limit is raised again."""

PATIENCE = 120.0
"""The longest wait, in seconds, that a server may ask for."""

DRAINS = 5
"""How many times as long as the calls in flight would take at the present pace, a call may take. Not every server
answers the oldest call first."""

PAUSE = 0.5
"""Seconds before a call's second attempt. The wait doubles with each further failure."""


class TimedOutError(RefusedError):
    """A call got no reply in time. It counts as overload, but a call that times out again and again is given up."""


@dataclass(eq=False)
class Ticket:
    """One call in flight: its start, the number of other calls at its start, and its epoch."""

    start: float
    in_flight: int
    epoch: int
    completions: int
    refused: bool = False


@dataclass(eq=False)
class Places:
    """The number of calls that may be in flight over all paces in a run. None means unlimited."""

    most: int | None = None
    in_use: int = 0
    paces: deque[Pace] = field(default_factory=deque)

    @property
    def free(self) -> bool:
        """Whether one more call may go out."""
        return self.most is None or self.in_use < self.most

    def leave(self) -> None:
        """Release a place. The paces take turns, so that no pace waits until another has finished."""
        self.in_use -= 1
        self.paces.rotate()
        for pace in tuple(self.paces):
            pace.admit()


@dataclass(eq=False)
class Pace:
    """Decides when the next call goes out.

    A pace learns two limits. The limit on calls in flight starts at `start`. It grows by three with every success, or
    by one after the first refusal. It halves on a refusal and grows back to the number that the server accepted. The
    limit on calls a second is unset until the server refuses a number in flight that it accepted before. The limit then
    is just below the accepted rate. After a while without refusals, both limits grow again. At most `most` calls are in
    flight in any case, and at most `most_a_minute` go out, evenly spaced.

    A call times out after `timeout` seconds. If the server still replies to other calls, it gets more time, in
    proportion to the calls in flight and to its reply pace. For example, a server that answers 16 calls one by one is
    not asked again while it works off its queue. A timeout counts as a refusal because of overload.

    A refusal stops all calls for as long as the server asks. If the server names no wait, it is a quarter of a second,
    and doubles with each further refusal in a row. The pace closes after `rounds` refusals in a row, or after `losses`
    failed calls in a row. Every call at a closed pace fails at once, with the cause.
    """

    start: int = 16
    most: int = 1024
    most_a_minute: float | None = None
    attempts: int = 5
    rounds: int = 9
    losses: int = 20
    timeout: float = 120.0
    jitter: Callable[[], float] = random.random
    places: Places = field(default_factory=Places)
    closed: str = ""
    refusals: int = 0
    _limit: float = field(init=False)
    _ceiling: float = field(init=False)
    _rate: float | None = field(init=False, default=None)
    _rate_known: bool = field(init=False, default=False)
    _flying: int = field(init=False, default=0)
    _proven: int = field(init=False, default=0)
    _completions: int = field(init=False, default=0)
    _crowded: bool = field(init=False, default=False)
    _epoch: int = field(init=False, default=0)
    _in_a_row: int = field(init=False, default=0)
    _lost_in_a_row: int = field(init=False, default=0)
    _open_at: float = field(init=False, default=0.0)
    _next_at: float = field(init=False, default=0.0)
    _quiet_since: float = field(init=False, default=0.0)
    _replies: deque[float] = field(init=False, default_factory=lambda: deque(maxlen=17))
    _standing: deque[Ticket] = field(init=False, default_factory=deque)
    _waiting: deque[asyncio.Future[Ticket]] = field(init=False, default_factory=deque)
    _timer: asyncio.TimerHandle | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._limit = float(min(self.start, self.most))
        self._ceiling = float(self.most)
        self.places.paces.append(self)

    async def enter(self, *, again: bool = False) -> Ticket:
        """Wait until a call may go out. Refused calls go first. Raises `UnsentError` if the pace is closed."""
        if self.closed:
            raise UnsentError(self.closed)
        turn: asyncio.Future[Ticket] = asyncio.get_running_loop().create_future()
        if again:
            self._waiting.appendleft(turn)
        else:
            self._waiting.append(turn)
        self.admit()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.leave()
            raise

    def leave(self) -> None:
        """Count a call's end."""
        self._flying -= 1
        self.places.leave()

    def accept(self, ticket: Ticket) -> None:
        """Count a call with a reply."""
        now = asyncio.get_running_loop().time()
        if ticket.epoch == self._epoch:
            self._in_a_row = 0
            self._proven = max(self._proven, ticket.in_flight + 1)
        self._completions += 1
        self._lost_in_a_row = 0
        self._replies.append(now)
        self._grow(now)
        self.leave()

    def deadline(self, ticket: Ticket, timeout: float) -> float:
        """Return the time at which a call without a reply has timed out, as far as is known now."""
        usual = ticket.start + timeout
        if len(self._replies) < 2:
            return usual
        interval = (self._replies[-1] - self._replies[0]) / (len(self._replies) - 1)
        longest = ticket.start + DRAINS * max(self._flying, ticket.in_flight + 1) * interval
        # A server that has not replied to any call for so long is not working off a queue.
        return max(usual, min(longest, self._replies[-1] + timeout))

    def lose(self, failure: CallError) -> None:
        """Count a call that failed for good. The pace closes after `losses` of them in a row, or if all calls would."""
        self._lost_in_a_row += 1
        if isinstance(failure, ExhaustedError):
            self._close(str(failure))
        elif self._lost_in_a_row >= self.losses:
            self._close(f"gave up after {self._lost_in_a_row} failed calls in a row: {failure}")

    def refuse(self, ticket: Ticket, refusal: RefusedError) -> None:
        """Count a call that the server refused because of overload."""
        now = asyncio.get_running_loop().time()
        self.refusals += 1
        ticket.refused = True
        if refusal.after is not None and refusal.after > PATIENCE:
            self._close(f"the server asks to wait {refusal.after:g} s: {refusal}")
        standing = self._flying - 1 + self._completions - ticket.completions
        # If the server accepted this number in flight before, the rate caused the refusal. After the rate was lowered,
        # a slightly smaller number counts as accepted: the server may have counted a call that had just ended.
        first = ticket.epoch == self._epoch
        if first:
            self._crowded = standing + 1 > self._proven * (0.75 if self._rate_known else 1.0)
        if self._crowded:
            self._ceiling = max(1.0, min(self._ceiling, standing))
            self._proven = int(self._ceiling)
        if first:
            self._learn(standing, now)
            self._pause(refusal, now)
        elif refusal.after is not None:
            self._open_at = max(self._open_at, now + refusal.after)
        self.leave()

    def _learn(self, standing: int, now: float) -> None:
        """Lower the limits after an epoch's first refusal."""
        self._limit = max(1.0, min(self._limit, standing) / 2)
        rate = max(1.0, self._recent(now) / WINDOW)
        if self._crowded:
            self._rate = self._rate if self._rate_known else rate
        elif self._rate is None or not self._rate_known:
            self._rate, self._rate_known = 0.95 * rate, True
        else:
            # Soon after a pause there is no rate to measure. Only several refusals in a row lower it by much.
            measured = rate if now - self._open_at >= WINDOW else self._rate
            self._rate = min(0.95 * measured, self._rate * (0.8 if self._in_a_row > 3 else 0.95))
        self._quiet_since = now

    def _recent(self, now: float) -> int:
        """Return the number of calls in the window that were not refused."""
        self._forget(now)
        return sum(not ticket.refused for ticket in self._standing)

    def _forget(self, now: float) -> None:
        while self._standing and self._standing[0].start < now - WINDOW:
            self._standing.popleft()

    def _pause(self, refusal: RefusedError, now: float) -> None:
        self._epoch += 1
        self._in_a_row += 1
        if self._in_a_row > self.rounds:
            self._close(f"gave up after {self._in_a_row} refusals in a row: {refusal}")
        wait = refusal.after if refusal.after is not None else 0.25 * 2 ** (self._in_a_row - 1)
        self._open_at = max(self._open_at, now + wait * (1 + 0.1 * self.jitter()))

    def _grow(self, now: float) -> None:
        """Raise the limits a little after a success."""
        quiet = now - self._quiet_since > HOLD
        if self._limit + 1 <= self._ceiling:
            self._limit = min(self._ceiling, self._limit + (1 if self.refusals else 3))
        elif quiet and self._ceiling < self.most:
            self._ceiling = min(self.most, self._ceiling + 1 / self._ceiling)
            self._limit = self._ceiling
        else:
            self._limit = max(self._limit, self._ceiling)
        if self._rate is not None:
            if not self._rate_known:
                self._rate += 1
            elif quiet:
                self._rate *= 1.002

    def _close(self, reason: str) -> None:
        self.closed = self.closed or reason
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_exception(UnsentError(reason))

    def admit(self) -> None:
        """Start the calls that may go out now, and set a timer for the next call."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        while self._waiting and self._flying < int(self._limit) and self.places.free:
            due = max(self._open_at, self._next_at)
            if now < due:
                if self._timer is not None:
                    self._timer.cancel()
                self._timer = loop.call_at(due, self.admit)
                return
            turn = self._waiting.popleft()
            if turn.done():
                continue
            self._replies = self._replies or deque([now], self._replies.maxlen)
            ticket = Ticket(now, self._flying, self._epoch, self._completions)
            turn.set_result(ticket)
            self._forget(now)
            self._standing.append(ticket)
            self._flying += 1
            self.places.in_use += 1
            if limits := [limit for limit in (self._rate, self._most_a_second) if limit is not None]:
                self._next_at = max(now, self._next_at) + 1 / min(limits)

    @property
    def _most_a_second(self) -> float | None:
        return None if self.most_a_minute is None else self.most_a_minute / 60


@dataclass(frozen=True)
class Paced:
    """A model whose calls go out at a shared pace, with a timeout for each attempt and several attempts.

    Without a `timeout` of its own, it has the pace's timeout.
    """

    model: Model
    pace: Pace
    timeout: float | None = None

    async def __call__(self, prompt: Prompt) -> Reply:
        """Return the first reply by an attempt that succeeds. Raises `CallError` after the last attempt."""
        attempt = failed = 0
        while True:
            attempt += 1
            ticket = await self._enter(again=attempt > 1)
            try:
                reply = await self._reply(prompt, ticket)
            except RefusedError as refusal:
                self._count(ticket, refusal)
                if refusal.overload and not isinstance(refusal, TimedOutError):
                    continue
                failed += 1
                if failed == self.pace.attempts:
                    self.pace.lose(refusal)
                    raise CallError(f"no reply after {failed} attempts: {refusal}") from None
                if not refusal.overload:
                    await asyncio.sleep(PAUSE * 2 ** (failed - 1) * (0.5 + self.pace.jitter()))
            except CallError as failure:
                self.pace.lose(failure)
                self.pace.leave()
                raise
            except BaseException:
                self.pace.leave()
                raise
            else:
                self.pace.accept(ticket)
                seconds = asyncio.get_running_loop().time() - ticket.start
                return msgspec.structs.replace(reply, attempts=attempt, seconds=seconds)

    def _count(self, ticket: Ticket, refusal: RefusedError) -> None:
        if refusal.overload:
            self.pace.refuse(ticket, refusal)
        else:
            self.pace.leave()

    async def _reply(self, prompt: Prompt, ticket: Ticket) -> Reply:
        """Call the model once. Raises `TimedOutError` at the ticket's deadline, which may move meanwhile."""
        loop = asyncio.get_running_loop()
        limit = asyncio.timeout(None)
        timeout = self.timeout or self.pace.timeout

        timer: asyncio.TimerHandle

        def check() -> None:
            nonlocal timer
            deadline = self.pace.deadline(ticket, timeout)
            if deadline > loop.time():
                timer = loop.call_at(deadline, check)
            else:
                limit.reschedule(loop.time())

        timer = loop.call_at(self.pace.deadline(ticket, timeout), check)
        try:
            async with limit:
                return await self.model(prompt)
        except TimeoutError:
            raise TimedOutError(f"no reply within {timeout:g} s", overload=True) from None
        finally:
            timer.cancel()

    async def _enter(self, *, again: bool) -> Ticket:
        """Wait for a call's turn. If the pace closes after a first attempt, the call counts as sent."""
        try:
            return await self.pace.enter(again=again)
        except UnsentError as closed:
            raise (CallError(str(closed)) if again else closed) from None


@dataclass(frozen=True)
class Limited:
    """A model whose calls wait for a place. It bounds a criterion's calls in flight, over its whole panel."""

    model: Model
    places: asyncio.Semaphore = field(repr=False, compare=False)

    async def __call__(self, prompt: Prompt) -> Reply:
        """Pass the prompt on when a place is free."""
        async with self.places:
            return await self.model(prompt)
