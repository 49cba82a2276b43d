"""Check the judges of a run with canaries before they judge."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from fairtrial.metrics.exams.canaries import canaries, criterion_for_items
from fairtrial.planned_case import PlannedCase
from fairtrial.records.case import EvalCase
from fairtrial.records.gold import GoldItem
from fairtrial.records.result import Criterion, Outcome, Verdict
from fairtrial.records.score import Score
from fairtrial.records.trace import Trace

MOST_WRONG = 0.2
"""With this share of wrong canaries, a criterion is unscored."""

Connect = Callable[[PlannedCase], PlannedCase]


async def trusted(connect: Connect, cases: Iterable[PlannedCase], number: int, note: Callable[[str], None]) -> Connect:
    """Ask the judge of every criterion about `number` canaries, and return how cases get criteria that may be trusted.

    A criterion whose judge is wrong about a fifth of them or more is unscored in every case, with that reason. The
    canaries take no part in any score. `note` receives the result of each criterion.
    """
    criteria: dict[bytes, Criterion] = {}
    for case in cases:
        for criterion in connect(case).criteria:
            criteria.setdefault(_identity(criterion), criterion)
    names = [key for key, criterion in criteria.items() if canaries(criterion.name)]
    reasons: dict[bytes, str] = {}
    for key in names:
        wrong, judged = await _ask(criteria[key], _sample(criteria[key].name, number))
        result = f"{criteria[key].name}: the judge is wrong about {wrong} of {judged} canaries"
        note(result)
        if judged and wrong / judged >= MOST_WRONG:
            reasons[key] = f"{result}, so its verdicts are not used"
    if not reasons:
        return connect

    def connect_trusted(case: PlannedCase) -> PlannedCase:
        ready = connect(case)
        return replace(ready, criteria=tuple(_trusted_only(own, reasons.get(_identity(own))) for own in ready.criteria))

    return connect_trusted


def _identity(criterion: Criterion) -> bytes:
    return msgspec.json.encode([criterion.name, criterion.signature, criterion.threshold])


def _sample(criterion: str, number: int) -> list[GoldItem]:
    """Return a number of canaries, always the same, from all kinds and languages."""
    return sorted(canaries(criterion), key=lambda item: hashlib.sha256(item.case.id.encode()).digest())[:number]


async def _ask(criterion: Criterion, items: Sequence[GoldItem]) -> tuple[int, int]:
    """Return how many canaries got the wrong verdict, and how many got any."""
    criterion = criterion_for_items(criterion)
    metric: Any = criterion.metric
    scores: list[Score] = await asyncio.gather(*(metric(item.trace, item.case) for item in items))
    verdicts = [
        Outcome(criterion.name, score, criterion.threshold, criterion.lower_is_better, criterion.range).verdict
        for score in scores
    ]
    expected = [Verdict.PASSED if item.label else Verdict.FAILED for item in items]
    judged = [pair for pair in zip(verdicts, expected, strict=True) if pair[0] in (Verdict.PASSED, Verdict.FAILED)]
    return sum(verdict is not right for verdict, right in judged), len(judged)


def _trusted_only(criterion: Criterion, reason: str | None) -> Criterion:
    return criterion if reason is None else replace(criterion, metric=_Untrusted(reason))


@dataclass(frozen=True)
class _Untrusted:
    """Leaves every case unscored. It is picklable, so that workers can have it."""

    reason: str

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002  (every metric has two arguments)
        return Score(None, self.reason, side="judge")
