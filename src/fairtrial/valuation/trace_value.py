"""The value of a reasoning trace, and the numbers that make up its score."""

from __future__ import annotations

import hashlib

import msgspec

from fairtrial.records.reasoning import ReasoningTrace, RefusedTrace
from fairtrial.records.record import Record
from fairtrial.records.value_row import Nearest, ValueRow
from fairtrial.valuation.dimensions import UNKNOWN_NOVELTY, Structure, Weights, find_weights, structure, total
from fairtrial.valuation.embed import Reservations
from fairtrial.valuation.gaming import warnings

SAME_DISTANCE = 1e-6
"""Cosines this close to 1 count as 1, because float32 products cannot tell the vectors apart."""


class TraceValue(Record, frozen=True):
    """The value of one trace, 0..1, with its breakdown. `nearest` is the most similar trace that it was compared with.

    `tokens_seen` of `tokens` are those that the embedder saw. They are None if it does not count them.
    `novelty` is 0.5 if there was no embedder (`embedder` is "none") or no other trace (`nearest` is None).
    """

    id: str
    score: float
    complexity: float
    novelty: float
    tool_diversity: float
    outcome_confidence: float
    overrides: tuple[str, ...]
    warnings: tuple[str, ...]
    embedder: str
    nearest: Nearest | None
    mode: str
    profile: str
    weights: Weights
    tokens_seen: int | None = None
    tokens: int | None = None


class StructuralScore(Record, frozen=True):
    """The part of a value that the trace alone decides: everything except its novelty."""

    id: str
    structure: Structure
    warnings: tuple[str, ...]
    is_private: bool = False


class ScoringContext(Record, frozen=True):
    """How traces are scored: the profile of weights, the novelty mode, the name of the embedder."""

    profile: str = "default"
    mode: str = "sequence"
    embedder: str = "none"


def score_structure(trace: ReasoningTrace) -> StructuralScore:
    """Return the part of a value that the trace alone decides."""
    return StructuralScore(
        id=trace.id,
        structure=structure(trace),
        warnings=warnings(trace),
        is_private=trace.is_private,
    )


def content_digest(trace: ReasoningTrace) -> str:
    """Return a hash of the task, the steps and the outcome of a trace. Its id and its metadata do not count."""
    content = msgspec.json.encode([trace.task, trace.steps, trace.outcome], order="deterministic")
    return hashlib.sha256(content).hexdigest()[:32]


def score_novelty(nearest: Nearest | None) -> float:
    """Return 1 - cosine within 0..1, or 0.5 if there was nothing to compare with."""
    if nearest is None:
        return UNKNOWN_NOVELTY
    distance = 1.0 - nearest.cosine
    return 0.0 if distance < SAME_DISTANCE else min(1.0, distance)


def add_novelty(
    structural: StructuralScore,
    nearest: Nearest | None,
    context: ScoringContext,
    limits: Reservations = Reservations(),  # noqa: B008  # a NamedTuple never changes
) -> TraceValue:
    """Return the value of a trace from its structural score and the most similar other trace.

    `limits` say why its vector, and so its novelty, may say little. They never change the score.
    """
    parts = structural.structure
    weights = find_weights(context.profile)
    novelty = score_novelty(nearest)
    return TraceValue(
        id=structural.id,
        score=total(parts, novelty, weights),
        complexity=parts.complexity,
        novelty=novelty,
        tool_diversity=parts.tool_diversity,
        outcome_confidence=parts.outcome_confidence,
        overrides=parts.overrides,
        warnings=structural.warnings + limits.warnings(context.embedder),
        embedder=context.embedder,
        nearest=nearest,
        mode=context.mode,
        profile=context.profile,
        weights=weights,
        tokens_seen=limits.tokens.seen if limits.tokens else None,
        tokens=limits.tokens.all if limits.tokens else None,
    )


def make_row(result: TraceValue | RefusedTrace) -> ValueRow:
    """Return the row that is written for a value, or for a refused document."""
    if isinstance(result, RefusedTrace):
        return ValueRow(result.id, None, errors=result.problems)
    return ValueRow(
        result.id,
        result.score,
        result.complexity,
        result.novelty,
        result.tool_diversity,
        result.outcome_confidence,
        result.overrides,
        result.warnings,
        result.embedder,
        result.nearest,
        tokens_seen=result.tokens_seen,
        tokens=result.tokens,
    )
