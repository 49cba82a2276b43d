"""Load eval sets with the criteria of their configurations, and what the readers note."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace

from fairtrial import loading
from fairtrial.api.arguments import check_criteria
from fairtrial.api.criterion_thresholds import Thresholds, with_thresholds
from fairtrial.config.criterion_options import parse_threshold
from fairtrial.config.eval_config import EvalConfig
from fairtrial.errors import ConfigError, UsageError, collecting
from fairtrial.formats.adk.config_file import config as read_config
from fairtrial.formats.adk.config_file import is_config
from fairtrial.formats.reading import Diagnostics
from fairtrial.metrics.custom.metric_functions import check_takes_two, decision_threshold, declares_bool
from fairtrial.metrics.signature import signature
from fairtrial.records.attempt_rule import ALL, MEAN, AttemptRule
from fairtrial.records.case import EvalSet
from fairtrial.records.decoding import json_decoder
from fairtrial.records.record import Record
from fairtrial.records.result import Criterion, Metric
from fairtrial.records.score import Range

if TYPE_CHECKING:
    from fairtrial.api.plan_options import ReadOptions
    from fairtrial.judge.judges import Judges

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
