"""What a run may spend, in calls and in money."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from fairtrial.llm.model import UnsentError
from fairtrial.protocols import Model
from fairtrial.records.reply import Prompt, Reply


@dataclass
class Budget:
    """A bound on calls and on US dollars; None is unbounded.

    Under a bound on money a call goes out only if it fits beside those under way, each taken to cost as much as the
    dearest so far; until one price is known, one call is under way at a time. A call whose price is not known uses the
    budget up, since nothing can be promised any more.
    """

    max_calls: int | None = None
    max_cost: float | None = None
    calls: int = 0
    cost: float = 0.0
    spent: str = ""
    _under_way: int = field(init=False, default=0)
    _dearest: float | None = field(init=False, default=None)
    _change: asyncio.Event = field(init=False, default_factory=asyncio.Event)

    async def reserve(self) -> None:
        """Wait for room for one more call; `UnsentError` where there is none and will be none."""
        if self.max_calls is not None and self.calls >= self.max_calls:
            self.spent = self.spent or f"the budget of {self.max_calls} calls is used up"
        while not self.spent and self.max_cost is not None and not self._fits(self.max_cost):
            if not self._under_way:
                self.spent = f"the budget of ${self.max_cost:g} is used up (${self.cost:.4f} spent)"
                break
            self._change.clear()
            await self._change.wait()
        if self.spent:
            raise UnsentError(self.spent)
        self.calls += 1
        self._under_way += 1

    def _fits(self, most: float) -> bool:
        if self._dearest is None:
            return not self._under_way
        return self.cost + (self._under_way + 1) * self._dearest <= most

    def settle(self, reply: Reply | None) -> None:
        """Note what became of a call; None where it brought no reply."""
        self._under_way -= 1
        if reply is not None and reply.cost is not None:
            self.cost += reply.cost
            self._dearest = max(self._dearest or 0.0, reply.cost)
        elif reply is not None and self.max_cost is not None:
            self.spent = f"the price of a call is not known, and the budget is ${self.max_cost:g}"
        self._change.set()


@dataclass(frozen=True)
class Budgeted:
    """A model whose calls come out of a budget."""

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
