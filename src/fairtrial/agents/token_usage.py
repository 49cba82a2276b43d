"""Token usage of a model call, from frameworks that copy the numbers of any provider."""

from __future__ import annotations

from fairtrial.llm.token_counts import parse_count
from fairtrial.records.trace import Usage


def token_usage(
    input_tokens: object,
    output_tokens: object,
    reasoning_tokens: object = None,
    cached_input_tokens: object = None,
    model: object = "",
) -> Usage:
    """Return the tokens of a model call. A number that cannot be read counts as not recorded."""
    return Usage(
        parse_count(input_tokens),
        parse_count(output_tokens),
        parse_count(reasoning_tokens),
        parse_count(cached_input_tokens),
        model if isinstance(model, str) else "",
    )


def sum_of_counts(*counts: object) -> int | None:
    """Return the sum of the numbers of tokens that can be read, or None if none of them can."""
    numbers = [number for number in map(parse_count, counts) if number is not None]
    return sum(numbers) if numbers else None
