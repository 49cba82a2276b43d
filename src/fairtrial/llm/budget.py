"""Budgets: limits on the number and the cost of model calls."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from fairtrial.config.reader import check_options
from fairtrial.llm.model import UnsentError

if TYPE_CHECKING:
    from fairtrial.protocols import Model
    from fairtrial.records.reply import Prompt, Reply


@dataclass
class Budget:
    """A limit on calls and on US dollars. None means unlimited. `calls` and `cost` count the use so far.

    `unpriced` counts the calls of unknown price, which `cost` lacks.

    Every run that gets the same budget spends from it, also runs in other threads. If there is a limit on cost, a call
    is made only if it fits beside the calls in flight. Each call in flight counts with the highest price so far. Until
    the first price is known, one call is in flight at a time. A call of unknown price uses the budget up.
    """

    max_calls: Annotated[Annotated[int, Meta(ge=0)] | None, Meta(description="the largest number of calls")] = None
    max_cost: Annotated[Annotated[float, Meta(ge=0)] | None, Meta(description="the largest cost in US dollars")] = None
    calls: int = field(init=False, default=0)
    cost: float = field(init=False, default=0.0)
    unpriced: int = field(init=False, default=0)
    _exhausted: str = field(init=False, default="")
    _in_flight: int = field(init=False, default=0)
    _committed: float = field(init=False, default=0.0)
    _highest_price: float | None = field(init=False, default=None)
    _lock: threading.Lock = field(init=False, repr=False, compare=False, default_factory=threading.Lock)
    _waiting: list[asyncio.Future[None]] = field(init=False, repr=False, compare=False, default_factory=list)

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def is_used_up(self) -> bool:
        """Whether no further call will be made."""
        return bool(self._exhausted)

    async def reserve(self) -> None:
        """Wait until one more call may be made. Raises `UnsentError` if the budget is used up."""
        while (turn := self._take()) is not None:
            await turn

    def _take(self) -> asyncio.Future[None] | None:
        """Take one call from the budget. A future is returned instead if a call in flight has to end first."""
        with self._lock:
            if self.max_calls is not None and self.calls >= self.max_calls:
                self._exhausted = self._exhausted or f"the budget of {self.max_calls} calls is used up"
            if not self._exhausted and self.max_cost is not None and not self._fits(self.max_cost):
                if self._in_flight:
                    turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                    self._waiting.append(turn)
                    return turn
                self._exhausted = f"the budget of ${self.max_cost:g} is used up (${self.cost:.4f} spent)"
            if self._exhausted:
                raise UnsentError(self._exhausted)
            self.calls += 1
            self._in_flight += 1
            return None

    def _fits(self, limit: float) -> bool:
        if self._highest_price is None:
            return not self._in_flight
        return self.cost + (self._in_flight + 1) * self._highest_price <= limit

    def commit(self, price: float | None) -> None:
        """Take a call that a batch will make at an expected price. Raises `UnsentError` if it does not fit.

        Other calls that are committed count with their expected prices, until `settle_committed` knows better.
        """
        with self._lock:
            if self.max_calls is not None and self.calls >= self.max_calls:
                self._exhausted = self._exhausted or f"the budget of {self.max_calls} calls is used up"
            if not self._exhausted and self.max_cost is not None:
                if price is None:
                    self._exhausted = f"the price of a call is not known, and the budget is ${self.max_cost:g}"
                elif self.cost + self._committed + price > self.max_cost:
                    self._exhausted = (
                        f"the budget of ${self.max_cost:g} is used up (${self.cost:.4f} spent, and about "
                        f"${self._committed:.4f} expected)"
                    )
            if self._exhausted:
                raise UnsentError(self._exhausted)
            self.calls += 1
            self._committed += price or 0.0

    def check(self) -> None:
        """Raise `UnsentError` with the reason if no further call will be made."""
        if self._exhausted:
            raise UnsentError(self._exhausted)

    def settle_committed(self, price: float, reply: Reply | None) -> None:
        """Note that a call in a batch has ended, which was expected to cost a price."""
        with self._lock:
            self._committed = max(0.0, self._committed - price)
            self.cost += (reply.cost if reply is not None else None) or 0.0
            self.unpriced += reply is not None and reply.cost is None

    def settle(self, reply: Reply | None) -> None:
        """Note that a call has ended, with its reply or without."""
        with self._lock:
            self._in_flight -= 1
            if reply is not None and reply.cost is not None:
                self.cost += reply.cost
                self._highest_price = max(self._highest_price or 0.0, reply.cost)
            elif reply is not None:
                self.unpriced += 1
                if self.max_cost is not None:
                    self._exhausted = f"the price of a call is not known, and the budget is ${self.max_cost:g}"
            waiting, self._waiting = self._waiting, []
        for turn in waiting:
            # A turn belongs to the loop of its own run, which may be in another thread, or closed by now.
            with suppress(RuntimeError):
                turn.get_loop().call_soon_threadsafe(_wake, turn)


def _wake(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


@dataclass(frozen=True)
class Budgeted:
    """A model whose calls are paid from a budget."""

    model: Model
    budget: Budget

    async def __call__(self, prompt: Prompt) -> Reply:
        """Answer while the budget lasts."""
        await self.budget.reserve()
        reply = None
        try:
            reply = await self.model(prompt)
        finally:
            self.budget.settle(reply)
        return reply
