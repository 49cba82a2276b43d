"""Efficiency criteria: calls, inferences, tokens, seconds and cost. Lower is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from fairtrial.metrics.pairing import missing_calls, score_each
from fairtrial.records.score import PartKey, Score, average_parts, invocation_keys
from fairtrial.records.trace import ToolCall
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.trace import Invocation, Trace


@dataclass(frozen=True, slots=True)
class ToolCallCount:
    """`tool_call_count_v1`: tool calls per invocation, also those of agents that answered as tools, if recorded."""

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002
        """Count the calls of each invocation, and take the mean."""
        return _unless_missing(trace, _mean(trace, _tool_calls))


@dataclass(frozen=True, slots=True)
class InferenceCallCount:
    """`inference_call_count_v1`: model calls per invocation, also those of agents that answered as tools."""

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002
        """Count the model calls of each invocation, and take the mean."""
        return _unless_missing(trace, _mean(trace, _model_calls))


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """`token_usage_v1`: input and output tokens per invocation.

    A model call without tokens leaves its invocation unscored: a sum without it would be too low.
    """

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002
        """Add up the tokens of each invocation, and take the mean over invocations whose calls all have tokens."""
        return _unless_missing(trace, _score_each(trace, _tokens))


@dataclass(frozen=True, slots=True)
class InvocationDuration:
    """`invocation_duration_v1`: seconds per invocation."""

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002
        """Take the mean of the seconds of each invocation."""
        return _mean(trace, _seconds)


@dataclass(frozen=True, slots=True)
class TimeToFirstToken:
    """`time_to_first_token_v1`: seconds per invocation until the agent streamed its first text or sound."""

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002
        """Take the mean of the seconds of each invocation that was streamed."""
        return _mean(trace, _seconds_to_first_token)


@dataclass(frozen=True, slots=True)
class AgentCost:
    """`agent_cost_v1`: US cents per invocation, by the tokens of each model call and the price list of genai-prices.

    A model call without a name of its model, or with a model whose price is unknown, leaves its invocation unscored:
    a sum without it would be too low. Raises UsageError if genai-prices is not installed.
    """

    def __post_init__(self) -> None:
        """Load the price list."""
        import_extra("genai_prices", "prices")

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002
        """Add up the prices of the model calls of each invocation, and take the mean."""
        return _unless_missing(trace, _score_each(trace, _cost))


def _unless_missing(trace: Trace, score: Score) -> Score:
    """Return a sum over calls, or no score if calls may be missing in the trace: the sum would be too low."""
    if score.value is None:
        return score
    reason = missing_calls(trace)
    return Score(None, reason, side="infrastructure") if reason else score


def _cost(invocation: Invocation, key: PartKey) -> Score:
    usages = invocation.all_usages
    if not usages:
        return _not_recorded(key)
    from fairtrial.llm.listed_prices import find_price  # few runs have recorded usages

    prices = [find_price(usage) for usage in usages]
    known_prices = [price for price in prices if price is not None]
    if len(known_prices) == len(prices):
        return Score(100 * sum(known_prices), key=key)
    model = next(usage.model for usage, price in zip(usages, prices, strict=True) if price is None)
    return Score(None, f"the price of {model or 'a model without a name'} is unknown", key=key)


def _mean(trace: Trace, measure: Callable[[Invocation], float | None]) -> Score:
    def score(invocation: Invocation, key: PartKey) -> Score:
        value = measure(invocation)
        return _not_recorded(key) if value is None else Score(float(value), key=key)

    return _score_each(trace, score)


def _score_each(trace: Trace, score: Callable[[Invocation, PartKey], Score]) -> Score:
    """Return the mean over the recorded invocations. If nothing is recorded of any, as is common, scores are shared."""
    size = len(trace.invocations)
    if trace.broken or not size:
        return score_each(trace, score)
    parts = [*map(score, trace.invocations, invocation_keys(size))]
    if parts[0].reason == _NOT_RECORDED and not [part for part in parts if part.reason != _NOT_RECORDED]:
        return _nothing_recorded(size)
    return average_parts(parts)


_NOT_RECORDED = "not recorded"


@lru_cache(maxsize=256)
def _not_recorded(key: PartKey) -> Score:
    return Score(None, _NOT_RECORDED, key=key)


@lru_cache(maxsize=256)
def _nothing_recorded(size: int) -> Score:
    return average_parts(map(_not_recorded, invocation_keys(size)))


def _tool_calls(invocation: Invocation) -> int | None:
    if invocation.steps is None:
        return None
    own = len([step for step in invocation.steps if type(step) is ToolCall])
    inner = [_tool_calls(one) for one in invocation.inner_invocations]
    counts = [count for count in inner if count is not None]
    return own + sum(counts) if len(counts) == len(inner) else None


def _model_calls(invocation: Invocation) -> int | None:
    usages = None if invocation.usages is None else invocation.all_usages
    return None if usages is None else len(usages)


def _tokens(invocation: Invocation, key: PartKey) -> Score:
    usages = invocation.all_usages or ()
    totals = [total for usage in usages if (total := usage.total_tokens) is not None]
    if not totals:
        return _not_recorded(key)
    if len(totals) < len(usages):
        return Score(None, f"{len(usages) - len(totals)} of {len(usages)} model calls have no tokens", key=key)
    return Score(float(sum(totals)), key=key)


def _seconds(invocation: Invocation) -> float | None:
    return invocation.durations.total if invocation.durations else None


def _seconds_to_first_token(invocation: Invocation) -> float | None:
    return invocation.durations.first_token if invocation.durations else None
