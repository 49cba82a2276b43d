"""Which criteria does an `eval_config` of agents-cli ask for?

Its metrics have no thresholds: they inform, unless our own key `thresholds` says otherwise.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from fairtrial.config.eval_config import ConfigPart, EvalConfig
from fairtrial.config.spelling import spellings
from fairtrial.errors import nearest
from fairtrial.formats.reading import Diagnostics, Place, pointer

CONFIG = spellings("metrics_to_run", "custom_metrics", "thresholds")
METRICS = {
    "multi_turn_task_success": "multi_turn_task_success_v1",
    "multi_turn_trajectory_quality": "multi_turn_trajectory_quality_v1",
    "multi_turn_tool_use_quality": "multi_turn_tool_use_quality_v1",
    "final_response_match": "final_response_match_v2",
    "final_response_quality": "rubric_based_final_response_quality_v1",
    "final_response_reference_free": "rubric_based_final_response_quality_v1",
    "tool_use_quality": "rubric_based_tool_use_quality_v1",
    "hallucination": "hallucinations_v1",
    "grounding": "hallucinations_v1",
    "safety": "safety_v1",
}
"""The criterion behind each metric of agents-cli."""
_UNREAD = {
    "general_quality": "its rubrics are written by a judge for each prompt, which is not supported yet",
    "text_quality": "its rubrics are written by a judge for each prompt, which is not supported yet",
    "instruction_following": "its rubrics are written by a judge for each prompt, which is not supported yet",
}
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
)

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
    fields, _ = reading.fields(raw, CONFIG, ())
    thresholds = reading.mapping(fields, "thresholds", ()) or {}
    at: Place = ((), "metrics_to_run")
    names = [name for name in reading.array(fields, "metrics_to_run", ()) if _is_name(name, at, reading)]
    custom = _custom_metrics(fields, names, reading)
    names = names or list(custom)
    for name in thresholds.keys() - set(names):
        reading.error((((), "thresholds"), name), f"names no metric of 'metrics_to_run'{nearest(name, names)}")
    criteria: dict[str, ConfigPart] = {}
    for i, name in enumerate(names):
        ours = METRICS.get(name)
        if ours is not None and ours in criteria:
            reading.error((at, i), f"{name!r} is computed as {ours}, which another metric of the list is, too")
        elif ours is not None:
            threshold = thresholds.get(name)
            if threshold is None:
                criteria[ours] = ConfigPart(ours, {"threshold": None}, pointer((at, i)))
            else:
                criteria[ours] = ConfigPart(ours, threshold, pointer((((), "thresholds"), name)))
        elif custom.get(name) is not None:
            criteria[name] = ConfigPart(name, {"threshold": thresholds.get(name)}, pointer((at, i)))
        elif name not in custom:
            reason = _UNREAD.get(name) or f"known are {', '.join(METRICS)}{nearest(name, [*METRICS, *custom])}"
            reading.error((at, i), f"the metric {name!r} is not read: {reason}")
    if not names:
        reading.error((), "must name at least one metric in 'metrics_to_run'")
    used = tuple(part for name, part in custom.items() if part and name in names)
    return EvalConfig(tuple(criteria.values()), used, informs=True)


def _is_name(name: Any, at: Place, reading: Diagnostics) -> bool:
    if type(name) is str:
        return True
    reading.wrong_type(at, "an array of names of metrics", name)
    return False


def _custom_metrics(fields: dict[str, Any], names: list[str], reading: Diagnostics) -> dict[str, ConfigPart | None]:
    """Return the custom metrics by name. A metric that cannot run is None, and an error if it is to run.

    Without `metrics_to_run` all custom metrics run.
    """
    custom: dict[str, ConfigPart | None] = {}
    for i, raw in enumerate(reading.array(fields, "custom_metrics", ())):
        at: Place = (((), "custom_metrics"), i)
        metric, _ = reading.fields(raw, _CUSTOM, at, open_ended=True)
        name = reading.required(metric, "name", at)
        if names and name not in names:
            custom[name] = None
            reading.warning(at, f"{name!r} is not in 'metrics_to_run', so it is not used")
        else:
            custom[name] = _custom_metric(name, metric, at, reading)
    return custom


def _custom_metric(name: str, metric: dict[str, Any], at: Place, reading: Diagnostics) -> ConfigPart | None:
    """Return a metric that is a function in a file beside the configuration, or a prompt. All others are errors."""
    if metric.get("execution") == "remote":
        reading.error((at, "execution"), f"{name!r} runs in a cloud project, which is not supported")
    elif "custom_function" in metric:
        advice = "write it to a file, and name the file in 'custom_function_file'"
        reading.error((at, "custom_function"), f"{name!r} is code in a configuration, which is not run; {advice}")
    elif "custom_function_file" in metric:
        file = PurePath(reading.path).parent / reading.text(metric, "custom_function_file", at)
        return ConfigPart(name, {"custom_function_file": str(file)}, pointer(at))
    else:
        reading.required(metric, "prompt_template", at)
        options = {key: value for key, value in metric.items() if key in _PROMPT}
        return ConfigPart(name, options, pointer(at))
    return None
