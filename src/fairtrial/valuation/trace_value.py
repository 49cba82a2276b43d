"""What is a reasoning trace worth, and why: every number that its score is made of?"""

from __future__ import annotations

import msgspec

from fairtrial.formats.knowledgepulse import Problem, Refused
from fairtrial.records.reasoning import ReasoningTrace
from fairtrial.records.record import Record
from fairtrial.valuation.dimensions import UNKNOWN_NOVELTY, Structure, Weights, structure, total, weights_of
from fairtrial.valuation.gaming import warnings

SAME = 1e-6
"""Cosines this near to 1 are 1: products of float32 cannot tell such vectors apart."""


class Nearest(Record, frozen=True):
    """The trace that another one is most like, and how much: 1 is the same direction."""

    id: str
    cosine: float


class TraceValue(Record, frozen=True):
    """The value of one trace, 0..1, with its breakdown; `nearest` is the most similar trace that it was held against.

    `novelty` is 0.5 where there was no embedder (`embedder` is "none") or nothing to compare with (`nearest` is None).
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


class StructuralScore(Record, frozen=True):
    """What a trace alone decides of its value: all but how new it is."""

    id: str
    structure: Structure
    warnings: tuple[str, ...]


class ScoringContext(Record, frozen=True):
    """How traces are scored: by which profile, in which mode, with whose vectors."""

    profile: str = "default"
    mode: str = "sequence"
    embedder: str = "none"


class _Line(msgspec.Struct, gc=False):
    """One line of output, keys in order, none left out."""

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


class _RefusedLine(msgspec.Struct, gc=False):
    id: str | None
    score: None
    errors: tuple[Problem, ...]


def weigh(trace: ReasoningTrace) -> StructuralScore:
    """Return what a trace alone decides of its value."""
    return StructuralScore(id=trace.id, structure=structure(trace), warnings=warnings(trace))


def novelty_of(nearest: Nearest | None) -> float:
    """Return 1 - cosine within 0..1, or 0.5 where there was nothing to compare with."""
    if nearest is None:
        return UNKNOWN_NOVELTY
    distance = 1.0 - nearest.cosine
    return 0.0 if distance < SAME else min(1.0, distance)


def finish(weighed: StructuralScore, nearest: Nearest | None, terms: ScoringContext) -> TraceValue:
    """Return the value of a trace that was weighed, now that it is known what it is most like."""
    parts = weighed.structure
    weights = weights_of(terms.profile)
    novelty = novelty_of(nearest)
    return TraceValue(
        id=weighed.id,
        score=total(parts, novelty, weights),
        complexity=parts.complexity,
        novelty=novelty,
        tool_diversity=parts.tool_diversity,
        outcome_confidence=parts.outcome_confidence,
        overrides=parts.overrides,
        warnings=weighed.warnings,
        embedder=terms.embedder,
        nearest=nearest,
        mode=terms.mode,
        profile=terms.profile,
        weights=weights,
    )


_ENCODER = msgspec.json.Encoder()


def line(result: TraceValue | Refused) -> bytes:
    """Return the JSON object of a result, without a line break."""
    if isinstance(result, Refused):
        return _ENCODER.encode(_RefusedLine(result.id, None, result.problems))
    return _ENCODER.encode(
        _Line(
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
        )
    )
