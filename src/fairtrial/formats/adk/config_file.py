"""Which criteria does an `EvalConfig` ask for?"""

from __future__ import annotations

from typing import Any

from fairtrial.config.spelling import camel, snake, spellings
from fairtrial.formats.reading import Diagnostics, Place, pointer
from fairtrial.records.eval_config import CriterionSpec, CustomMetricSpec, EvalConfig
from fairtrial.records.score import Range

CONFIG = spellings(
    "criteria", "custom_metrics", "user_simulator_config", "environment_simulation_config", "live_model_config"
)
_CUSTOM = spellings("code_config", "metric_info", "description")
_CODE = spellings("name")
_INFO = spellings("metric_name", "description", "metric_value_info", "requires_threshold")
_VALUE_INFO = spellings("interval")
_INTERVAL = spellings("min_value", "open_at_min", "max_value", "open_at_max")


def config(raw: Any, reading: Diagnostics) -> EvalConfig:
    """Return the criteria in file order, each with its place; what they mean is the catalog's to say."""
    known, extra = reading.fields(raw, CONFIG, ())
    criteria = reading.mapping(known, "criteria", ())
    if "live_model_config" in known:
        extra = (extra or {}) | {"live_model_config": known["live_model_config"]}
    return EvalConfig(
        tuple(_criterion(name, entry, reading) for name, entry in (criteria or {}).items()),
        tuple(
            _custom(name, entry, (((), "custom_metrics"), name), reading)
            for name, entry in (reading.mapping(known, "custom_metrics", ()) or {}).items()
        ),
        reading.mapping(known, "user_simulator_config", ()),
        reading.mapping(known, "environment_simulation_config", ()),
        extra,
    )


def _criterion(name: str, entry: Any, reading: Diagnostics) -> CriterionSpec:
    at: Place = (((), "criteria"), name)
    if type(entry) is not dict:
        return CriterionSpec(name, entry, pointer=pointer(at))
    options = {_option(key): value for key, value in entry.items()}
    if len(options) != len(entry):
        reading.error(at, "gives an option twice, in snake_case and in camelCase")
    places = {_option(key): pointer((at, key)) for key in entry}
    return CriterionSpec(name, options.pop("threshold", None), options, pointer(at), is_object=True, pointers=places)


def _option(key: str) -> str:
    """An option by our name; a key that is no camelCase stays as it is."""
    name = snake(key)
    return name if camel(name) == key else key


def _custom(name: str, raw: Any, at: Place, reading: Diagnostics) -> CustomMetricSpec:
    known, _ = reading.fields(raw, _CUSTOM, at)
    code, _ = reading.fields(known.get("code_config", {}), _CODE, (at, "code_config"), open_ended=True)
    info, _ = reading.fields(known.get("metric_info", {}), _INFO, (at, "metric_info"), open_ended=True)
    return CustomMetricSpec(
        name,
        reading.required(code, "name", (at, "code_config")),
        _range(info.get("metric_value_info", {}), ((at, "metric_info"), "metric_value_info"), reading),
        reading.text(known, "description", at),
        pointer(at),
    )


def _range(raw: Any, at: Place, reading: Diagnostics) -> Range:
    """The values that a metric declares, open ends included; without any, 0..1."""
    info, _ = reading.fields(raw, _VALUE_INFO, at, open_ended=True)
    place = (at, "interval")
    interval, _ = reading.fields(info.get("interval", {}), _INTERVAL, place, open_ended=True)
    low, high = (reading.number(interval, name, place) for name in ("min_value", "max_value"))
    open_low, open_high = (reading.flag(interval, name, place) for name in ("open_at_min", "open_at_max"))
    if low is not None and high is not None and low > high:
        reading.error(place, f"min_value must be at most max_value, got {low:g} and {high:g}")
    return Range(low, high, open_low, open_high) if interval else Range()
