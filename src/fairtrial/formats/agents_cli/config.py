"""Read the criteria of an agents-cli `eval_config`.

Its metrics have no thresholds: they inform, unless our own key `thresholds` says otherwise. `attempts` is our own
key, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from fairtrial.config.eval_config import ConfigPart, EvalConfig
from fairtrial.config.spelling import spellings
from fairtrial.errors import nearest

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

CONFIG = spellings("metrics_to_run", "custom_metrics", "thresholds", "attempts")
METRICS = {
    "multi_turn_task_success": "multi_turn_task_success_v1",
    "multi_turn_trajectory_quality": "multi_turn_trajectory_quality_v1",
    "multi_turn_tool_use_quality": "multi_turn_tool_use_quality_v1",
    "final_response_match": "final_response_match_v2",
    "final_response_quality": "rubric_based_final_response_quality_v1",
    "final_response_reference_free": "rubric_based_final_response_quality_v1",
    "tool_use_quality": "rubric_based_tool_use_quality_v1",
    "hallucination": "hallucinations_v1",
    "grounding": "grounding_v1",
    "safety": "safety_v1",
    "general_quality": "general_quality_v1",
    "text_quality": "text_quality_v1",
    "instruction_following": "instruction_following_v1",
}
"""The criterion behind each metric of agents-cli."""
_RUBRIC_CRITERIA = {"rubric_based_final_response_quality_v1", "rubric_based_tool_use_quality_v1"}
_EVERY_GROUP = "*"
_CUSTOM = spellings(
    "name",
    "prompt_template",
    "custom_function",
    "custom_function_file",
    "execution",
    "judge_model",
    "judge_model_sampling_count",
    "judge_model_system_instruction",
    "judge_model_generation_config",
    "metric_spec_parameters",
)
_PARAMETERS = spellings("rubric_group_key")
_PROMPT = (
    "prompt_template",
    "judge_model",
    "judge_model_sampling_count",
    "judge_model_system_instruction",
    "judge_model_generation_config",
)


def is_config(keys: Any, custom_metrics: Any) -> bool:
    """Whether a document with these keys is an `eval_config`: ADK's own config holds its custom metrics by name."""
    return bool(keys & spellings("metrics_to_run").keys()) or isinstance(custom_metrics, list)


def config(raw: Any, reading: Diagnostics) -> EvalConfig:
    """Return the criteria in file order. A metric without a counterpart here is refused by its name."""
    reading.document = raw
    fields, _ = reading.fields(raw, CONFIG, ())
    thresholds = reading.mapping(fields, "thresholds", ()) or {}
    at: Place = ((), "metrics_to_run")
    names = [name for name in reading.array(fields, "metrics_to_run", ()) if _is_name(name, at, reading)]
    custom, groups = _custom_metrics(fields, names, reading)
    names = names or [*custom, *groups]
    for name in thresholds.keys() - set(names):
        reading.error((((), "thresholds"), name), f"names no metric of 'metrics_to_run'{nearest(name, names)}")
    criteria: dict[str, ConfigPart] = {}
    for i, name in enumerate(names):
        ours = METRICS.get(name)
        if ours is not None and ours in criteria:
            reading.error((at, i), f"{name!r} is computed as {ours}, which another metric of the list is, too")
        elif ours is not None:
            threshold = thresholds.get(name)
            options: dict[str, Any] = {}
            if ours in _RUBRIC_CRITERIA:
                options = {"rubric_group": groups.get(name, _EVERY_GROUP), "adaptive_rubrics": True}
            if threshold is None:
                criteria[ours] = ConfigPart(ours, {"threshold": None, **options}, reading.pointer((at, i)))
            else:
                criteria[ours] = ConfigPart(ours, threshold, reading.pointer((((), "thresholds"), name)), options)
        elif custom.get(name) is not None:
            criteria[name] = ConfigPart(name, {"threshold": thresholds.get(name)}, reading.pointer((at, i)))
        elif name not in custom:
            hint = nearest(name, [*METRICS, *custom])
            reading.error((at, i), f"the metric {name!r} is not read: known are {', '.join(METRICS)}{hint}")
    if not names:
        reading.error((), "must name at least one metric in 'metrics_to_run'")
    used = tuple(part for name, part in custom.items() if part and name in names)
    attempts = ConfigPart("attempts", fields["attempts"], "/attempts") if "attempts" in fields else None
    return EvalConfig(tuple(criteria.values()), used, informs=True, attempts=attempts)


def _is_name(name: Any, at: Place, reading: Diagnostics) -> bool:
    if type(name) is str:
        return True
    reading.wrong_type(at, "an array of names of metrics", name)
    return False


def _custom_metrics(
    fields: dict[str, Any], names: list[str], reading: Diagnostics
) -> tuple[dict[str, ConfigPart | None], dict[str, str]]:
    """Return the custom metrics by name, and the rubric groups that entries choose for metrics of agents-cli.

    A custom metric that cannot run is None, and an error if it is to run. Without `metrics_to_run` all entries run.
    """
    custom: dict[str, ConfigPart | None] = {}
    groups: dict[str, str] = {}
    for i, raw in enumerate(reading.array(fields, "custom_metrics", ())):
        at: Place = (((), "custom_metrics"), i)
        metric, _ = reading.fields(raw, _CUSTOM, at, open_ended=True)
        name = reading.required(metric, "name", at)
        if names and name not in names:
            custom[name] = None
            reading.warning(at, f"{name!r} is not in 'metrics_to_run', so it is not used")
        elif "metric_spec_parameters" in metric:
            groups[name] = _rubric_group(name, metric, at, reading)
        else:
            keys = {key: ours for key in (raw if metric else ()) if (ours := _CUSTOM.get(key)) in metric}
            custom[name] = _custom_metric(name, metric, keys, at, reading)
    return custom, groups


def _rubric_group(name: str, metric: dict[str, Any], at: Place, reading: Diagnostics) -> str:
    """Return the group of rubrics that an entry chooses for a metric of agents-cli. Without a key: every group."""
    place: Place = (at, "metric_spec_parameters")
    if METRICS.get(name) not in _RUBRIC_CRITERIA:
        known = ", ".join(metric for metric, criterion in METRICS.items() if criterion in _RUBRIC_CRITERIA)
        reading.error(place, f"{name!r} has no rubric groups; allowed for {known}")
    elif others := [key for key in metric if key not in ("name", "metric_spec_parameters")]:
        reading.error(at, f"{name!r} is a metric of agents-cli, and cannot have {others[0]!r}; give it another name")
    parameters, _ = reading.fields(metric["metric_spec_parameters"], _PARAMETERS, place)
    return reading.text(parameters, "rubric_group_key", place) or _EVERY_GROUP


def _custom_metric(
    name: str, metric: dict[str, Any], keys: Mapping[str, str], at: Place, reading: Diagnostics
) -> ConfigPart | None:
    """Return a metric that is code, a function in a file beside the configuration, or a prompt.

    All others are errors. `keys` are the keys of the metric as the file spells them, with our names.
    """
    options: Collection[str] = _PROMPT
    if metric.get("execution") == "remote":
        reading.error((at, "execution"), f"{name!r} runs in a cloud project, which is not supported")
        return None
    if "custom_function" in metric:
        options = ("custom_function",)
        reading.text(metric, "custom_function", at)
    elif "custom_function_file" in metric:
        options = ("custom_function_file",)
        file = PurePath(reading.path).parent / reading.text(metric, "custom_function_file", at)
        metric = metric | {"custom_function_file": str(file)}
    else:
        reading.required(metric, "prompt_template", at)
    return ConfigPart(name, {key: metric[ours] for key, ours in keys.items() if ours in options}, reading.pointer(at))
