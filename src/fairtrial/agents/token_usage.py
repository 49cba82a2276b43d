"""Token usage of a model call, from frameworks that copy the numbers of any provider."""

from __future__ import annotations

from fairtrial.llm.token_counts import count_of
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
        count_of(input_tokens),
        count_of(output_tokens),
        count_of(reasoning_tokens),
        count_of(cached_input_tokens),
        model if isinstance(model, str) else "",
    )


def sum_of_counts(*counts: object) -> int | None:
    """Return the sum of the numbers of tokens that can be read, or None if none of them can."""
    numbers = [number for number in map(count_of, counts) if number is not None]
    return sum(numbers) if numbers else None
