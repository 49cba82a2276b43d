"""Translate the settings of a model into those of the library that calls it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairtrial.errors import ConfigError, nearest
from fairtrial.llm.known_providers import PROVIDERS, Protocol
from fairtrial.llm.model_settings import ModelSettings

if TYPE_CHECKING:
    from fairtrial.records.record import Json

SETTINGS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "seed": "seed",
    "max_output_tokens": "max_tokens",
    "max_tokens": "max_tokens",
    "stop_sequences": "stop_sequences",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "thinking": "thinking",
}
"""Names of settings in `judge_model_config` and `model_configuration`, with their names in the library."""

ADK_BUDGET = 10_240
"""The thinking budget that google-adk writes into a `thinking_config` by default."""


def settings_for(provider: str, options: Mapping[str, Json], protocol: Protocol | None = None) -> dict[str, Any]:
    """Translate a model's settings into library settings. Raises `ConfigError` for an unknown name.

    `protocol` is the model's, if it is not the provider's usual protocol.
    """
    protocol = protocol or PROVIDERS[provider].protocol
    is_gemini = protocol == "gemini"
    settings: dict[str, Any] = {"max_retries": 0} if is_gemini else {}
    for name, value in options.items():
        if value is None:
            continue
        if name in SETTINGS:
            settings[SETTINGS[name]] = value
        elif name in {"thinking_budget", "thinking_config"}:
            settings |= _thinking(provider, protocol, value)
        elif name == "safety_settings" and is_gemini:
            settings["google_safety_settings"] = value
        else:
            names = ModelSettings.__struct_fields__
            raise ConfigError(f"setting {name!r} is unknown; must be one of {', '.join(names)}{nearest(name, names)}")
    return settings


def _thinking(provider: str, protocol: Protocol, value: Json) -> dict[str, Any]:
    budget = value.get("thinking_budget", value.get("thinkingBudget")) if isinstance(value, dict) else value
    if protocol == "gemini":
        return {"google_thinking_config": value if isinstance(value, dict) else {"thinking_budget": budget}}
    if protocol == "messages":
        enabled = {"type": "enabled", "budget_tokens": budget} if budget else {"type": "disabled"}
        return {"anthropic_thinking": enabled}
    if isinstance(value, dict) and budget in {None, ADK_BUDGET}:
        return {}
    raise ConfigError(f"setting 'thinking_budget': {provider} has none; use thinking: low, medium or high")
