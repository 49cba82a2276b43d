"""How much were language models used?"""

from __future__ import annotations

from fairtrial.records.record import Record


class ModelUsage(Record, frozen=True):
    """Calls, tokens, and cost in US dollars. A number is None if at least one of the calls does not report it."""

    calls: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cost: float | None = 0.0

    def __add__(self, other: ModelUsage) -> ModelUsage:
        return ModelUsage(
            self.calls + other.calls,
            None if self.input_tokens is None or other.input_tokens is None else self.input_tokens + other.input_tokens,
            None
            if self.output_tokens is None or other.output_tokens is None
            else self.output_tokens + other.output_tokens,
            None if self.cost is None or other.cost is None else self.cost + other.cost,
        )
