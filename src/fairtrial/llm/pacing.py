"""The pace of calls to a model at an endpoint, which adapts to the limits of the server."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from fairtrial.llm.model import CallError, RefusedError, UnsentError
from fairtrial.protocols import Model
from fairtrial.records.reply import Prompt, Reply

WINDOW = 1.0
"""Seconds over which the rate of accepted calls is measured. Providers count by the second or the minute."""

HOLD = 10.0
"""Seconds without a refusal after which a learnt limit is raised again."""

PATIENCE = 120.0
"""The longest wait, in seconds, that a server may ask for."""

PAUSE = 0.5
"""Seconds before the second attempt of a call. The wait doubles with each further failure."""


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
    """The number of calls that may be in flight in all paces of a run together. None means unlimited."""

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
    flight in any case.

    A refusal stops all calls for as long as the server asks. If the server names no wait, it is a quarter of a second,
    and doubles with each further refusal in a row. The pace closes after `rounds` refusals in a row, or after `losses`
    failed calls in a row. Every call of a closed pace fails at once, with the cause.
    """

    start: int = 16
    most: int = 1024
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
        """Count the end of a call."""
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
        self._grow(now)
        self.leave()

    def lose(self, reason: str) -> None:
        """Count a call that failed for good. After `losses` failures in a row, the pace closes."""
        self._lost_in_a_row += 1
        if self._lost_in_a_row >= self.losses:
            self._close(f"gave up after {self._lost_in_a_row} failed calls in a row: {reason}")

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
        """Lower the limits after the first refusal of an epoch."""
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
            ticket = Ticket(now, self._flying, self._epoch, self._completions)
            turn.set_result(ticket)
            self._forget(now)
            self._standing.append(ticket)
            self._flying += 1
            self.places.in_use += 1
            if self._rate is not None:
                self._next_at = max(now, self._next_at) + 1 / self._rate


@dataclass(frozen=True)
class Paced:
    """A model whose calls go out at a shared pace, with a timeout for each attempt and several attempts."""

    model: Model
    pace: Pace

    async def __call__(self, prompt: Prompt) -> Reply:
        """Return the reply of the first attempt that succeeds. Raises `CallError` after the last attempt."""
        attempt = failed = 0
        while True:
            attempt += 1
            ticket = await self._enter(again=attempt > 1)
            try:
                async with asyncio.timeout(self.pace.timeout):
                    reply = await self.model(prompt)
            except RefusedError as refusal:
                if refusal.overload:
                    self.pace.refuse(ticket, refusal)
                    continue
                self.pace.leave()
                problem = str(refusal)
            except TimeoutError:
                self.pace.leave()
                problem = f"no reply within {self.pace.timeout:g} s"
            except CallError as failure:
                self.pace.leave()
                self.pace.lose(str(failure))
                raise
            except BaseException:
                self.pace.leave()
                raise
            else:
                self.pace.accept(ticket)
                seconds = asyncio.get_running_loop().time() - ticket.start
                return msgspec.structs.replace(reply, attempts=attempt, seconds=seconds)
            failed += 1
            if failed == self.pace.attempts:
                self.pace.lose(problem)
                raise CallError(f"no reply after {failed} attempts: {problem}")
            await asyncio.sleep(PAUSE * 2 ** (failed - 1) * (0.5 + self.pace.jitter()))

    async def _enter(self, *, again: bool) -> Ticket:
        """Wait for the turn of a call. If the pace closes after a first attempt, the call counts as sent."""
        try:
            return await self.pace.enter(again=again)
        except UnsentError as closed:
            raise (CallError(str(closed)) if again else closed) from None


@dataclass(frozen=True)
class Limited:
    """A model whose calls wait for a place. It bounds the calls in flight of a criterion, over its whole panel."""

    model: Model
    places: asyncio.Semaphore = field(repr=False, compare=False)

    async def __call__(self, prompt: Prompt) -> Reply:
        """Pass the prompt on when a place is free."""
        async with self.places:
            return await self.model(prompt)
