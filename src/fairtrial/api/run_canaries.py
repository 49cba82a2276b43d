"""Check the judges of a run with canaries before they judge."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from fairtrial.metrics.exams.canaries import canaries, canary_kinds, canary_sample, criterion_for_items
from fairtrial.planned_case import PlannedCase
from fairtrial.records.case import EvalCase
from fairtrial.records.gold import GoldItem
from fairtrial.records.report_card import CanaryKind, canary_failure
from fairtrial.records.result import Criterion, Outcome
from fairtrial.records.score import Score
from fairtrial.records.trace import Trace

Connect = Callable[[PlannedCase], PlannedCase]


async def trusted(connect: Connect, cases: Iterable[PlannedCase], number: int, note: Callable[[str], None]) -> Connect:
    """Ask the judge of every criterion about `number` canaries, and return how cases get criteria that may be trusted.

    A criterion is unscored in every case, with the reason, if its judge is wrong about a fifth of them or more, or
    about half of a kind, or if it passes a forged verdict. The canaries take no part in any score. `note` receives the
    result of each criterion.
    """
    criteria: dict[bytes, Criterion] = {}
    for case in cases:
        for criterion in connect(case).criteria:
            criteria.setdefault(_identity(criterion), criterion)
    names = [key for key, criterion in criteria.items() if canaries(criterion.name)]
    reasons: dict[bytes, str] = {}
    for key in names:
        name = criteria[key].name
        kinds = await _ask(criteria[key], canary_sample(name, number))
        judged = sum(kind.items - kind.unscored for kind in kinds)
        wrong = judged - sum(kind.right for kind in kinds)
        note(f"{name}: the judge is wrong about {wrong} of {judged} canaries")
        if failure := canary_failure(kinds):
            reasons[key] = f"{name}: {failure}, so its verdicts are not used"
    if not reasons:
        return connect

    def connect_trusted(case: PlannedCase) -> PlannedCase:
        ready = connect(case)
        return replace(ready, criteria=tuple(_trusted_only(own, reasons.get(_identity(own))) for own in ready.criteria))

    return connect_trusted


def _identity(criterion: Criterion) -> bytes:
    return msgspec.json.encode([criterion.name, criterion.signature, criterion.threshold])


async def _ask(criterion: Criterion, items: Sequence[GoldItem]) -> list[CanaryKind]:
    """Return how often canaries get the right verdict."""
    criterion = criterion_for_items(criterion)
    metric: Any = criterion.metric
    scores: list[Score] = await asyncio.gather(*(metric(item.trace, item.case) for item in items))
    verdicts = [
        Outcome(criterion.name, score, criterion.threshold, criterion.lower_is_better, criterion.range).verdict
        for score in scores
    ]
    return list(canary_kinds(items, verdicts))


def _trusted_only(criterion: Criterion, reason: str | None) -> Criterion:
    return criterion if reason is None else replace(criterion, metric=_Untrusted(reason))


@dataclass(frozen=True)
class _Untrusted:
    """Leaves every case unscored. It is picklable, so that workers can have it."""

    reason: str

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002  (every metric has two arguments)
        return Score(None, self.reason, side="judge")
