"""What does an agent score on an eval set, or what do recordings score? Plans a run and executes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fairtrial.api.arguments import Paths
from fairtrial.api.execution import execute
from fairtrial.api.planning import Criteria, plan_run
from fairtrial.api.score_planning import plan_score
from fairtrial.api.stored_runs import Run
from fairtrial.judge.judges import Judges
from fairtrial.loading import Match
from fairtrial.planned_case import Environments, Users
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalSet
from fairtrial.records.trace import Trace


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
    judges: Judges | None = None,
    users: Users | None = None,
    environment: Environments | Mapping[str, Any] | None = None,
    reuse: str | None = None,
) -> Run:
    """Run an agent on every case of an eval set, and score what it does.

    `agent` is a function of the conversation so far, `module:function`, or anything with the shape of the seam `Agent`.
    `criteria` None takes the `test_config.json` beside each file, else ADK's defaults. `reply_timeout` is in seconds.
    `store` is a SQLAlchemy URL; None keeps the results for as long as the returned run lives. `judges` says which
    models judge, and how; `users` play the users of scenarios, in place of what the configuration says
    (`user_simulator_config`). `environment` stands between the agent and its tools, in place of what the configuration
    says (`environment_simulation_config`): such a mapping, or what makes an environment for a case and an attempt.
    `reuse` is the id of a run of the store whose judges' replies are taken again. Raises UsageError before anything
    runs; afterwards nothing that an agent or a metric does raises.
    """
    plan = plan_run(
        eval_set,
        agent,
        criteria,
        attempts=attempts,
        concurrency=concurrency,
        reply_timeout=reply_timeout,
        only=only,
        judges=judges,
        users=users,
        environment=environment,
    )
    return execute(plan, store=store, reuse=reuse)


def score(
    recordings: Paths | Iterable[Recording | Trace],
    eval_set: EvalSet | Paths | None = None,
    criteria: Criteria = None,
    *,
    match: Match = "id",
    concurrency: int = 8,
    only: Sequence[str] = (),
    store: str | None = None,
    judges: Judges | None = None,
    reuse: str | None = None,
) -> Run:
    """Score what was recorded elsewhere, against an eval set where the recordings do not hold their expectation.

    `match` says what belongs together: the case's id, the session's id, or the order. Everything else as in `evaluate`.
    """
    plan = plan_score(recordings, eval_set, criteria, match=match, concurrency=concurrency, only=only, judges=judges)
    return execute(plan, store=store, reuse=reuse)
