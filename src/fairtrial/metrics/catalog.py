"""What does a configuration make of the criteria that there are?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from fairtrial.config.wording import shown
from fairtrial.errors import ConfigError, collecting, nearest
from fairtrial.judge.judge import Judge
from fairtrial.judge.judges import Judges, judge_options
from fairtrial.llm.vertex_service import NAME as VERTEX
from fairtrial.llm.vertex_service import configured, installed
from fairtrial.metrics.custom import PeerMetric, custom_metric
from fairtrial.metrics.entries import CATALOG, CatalogEntry, Served
from fairtrial.metrics.option_fields import read_options
from fairtrial.metrics.signature import signature
from fairtrial.records.eval_config import CriterionSpec, CustomMetricSpec, EvalConfig
from fairtrial.records.result import Criterion, Metric
from fairtrial.records.score import Range

_EVERYWHERE = frozenset({"include_intermediate_responses_in_final"})
"""What every criterion of ADK accepts, though few use it."""


_JUDGE = "judge_model_options"
_BACKEND = "backend"


def entry(name: str) -> CatalogEntry:
    """Return a criterion by name; raises ConfigError, with the nearest name, where there is none."""
    if name not in CATALOG:
        raise ConfigError(f"{name!r} is not a criterion{nearest(name, CATALOG) or '; `fairtrial criteria` lists them'}")
    return CATALOG[name]


def build(
    config: EvalConfig, *, lenient: bool = False, judges: Judges | None = None
) -> tuple[tuple[Criterion, ...], tuple[str, ...]]:
    """Return the criteria that a configuration asks for, the always computed ones behind them, and warnings.

    `judges` makes the judges of those that ask one.

    Raises ConfigError that lists every unknown criterion or option, and every threshold outside the range.
    """
    custom = {spec.name: spec for spec in config.custom_metrics}
    criteria: list[Criterion] = []
    problems: list[str] = []
    warnings: list[str] = []
    for spec in config.criteria:
        with collecting(problems):
            if spec.name in custom:
                made, said = _custom(spec, custom[spec.name], lenient=lenient)
            else:
                made, said = _built_in(spec, custom, judges or Judges(), lenient=lenient)
            criteria.append(made)
            warnings += said
    if problems:
        raise ConfigError(*problems)
    named = {criterion.name for criterion in criteria}
    warnings += [f"{spec.pointer}: not in criteria, so not used" for name, spec in custom.items() if name not in named]
    always = [one for one in CATALOG.values() if one.always_computed and one.name not in named]
    return (*criteria, *(_criterion(one, one.metric(), None) for one in always)), tuple(warnings)


def _built_in(
    spec: CriterionSpec, custom: Mapping[str, Any], judges: Judges, *, lenient: bool
) -> tuple[Criterion, list[str]]:
    known = CATALOG.get(spec.name)
    if known is None:
        hint = (
            nearest(spec.name, [*CATALOG, *custom]) or "; `fairtrial criteria` lists them, custom_metrics adds your own"
        )
        raise ConfigError(f"{spec.pointer}: is not a criterion{hint}")
    accepted = _EVERYWHERE | ({_JUDGE} if known.judged else set()) | ({_BACKEND} if known.vertex else set())
    problems: list[str] = []
    with collecting(problems):
        _threshold(spec, known.range)
    with collecting(problems):
        values, warnings = read_options(known.metric, spec, lenient=lenient, accepted=accepted)
    if problems:
        raise ConfigError(*problems)
    if known.vertex is not None and _backend(spec) == VERTEX:
        unused = [f"{spec.place(_JUDGE)}: not used, the backend is vertex"] if spec.options.get(_JUDGE) else []
        return _by_vertex(spec, known, known.vertex, judges), warnings + unused
    if known.judged:
        values["judge"], unknown = _judge(spec, judges, lenient=lenient)
        warnings += unknown
    try:
        metric = known.metric(**values)
    except ConfigError as error:
        raise ConfigError(f"{spec.pointer}/{error}") from None
    made = _criterion(known, metric, _threshold(spec, known.range))
    return (_signed(made, "judge") if known.vertex else made), warnings


def _backend(spec: CriterionSpec) -> str:
    """What the config says, else the service where environment and extras are ready for it."""
    said = spec.options.get(_BACKEND)
    if said not in {None, "judge", VERTEX}:
        raise ConfigError(f"{spec.place(_BACKEND)}: must be one of judge, {VERTEX}, got {said!r:.80}")
    return said or (VERTEX if configured() and installed() else "judge")


def _by_vertex(spec: CriterionSpec, known: CatalogEntry, served: Served, judges: Judges) -> Criterion:
    try:
        metric = served.metric(judges.service(served.name))
    except ConfigError as error:
        raise ConfigError(f"{spec.place(_BACKEND)}: {error}") from None
    return _signed(_criterion(known, metric, _threshold(spec, known.range)), VERTEX)


def _signed(criterion: Criterion, backend: str) -> Criterion:
    return replace(criterion, signature={**criterion.signature, "backend": backend})


def _judge(spec: CriterionSpec, judges: Judges, *, lenient: bool) -> tuple[Judge, list[str]]:
    pointer = spec.place(_JUDGE)
    given = spec.options.get(_JUDGE)
    options, warnings = judge_options({} if given is None else given, pointer, lenient=lenient)
    try:
        return judges.judge(options), warnings
    except ConfigError as error:
        raise ConfigError(f"{pointer}: {error}") from None


def _criterion(known: CatalogEntry, metric: Metric, threshold: float | None) -> Criterion:
    return Criterion(
        known.name,
        metric,
        threshold,
        lower_is_better=known.lower_is_better,
        range=known.range,
        aggregation="parts",
        signature=signature(metric),
    )


def _custom(spec: CriterionSpec, definition: CustomMetricSpec, *, lenient: bool) -> tuple[Criterion, list[str]]:
    metric = custom_metric(definition, spec)
    unknown = [] if isinstance(metric, PeerMetric) else sorted(spec.options.keys() - _EVERYWHERE)
    warnings = [f"{spec.place(name)}: a metric of two arguments has no options" for name in unknown]
    if warnings and not lenient:
        raise ConfigError(warnings[0])
    criterion = Criterion(
        spec.name,
        metric,
        _threshold(spec, definition.range),
        range=definition.range,
        signature=signature(metric),
    )
    return criterion, warnings


def _threshold(spec: CriterionSpec, scale: Range) -> float | None:
    """The threshold as a number. None: the criterion only informs."""
    place = spec.place("threshold") if spec.is_object else spec.pointer
    if spec.threshold is None and spec.is_object:
        return None
    return threshold_of(spec.threshold, scale, place, allowed="a number or an object with 'threshold'")


def threshold_of(raw: Any, scale: Range, place: str, *, allowed: str = "a number") -> float:
    """Return a threshold in the range of its criterion; like ADK, `"0.5"` and `true` are read as numbers.

    Raises ConfigError for anything else.
    """
    try:
        value = float(raw)
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(f"{place}: must be {allowed}, got {shown(raw)}") from None
    if not math.isfinite(value) or value not in scale:
        raise ConfigError(f"{place}: must be a number {scale}, got {shown(raw)}")
    return value
