"""Does a model answer questions in form, how long does it take, and what does it cost?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from assay.data.case import EvalCase
from assay.data.noun import Noun
from assay.data.rubric import Rubric
from assay.data.trace import Invocation, Message, ToolCall, ToolResult, Trace
from assay.judge.judge import Judge
from assay.judge.judges import JudgeOptions, Judges
from assay.llm.provider import address, price
from assay.metrics.grounding import Hallucinations
from assay.metrics.response_evaluation import ResponseEvaluation
from assay.metrics.response_judged import FinalResponseMatch
from assay.metrics.rubrics import FinalResponseRubrics
from assay.metrics.safety import Safety
from assay.store import Store

_SAID = Invocation(
    Message("What will the weather be in Seoul tomorrow?"),
    (ToolCall("forecast", {"city": "Seoul"}), ToolResult("forecast", {"sky": "clear", "high": 21})),
    Message("It will be clear in Seoul tomorrow, up to 21 degrees.", "agent"),
)
_TRACE, _CASE = Trace((_SAID,)), EvalCase("ping", (_SAID,))
_KINDS: dict[str, Callable[[Judge], Any]] = {
    "valid or invalid": FinalResponseMatch,
    "yes, no or not applicable": lambda judge: FinalResponseRubrics(judge, (Rubric("polite", "The reply is polite."),)),
    "labels with quotes": Hallucinations,
    "hazards": Safety,
    "grades": ResponseEvaluation,
}


class Answered(Noun, frozen=True):
    """One question of one kind: whether it was answered in form, and what that took."""

    model: str
    kind: str
    problem: str
    asked: int
    seconds: float
    cost: float | None


def ping(judges: Judges) -> list[Answered]:
    """Ask each model one question of each kind; raises UsageError where a model cannot be called at all."""

    async def go() -> list[Answered]:
        judge = judges.judge(JudgeOptions(num_samples=1))
        async with judges.exchange:
            await judges.exchange.check()
            return [await _one(Judge((voter,), 1), kind) for voter in judge.panel for kind in _KINDS]

    return asyncio.run(go())


async def _one(judge: Judge, kind: str) -> Answered:
    held: list[Any] = []
    metric: Callable[[Trace, EvalCase], Awaitable[Any]] = _KINDS[kind](Judge(judge.panel, 1, keep=held.append))
    await metric(_TRACE, _CASE)
    calls, ballot = held[0].calls, held[0]
    costs = [call.cost for call in calls]
    problem = next(iter(ballot.votes[0].problems.values()), "")
    seconds = sum(call.seconds for call in calls)
    cost = sum(costs) if costs and None not in costs else None
    return Answered(judge.panel[0].name, kind, problem, len(calls), seconds, cost)


def cost_of(run_id: str, store: str, model: str) -> tuple[int, float | None]:
    """Return how many replies a run's judges gave, and what their tokens would cost with a model; None: not known."""
    opened = Store(store, create=False)
    try:
        run = opened.run(run_id).id
        replies = opened.replies(run)
        asked = {call.key for ballot in opened.ballots(run).values() for call in ballot.calls}
        tokens = [(one.input_tokens or 0, one.output_tokens or 0) for key in asked if (one := replies.get(key))]
    finally:
        opened.close()
    return len(tokens), price(address(model), sum(one for one, _ in tokens), sum(other for _, other in tokens))
