"""How many calls, inferences, tokens and seconds did the agent need? Lower is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairtrial.metrics.pairing import score_each
from fairtrial.records.case import EvalCase
from fairtrial.records.score import PartKey, Score
from fairtrial.records.trace import Invocation, Trace


@dataclass(frozen=True, slots=True)
class ToolCallCount:
    """`tool_call_count_v1`: tool calls per invocation, if its steps are recorded."""

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002
        """Count the calls of each invocation, and take the mean."""
        return _mean(trace, _tool_calls)


@dataclass(frozen=True, slots=True)
class InferenceCallCount:
    """`inference_call_count_v1`: model calls per invocation, if they are recorded."""

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002
        """Count the model calls of each invocation, and take the mean."""
        return _mean(trace, _model_calls)


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """`token_usage_v1`: input and output tokens per invocation."""

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002
        """Add up the tokens of each invocation, and take the mean over invocations with recorded tokens."""
        return _mean(trace, _tokens)


@dataclass(frozen=True, slots=True)
class InvocationDuration:
    """`invocation_duration_v1`: seconds per invocation."""

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002
        """Take the mean of the seconds of each invocation."""
        return _mean(trace, _seconds)


def _mean(trace: Trace, measure: Callable[[Invocation], float | None]) -> Score:
    def score(invocation: Invocation, key: PartKey) -> Score:
        value = measure(invocation)
        return Score(None, "not recorded", key=key) if value is None else Score(float(value), key=key)

    return score_each(trace, score)


def _tool_calls(invocation: Invocation) -> int | None:
    return None if invocation.steps is None else len(invocation.tool_calls)


def _model_calls(invocation: Invocation) -> int | None:
    return None if invocation.usages is None else len(invocation.usages)


def _tokens(invocation: Invocation) -> int | None:
    totals = [usage.total_tokens for usage in invocation.all_usages or () if usage.total_tokens is not None]
    return sum(totals) if totals else None


def _seconds(invocation: Invocation) -> float | None:
    return invocation.durations.total if invocation.durations else None
