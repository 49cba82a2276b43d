"""Evaluate agents on eval sets, and score recordings: plan a run and execute it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from fairtrial.api.execution import execute, execute_in_loop
from fairtrial.api.notebook_progress import show_bar
from fairtrial.api.plan_options import ReadOptions, RecordSource, RunOptions
from fairtrial.api.planning import Plan, plan_run
from fairtrial.api.score_planning import plan_score
from fairtrial.formats.conversation.options import DEFAULTS, TraceOptions
from fairtrial.formats.reading import NO_COLUMNS
from fairtrial.judge.judges import Judges
from fairtrial.recording.holding import DIRECT, Holding
from fairtrial.system.paths import name_store

if TYPE_CHECKING:
    from pathlib import Path

    from fairtrial.api.arguments import Paths
    from fairtrial.api.attempt_planning import Attempts
    from fairtrial.api.eval_sets.eval_set_arguments import EvalSets
    from fairtrial.api.eval_sets.set_loading import Criteria
    from fairtrial.api.stored_runs import Run
    from fairtrial.loading import Match
    from fairtrial.planned_case import Environments, Users
    from fairtrial.records.attempt import Recording
    from fairtrial.records.trace import Trace

Arguments = ParamSpec("Arguments")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class PlannedRun:
    """A run that is ready to begin, its store, and the id of the run whose replies it reuses."""

    plan: Plan
    store: str | None
    reuse: str | None


def _run_now(planner: Callable[Arguments, PlannedRun], name: str) -> Callable[Arguments, Run]:
    """Return the public function `name`, which plans a run as `planner` does, and runs it to its end."""

    @wraps(planner)
    def run(*args: Arguments.args, **options: Arguments.kwargs) -> Run:
        ready = planner(*args, **options)
        with show_bar(ready.plan.total) as on_result:
            return execute(ready.plan, store=ready.store, on_result=on_result, reuse=ready.reuse)

    planner.__qualname__ = name  # Python's message about a wrong argument begins with it.
    return _publish(run, planner, name, planner.__doc__)


def _run_in_loop(
    planner: Callable[Arguments, PlannedRun], name: str, doc: str
) -> Callable[Arguments, Coroutine[Any, Any, Run]]:
    """Return the public function `name`, which plans a run as `planner` does, and runs it in the running event loop."""

    @wraps(planner)
    async def run(*args: Arguments.args, **options: Arguments.kwargs) -> Run:
        ready = planner(*args, **options)
        with show_bar(ready.plan.total) as on_result:
            return await execute_in_loop(ready.plan, store=ready.store, on_result=on_result, reuse=ready.reuse)

    return _publish(run, planner, name, doc)


def _publish(function: F, planner: Callable[..., PlannedRun], name: str, doc: str | None) -> F:
    """Return a function under its public name, so that `help`, the messages of Python and pickles name it so."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__signature__ = signature(planner).replace(return_annotation="Run")  # type: ignore[attr-defined]
    return function


def _plan_evaluate(
    eval_set: EvalSets,
    agent: str | Callable[..., Any],
    criteria: Criteria = None,
    *,
    attempts: Attempts = None,
    concurrency: int = 8,
    reply_timeout: float | None = None,
    only: Sequence[str] = (),
    columns: Mapping[str, str] = NO_COLUMNS,
    store: str | Path | None = None,
    judges: Judges | None = None,
    users: Users | None = None,
    environment: Environments | Mapping[str, Any] | None = None,
    reuse: str | None = None,
    allow_code: bool = False,
    record: RecordSource = "messages",
    holding: Holding = DIRECT,
    diagnose: int = 0,
) -> PlannedRun:
    """Run an agent on every case of an eval set, and score its conversations.

    `eval_set` is a file or several, an `EvalSet`, or a list of objects of the class `Case`, of dicts with the columns
    of a table, or of pairs such as `("What is the capital of France?", "Paris")`.

    `attempts` is the number of conversations per case, or options such as `{"count": 10, "pass": "mean"}`.

    `agent` is a function of the conversation so far, `module:function`, or an object with the protocol `Agent`.
    If `criteria` is None, they are in the `test_config.json` beside each file, or are ADK's defaults. `reply_timeout`
    is in seconds. `columns` names the columns of a table, for example `{"input": "question"}`; others are guessed.
    `store` is a SQLAlchemy URL, or the path of a file. Without a store, the results live as long as the returned run.

    `judges` names the models that judge. `users` play the users of scenarios instead of the configuration's
    `user_simulator_config`. `environment` answers tool calls instead of its `environment_simulation_config`. It is a
    mapping of the same options, or a function of a case and an attempt that returns an environment. `reuse` is the id
    of a stored run; equal questions get the judges' replies of that run.
    `allow_code` lets code run that stands in a configuration of agents-cli; without it such a configuration is refused.
    With `record="spans"`, conversations also hold the contents of the spans of OpenTelemetry that the agent writes, for
    example the calls of any SDK in a function.
    `holding` says how conversations are held, for example `Holding(isolation="process")`.
    `diagnose` is a number of repetitions. Failed cases are repeated so often with each suspect beside the agent and
    without it, for example without an injection, and the notes of the run name the side at fault with a probability.

    Raises UsageError before anything runs. During the run, an exception of an agent or a metric becomes a failure or an
    unscored outcome.
    """
    reading = ReadOptions(only=only, columns=columns, allow_code=allow_code)
    run = RunOptions(
        attempts,
        concurrency,
        1,
        reply_timeout,
        judges or Judges(),
        users,
        environment,
        record=record,
        holding=holding,
        diagnose=diagnose,
    )
    return PlannedRun(plan_run(eval_set, agent, criteria, reading, run), name_store(store), reuse)


def _plan_score(
    recordings: Paths | Iterable[Recording | Trace],
    eval_set: EvalSets | None = None,
    criteria: Criteria = None,
    *,
    match: Match = "id",
    concurrency: int = 8,
    jobs: int = 1,
    only: Sequence[str] = (),
    columns: Mapping[str, str] = NO_COLUMNS,
    store: str | Path | None = None,
    judges: Judges | None = None,
    reuse: str | None = None,
    allow_code: bool = False,
    traces: TraceOptions = DEFAULTS,
    max_incomplete: float | None = None,
) -> PlannedRun:
    """Score recordings of an agent. An eval set is needed if the recordings do not contain their expectation.

    `match` is the property that a recording shares with its case: the case's id, the session's id, the first text of
    the user, or the order. `traces` says how traces of other tools become conversations.
    `max_incomplete` is the largest share of recordings that may not be read in full: 0.01.
    `jobs` is the number of processes that score. With more than 1, criteria cannot ask models, and functions must be
    importable. The other arguments are those of `evaluate`.
    """
    reading = ReadOptions(
        only=only,
        columns=columns,
        allow_code=allow_code,
        match=match,
        traces=traces,
        max_incomplete=max_incomplete,
    )
    run = RunOptions(concurrency=concurrency, jobs=jobs, judges=judges or Judges())
    return PlannedRun(plan_score(recordings, eval_set, criteria, reading, run), name_store(store), reuse)


evaluate = _run_now(_plan_evaluate, "evaluate")
score = _run_now(_plan_score, "score")
aevaluate = _run_in_loop(
    _plan_evaluate,
    "aevaluate",
    """Run an agent as `evaluate` does, in the running event loop, for example in a notebook.

    Objects that belong to the loop, for example the client of an agent, can be used by the agent.
    """,
)
ascore = _run_in_loop(_plan_score, "ascore", "Score recordings as `score` does, in the running event loop.")
