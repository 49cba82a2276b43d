"""Does a model answer questions in form, how long does it take, and what does it cost?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from fairtrial.api.connection import models_of
from fairtrial.errors import ConfigError
from fairtrial.judge.judge import Judge
from fairtrial.judge.judges import Judges
from fairtrial.llm.model_pool import HasPanel, ModelPool
from fairtrial.llm.provider import address, price
from fairtrial.loading import criteria_in
from fairtrial.metrics.grounding import Hallucinations
from fairtrial.metrics.response_evaluation import ResponseEvaluation
from fairtrial.metrics.response_judged import FinalResponseMatch
from fairtrial.metrics.rubrics import FinalResponseRubrics
from fairtrial.metrics.safety import Safety
from fairtrial.records.case import EvalCase
from fairtrial.records.record import Record
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import Invocation, Message, ToolCall, ToolResult, Trace
from fairtrial.store import Store

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


class PingResult(Record, frozen=True):
    """One question of one kind: whether it was answered in form, and what that took."""

    model: str
    kind: str
    problem: str
    asked: int
    seconds: float
    cost: float | None


def ping(judges: Judges, config: str | Path | None = None) -> list[PingResult]:
    """Ask each model that a configuration names, or the default one, one question of each kind.

    Raises UsageError where a model cannot be called at all.
    """
    asked: list[HasPanel] = [judges.judge()] if config is None else _judges_in(Path(config), judges)
    voters = {msgspec.json.encode(voter.signature): voter for judge in asked for voter in judge.panel}
    if not voters:
        raise ConfigError(f"{config}: has no criterion that asks a judge")

    async def go() -> list[PingResult]:
        async with ModelPool(judges.models) as pool:
            connected = list(map(pool.connected, voters.values()))
            await pool.check()
            return [await _one(Judge((voter,), 1), kind) for voter in connected for kind in _KINDS]

    return asyncio.run(go())


def _judges_in(config: Path, judges: Judges) -> list[HasPanel]:
    """Return the judges that the criteria of a configuration ask."""
    criteria = criteria_in(config, judges=judges).criteria
    fields = [field for criterion in criteria for field in models_of(criterion.metric).values()]
    return [field for field in fields if isinstance(field, HasPanel)]


async def _one(judge: Judge, kind: str) -> PingResult:
    held: list[Any] = []
    metric: Callable[[Trace, EvalCase], Awaitable[Any]] = _KINDS[kind](Judge(judge.panel, 1, keep=held.append))
    await metric(_TRACE, _CASE)
    calls, ballot = held[0].calls, held[0]
    costs = [call.cost for call in calls]
    problem = next(iter(ballot.votes[0].problems.values()), "")
    seconds = sum(call.seconds for call in calls)
    cost = sum(costs) if costs and None not in costs else None
    return PingResult(judge.panel[0].name, kind, problem, len(calls), seconds, cost)


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
    try:
        at = address(model)
    except ConfigError:  # a name that only its own server knows
        return len(tokens), None
    return len(tokens), price(at, sum(one for one, _ in tokens), sum(other for _, other in tokens))
