"""Read and write the tokens of an event as Gemini counts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairtrial.config.spelling import spellings
from fairtrial.formats.number_range import MOST
from fairtrial.formats.shared_texts import shared
from fairtrial.records.trace import Usage

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place
    from fairtrial.records.record import Json

_USAGE = spellings(
    "prompt_token_count",
    "candidates_token_count",
    "thoughts_token_count",
    "tool_use_prompt_token_count",
    "cached_content_token_count",
)


def usage(event_keys: dict[str, Any], at: Place, reading: Diagnostics) -> Usage | None:
    """Return the tokens of an event, or None if it has neither `usage_metadata` nor `model_version`.

    Gemini counts replies and thoughts apart, and prompts and tool results apart. `Usage` has their sums.
    """
    metadata = event_keys.get("usage_metadata", event_keys.get("usageMetadata"))
    if metadata is None and "model_version" not in event_keys and "modelVersion" not in event_keys:
        return None
    if metadata is not None and type(metadata) is not dict:
        reading.wrong_type((at, "usage_metadata"), "an object", metadata)
        metadata = None
    counts: dict[str, int] = {}
    for key, value in (metadata or {}).items():
        if key in _USAGE and value is not None:
            if type(value) is int and 0 <= value <= MOST:
                counts[_USAGE[key]] = value
            else:
                reading.wrong_type(((at, "usage_metadata"), key), "a whole number, 0 or more", value)
    return Usage(
        _sum(counts.get("prompt_token_count"), counts.get("tool_use_prompt_token_count")),
        _sum(counts.get("candidates_token_count"), counts.get("thoughts_token_count")),
        counts.get("thoughts_token_count"),
        counts.get("cached_content_token_count"),
        read_model(event_keys),
    )


def read_model(event_keys: dict[str, Any]) -> str:
    """Return the version of the model that an event names, or an empty text."""
    version = event_keys.get("model_version", event_keys.get("modelVersion"))
    return shared(version) if type(version) is str else ""


def _sum(first: int | None, second: int | None) -> int | None:
    return first if second is None else second if first is None else first + second


def usage_json(usage: Usage) -> dict[str, Json]:
    """Return tokens as Gemini's `usage_metadata`. Tokens of tool results are counted as tokens of the prompt."""
    output, reasoning = usage.output_tokens, usage.reasoning_tokens
    counts = {
        "prompt_token_count": usage.input_tokens,
        "candidates_token_count": None if output is None else max(output - (reasoning or 0), 0),
        "thoughts_token_count": reasoning,
        "cached_content_token_count": usage.cached_input_tokens,
    }
    return {name: count for name, count in counts.items() if count is not None}
