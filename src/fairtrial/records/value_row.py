"""The rows that `fairtrial value` writes, one for each document."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from fairtrial.records.reasoning import Problem
from fairtrial.records.record import Record


class Nearest(Record, frozen=True):
    """The most similar other trace, and the cosine between both: 1 is the same direction."""

    id: str
    cosine: float


class Duplicate(Record, frozen=True):
    """The earlier trace that a trace repeats, and how similar both are.

    If `by` is `steps`, `similarity` is the share of the steps' text that both have in common. If it is `embedding`, it
    is the cosine of their vectors.
    """

    of: str
    by: Literal["steps", "embedding"]
    similarity: float


class ValueRow(msgspec.Struct, frozen=True, gc=False):
    """The value of one trace with its breakdown, or the problems of a refused document.

    A refused document has no score, and only `id`, `score` and `errors` are written. A trace has no `errors`, and has
    `duplicate` only if duplicates were looked for.
    `tokens_seen` of `tokens` are those that the embedder saw.
    The fields stand in the order of the keys in a JSON line and of the columns in a Parquet file.
    """

    id: str | None
    score: float | None
    complexity: float | UnsetType = UNSET
    novelty: float | UnsetType = UNSET
    tool_diversity: float | UnsetType = UNSET
    outcome_confidence: float | UnsetType = UNSET
    overrides: tuple[str, ...] | UnsetType = UNSET
    warnings: tuple[str, ...] | UnsetType = UNSET
    embedder: str | UnsetType = UNSET
    nearest: Nearest | UnsetType | None = UNSET
    errors: tuple[Problem, ...] | UnsetType = UNSET
    duplicate: Duplicate | UnsetType | None = UNSET
    tokens_seen: int | UnsetType | None = UNSET
    tokens: int | UnsetType | None = UNSET


class RedactionRow(msgspec.Struct, frozen=True, gc=False):
    """A secret that was removed from a trace: the trace's id, the kind of secret, more exactly what, and the place."""

    id: str
    kind: str
    detail: str
    pointer: str
