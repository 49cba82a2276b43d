"""Which criteria does a configuration describe?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from fairtrial.config.criterion_options import read_criterion
from fairtrial.config.custom_metric_options import CustomMetricOptions
from fairtrial.config.eval_config import ConfigPart, EvalConfig
from fairtrial.config.reader import OptionError, OptionReader, file_pointer
from fairtrial.errors import ConfigError, collecting, nearest
from fairtrial.judge.judges import Judges
from fairtrial.llm.vertex_service import NAME as VERTEX
from fairtrial.llm.vertex_service import configured, installed
from fairtrial.metrics.custom import PeerMetric, import_metric
from fairtrial.metrics.entries import CATALOG, CatalogEntry, Served
from fairtrial.metrics.shared_options import BACKEND, INTERIM, JUDGE
from fairtrial.metrics.signature import signature
from fairtrial.records.result import Criterion, Metric

CriterionWithWarnings = tuple[Criterion, list[str]]
"""A criterion, and the warnings of its entry."""


def entry(name: str) -> CatalogEntry:
    """Return a criterion by name. Raises ConfigError with the nearest name if it does not exist."""
    if name not in CATALOG:
        raise ConfigError(f"{name!r} is not a criterion{nearest(name, CATALOG) or '; `fairtrial criteria` lists them'}")
    return CATALOG[name]


def build(
    config: EvalConfig, *, lenient: bool = False, judges: Judges | None = None
) -> tuple[tuple[Criterion, ...], tuple[str, ...]]:
    """Return the criteria that a configuration asks for, the always computed criteria behind them, and warnings.

    `judges` makes the judges. Raises ConfigError that lists every problem.
    """
    criteria: list[Criterion] = []
    problems: list[str] = []
    reader = OptionReader(lenient=lenient)
    custom = {
        part.name: (part, reader.read(part.value, CustomMetricOptions, part.pointer)) for part in config.custom_metrics
    }
    problems += reader.problems
    warnings = reader.warnings
    for part in config.criteria:
        definition, options = custom.get(part.name, (None, None))
        if definition is not None and options is None:
            continue  # its problems are noted already
        with collecting(problems):
            if definition is not None and options is not None:
                criterion, notes = _custom(part, definition, options, lenient=lenient)
            else:
                criterion, notes = _from_catalog(part, [*custom], judges or Judges(), lenient=lenient)
            criteria.append(criterion)
            warnings += notes
    if problems:
        raise ConfigError(*problems)
    names = {criterion.name for criterion in criteria}
    unused = [part for part in config.custom_metrics if part.name not in names]
    warnings += [f"{part.pointer}: not in criteria, so not used" for part in unused]
    criteria += [
        _criterion(efficiency, efficiency.metric(), None)
        for efficiency in CATALOG.values()
        if efficiency.always_computed and efficiency.name not in names
    ]
    return tuple(criteria), tuple(warnings)


def _from_catalog(part: ConfigPart, custom: list[str], judges: Judges, *, lenient: bool) -> CriterionWithWarnings:
    catalog_entry = CATALOG.get(part.name)
    if catalog_entry is None:
        names = [*CATALOG, *custom]
        hint = nearest(part.name, names) or "; `fairtrial criteria` lists them, custom_metrics adds your own"
        raise ConfigError(f"{part.pointer}: is not a criterion{hint}")
    values, warnings = read_criterion(part, catalog_entry.accepted_options, catalog_entry.range, lenient=lenient)
    threshold = values.pop("threshold", None)
    backend = values.pop(BACKEND.name, None) or (VERTEX if configured() and installed() else "judge")
    judge_options = values.pop(JUDGE.name, None)
    if catalog_entry.vertex is not None and backend == VERTEX:
        if judge_options is not None:
            warnings.append(f"{_place(part, JUDGE.name)}: not used, the backend is vertex")
        return _by_vertex(part, catalog_entry, catalog_entry.vertex, judges, threshold), warnings
    if catalog_entry.judged:
        with _at(part, JUDGE.name):
            values["judge"] = judges.judge(judge_options)
    if INTERIM.name not in {option.name for option in catalog_entry.options}:
        values.pop(INTERIM.name, None)
    with _at(part):
        metric = catalog_entry.metric(**values)
    criterion = _criterion(catalog_entry, metric, threshold)
    return (_signed(criterion, "judge") if catalog_entry.vertex else criterion), warnings


def _by_vertex(
    part: ConfigPart, catalog_entry: CatalogEntry, served: Served, judges: Judges, threshold: float | None
) -> Criterion:
    with _at(part, BACKEND.name):
        metric = served.metric(judges.service(served.name))
    return _signed(_criterion(catalog_entry, metric, threshold), VERTEX)


def _signed(criterion: Criterion, backend: str) -> Criterion:
    return replace(criterion, signature={**criterion.signature, "backend": backend})


def _place(part: ConfigPart, option: str) -> str:
    return part.pointer + file_pointer(part.value, option)


@contextmanager
def _at(part: ConfigPart, option: str = "") -> Iterator[None]:
    """Add the place in the file to the message about an option that cannot be used."""
    try:
        yield
    except OptionError as error:
        raise ConfigError(*(f"{_place(part, pointer)}: {problem}" for pointer, problem in error.misfits)) from None
    except ConfigError as error:
        raise ConfigError(f"{_place(part, option)}: {error}") from None


def _criterion(catalog_entry: CatalogEntry, metric: Metric, threshold: float | None) -> Criterion:
    return Criterion(
        catalog_entry.name,
        metric,
        threshold,
        lower_is_better=catalog_entry.lower_is_better,
        range=catalog_entry.range,
        aggregation="parts",
        signature=signature(metric),
    )


def _custom(
    part: ConfigPart, definition: ConfigPart, options: CustomMetricOptions, *, lenient: bool
) -> CriterionWithWarnings:
    place = definition.pointer + file_pointer(definition.value, "code_config/name")
    function, is_peer = import_metric(options.code_config.name, place)
    values, warnings = read_criterion(part, [INTERIM], options.range, lenient=lenient, open_ended=is_peer)
    threshold = values.pop("threshold", None)
    metric = PeerMetric(function, part.name, threshold, values) if is_peer else function
    return Criterion(part.name, metric, threshold, range=options.range, signature=signature(metric)), warnings
