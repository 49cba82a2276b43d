"""Plan runs: read and check cases, criteria and models before anything runs."""

from __future__ import annotations

import hashlib
import math
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from fairtrial import loading
from fairtrial.agents import find_agent
from fairtrial.analysis.sequential import SequentialGate
from fairtrial.api.arguments import check_criteria, check_numbers, check_source
from fairtrial.api.attempt_planning import derive_rules, options_in, with_counts
from fairtrial.api.criterion_thresholds import Thresholds, with_thresholds
from fairtrial.api.eval_sets.eval_set_arguments import EvalSets, resolve_eval_set
from fairtrial.api.model_warnings import model_warnings
from fairtrial.api.plan_options import READ, RUN, ReadOptions, RecordSource, RunOptions
from fairtrial.api.text_warnings import text_warnings
from fairtrial.config.attempt_options import AttemptOptions
from fairtrial.config.criterion_options import parse_threshold
from fairtrial.config.eval_config import EvalConfig
from fairtrial.errors import ConfigError, UsageError, collecting, spell
from fairtrial.formats.adk.config_file import config as read_config
from fairtrial.formats.adk.config_file import is_config
from fairtrial.formats.datasets.column_roles import check_columns
from fairtrial.formats.reading import Diagnostics
from fairtrial.judge.judges import Judges
from fairtrial.loading.repository import commit_of_folder
from fairtrial.metrics.custom.metric_functions import check_takes_two, decision_threshold, declares_bool
from fairtrial.metrics.signature import add_signature, signature
from fairtrial.planned_case import PairedRecordings, PlannedCases
from fairtrial.protocols import Agent
from fairtrial.recording import OwnProcesses
from fairtrial.recording.holding import DIRECT, Holding
from fairtrial.recording.isolation.isolation_checks import isolate
from fairtrial.records.attempt_rule import ALL, MEAN, AttemptRule
from fairtrial.records.case import EvalSet
from fairtrial.records.decoding import json_decoder
from fairtrial.records.record import Record
from fairtrial.records.result import Criterion, Metric
from fairtrial.records.run import RunInfo
from fairtrial.records.score import Range
from fairtrial.text.display import compact, shorten
from fairtrial.version import __version__

N = TypeVar("N", bound=Record)
_ADK_KINDS = (
    "eval set",
    "eval set result",
    "session",
    "scenarios",
    "test file (old list form)",
    "eval set (old list form)",
)
"""The kinds of files of ADK, whose rule for several attempts is the mean of each criterion."""

Criteria = str | Path | Mapping[str, "float | dict[str, Any] | Metric"] | Iterable[Criterion] | None
"""A config file or its content, criteria by name with their threshold, options or function, or a list of criteria.

None stands for the nearest test_config.json."""


@dataclass(frozen=True)
class PreparedSets:
    """Eval sets that were read and changed, for example for the variants of a skill, and the origins of their files."""

    sets: tuple[EvalSet, ...]
    origins: tuple[tuple[str, str | None], ...]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


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
    warnings += (*model_warnings(loaded_sets, judges, cases), *text_warnings(loaded_sets))
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
        agent=isolate(agent, run.record, run.holding) if run.holding.has_processes else target,
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
            f"{spell('resume')} {earlier.id}: {spell('attempts')} must be at least {attempts}, got {plan.attempts}"
        )
    info = replace(plan.info, id=earlier.id, started=earlier.started, seconds=earlier.seconds)
    return Plan(**{**plan.__dict__, "info": info})


_MAY_DIFFER = ("git", "name", "tags", "attempts", "eval_set_ids", "attempt_options", "eval_sets", "criteria")
"""Keys of a manifest that a resumed run may change, or that are compared one by one."""


def _comparable(info: RunInfo) -> dict[str, Any]:
    config = {key: value for key, value in info.config.items() if key not in _MAY_DIFFER}
    config |= {f"eval set {path}": sha256 for path, sha256 in info.config["eval_sets"]}
    config |= {f"criteria of {origin}": sha256 or "given" for origin, sha256 in info.config["criteria"]}
    flat = {f"signature of {key}": value for key, value in info.signatures.items()}
    return {"version": info.version, "kind": info.kind, **config, **flat}


def _short(value: Any) -> str:
    return "absent" if value is None else shorten(compact(value), 200)


@dataclass(frozen=True)
class Notes:
    """The origins of cases and criteria, for the run's manifest, and the warnings of their readers.

    `notes` say how tables were read. `informs` is true if no configuration is of a kind that can state thresholds.
    `defaults` are the names of the criteria that neither a configuration nor the caller asked for.
    """

    eval_sets: tuple[tuple[str, str | None], ...] = ()
    origins: tuple[tuple[str, str | None], ...] = ()
    warnings: tuple[str, ...] = ()
    informs: bool = False
    notes: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()


def load_sets(
    eval_set: EvalSet | PreparedSets | list[str | Path],
    criteria: Criteria,
    reading: ReadOptions,
    judges: Judges,
    *,
    is_scored: bool = True,
) -> tuple[list[loading.LoadedSet], Notes]:
    """Return eval sets with their criteria, and notes on both."""
    if isinstance(eval_set, PreparedSets):
        loaded = _criteria(criteria, reading, judges)
        if loaded is None:
            raise UsageError("prepared eval sets need criteria")
        stored = [as_stored(own, f"the eval set {own.id!r}")[0] for own in eval_set.sets]
        notes = Notes(
            eval_set.origins,
            ((loaded.origin, loaded.sha256),),
            (*eval_set.warnings, *loaded.warnings),
            loaded.informs,
            eval_set.notes,
        )
        return with_thresholds([_with_criteria(own, loaded) for own in stored], reading.thresholds), notes
    if isinstance(eval_set, EvalSet):
        loaded = _criteria(criteria, reading, judges) or loading.join_criteria(
            loading.DEFAULT_CONFIG, origin=loading.DEFAULTS
        )
        eval_set, digest = as_stored(eval_set, f"the eval set {eval_set.id!r}")
        notes = Notes(
            ((eval_set.id, digest),),
            ((loaded.origin, loaded.sha256),),
            loaded.warnings,
            loaded.informs,
            defaults=_defaults([loaded], reading.thresholds),
        )
        return with_thresholds([_with_criteria(eval_set, loaded)], reading.thresholds), notes
    files = loading.sources(eval_set, lenient=reading.lenient, columns=reading.columns)
    sets = [file.loaded.eval_set or EvalSet("") for file in files]
    return load_with_criteria(files, criteria, sets, reading, judges, is_scored=is_scored)


def as_stored(record: N, subject: str) -> tuple[N, str]:
    """Return a record of the caller as a file would give it, for example lists as tuples, and its SHA-256.

    `subject` names it in messages. A resumed run compares the SHA-256.
    """
    try:
        data = msgspec.json.encode(record)
        return json_decoder(type(record)).decode(data), hashlib.sha256(data).hexdigest()
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"{subject} must hold JSON only: {error}") from error


def load_with_criteria(
    files: list[loading.Source],
    criteria: Criteria,
    sets: list[EvalSet],
    reading: ReadOptions,
    judges: Judges,
    *,
    is_scored: bool = True,
) -> tuple[list[loading.LoadedSet], Notes]:
    """Return an eval set for each file with the criteria for that file, and notes on both."""
    same_for_all = _criteria(criteria, reading, judges)
    options: dict[str, Any] = {"lenient": reading.lenient, "allow_code": reading.allow_code, "judges": judges}
    config_criteria = [same_for_all or loading.criteria_for(file, **options, is_scored=is_scored) for file in files]
    loaded_sets = [
        _with_criteria(eval_set, criteria, file.only, MEAN if file.loaded.kind in _ADK_KINDS else ALL)
        for eval_set, criteria, file in zip(sets, config_criteria, files, strict=True)
    ]
    notes = Notes(
        tuple((file.loaded.path, file.sha256) for file in files),
        tuple(dict.fromkeys((criteria.origin, criteria.sha256) for criteria in config_criteria)),
        (
            *collect_warnings(files),
            *dict.fromkeys(warning for criteria in config_criteria for warning in criteria.warnings),
        ),
        all(criteria.informs for criteria in config_criteria),
        collect_notes(files),
        _defaults(config_criteria, reading.thresholds),
    )
    return with_thresholds(loaded_sets, reading.thresholds), notes


def _defaults(configs: Sequence[loading.Criteria], thresholds: Thresholds) -> tuple[str, ...]:
    """Return the names of the default criteria that nobody asks for, neither elsewhere nor with a threshold."""
    by_default: dict[str, None] = {}
    asked_names = set(thresholds)
    for config in configs:
        names = [criterion.name for criterion in config.criteria]
        if config.origin == loading.DEFAULTS:
            by_default |= dict.fromkeys(names)
        else:
            asked_names |= set(names)
    return tuple(name for name in by_default if name not in asked_names)


def _with_criteria(
    eval_set: EvalSet, criteria: loading.Criteria, only: tuple[str, ...] = (), default_rule: AttemptRule = ALL
) -> loading.LoadedSet:
    users, tools = criteria.user_simulator, criteria.environment
    pointers, attempts = criteria.model_pointers, criteria.attempts
    return loading.LoadedSet(eval_set, criteria.criteria, only, users, tools, pointers, attempts, default_rule)


def collect_warnings(files: list[loading.Source]) -> tuple[str, ...]:
    """Return the warnings of the readers of files."""
    return tuple(warning for file in files for warning in file.loaded.warnings)


def collect_notes(files: Sequence[loading.Source]) -> tuple[str, ...]:
    """Return the notes of the readers of files, which say how tables were read."""
    return tuple(note for file in files for note in file.loaded.notes)


def _criteria(criteria: Criteria, reading: ReadOptions, judges: Judges) -> loading.Criteria | None:
    check_criteria(criteria)
    if criteria is None:
        return None
    if isinstance(criteria, str | Path):
        return loading.criteria_in(
            Path(criteria), lenient=reading.lenient, allow_code=reading.allow_code, judges=judges
        )
    if not isinstance(criteria, Mapping):
        return loading.Criteria(_check_all(list(criteria)), "arguments")
    functions = {name: entry for name, entry in criteria.items() if callable(entry)}
    entries = {name: entry for name, entry in criteria.items() if name not in functions}
    diagnostics = Diagnostics("arguments", lenient=reading.lenient)
    content = entries if is_config(entries) else {"criteria": entries}
    config = read_config(content, diagnostics) if entries else EvalConfig(())
    own = tuple(_check(Criterion(name, function)) for name, function in functions.items())
    problems = [f"arguments: {problem}" for problem in diagnostics.errors]
    if problems and not (config.criteria or own):
        raise ConfigError(*problems)
    with collecting(problems):
        loaded = loading.join_criteria(config, origin="arguments", own=own, lenient=reading.lenient, judges=judges)
    if problems:
        raise ConfigError(*problems)
    return replace(loaded, warnings=(*diagnostics.warnings, *loaded.warnings))


def _check_all(criteria: Sequence[Criterion]) -> tuple[Criterion, ...]:
    """Return criteria of the caller. They are refused for the same mistakes as a config."""
    if not criteria:
        raise ConfigError("arguments: criteria: must hold at least one criterion")
    names: set[str] = set()
    for criterion in criteria:
        if not isinstance(criterion, Criterion):
            raise ConfigError(f"arguments: criteria: must hold objects of the class Criterion, got {criterion!r:.80}")
        if criterion.name in names:
            raise ConfigError(f"arguments: criteria: the name {criterion.name!r} stands there twice")
        names.add(criterion.name)
    return tuple(map(_check, criteria))


def _check(criterion: Criterion) -> Criterion:
    """Return a criterion of the caller with its threshold as a number, and with its signature."""
    place = f"arguments: criteria: {criterion.name}"
    check_takes_two(criterion.metric, f"{place}: metric")
    if not isinstance(criterion.range, Range):
        raise ConfigError(f"{place}: range: must be a Range, such as Range(0, 10), got {criterion.range!r:.80}")
    for end in (criterion.range.low, criterion.range.high):
        if end is not None and not math.isfinite(end):
            raise ConfigError(f"{place}: range: an end must be a number, or None if there is no end, got {end}")
    threshold = criterion.threshold
    if threshold is not None:
        threshold = parse_threshold(threshold, criterion.range, f"{place}: threshold")
    elif declares_bool(criterion.metric):
        threshold = decision_threshold(criterion)
    return replace(criterion, threshold=threshold, signature=criterion.signature or signature(criterion.metric))


def list_names(eval_set: EvalSet | PreparedSets | list[str | Path]) -> list[str]:
    """Return the id of an eval set, or the paths of files, for the run's manifest."""
    if isinstance(eval_set, PreparedSets):
        return [path for path, _ in eval_set.origins]
    return [eval_set.id] if isinstance(eval_set, EvalSet) else list(map(str, eval_set))


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


def now() -> str:
    """Return the time as ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
