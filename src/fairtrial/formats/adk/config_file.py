"""Read the parts of ADK's `EvalConfig`. The reader of options says what the parts mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairtrial.config.eval_config import ConfigPart, EvalConfig
from fairtrial.config.spelling import spellings
from fairtrial.errors import nearest

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

CONFIG = spellings(
    "criteria",
    "custom_metrics",
    "user_simulator_config",
    "environment_simulation_config",
    "live_model_config",
    "attempts",
    "provenance",
)
TABLES = ("criteria", "custom_metrics", "user_simulator_config", "environment_simulation_config")
"""The parts of a configuration that a project file may hold, too. Its attempts are an option of its own."""


def is_config(raw: Mapping[str, Any]) -> bool:
    """Whether an object is a configuration, perhaps with a misspelt key, and not the criteria alone."""
    return any(key in CONFIG or nearest(key, ["criteria"]) for key in raw)


def config(raw: Any, reading: Diagnostics) -> EvalConfig:
    """Return the parts of a configuration in file order, each with its place."""
    reading.document = raw
    fields, extra = reading.fields(raw, CONFIG, ())
    kept = {name: fields[name] for name in ("live_model_config", "provenance") if name in fields}
    if kept:
        extra = (extra or {}) | kept

    def parts(name: str) -> tuple[ConfigPart, ...]:
        at: Place = ((), name)
        entries = reading.mapping(fields, name, ()) or {}
        return tuple(ConfigPart(key, value, reading.pointer((at, key))) for key, value in entries.items())

    def part(name: str) -> ConfigPart | None:
        return ConfigPart(name, fields[name], reading.pointer(((), name))) if name in fields else None

    return EvalConfig(
        parts("criteria"),
        parts("custom_metrics"),
        part("user_simulator_config"),
        part("environment_simulation_config"),
        extra,
        attempts=part("attempts"),
    )
