"""What did the run cost the agent? Calls, inferences, tokens, time: lower is better."""

from __future__ import annotations

from dataclasses import dataclass

from fairtrial.metrics.pairing import score_each
from fairtrial.records.case import EvalCase
from fairtrial.records.score import PartKey, Score
from fairtrial.records.trace import Invocation, Trace

_UNRECORDED = "not recorded"


@dataclass(frozen=True, slots=True)
class ToolCallCount:
    """`tool_call_count_v1`: tool calls per invocation; not recorded where nothing is known of the steps."""

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002
        """Count the calls of each invocation, and take the mean."""
        return score_each(trace, lambda one, key: _part(None if one.steps is None else len(one.tool_calls), key))


@dataclass(frozen=True, slots=True)
class InferenceCallCount:
    """`inference_call_count_v1`: model calls per invocation, counted where the recording tells of them."""

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002
        """Count the model calls of each invocation, and take the mean."""
        return score_each(trace, lambda one, key: _part(None if one.usages is None else len(one.usages), key))


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """`token_usage_v1`: tokens per invocation, in and out: prompts, tool-use prompts, replies and thoughts."""

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002
        """Add up the tokens of each invocation, and take the mean over those that have any recorded."""
        return score_each(trace, lambda one, key: _part(_tokens(one), key))


@dataclass(frozen=True, slots=True)
class InvocationDuration:
    """`invocation_duration_v1`: seconds per invocation."""

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002
        """Take the mean of the seconds of each invocation."""
        return score_each(trace, lambda one, key: _part(one.durations.total if one.durations else None, key))


def _tokens(invocation: Invocation) -> int | None:
    totals = [usage.total_tokens for usage in invocation.usages or () if usage.total_tokens is not None]
    return sum(totals) if totals else None


def _part(value: float | None, key: PartKey) -> Score:
    return Score(None, _UNRECORDED, key=key) if value is None else Score(float(value), key=key)
