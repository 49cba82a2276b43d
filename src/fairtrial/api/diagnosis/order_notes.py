"""Remarks about cases whose result depends on the order of the cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairtrial.analysis.order_effects import OrderEffect, PlaceEffect, study_orders
from fairtrial.recording import shuffle_positions
from fairtrial.records.result import Verdict
from fairtrial.text.display import count, shorten

if TYPE_CHECKING:
    from fairtrial.api.planning import Plan
    from fairtrial.store import Store

_MOST = 20
_PASSED = (Verdict.PASSED, Verdict.INFORMATIONAL)


def order_notes(plan: Plan, store: Store) -> list[str]:
    """Return a sentence about each case whose result depends on the order, or one sentence if no case is named.

    Attempts that anything but the agent broke say nothing, and neither do attempts without a verdict.
    """
    seed = plan.holding.shuffle
    if seed is None:
        return []
    positions: dict[int, list[int]] = {}
    for case in plan.cases:
        for attempt in range(1, (case.attempts or plan.attempts) + 1):
            positions.setdefault(attempt, []).append(case.position)
    orders = {attempt: shuffle_positions(own, attempt, seed) for attempt, own in positions.items()}
    verdicts = {
        (row.position, row.attempt): row.verdict in _PASSED
        for row in store.attempt_rows(plan.info.id)
        if row.verdict in (*_PASSED, Verdict.FAILED) or row.agent_failed
    }
    names = {position: name for position, _, name in store.case_keys(plan.info.id)}
    study = study_orders(orders, verdicts)
    if study.place is not None and not study.effects:
        return [_describe_place(study.place)]
    if not study.effects:
        return [_without_effect(study.unstable, study.smallest, len(orders), seed)]
    notes = [_describe(effect, names) for effect in study.effects[:_MOST]]
    if len(study.effects) > _MOST:
        notes.append(f"order: and {count(len(study.effects) - _MOST, 'more case')}")
    return notes


def _describe(effect: OrderEffect, names: dict[int, str]) -> str:
    name, trigger = (shorten(names[position], 60) for position in (effect.position, effect.trigger))
    (failed, total), (other_failed, other_total) = effect.after, effect.before
    first, second = ("after", "before") if effect.fails_after else ("before", "after")
    if not effect.fails_after:
        failed, total, other_failed, other_total = other_failed, other_total, failed, total
    return (
        f"order: {name!r} fails {first} {trigger!r} ({failed} of {count(total, 'attempt')}) more often than "
        f"{second} it ({other_failed} of {other_total}); p = {effect.p:.2g}, corrected for all pairs"
    )


def _describe_place(effect: PlaceEffect) -> str:
    (failed, total), (late_failed, late_total) = effect.early, effect.late
    early, late = ("first in the order", "later") if effect.only_first else ("in the first half", "in the second half")
    return (
        f"order: cases fail in {failed} of {count(total, 'attempt')} if they come {early}, and in {late_failed} of "
        f"{late_total} if they come {late}; p = {effect.p:.2g}. The agent may keep something of earlier cases"
    )


def _without_effect(unstable: Sequence[int], smallest: int | None, attempts: int, seed: int) -> str:
    orders = f"{count(attempts, 'order')} of the cases (seed {seed})"
    if attempts == 1:
        return f"order: {orders} says nothing about a dependence; use more attempts"
    if not unstable:
        return f"order: each case had the same result in all {orders}"
    sentence = f"order: {count(len(unstable), 'case')} had different results in {orders}"
    if smallest is not None:
        return f"{sentence}, and an effect of one case on another can only be named from {smallest} attempts on"
    return f"{sentence}, and no effect of one case on another, or of the place in the order, is shown"
