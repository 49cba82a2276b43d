"""Rules that are proposed from planted worlds, whose policy and whose habits are known."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from fairtrial.metrics.tool_rules.criterion import ToolRules
from fairtrial.metrics.tool_rules.mined_rules import Conversation, MinedRule, mine_rules
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import Invocation, Message, Step, ToolCall, ToolResult, Trace

_CASES, _ATTEMPTS, _FRESH = 100, 2, 300
_HABITS = ("user", "item", "note", "confirm")


def _step(steps: list[Step], name: str, args: dict[str, Any], response: Any) -> None:
    number = str(len(steps))
    steps += [ToolCall(name, args, number), ToolResult(name, response, number)]


def _conversation(habits: dict[str, bool], case: int, *, keeps: bool) -> Trace:
    """Return a dialogue about one order. The policy: the order is looked up before it is cancelled, and once only."""
    order, user, item = f"ORD-{case}-77", f"user_{case}_kim", f"ITM-{case}-31"
    steps: list[Step] = []
    _step(steps, "find_user", {"email": f"kim{case}@shop.example"}, {"user_id": user})
    if habits["user"]:
        _step(steps, "get_user", {"user_id": user}, {"orders": [order, f"ORD-{case}-78"]})
    if habits["note"]:
        _step(steps, "note", {"about": order}, "noted")
    if keeps:
        _step(steps, "get_order", {"order_id": order}, {"item": item, "total": 20})
    if habits["item"]:
        _step(steps, "get_item", {"item_id": item}, {"price": 20})
    for _ in range(1 if keeps else 2):
        _step(steps, "cancel_order", {"order_id": order}, {"ok": True})
    asked = f"I am kim{case}@shop.example. Cancel order {order} with {item}."
    answer = "Yes, please." if habits["confirm"] else "How long does it take?"
    reply = Message("It is cancelled.")
    return Trace(
        (Invocation(Message(asked), (), Message("Shall I?")), Invocation(Message(answer), tuple(steps), reply))
    )


def _world(seed: int, cases: int, first: int = 0) -> list[Conversation]:
    """Return the conversations of a world. Its habits have probabilities of their own, and cases have their ways."""
    shares = {name: Random(f"{seed} {name}").uniform(0.7, 1.0) for name in _HABITS}
    random = Random(f"{seed} {first}")
    held = []
    for case in range(first, first + cases):
        usual = {name: random.random() < share for name, share in shares.items()}
        for _ in range(_ATTEMPTS):
            own = {name: usual[name] if random.random() < 0.7 else random.random() < shares[name] for name in _HABITS}
            passed = random.random() < 0.7
            keeps = passed or random.random() < 0.4
            held.append(Conversation(_conversation(own, case, keeps=keeps), passed, str(case)))
    return held


def _true_share(mined: MinedRule, fresh: list[Conversation]) -> float:
    """Return the share of cases whose first passing conversation breaks a rule, of those that it is about."""
    metric = ToolRules((mined.rule,))
    first = {own.case: own.trace for own in reversed(fresh) if own.passed}
    values = [value for trace in first.values() if (value := metric(trace, EvalCase("")).value) is not None]
    return values.count(0.0) / max(1, len(values))


def _measure(seeds: range) -> tuple[int, int, int, int]:
    """Return the proposals, those above their bound, those that fresh conversations ever break, and worlds found."""
    proposals = above = broken = found = 0
    for seed in seeds:
        mined = mine_rules(_world(seed, _CASES))
        fresh = _world(seed, _FRESH, first=10_000)
        shares = [_true_share(own, fresh) for own in mined]
        proposals += len(mined)
        above += sum(share > own.alarm for share, own in zip(shares, mined, strict=True))
        broken += sum(share > 0 for share in shares)
        found += any("cancel_order" in own.rule.id for own in mined)
    return proposals, above, broken, found


@pytest.mark.long
def test_the_policy_is_found_and_the_bounds_hold() -> None:
    """In each world a planted rule is proposed, and no more than 5 % of cases break a proposal beyond its bound."""
    proposals, above, _, found = _measure(range(6))
    assert found == 6
    assert proposals >= 6
    assert above <= proposals * 0.05 + 1


@pytest.mark.parametrize("shares", [False, True])
def test_an_order_needs_a_shared_value(shares: bool) -> None:
    """Two calls that always stand in one order are a rule only if a value links them."""
    value = "A-1700" if shares else "B-2900"

    def held(number: int, *, is_reversed: bool) -> Trace:
        steps: list[Step] = []
        calls = [("look", {"order": f"A-1700-{number}"}), ("act", {"target": f"{value}-{number}"})]
        for name, args in reversed(calls) if is_reversed else calls:
            _step(steps, name, args, {"found": f"{value}-{number}"} if name == "look" and shares else {"ok": True})
        return Trace((Invocation(Message("Go."), tuple(steps), Message("Done.")),))

    rows = [Conversation(held(number, is_reversed=False), True, str(number)) for number in range(12)]
    rows += [Conversation(held(number, is_reversed=True), False, str(number)) for number in range(12, 16)]
    assert ("look_before_act" in [own.rule.id for own in mine_rules(rows)]) is shares


@pytest.mark.long
def test_attempts_at_one_case_are_one_case() -> None:
    """Many attempts at few cases propose no rule."""
    rows = _world(1, _CASES)
    assert mine_rules(rows)
    assert not mine_rules([own._replace(case=str(int(own.case) % 4)) for own in rows])
