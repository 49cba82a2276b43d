"""The stages put together: load -> record -> score -> aggregate. The only place that knows two of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from assay.api.execute import Run, execute, reread
from assay.api.plan import Criteria, Paths, Plan, plan_run, plan_score, resume
from assay.api.valuing import shared_cache, value
from assay.data.case import EvalSet
from assay.data.recording import Recording
from assay.data.trace import Trace
from assay.load import Match

__all__ = [
    "Plan",
    "Run",
    "evaluate",
    "execute",
    "plan_run",
    "plan_score",
    "reread",
    "resume",
    "score",
    "shared_cache",
    "value",
]


def evaluate(
    eval_set: EvalSet | Paths,
    agent: str | Callable[..., Any],
    criteria: Criteria = None,
    *,
    attempts: int = 1,
    concurrency: int = 8,
    reply_timeout: float | None = None,
    only: Sequence[str] = (),
    store: str | None = None,
) -> Run:
    """Run an agent on every case of an eval set, and score what it does.

    `agent` is a function of the conversation so far, or `module:function`. `criteria` None takes the `test_config.json`
    beside each file, else ADK's defaults. `reply_timeout` is in seconds. `store` is a SQLAlchemy URL; None keeps the
    results for as long as the returned run lives. Raises UsageError before anything runs; afterwards nothing that an
    agent or a metric does raises.
    """
    plan = plan_run(
        eval_set,
        agent,
        criteria,
        attempts=attempts,
        concurrency=concurrency,
        reply_timeout=reply_timeout,
        only=only,
    )
    return execute(plan, store=store)


def score(
    recordings: Paths | Sequence[Recording | Trace],
    eval_set: EvalSet | Paths | None = None,
    criteria: Criteria = None,
    *,
    match: Match = "id",
    concurrency: int = 8,
    only: Sequence[str] = (),
    store: str | None = None,
) -> Run:
    """Score what was recorded elsewhere, against an eval set where the recordings do not hold their expectation.

    `match` says what belongs together: the case's id, the session's id, or the order. Everything else as in `evaluate`.
    """
    plan = plan_score(recordings, eval_set, criteria, match=match, concurrency=concurrency, only=only)
    return execute(plan, store=store)
