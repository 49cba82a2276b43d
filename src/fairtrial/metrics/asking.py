"""How does a criterion ask a judge, and which score follows from the votes?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from msgspec.structs import replace

from fairtrial.judge.question import Question, answer_schema
from fairtrial.judge.voting import Rule, majority, middle
from fairtrial.llm.prompts import render
from fairtrial.metrics.judge_context import Texts
from fairtrial.metrics.pairing import (
    NO_CONVERSATION,
    broke_here,
    no_reference,
    nothing_recorded,
    positions,
    structural_score,
)
from fairtrial.records.ballot import Answer, Ballot, JudgeAnswer
from fairtrial.records.case import EvalCase
from fairtrial.records.record import Json
from fairtrial.records.score import PartKey, Quote, Score, invocation_key, mean_of
from fairtrial.records.trace import Invocation, Trace


@dataclass(frozen=True)
class Scale:
    """A closed set of answers: their values, the answers that mean "does not apply", and the rule of counting."""

    worth: Mapping[Answer, float]
    absent: tuple[Answer, ...]
    rule: Rule

    @property
    def answers(self) -> tuple[Answer, ...]:
        """All answers, in the order in which the judge sees them."""
        return (*self.worth, *self.absent)


def scale(yes: Sequence[Answer], no: Sequence[Answer], absent: Sequence[Answer] = ()) -> Scale:
    """Return the scale on which the majority decides between 1.0 and 0.0."""
    worth = dict.fromkeys(yes, 1.0) | dict.fromkeys(no, 0.0)
    return Scale(worth, tuple(absent), majority(yes, no, absent))


VALIDITY = scale(["valid"], ["invalid"])
RUBRIC = scale(["yes"], ["no"], ["not_applicable"])
GRADES = Scale({str(grade): float(grade) for grade in range(1, 6)}, (), middle({str(g): float(g) for g in range(1, 6)}))


def question(
    template: str,
    texts: Texts,
    items: Sequence[str],
    on: Scale,
    values: Mapping[str, Json] | None = None,
    *,
    quote: bool = False,
    marks: Sequence[str] = (),
    check: Callable[[str, JudgeAnswer], str] | None = None,
) -> Question:
    """Return the question that a template makes from texts. Its items have ids, under which the judge answers.

    `values` are further variables of the template, for example the names of the texts that are context.
    """
    shape = answer_schema(items, on.answers, quote=quote, marks=marks)
    prompt = render(template, texts, schema=shape, items=list(items), answers=list(on.answers), **(values or {}))
    return Question(prompt, tuple(items), on.answers, on.rule, tuple(marks), check)


def scored(ballot: Ballot, item: str, on: Scale, key: PartKey | None = None, *, label: str = "") -> Score:
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
    judge: Callable[[Invocation, Invocation], Awaitable[Score]],
    *,
    worst: float = 0.0,
) -> Score:
    """Return the mean over the invocations of a fixed conversation that have a reference, all judged at once.

    `judge(actual, expected)` scores a pair. An invocation that was never reached counts as `worst`.
    """
    conversation = case.conversation
    if conversation is None:
        return NO_CONVERSATION

    async def score(index: int) -> Score:
        structural = structural_score(trace, case, index, excluded=no_reference, worst=worst)
        if structural is not None:
            return structural
        judged_score = await judge(trace.invocations[index], conversation[index])
        return replace(judged_score, key=invocation_key(index))

    return mean_of(await asyncio.gather(*map(score, positions(trace, case))))


async def judge_each(trace: Trace, judge: Callable[[Invocation, int], Awaitable[Score]]) -> Score:
    """Return the mean over the recorded invocations, all judged at once.

    `judge(invocation, index)` scores one of them. Its index counts from 0.
    """

    async def score(index: int) -> Score:
        judged_score = broke_here(trace, index) or await judge(trace.invocations[index], index)
        return replace(judged_score, key=invocation_key(index))

    parts = await asyncio.gather(*map(score, range(len(trace.invocations))))
    return mean_of(parts) if parts else nothing_recorded(trace)


def unfit(trace: Trace) -> Score | None:
    """Return the score of a conversation that cannot be judged as a whole: broken, or empty."""
    if trace.broken:
        return Score(None, f"the conversation broke: {trace.broken}")
    return None if trace.invocations else Score(None, "no invocation is recorded")
