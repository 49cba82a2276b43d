"""Efficiency criteria: calls, inferences, tokens, seconds and cost. Lower is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from fairtrial.llm.listed_prices import find_price
from fairtrial.metrics.pairing import missing_calls, score_each
from fairtrial.records.score import PartKey, Score
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.trace import Invocation, Trace


@dataclass(frozen=True, slots=True)
class ToolCallCount:
    """`tool_call_count_v1`: tool calls per invocation, also those of agents that answered as tools, if recorded."""

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002
        """Count the calls of each invocation, and take the mean."""
        return _unless_missing(missing_calls(trace.incomplete, trace.invocations), _mean(trace, _tool_calls))


@dataclass(frozen=True, slots=True)
class InferenceCallCount:
    """`inference_call_count_v1`: model calls per invocation, also those of agents that answered as tools."""

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002
        """Count the model calls of each invocation, and take the mean."""
        return _unless_missing(missing_calls(trace.incomplete, trace.invocations), _mean(trace, _model_calls))


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """`token_usage_v1`: input and output tokens per invocation.

    A model call without tokens leaves its invocation unscored: a sum without it would be too low.
    """

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002
        """Add up the tokens of each invocation, and take the mean over invocations whose calls all have tokens."""
        return _unless_missing(missing_calls(trace.incomplete, trace.invocations), score_each(trace, _tokens))


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
        return _unless_missing(missing_calls(trace.incomplete, trace.invocations), score_each(trace, _cost))


def _unless_missing(reason: str, score: Score) -> Score:
    """Return a sum over calls, or no score if there is a reason why calls may be missing: it would be too low."""
    return Score(None, reason, side="infrastructure") if reason and score.value is not None else score


def _cost(invocation: Invocation, key: PartKey) -> Score:
    usages = invocation.all_usages
    if not usages:
        return _not_recorded(key)
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

    return score_each(trace, score)


@lru_cache(maxsize=256)
def _not_recorded(key: PartKey) -> Score:
    return Score(None, "not recorded", key=key)


def _tool_calls(invocation: Invocation) -> int | None:
    if invocation.steps is None:
        return None
    inner = [_tool_calls(one) for one in invocation.inner_invocations]
    if not inner:
        return len(invocation.tool_calls)
    counts = [count for count in inner if count is not None]
    return len(invocation.tool_calls) + sum(counts) if len(counts) == len(inner) else None


def _model_calls(invocation: Invocation) -> int | None:
    usages = invocation.all_usages
    return None if invocation.usages is None or usages is None else len(usages)


def _tokens(invocation: Invocation, key: PartKey) -> Score:
    usages = invocation.all_usages or ()
    totals = [usage.total_tokens for usage in usages if usage.total_tokens is not None]
    if not totals:
        return _not_recorded(key)
    if len(totals) < len(usages):
        return Score(None, f"{len(usages) - len(totals)} of {len(usages)} model calls have no tokens", key=key)
    return Score(float(sum(totals)), key=key)


def _seconds(invocation: Invocation) -> float | None:
    return invocation.durations.total if invocation.durations else None


def _seconds_to_first_token(invocation: Invocation) -> float | None:
    return invocation.durations.first_token if invocation.durations else None
