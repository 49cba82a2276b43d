"""Build the criteria of a configuration, from the catalog and from the users' own metrics."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from fairtrial.config.criterion_options import read_criterion
from fairtrial.config.custom_metric_options import CustomMetricOptions, FunctionFileOptions, InlineFunctionOptions
from fairtrial.config.reader import OptionError, OptionReader
from fairtrial.config.spelling import file_pointer, snake
from fairtrial.errors import ConfigError, collecting, nearest
from fairtrial.judge.judges import Judges
from fairtrial.llm.vertex_service import NAME as VERTEX
from fairtrial.llm.vertex_service import configured, installed
from fairtrial.metrics.catalog_entry import BACKEND, INTERIM, JUDGE
from fairtrial.metrics.custom.instance_metric import InstanceMetric, takes_instance
from fairtrial.metrics.custom.metric_functions import PeerMetric, import_metric
from fairtrial.metrics.entries import CATALOG
from fairtrial.metrics.signature import signature
from fairtrial.records.result import Criterion, Metric
from fairtrial.records.score import Range

if TYPE_CHECKING:
    from fairtrial.config.eval_config import ConfigPart, EvalConfig
    from fairtrial.metrics.catalog_entry import CatalogEntry, VertexMetric
    from fairtrial.metrics.custom.prompt_metric import PromptMetricOptions

BuiltCriterion = tuple[Criterion, list[str]]
"""A criterion, and the warnings of its entry."""


def build(
    config: EvalConfig, *, lenient: bool = False, allow_code: bool = False, judges: Judges | None = None
) -> tuple[tuple[Criterion, ...], tuple[str, ...]]:
    """Return the criteria that a configuration asks for, the always computed criteria behind them, and warnings.

    `judges` makes the judges. Code in the configuration is refused unless `allow_code`. Raises ConfigError that lists
    every problem.
    """
    criteria: list[Criterion] = []
    problems: list[str] = []
    reader = OptionReader(lenient=lenient)
    custom = {
        part.name: (part, reader.read(part.value, _find_kind(part), part.pointer)) for part in config.custom_metrics
    }
    problems += reader.problems
    warnings = reader.warnings
    for part in config.criteria:
        definition, options = custom.get(part.name, (None, None))
        if definition is not None and options is None:
            continue  # The problems of the definition are noted already.
        if isinstance(options, InlineFunctionOptions) and not allow_code:
            problems.append(f"{_place(definition or part, 'custom_function')}: {_CODE}")
            continue
        with collecting(problems):
            if definition is not None and options is not None:
                criterion, new_warnings = _build_custom(part, definition, options, judges or Judges(), lenient=lenient)
            else:
                criterion, new_warnings = _build_from_catalog(part, [*custom], judges or Judges(), lenient=lenient)
            criteria.append(criterion)
            warnings += new_warnings
    configured = {part.name for part in config.criteria}
    for part in config.custom_metrics:
        if part.name not in configured:
            (warnings if lenient else problems).append(f"{part.pointer}: not in criteria, so not used")
    if problems:
        raise ConfigError(*problems)
    names = {criterion.name for criterion in criteria}
    always = [entry for entry in CATALOG.values() if entry.always_computed and entry.name not in names]
    return (*criteria, *(_criterion(entry, entry.metric(), None) for entry in always)), tuple(warnings)


def _build_from_catalog(part: ConfigPart, custom: list[str], judges: Judges, *, lenient: bool) -> BuiltCriterion:
    entry = CATALOG.get(part.name)
    if entry is None:
        names = [*CATALOG, *custom]
        hint = nearest(part.name, names) or "; `fairtrial criteria` lists them, custom_metrics adds your own"
        raise ConfigError(f"{part.pointer}: is not a criterion{hint}")
    values, warnings = read_criterion(part, entry.accepted_options, entry.range, lenient=lenient)
    threshold = values.pop("threshold", None)
    backend = values.pop(BACKEND.name, None) or (VERTEX if configured() and installed() else "judge")
    judge_options = values.pop(JUDGE.name, None)
    if entry.vertex is not None and backend == VERTEX:
        unused = [*([JUDGE.name] if judge_options is not None else []), *(values.keys() - {INTERIM.name})]
        warnings += [f"{_place(part, name)}: not used, the backend is vertex" for name in sorted(unused)]
        return _by_vertex(part, entry, entry.vertex, judges, threshold), warnings
    if entry.judged:
        with _at(part, JUDGE.name):
            values["judge"] = judges.judge(judge_options)
    if INTERIM.name not in {option.name for option in entry.options}:
        values.pop(INTERIM.name, None)
    with _at(part):
        metric = entry.metric(**values)
    criterion = _criterion(entry, metric, threshold)
    return (_add_sign(criterion, "judge") if entry.vertex else criterion), warnings


def _by_vertex(
    part: ConfigPart, entry: CatalogEntry, vertex: VertexMetric, judges: Judges, threshold: float | None
) -> Criterion:
    with _at(part, BACKEND.name):
        metric = vertex.metric(judges.service(vertex.name))
    return _add_sign(_criterion(entry, metric, threshold), VERTEX)


def _add_sign(criterion: Criterion, backend: str) -> Criterion:
    return replace(criterion, signature={**criterion.signature, "backend": backend})


def _place(part: ConfigPart, option: str) -> str:
    return part.pointer + file_pointer(part.value, option)


@contextmanager
def _at(part: ConfigPart, option: str = "") -> Iterator[None]:
    """Prefix the problems of an option with its pointer in the file."""
    try:
        yield
    except OptionError as error:
        raise ConfigError(*(f"{_place(part, pointer)}: {problem}" for pointer, problem in error.misfits)) from None
    except ConfigError as error:
        raise ConfigError(f"{_place(part, option)}: {error}") from None


def _criterion(entry: CatalogEntry, metric: Metric, threshold: float | None) -> Criterion:
    return Criterion(
        entry.name,
        metric,
        threshold,
        lower_is_better=entry.lower_is_better,
        range=entry.range,
        aggregation=entry.aggregation,
        signature=signature(metric),
    )


CustomOptions: TypeAlias = "CustomMetricOptions | FunctionFileOptions | InlineFunctionOptions | PromptMetricOptions"
_CODE = (
    "is code in a configuration, which runs only with --allow-code (in Python: allow_code=True); read it first, or "
    "write it to a file that 'custom_function_file' names"
)


def _find_kind(part: ConfigPart) -> type[CustomOptions]:
    """Return the options of a custom metric. Its configuration decides whether it is a prompt, a file or a function."""
    keys = set(map(snake, part.value)) if isinstance(part.value, dict) else set()
    if "prompt_template" in keys:
        from fairtrial.metrics.custom.prompt_metric import PromptMetricOptions  # enters the modules of judges

        return PromptMetricOptions
    if "custom_function" in keys:
        return InlineFunctionOptions
    return FunctionFileOptions if "custom_function_file" in keys else CustomMetricOptions


def _build_custom(
    part: ConfigPart, definition: ConfigPart, options: CustomOptions, judges: Judges, *, lenient: bool
) -> BuiltCriterion:
    if isinstance(options, InlineFunctionOptions):
        return _build_inline(part, options, lenient=lenient)
    if not isinstance(options, FunctionFileOptions | CustomMetricOptions):
        return _build_prompt(part, definition, options, judges, lenient=lenient)
    if isinstance(options, FunctionFileOptions):
        place, name, scale = "custom_function_file", f"{options.custom_function_file}:evaluate", Range(None, None)
    else:
        place, name, scale = "code_config/name", options.code_config.name, options.range
    function, is_peer = import_metric(name, _place(definition, place))
    # A function of agents-cli may return any number, for example a count or a grade from 1 to 5.
    options_range = Range(None, None) if takes_instance(function) else scale
    values, warnings = read_criterion(part, [INTERIM], options_range, lenient=lenient, open_ended=is_peer)
    threshold = values.pop("threshold", None)
    metric: Metric = PeerMetric(function, part.name, threshold, values) if is_peer else function
    if takes_instance(function):
        metric = InstanceMetric(function, part.name)
    return Criterion(part.name, metric, threshold, range=options_range, signature=signature(metric)), warnings


def _build_inline(part: ConfigPart, options: InlineFunctionOptions, *, lenient: bool) -> BuiltCriterion:
    from fairtrial.metrics.custom.inline_metric import InlineMetric

    scale = Range(None, None)  # only the code knows its scale
    values, warnings = read_criterion(part, [INTERIM], scale, lenient=lenient)
    metric = InlineMetric(options.custom_function, part.name)
    return Criterion(part.name, metric, values.get("threshold"), range=scale, signature=signature(metric)), warnings


def _build_prompt(
    part: ConfigPart, definition: ConfigPart, options: PromptMetricOptions, judges: Judges, *, lenient: bool
) -> BuiltCriterion:
    from fairtrial.metrics.custom.prompt_metric import PromptMetric

    scale = Range(None, None)  # only the template knows its scale
    values, warnings = read_criterion(part, [INTERIM], scale, lenient=lenient)
    with _at(definition, "judge_model"):
        judge = judges.judge(options.judge_options)
    metric = PromptMetric(judge, options.prompt_template, instructions=options.judge_model_system_instruction)
    return Criterion(part.name, metric, values.get("threshold"), range=scale, signature=signature(metric)), warnings
