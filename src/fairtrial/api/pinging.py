"""Do a model's answers have the right form, how long do they take, and what do they cost?"""

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
from fairtrial.llm.address import address
from fairtrial.llm.model_pool import HasPanel, ModelPool
from fairtrial.llm.provider import price
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

_INVOCATION = Invocation(
    Message("What will the weather be in Seoul tomorrow?"),
    (ToolCall("forecast", {"city": "Seoul"}), ToolResult("forecast", {"sky": "clear", "high": 21})),
    Message("It will be clear in Seoul tomorrow, up to 21 degrees.", "agent"),
)
_TRACE, _CASE = Trace((_INVOCATION,)), EvalCase("ping", (_INVOCATION,))
_KINDS: dict[str, Callable[[Judge], Any]] = {
    "valid or invalid": FinalResponseMatch,
    "yes, no or not applicable": lambda judge: FinalResponseRubrics(judge, (Rubric("polite", "The reply is polite."),)),
    "labels with quotes": Hallucinations,
    "hazards": Safety,
    "grades": ResponseEvaluation,
}


class PingResult(Record, frozen=True):
    """The result of one question: the problem of its answer, or an empty string, and the calls that it needed."""

    model: str
    kind: str
    problem: str
    call_count: int
    seconds: float
    cost: float | None


def ping(judges: Judges, config: str | Path | None = None) -> list[PingResult]:
    """Ask each model that a configuration names, or the default model, one question of each kind.

    Raises UsageError if a model cannot be called at all.
    """
    with_panel: list[HasPanel] = [judges.judge()] if config is None else _judges_in(Path(config), judges)
    voters = {msgspec.json.encode(voter.signature): voter for judge in with_panel for voter in judge.panel}
    if not voters:
        raise ConfigError(f"{config}: has no criterion that asks a judge")

    async def ask_all() -> list[PingResult]:
        async with ModelPool(judges.models) as pool:
            connected = list(map(pool.connected, voters.values()))
            await pool.check()
            return [await _ask(Judge((voter,), 1), kind) for voter in connected for kind in _KINDS]

    return asyncio.run(ask_all())


def _judges_in(config: Path, judges: Judges) -> list[HasPanel]:
    """Return the judges that the criteria of a configuration ask."""
    criteria = criteria_in(config, judges=judges).criteria
    fields = [field for criterion in criteria for field in models_of(criterion.metric).values()]
    return [field for field in fields if isinstance(field, HasPanel)]


async def _ask(judge: Judge, kind: str) -> PingResult:
    ballots: list[Any] = []
    metric: Callable[[Trace, EvalCase], Awaitable[Any]] = _KINDS[kind](Judge(judge.panel, 1, keep=ballots.append))
    await metric(_TRACE, _CASE)
    ballot = ballots[0]
    calls = ballot.calls
    costs = [call.cost for call in calls]
    problem = next(iter(ballot.votes[0].problems.values()), "")
    seconds = sum(call.seconds for call in calls)
    cost = sum(costs) if costs and None not in costs else None
    return PingResult(judge.panel[0].name, kind, problem, len(calls), seconds, cost)


def cost_of(run_id: str, store: str, model: str) -> tuple[int, float | None]:
    """Return the number of replies of a run's judges, and the cost of their tokens with a model, if it is known."""
    run_store = Store(store, create=False)
    try:
        run = run_store.run(run_id).id
        replies = run_store.replies(run)
        keys = {call.key for ballot in run_store.ballots(run).values() for call in ballot.calls}
        tokens = [(reply.input_tokens or 0, reply.output_tokens or 0) for key in keys if (reply := replies.get(key))]
    finally:
        run_store.close()
    try:
        at = address(model)
    except ConfigError:  # a name that only its own server knows
        return len(tokens), None
    return len(tokens), price(
        at, sum(tokens_in for tokens_in, _ in tokens), sum(tokens_out for _, tokens_out in tokens)
    )
