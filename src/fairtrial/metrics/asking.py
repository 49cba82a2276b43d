"""Compute scores from judge votes and from invocation scores."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from math import inf
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.metrics.pairing import (
    EMPTY_CONVERSATION,
    NO_CONVERSATION,
    broke_here,
    no_reference,
    nothing_recorded,
    positions,
    structural_score,
)
from fairtrial.records.contents import DIALOGUE, Content, missing_reason
from fairtrial.records.score import PartKey, Quote, Score, average_parts, invocation_key

if TYPE_CHECKING:
    from fairtrial.metrics.judged_metric import Scale
    from fairtrial.records.ballot import Ballot, JudgeAnswer
    from fairtrial.records.case import EvalCase
    from fairtrial.records.trace import Invocation, Trace


def score_item(ballot: Ballot, item: str, on: Scale, key: PartKey | None = None, *, label: str = "") -> Score:
    """Return the score of one item of a ballot: its result, and how the votes came to it."""
    decision = ballot.decisions[item]
    result = decision.result
    if result.applicable and result.value is None:
        return Score(None, ballot.why_unscored(item), label, ballots=(ballot.id,), side="judge", key=key)
    tally = ", ".join(f"{name} {decision.counted[name]}" for name in on.answers if decision.counted.get(name))
    answer = representative(ballot.opinions(item), on, result.value)
    reason = f"{tally}: {answer.rationale}" if answer.rationale else tally
    quotes = (Quote(answer.quote, "judge"),) if answer.quote else ()
    return Score(
        result.value,
        reason,
        label,
        applicable=result.applicable,
        quotes=quotes,
        ballots=(ballot.id,),
        key=key,
    )


def representative(answers: Sequence[JudgeAnswer], on: Scale, value: float | None) -> JudgeAnswer:
    """Return the first answer that is nearest to the decided value. A value of None stands for "does not apply"."""
    if value is None:
        return next(answer for answer in answers if answer.answer in on.absent)
    return min(answers, key=lambda answer: abs(on.worth[answer.answer] - value) if answer.answer in on.worth else inf)


async def judge_pairs(
    trace: Trace,
    case: EvalCase,
    judge: Callable[[Invocation, Invocation, int], Awaitable[Score]],
    *,
    worst: float = 0.0,
    reads: Collection[Content] = DIALOGUE,
) -> Score:
    """Return the mean over the invocations of a fixed conversation that have a reference, all judged at once.

    `judge(actual, expected, index)` scores the pair at an index, from 0. An invocation that was never reached counts as
    `worst`. If a content that the judge `reads` is not recorded, the invocation is unscored.
    """
    conversation = case.conversation
    if not conversation:
        return NO_CONVERSATION if conversation is None else EMPTY_CONVERSATION

    async def score(index: int) -> Score:
        structural = structural_score(trace, case, index, excluded=no_reference, worst=worst)
        if structural is not None:
            return structural
        actual = trace.invocations[index]
        judged_score = _withheld(trace, [actual], reads) or await judge(actual, conversation[index], index)
        return replace(judged_score, key=invocation_key(index))

    return average_parts(await asyncio.gather(*map(score, positions(trace, case))))


async def judge_each(
    trace: Trace,
    judge: Callable[[Invocation, int], Awaitable[Score]],
    *,
    reads: Collection[Content] = DIALOGUE,
    reads_before: Collection[Content] = (),
) -> Score:
    """Return the mean over the recorded invocations, all judged at once.

    `judge(invocation, index)` scores one of them. Its index counts from 0. If a content that the judge `reads` of the
    invocation is not recorded, the invocation is unscored. `reads_before` are contents of all earlier invocations.
    """

    async def score(index: int) -> Score:
        invocation = trace.invocations[index]
        judged_score = (
            broke_here(trace, index)
            or _withheld(trace, [invocation], reads)
            or _withheld(trace, trace.invocations[:index], reads_before)
            or await judge(invocation, index)
        )
        return replace(judged_score, key=invocation_key(index))

    parts = await asyncio.gather(*map(score, range(len(trace.invocations))))
    return average_parts(parts) if parts else nothing_recorded(trace)


def unfit(trace: Trace, *, reads: Collection[Content] = DIALOGUE) -> Score | None:
    """Return the score of a conversation that cannot be judged as a whole: broken, empty, or not recorded in full.

    `reads` are the contents that the judge needs.
    """
    if trace.broken:
        return Score(None, f"the conversation broke: {trace.broken}")
    return _withheld(trace, trace.invocations, reads) if trace.invocations else Score(None, "no invocation is recorded")


def _withheld(trace: Trace, invocations: Sequence[Invocation], contents: Collection[Content]) -> Score | None:
    """Return the score for contents of some invocations that are not recorded, or None if they are recorded."""
    reason = missing_reason(replace(trace, invocations=tuple(invocations)), contents)
    return Score(None, reason, side="infrastructure") if reason else None
