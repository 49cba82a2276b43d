"""Token usage of model calls, in the places that several dialects share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairtrial.formats.chats.assembly import number_at
from fairtrial.formats.dialects.attributes import read_number
from fairtrial.records.trace import Usage

if TYPE_CHECKING:
    from fairtrial.formats.spans.span import Span


def usage_of_span(span: Span, model: str) -> Usage:
    """Return the tokens in the attributes of the GenAI conventions.

    Cached tokens are part of input, reasoning tokens are part of output.
    """
    return Usage(
        read_number(span, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        read_number(span, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        read_number(span, "gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens"),
        read_number(span, "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens"),
        model,
    )


def usage_of_gemini(counts: dict[str, Any], model: str) -> Usage | None:
    """Return the tokens as Gemini counts them, or None without counts: the candidates do not include the thoughts."""
    if not counts:
        return None
    candidates, thoughts = number_at(counts, "candidates_token_count"), number_at(counts, "thoughts_token_count")
    total = None if candidates is None and thoughts is None else (candidates or 0) + (thoughts or 0)
    cached = number_at(counts, "cached_content_token_count")
    return Usage(number_at(counts, "prompt_token_count"), total, thoughts, cached, model)
