"""Plan runs: read and check cases, criteria and models before anything runs."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from fairtrial import loading
from fairtrial.agents import find_agent
from fairtrial.api.arguments import check_numbers, check_source
from fairtrial.api.attempt_planning import derive_rules, options_in, with_counts
from fairtrial.api.eval_sets.eval_set_arguments import EvalSets, resolve_eval_set
from fairtrial.api.eval_sets.set_loading import Criteria, Notes, PreparedSets, list_names, load_sets
from fairtrial.api.model_warnings import model_warnings
from fairtrial.api.plan_options import READ, RUN, ReadOptions, RecordSource, RunOptions
from fairtrial.api.text_warnings import text_warnings
from fairtrial.config.attempt_options import AttemptOptions
from fairtrial.errors import UsageError, spell
from fairtrial.formats.datasets.column_roles import check_columns
from fairtrial.judge.judges import Judges
from fairtrial.loading.repository import ci_job, commit_of_folder
from fairtrial.metrics.signature import add_signature, signature
from fairtrial.recording.holding import DIRECT, Holding
from fairtrial.recording.isolation.isolation_checks import isolate
from fairtrial.records.run import RunInfo, now
from fairtrial.text.display import compact, shorten
from fairtrial.version import __version__

if TYPE_CHECKING:
    from fairtrial.analysis.sequential import SequentialGate
    from fairtrial.planned_case import PairedRecordings, PlannedCases
    from fairtrial.protocols import Agent
    from fairtrial.recording import OwnProcesses


@dataclass(frozen=True)
class Plan:
    """A run that has not started yet. All inputs are read and checked.

    `recorded` are the recordings to score, in `jobs` processes. If they are None, the run calls `agent`, `attempts`
    times for each case. `notes` say how tables were read. Failed cases with a suspect are repeated `diagnose` times.
    With `exit_first` the run stops at the first attempt that
    does not pass.
    """

    info: RunInfo
    cases: PlannedCases
    recorded: PairedRecordings | None = None
    agent: Agent | OwnProcesses | None = None
    attempts: int = 1
    concurrency: int = 8
    jobs: int = 1
    reply_timeout: float | None = None
    record: RecordSource = "messages"
    holding: Holding = DIRECT
    diagnose: int = 0
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    judges: Judges = field(default_factory=Judges)
    gate: SequentialGate | None = None
    exit_first: bool = False

    @property
    def total(self) -> int:
        """The number of attempts to score."""
        if self.recorded is not None:
            return len(self.recorded)
        return sum(case.attempts or self.attempts for case in self.cases)


def plan_run(
    eval_set: EvalSets | PreparedSets,
    agent: str | Callable[..., Any],
    criteria: Criteria = None,
    reading: ReadOptions = READ,
    run: RunOptions = RUN,
) -> Plan:
    """Read and check everything that `evaluate` needs. Raises UsageError.

    If the conversations are only recorded, and not scored, a configuration of criteria beside the eval set may stay
    unused.
    """
    from fairtrial.api.simulation import check_names, check_parts, check_reachable, with_environments, with_users

    attempt_choices = options_in(run.attempts)
    check_numbers(concurrency=run.concurrency, reply_timeout=run.reply_timeout)
    check_source(run.record)
    check_columns(reading.columns)
    eval_set = eval_set if isinstance(eval_set, PreparedSets) else resolve_eval_set(eval_set, reading.columns)
    judges = run.judges
    loaded_sets, notes = load_sets(eval_set, criteria, reading, judges, is_scored=run.is_scored)
    cases = loading.select_cases(loading.plan_cases(loaded_sets), loaded_sets, reading.case_ids)
    cases = with_counts(cases, loaded_sets, attempt_choices)
    most_attempts = max(case.attempts for case in cases)
    cases, user_signatures = with_users(cases, loaded_sets, run.users, judges.models)
    target = find_agent(agent)
    cases, tool_signatures, warnings = with_environments(
        cases, loaded_sets, run.environment, judges.models, lenient=reading.lenient
    )
    check_reachable(cases, target)
    check_parts(cases, target)
    for loaded_set in loaded_sets:
        check_names(loaded_set, judges.models)
    warnings += (*model_warnings(loaded_sets, judges, cases), *(text_warnings(loaded_sets) if run.is_scored else ()))
    arguments = {
        "paths": list_names(eval_set),
        "agent": agent if isinstance(agent, str) else getattr(agent, "__qualname__", type(agent).__qualname__),
        "only": reading.case_ids,
        **reading.manifest(criteria),
        "judge": judges.arguments,
        "attempts": most_attempts,
        "attempt_options": msgspec.to_builtins(attempt_choices),
        "reply_timeout": run.reply_timeout,
        **({} if run.record == "messages" else {"record": run.record}),
        **({"diagnose": run.diagnose} if run.diagnose else {}),
        **({} if run.holding == DIRECT else {"holding": run.holding.arguments}),
    }
    signatures = {"agent": signature(target), **user_signatures, **tool_signatures}
    info = run_info("run", arguments, notes, loaded_sets, signatures, attempt_choices)
    return Plan(
        info,
        tuple(cases),
        agent=isolate(agent, run.record, run.holding, target) if run.holding.has_processes else target,
        attempts=most_attempts,
        concurrency=run.concurrency,
        reply_timeout=run.reply_timeout,
        record=run.record,
        holding=run.holding,
        diagnose=run.diagnose,
        warnings=(*notes.warnings, *warnings),
        notes=notes.notes,
        judges=judges,
    )


def resume(plan: Plan, earlier: RunInfo) -> Plan:
    """Return the plan as a continuation of an earlier run.

    Raises UsageError with each difference of eval sets, configuration, agent, version and arguments between the two.
    The number of attempts may be larger.
    """
    new, old = _comparable(plan.info), _comparable(earlier)
    difference = "is not the same as in the run"
    changes = [
        f"{spell('resume')} {earlier.id}: {name} {difference}: {_short(new.get(name))}, was {_short(old.get(name))}"
        for name in {**old, **new}
        if new.get(name) != old.get(name)
    ]
    if changes:
        raise UsageError("\n".join(changes))
    attempts = int(earlier.config.get("attempts", 1))
    if plan.attempts < attempts:
        raise UsageError(
            f"{spell('resume')} {earlier.id}: {spell('attempts')} must be at least {attempts}, got {plan.attempts}",
            code="cannot-resume",
        )
    info = replace(plan.info, id=earlier.id, started=earlier.started, seconds=earlier.seconds)
    return Plan(**{**plan.__dict__, "info": info})


_MAY_DIFFER = ("git", "ci", "name", "tags", "attempts", "eval_set_ids", "attempt_options", "eval_sets", "criteria")
"""Keys of a manifest that a resumed run may change, or that are compared one by one."""


def _comparable(info: RunInfo) -> dict[str, Any]:
    config = {key: value for key, value in info.config.items() if key not in _MAY_DIFFER}
    config |= {f"eval set {path}": sha256 for path, sha256 in info.config["eval_sets"]}
    config |= {f"criteria of {origin}": sha256 or "given" for origin, sha256 in info.config["criteria"]}
    flat = {f"signature of {key}": value for key, value in info.signatures.items()}
    return {"version": info.version, "kind": info.kind, **config, **flat}


def _short(value: Any) -> str:
    return "absent" if value is None else shorten(compact(value), 200)


def run_info(
    kind: str,
    arguments: dict[str, Any],
    notes: Notes,
    loaded_sets: list[loading.LoadedSet],
    other_signatures: dict[str, Any],
    attempts: AttemptOptions = AttemptOptions(),  # noqa: B008  (a frozen record)
) -> RunInfo:
    """Return a new run with its manifest: the arguments, and the digests and signatures of all inputs.

    `other_signatures` are the signatures of the agent, the users and the environments.
    """
    signatures: dict[str, Any] = dict(other_signatures)
    for loaded_set in loaded_sets:
        for criterion in loaded_set.criteria:
            with_threshold = {**criterion.signature, "threshold": criterion.threshold}
            add_signature(signatures, criterion.name, with_threshold, eval_set_id=loaded_set.eval_set.id)
    config = {
        **arguments,
        "eval_sets": [list(pair) for pair in notes.eval_sets],
        "criteria": [list(pair) for pair in notes.origins],
        "informs": notes.informs,
        "defaults": list(notes.defaults),
        "git": commit_of_folder(),
        "ci": ci_job(),
        "eval_set_ids": [loaded_set.eval_set.id for loaded_set in loaded_sets],
        "attempt_rules": derive_rules(loaded_sets, attempts).to_json(),
    }
    if clusters := _clusters(loaded_sets):
        config["clusters"] = clusters
    return RunInfo(new_run_id(), now(), __version__, kind, config, signatures)


def _clusters(loaded_sets: Iterable[loading.LoadedSet]) -> dict[str, dict[str, str]]:
    """Return the clusters that cases declare, by eval set and case."""
    clusters: dict[str, dict[str, str]] = {}
    for loaded_set in loaded_sets:
        for case in loaded_set.eval_set.cases:
            if case.cluster:
                clusters.setdefault(loaded_set.eval_set.id, {})[case.id] = case.cluster
    return clusters


def new_run_id() -> str:
    """Return an id that begins with the time in UTC."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}"
