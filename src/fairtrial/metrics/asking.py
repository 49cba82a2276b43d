"""How does a criterion ask a judge, and what score does a ballot make?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from fairtrial.judge.question import Question, answer_schema
from fairtrial.judge.voting import Rule, majority, middle
from fairtrial.llm.prompts import render
from fairtrial.metrics.evidence import Texts
from fairtrial.metrics.pairing import NO_CONVERSATION, broke, nothing_of, slots
from fairtrial.records.ballot import Answer, Ballot, JudgeAnswer
from fairtrial.records.case import EvalCase
from fairtrial.records.record import Json
from fairtrial.records.score import Quote, Score, mean_of
from fairtrial.records.trace import Invocation, Trace


@dataclass(frozen=True)
class Scale:
    """A closed set of answers: what each is worth, which say that the item does not apply, and the rule of counting."""

    worth: Mapping[Answer, float]
    absent: tuple[Answer, ...]
    rule: Rule

    @property
    def answers(self) -> tuple[Answer, ...]:
        """All answers, in the order in which they are offered."""
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
    shown: Mapping[str, Json] | None = None,
    *,
    quote: bool = False,
    marks: Sequence[str] = (),
    check: Callable[[str, JudgeAnswer], str] | None = None,
) -> Question:
    """Return the question that a template makes of texts; its items are shown under their ids.

    `shown` is what else the template needs: which texts stand where, and words of our own.
    """
    shape = answer_schema(items, on.answers, quote=quote, marks=marks)
    prompt = render(template, texts, schema=shape, items=list(items), answers=list(on.answers), **(shown or {}))
    return Question(prompt, tuple(items), on.answers, on.rule, tuple(marks), check)


def scored(ballot: Ballot, item: str, on: Scale, label: str) -> Score:
    """Return the score of one item of a ballot: its result, and how it came about."""
    decision, opinions = ballot.decisions[item], ballot.opinions(item)
    result = decision.result
    if result.applicable and result.value is None:
        return Score(None, ballot.why_unscored(item), label, ballots=(ballot.id,), side="judge")
    tally = ", ".join(f"{answer} {decision.counted[answer]}" for answer in on.answers if decision.counted.get(answer))
    spoken = spokesman(opinions, on, result.value)
    reason = f"{tally}: {spoken.rationale}" if spoken.rationale else tally
    evidence = (Quote(spoken.quote, "judge"),) if spoken.quote else ()
    return Score(result.value, reason, label, applicable=result.applicable, evidence=evidence, ballots=(ballot.id,))


def spokesman(opinions: Sequence[JudgeAnswer], on: Scale, value: float | None) -> JudgeAnswer:
    """Return the first opinion that is nearest to what was decided; None stands for "does not apply"."""
    if value is None:
        return next(one for one in opinions if one.answer in on.absent)
    return min(opinions, key=lambda one: abs(on.worth[one.answer] - value) if one.answer in on.worth else 9.0)


async def compare_each(
    trace: Trace,
    case: EvalCase,
    compare: Callable[[Invocation, Invocation, int], Awaitable[Score]],
    *,
    worst: float = 0.0,
) -> Score:
    """Return the mean over the invocations of a fixed conversation that have a reference, all judged at once.

    `compare(actual, expected, number)` scores a pair, numbered from 1. Without a reference an invocation is not
    applicable, also where it was never reached.
    """
    if case.conversation is None:
        return NO_CONVERSATION

    async def one(number: int, actual: Invocation | None, expected: Invocation | None, settled: Score | None) -> Score:
        label = f"invocation {number}"
        if expected is not None and expected.final_response is None:
            return Score(applicable=False, reason="no reference", label=label)
        if settled is not None or actual is None or expected is None:
            return settled or Score(None, "not recorded", label)
        return replace(await compare(actual, expected, number), label=label)

    paired = enumerate(slots(trace, case, worst=worst), 1)
    return mean_of(
        await asyncio.gather(*(one(number, slot.actual, slot.expected, slot.settled) for number, slot in paired))
    )


async def judge_each(trace: Trace, judge: Callable[[Invocation, int], Awaitable[Score]]) -> Score:
    """Return the mean over the recorded invocations, all judged at once; `judge(invocation, number)` scores one."""

    async def one(i: int, invocation: Invocation) -> Score:
        label = f"invocation {i + 1}"
        if broke(trace, i):
            return Score(None, f"broke here: {trace.broken}", label)
        return replace(await judge(invocation, i + 1), label=label)

    parts = await asyncio.gather(*(one(i, invocation) for i, invocation in enumerate(trace.invocations)))
    return mean_of(parts) if parts else nothing_of(trace)


def unfit(trace: Trace) -> Score | None:
    """Return the score of a conversation that cannot be judged as a whole: broken, or empty."""
    if trace.broken:
        return Score(None, f"the conversation broke: {trace.broken}")
    return None if trace.invocations else Score(None, "no invocation is recorded")
