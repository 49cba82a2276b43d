"""The usage of language models: calls, tokens and cost."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import force_setattr

from fairtrial.records.record import Record

N = TypeVar("N", int, float)


class ModelUsage(Record, frozen=True):
    """Calls, tokens, and cost in US dollars. A number is None if none of the calls reports it.

    `unreported_calls` do not report their tokens, and `unpriced_calls` have no known price. If there are some, tokens
    and cost are those of the other calls, so that the whole usage is at least as large.
    """

    calls: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cost: float | None = 0.0
    unreported_calls: int = 0
    unpriced_calls: int = 0

    def __post_init__(self) -> None:
        # The usage of a single call without a number says by itself that this call does not report the number.
        if self.input_tokens is None and not self.unreported_calls:
            force_setattr(self, "unreported_calls", self.calls)
        if self.cost is None and not self.unpriced_calls:
            force_setattr(self, "unpriced_calls", self.calls)

    def __add__(self, other: ModelUsage) -> ModelUsage:
        calls = self.calls + other.calls
        unreported, unpriced = (
            self.unreported_calls + other.unreported_calls,
            self.unpriced_calls + other.unpriced_calls,
        )
        all_unreported, all_unpriced = 0 < calls == unreported, 0 < calls == unpriced
        return ModelUsage(
            calls,
            None if all_unreported else _sum(self.input_tokens, other.input_tokens),
            None if all_unreported else _sum(self.output_tokens, other.output_tokens),
            None if all_unpriced else _sum(self.cost, other.cost),
            unreported,
            unpriced,
        )


def _sum(first: N | None, second: N | None) -> N | None:
    if first is None or second is None:
        return second if first is None else first
    return first + second
