"""A budget ends the spending, not the run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from clock import run
from fairtrial.llm.budget import Budget, Budgeted
from fairtrial.llm.model import CallError
from fairtrial.records.reply import Prompt, Reply
from fairtrial.testing import ModelLine, ScriptedModel

PROMPT = Prompt(id="p", version="1", text="?")


def costing(dollars: float | None) -> Callable[[Prompt], Awaitable[ModelLine]]:
    """A script whose calls take a second and cost that much."""

    async def say(_: Prompt) -> ModelLine:
        await asyncio.sleep(1)
        return Reply(text="yes", cost=dollars)

    return say


async def spend(budget: Budget, calls: int, dollars: float | None) -> int:
    """Make that many calls at once; return how many were let through."""
    model = Budgeted(ScriptedModel(costing(dollars)), budget)
    outcomes = await asyncio.gather(*(model(PROMPT) for _ in range(calls)), return_exceptions=True)
    return sum(isinstance(outcome, Reply) for outcome in outcomes)


def test_calls_are_counted() -> None:
    """Of ten calls three are let through."""
    assert run(spend(Budget(max_calls=3), 10, 0.1))[0] == 3


def test_money_is_never_overspent_by_equal_calls() -> None:
    """A dollar buys three calls of 30 cents, however many are asked for at once."""
    budget = Budget(max_cost=1.0)
    assert run(spend(budget, 50, 0.3))[0] == 3
    assert budget.cost == pytest.approx(0.9)


def test_after_the_first_price_calls_go_out_together() -> None:
    """One call of a second, then nine together in the second second."""
    count, seconds = run(spend(Budget(max_cost=100.0), 10, 0.3))
    assert (count, seconds) == (10, 2.0)


def test_a_call_of_unknown_price_uses_the_budget_up() -> None:
    """Nothing can be promised after it."""
    assert run(spend(Budget(max_cost=1.0), 5, None))[0] == 1


def test_the_reason_names_the_budget() -> None:
    """Whoever is refused learns why."""
    with pytest.raises(CallError, match="budget of 0 calls"):
        asyncio.run(Budgeted(ScriptedModel(["yes"]), Budget(max_calls=0))(PROMPT))


def test_a_failed_call_frees_its_place() -> None:
    """The second call is not kept waiting for the first one's price."""
    model = Budgeted(ScriptedModel([CallError("broken"), Reply(text="yes", cost=0.1)]), Budget(max_cost=1.0))

    async def two() -> Reply:
        with pytest.raises(CallError, match="broken"):
            await model(PROMPT)
        return await model(PROMPT)

    assert asyncio.run(two()).text == "yes"
