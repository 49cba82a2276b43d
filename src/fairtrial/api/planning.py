"""What would a run do? Everything is read and checked before anything runs."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from fairtrial import loading
from fairtrial.agents import agent_of
from fairtrial.api.arguments import Paths, check_criteria, check_numbers, paths_of
from fairtrial.api.simulation import check_names, check_reachable, with_environments, with_users
from fairtrial.config.criterion_options import threshold_of
from fairtrial.config.eval_config import EvalConfig
from fairtrial.errors import ConfigError, UsageError
from fairtrial.formats.adk.config_file import config as read_config
from fairtrial.formats.reading import Diagnostics
from fairtrial.judge.judges import Judges
from fairtrial.metrics.custom import check_takes_two
from fairtrial.metrics.signature import add_signature, signature
from fairtrial.planned_case import Environments, PairedRecordings, PlannedCases, Users
from fairtrial.protocols import Agent
from fairtrial.records.case import EvalSet
from fairtrial.records.record import Record
from fairtrial.records.result import Criterion, Metric
from fairtrial.records.run import RunInfo
from fairtrial.records.score import Range
from fairtrial.text.display import compact, shortened
from fairtrial.version import __version__

N = TypeVar("N", bound=Record)

EVAL_SET = "eval_set must be an EvalSet, a path or several paths"

Criteria = str | Path | Mapping[str, "float | dict[str, Any] | Metric"] | Iterable[Criterion] | None
"""A config file, or what it holds; criteria by name with their threshold, options or function; criteria; or None for
what lies nearby."""


@dataclass(frozen=True)
class Plan:
    """A run before it runs: everything is read and checked.

    `recorded` are the recordings to score; None: `agent` is to be run, `attempts` times for each case.
    """

    info: RunInfo
    works: PlannedCases
    recorded: PairedRecordings | None = None
    agent: Agent | None = None
    attempts: int = 1
    concurrency: int = 8
    reply_timeout: float | None = None
    warnings: tuple[str, ...] = ()
    judges: Judges = field(default_factory=Judges)

    @property
    def total(self) -> int:
        """How many attempts there are to score."""
        return len(self.works) * self.attempts if self.recorded is None else len(self.recorded)


def plan_run(
    eval_set: EvalSet | Paths,
    agent: str | Callable[..., Any],
    criteria: Criteria = None,
    *,
    attempts: int = 1,
    concurrency: int = 8,
    reply_timeout: float | None = None,
    only: Sequence[str] = (),
    lenient: bool = False,
    judges: Judges | None = None,
    users: Users | None = None,
    environment: Environments | Mapping[str, Any] | None = None,
) -> Plan:
    """Read and check everything that `evaluate` needs. Raises UsageError."""
    check_numbers(attempts=attempts, concurrency=concurrency, reply_timeout=reply_timeout)
    only = [only] if isinstance(only, str) else only
    eval_set = eval_set if isinstance(eval_set, EvalSet) else paths_of(eval_set, EVAL_SET)
    judges = judges or Judges()
    wanted, notes = load_sets(eval_set, criteria, lenient=lenient, judges=judges)
    todo = loading.select_cases(loading.plan_cases(wanted), wanted, only)
    todo, signed = with_users(todo, wanted, users, judges.models)
    target = agent_of(agent)
    todo, also_signed, said = with_environments(todo, wanted, environment, judges.models, lenient=lenient)
    check_reachable(todo, target)
    for one in wanted:
        check_names(one, judges.models)
    arguments = {
        "paths": given_names(eval_set),
        "agent": agent if isinstance(agent, str) else getattr(agent, "__qualname__", type(agent).__qualname__),
        "config": str(criteria) if isinstance(criteria, str | Path) else None,
        "only": list(only),
        "lenient": lenient,
        "judge": judges.arguments,
        "attempts": attempts,
        "reply_timeout": reply_timeout,
    }
    info = run_info("run", arguments, notes, wanted, {"agent": signature(target), **signed, **also_signed})
    return Plan(
        info,
        tuple(todo),
        agent=target,
        attempts=attempts,
        concurrency=concurrency,
        reply_timeout=reply_timeout,
        warnings=(*notes.warnings, *said),
        judges=judges,
    )


def resume(plan: Plan, earlier: RunInfo) -> Plan:
    """Return the plan as a continuation of an earlier run.

    Raises UsageError naming the difference where eval sets, configuration, agent, version or arguments are not those of
    the earlier run; a larger number of attempts is no difference.
    """
    ours, theirs = _comparable(plan.info), _comparable(earlier)
    changed = [name for name in {**theirs, **ours} if ours.get(name) != theirs.get(name)]
    if changed:
        told = (
            f"{name} is not that of the run: {_short(ours.get(name))}, was {_short(theirs.get(name))}"
            for name in changed
        )
        raise UsageError("\n".join(f"--resume {earlier.id}: {one}" for one in told))
    before = int(earlier.config.get("attempts", 1))
    if plan.attempts < before:
        raise UsageError(f"--resume {earlier.id}: --attempts must be at least {before}, got {plan.attempts}")
    info = replace(plan.info, id=earlier.id, started=earlier.started, seconds=earlier.seconds)
    return Plan(**{**plan.__dict__, "info": info})


def _comparable(info: RunInfo) -> dict[str, Any]:
    config = {key: value for key, value in info.config.items() if key not in ("attempts", "eval_sets", "criteria")}
    config |= {f"eval set {path}": sha256 for path, sha256 in info.config["eval_sets"]}
    config |= {f"criteria of {origin}": sha256 or "given" for origin, sha256 in info.config["criteria"]}
    flat = {f"signature of {key}": value for key, value in info.signatures.items()}
    return {"version": info.version, "kind": info.kind, **config, **flat}


def _short(value: Any) -> str:
    return "absent" if value is None else shortened(compact(value), 200)


@dataclass(frozen=True)
class Notes:
    """The origins of cases and criteria, for the run's manifest, and the warnings of their readers."""

    eval_sets: tuple[tuple[str, str | None], ...] = ()
    origins: tuple[tuple[str, str | None], ...] = ()
    warnings: tuple[str, ...] = ()


def load_sets(
    eval_set: EvalSet | list[str | Path], criteria: Criteria, *, lenient: bool, judges: Judges
) -> tuple[list[loading.LoadedSet], Notes]:
    """Return eval sets with their criteria, and notes on both."""
    if isinstance(eval_set, EvalSet):
        made = _criteria(criteria, lenient=lenient, judges=judges) or loading.criteria_of(
            loading.DEFAULT_CONFIG, origin="defaults"
        )
        eval_set, digest = as_stored(eval_set, f"the eval set {eval_set.id!r}")
        notes = Notes(((eval_set.id, digest),), ((made.origin, made.sha256),), made.warnings)
        wanted = loading.LoadedSet(eval_set, made.criteria, (), made.user_simulator, made.environment)
        return [wanted], notes
    found = loading.sources(eval_set, lenient=lenient)
    return load_with_criteria(
        found, criteria, [source.loaded.eval_set or EvalSet("") for source in found], lenient=lenient, judges=judges
    )


def as_stored(noun: N, what: str) -> tuple[N, str]:
    """What was made in Python as a file would give it (a tuple is an array), and its SHA-256: a resume compares it."""
    try:
        data = msgspec.json.encode(noun)
        return msgspec.json.decode(data, type=type(noun)), hashlib.sha256(data).hexdigest()
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"{what} must hold JSON only: {error}") from error


def load_with_criteria(
    found: list[loading.Source], criteria: Criteria, sets: list[EvalSet], *, lenient: bool, judges: Judges
) -> tuple[list[loading.LoadedSet], Notes]:
    """Return an eval set for each file with the criteria for that file, and notes on both."""
    given = _criteria(criteria, lenient=lenient, judges=judges)
    made = [given or loading.criteria_for(source, lenient=lenient, judges=judges) for source in found]
    wanted = [
        loading.LoadedSet(one, criteria.criteria, source.only, criteria.user_simulator, criteria.environment)
        for one, criteria, source in zip(sets, made, found, strict=True)
    ]
    notes = Notes(
        tuple((source.loaded.path, source.sha256) for source in found),
        tuple(dict.fromkeys((one.origin, one.sha256) for one in made)),
        (*warnings_of(found), *dict.fromkeys(warning for one in made for warning in one.warnings)),
    )
    return wanted, notes


def warnings_of(found: list[loading.Source]) -> tuple[str, ...]:
    """Return the warnings of the readers of files."""
    return tuple(warning for source in found for warning in source.loaded.warnings)


def _criteria(criteria: Criteria, *, lenient: bool, judges: Judges) -> loading.Criteria | None:
    check_criteria(criteria)
    if criteria is None:
        return None
    if isinstance(criteria, str | Path):
        return loading.criteria_in(Path(criteria), lenient=lenient, judges=judges)
    if not isinstance(criteria, Mapping):
        return loading.Criteria(_listed(list(criteria)), "arguments")
    own = {name: entry for name, entry in criteria.items() if callable(entry)}
    named = {name: entry for name, entry in criteria.items() if name not in own}
    reading = Diagnostics("criteria")
    whole = named if isinstance(named.get("criteria"), Mapping) else {"criteria": named}
    config = read_config(whole, reading) if named else EvalConfig(())
    reading.finish()
    functions = tuple(_checked(Criterion(name, function)) for name, function in own.items())
    return loading.criteria_of(config, origin="arguments", own=functions, lenient=lenient, judges=judges)


def _listed(criteria: Sequence[Criterion]) -> tuple[Criterion, ...]:
    """Criteria that were made in Python, with the mistakes found that a config would be refused for."""
    if not criteria:
        raise ConfigError("arguments: criteria: must hold at least one criterion")
    seen: set[str] = set()
    for one in criteria:
        if not isinstance(one, Criterion):
            raise ConfigError(f"arguments: criteria: must hold objects of the class Criterion, got {one!r:.80}")
        if one.name in seen:
            raise ConfigError(f"arguments: criteria: the name {one.name!r} stands there twice")
        seen.add(one.name)
    return tuple(map(_checked, criteria))


def _checked(one: Criterion) -> Criterion:
    place = f"arguments: criteria: {one.name}"
    check_takes_two(one.metric, f"{place}: metric")
    if not isinstance(one.range, Range):
        raise ConfigError(f"{place}: range: must be a Range, such as Range(0, 10), got {one.range!r:.80}")
    if one.threshold is not None:
        one = replace(one, threshold=threshold_of(one.threshold, one.range, f"{place}: threshold"))
    return _signed(one)


def _signed(criterion: Criterion) -> Criterion:
    return replace(criterion, signature=criterion.signature or signature(criterion.metric))


def given_names(eval_set: EvalSet | list[str | Path]) -> list[str]:
    """Return the id of an eval set, or the paths of files, for the run's manifest."""
    return [eval_set.id] if isinstance(eval_set, EvalSet) else list(map(str, eval_set))


def run_info(
    kind: str, arguments: dict[str, Any], notes: Notes, wanted: list[loading.LoadedSet], more: dict[str, Any]
) -> RunInfo:
    """Return a new run with its manifest: the arguments, and the digests and signatures of all inputs."""
    signatures: dict[str, Any] = dict(more)
    for one in wanted:
        for criterion in one.criteria:
            signed = {**criterion.signature, "threshold": criterion.threshold}
            add_signature(signatures, criterion.name, signed, eval_set_id=one.eval_set.id)
    config = {
        **arguments,
        "eval_sets": [list(pair) for pair in notes.eval_sets],
        "criteria": [list(pair) for pair in notes.origins],
    }
    return RunInfo(_run_id(), now(), __version__, kind, config, signatures)


def _run_id() -> str:
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}"


def now() -> str:
    """Return the time as ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
