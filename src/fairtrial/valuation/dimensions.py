"""The value of a reasoning trace, from the trace itself and its novelty.

Every formula comes from KnowledgePulse's documentation of `evaluateValue`. The named profiles come from its
TypeScript SDK 0.1.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairtrial.errors import UsageError, nearest
from fairtrial.records.record import Record

if TYPE_CHECKING:
    from fairtrial.records.reasoning import ReasoningTrace

UNKNOWN_NOVELTY = 0.5
"""The novelty of a trace without comparison, for example without an embedder."""


class Weights(Record, frozen=True):
    """The weight of each dimension in the score. The weights add up to 1."""

    complexity: float
    novelty: float
    tool_diversity: float
    outcome_confidence: float


PROFILES = {
    "default": Weights(0.25, 0.35, 0.15, 0.25),
    "finance": Weights(0.20, 0.25, 0.10, 0.45),
    "code": Weights(0.20, 0.30, 0.30, 0.20),
    "medical": Weights(0.15, 0.20, 0.10, 0.55),
    "customer_service": Weights(0.20, 0.30, 0.20, 0.30),
}


class Structure(Record, frozen=True):
    """The three dimensions that depend on the trace alone, and the rules that fire."""

    complexity: float
    tool_diversity: float
    outcome_confidence: float
    overrides: tuple[str, ...]


def find_weights(profile: str) -> Weights:
    """Return the weights of a named profile. Raises UsageError for an unknown name."""
    if profile not in PROFILES:
        allowed = ", ".join(PROFILES)
        raise UsageError(
            f"profile: must be one of {allowed}, got {profile!r}{nearest(profile, PROFILES)}", code="unknown-name"
        )
    return PROFILES[profile]


def structure(trace: ReasoningTrace) -> Structure:
    """Return complexity, tool diversity and outcome confidence, each 0..1, and the rules that fire, in their order.

    With n steps, complexity is min(1, types / 4 * 0.5 + 0.3 if any recovery + n / 20 * 0.2). Tool diversity is
    min(1, tools / max(1, n) * 3), with tools counted by exact name on steps of any type. Outcome confidence is the
    confidence, times 0.3 if the trace did not succeed.
    """
    steps = trace.steps
    count = len(steps)
    types = [step.type for step in steps]
    recoveries = types.count("error_recovery")
    tools = {step.tool.name for step in steps if step.tool is not None}
    success = trace.metadata.success
    fired = []
    if count == 1 and types[0] == "thought":
        fired.append("single_thought")
    if recoveries >= 2 and success:
        fired.append("recovered")
    if len(tools) == 1:
        fired.append("few_tools")
    return Structure(
        complexity=min(1.0, len(set(types)) / 4 * 0.5 + (0.3 if recoveries else 0) + count / 20 * 0.2),
        tool_diversity=min(1.0, len(tools) / max(1, count) * 3),
        outcome_confidence=trace.outcome.confidence * (1.0 if success else 0.3),
        overrides=tuple(fired),
    )


def total(parts: Structure, novelty: float, weights: Weights) -> float:
    """Return the score, 0..1: the weighted sum, then the rules that fire, in their order, on the running value.

    If the trace is a single thought, the score is 0.1. Two or more recoveries with success add 0.1, up to 1. If there
    is only one distinct tool, the score loses 0.1, down to 0.
    """
    score = (
        weights.complexity * parts.complexity
        + weights.novelty * novelty
        + weights.tool_diversity * parts.tool_diversity
        + weights.outcome_confidence * parts.outcome_confidence
    )
    for rule in parts.overrides:
        if rule == "single_thought":
            score = 0.1
        elif rule == "recovered":
            score = min(1.0, score + 0.1)
        else:
            score = max(0.0, score - 0.1)
    return min(1.0, max(0.0, score))
