"""Which parts does an `EvalConfig` have? The reader of options says what the parts mean."""

from __future__ import annotations

from typing import Any

from fairtrial.config.eval_config import ConfigPart, EvalConfig
from fairtrial.config.spelling import spellings
from fairtrial.formats.reading import Diagnostics, Place, pointer

CONFIG = spellings(
    "criteria",
    "custom_metrics",
    "user_simulator_config",
    "environment_simulation_config",
    "live_model_config",
    "attempts",
)


def config(raw: Any, reading: Diagnostics) -> EvalConfig:
    """Return the parts of a configuration in file order, each with its place."""
    fields, extra = reading.fields(raw, CONFIG, ())
    if "live_model_config" in fields:
        extra = (extra or {}) | {"live_model_config": fields["live_model_config"]}
    keys = {CONFIG[key]: key for key in raw if key in CONFIG} if isinstance(raw, dict) else {}

    def parts(name: str) -> tuple[ConfigPart, ...]:
        at: Place = ((), keys.get(name, name))
        entries = reading.mapping(fields, name, ()) or {}
        return tuple(ConfigPart(key, value, pointer((at, key))) for key, value in entries.items())

    def part(name: str) -> ConfigPart | None:
        return ConfigPart(name, fields[name], pointer(((), keys[name]))) if name in fields else None

    return EvalConfig(
        parts("criteria"),
        parts("custom_metrics"),
        part("user_simulator_config"),
        part("environment_simulation_config"),
        extra,
        attempts=part("attempts"),
    )
