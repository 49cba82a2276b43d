"""The stages put together: load -> record -> score -> aggregate. The only place that knows two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairtrial.api.arguments import Paths, paths_of
from fairtrial.api.checking import Checked, check
from fairtrial.api.conversations import write_recordings
from fairtrial.api.execution import Run, execute, reread, runs
from fairtrial.api.new_scenarios import scenarios
from fairtrial.api.planning import Criteria, Plan, plan_run, plan_score, resume
from fairtrial.api.valuing import shared_cache, value
from fairtrial.errors import FormatError, UsageError
from fairtrial.formats.adk.write import dumps
from fairtrial.judge.judges import Judges
from fairtrial.loading import Match, as_recording, read_file, recordings_of, sources
from fairtrial.planned_case import Environments, Users
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalSet
from fairtrial.records.trace import Trace

__all__ = [
    "Checked",
    "Plan",
    "Run",
    "check",
    "evaluate",
    "execute",
    "load_eval_set",
    "load_recordings",
    "plan_run",
    "plan_score",
    "reread",
    "resume",
    "runs",
    "save_eval_set",
    "scenarios",
    "score",
    "shared_cache",
    "value",
    "write_recordings",
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


def load_eval_set(path: str | Path, *, lenient: bool = False) -> EvalSet:
    """Return the eval set in a file of any format that we read; raises FormatError with every problem in it."""
    loaded, _ = read_file(Path(path), lenient=lenient)
    if loaded.eval_set is None:
        raise FormatError(str(path), [f"holds {loaded.kind}, where an eval set is needed"])
    return loaded.eval_set


def save_eval_set(eval_set: EvalSet, path: str | Path) -> None:
    """Write an eval set in ADK's current schema, whatever it was read from; unknown keys are written back."""
    try:
        data = dumps(eval_set)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the eval set {eval_set.id!r} must hold JSON only: {error}") from error
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None


def load_recordings(paths: Paths, *, lenient: bool = False) -> list[Recording]:
    """Return what files recorded, in order; raises UsageError with every problem in them."""
    found = sources(paths_of(paths, "paths must be a path or several"), lenient=lenient, recorded=True)
    return list(map(as_recording, recordings_of(found)))
