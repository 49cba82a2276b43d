"""What is this trace worth, asked from Python?"""

from __future__ import annotations

import warnings as python_warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from fairtrial.errors import FormatError, UsageError
from fairtrial.formats import knowledgepulse
from fairtrial.formats.knowledgepulse import Refused
from fairtrial.protocols import Embedder
from fairtrial.records.reasoning import ReasoningTrace
from fairtrial.records.record import Json
from fairtrial.records.trace import Trace
from fairtrial.valuation import embed as embedding
from fairtrial.valuation.batch import vectors_of
from fairtrial.valuation.dimensions import weights_of
from fairtrial.valuation.from_trace import from_trace
from fairtrial.valuation.job import book_of, check_mode
from fairtrial.valuation.trace_value import Nearest, ScoringContext, TraceValue, finish, weigh
from fairtrial.valuation.weights import HOW_TO_INSTALL

if TYPE_CHECKING:
    from fairtrial.valuation.novelty import VectorCache

Valuable = ReasoningTrace | Trace | Mapping[str, Json]
"""What has a value: a ReasoningTrace, its JSON object, or any other trace."""

_shared: dict[str, VectorCache] = {}
WITHOUT = f"no embedder is installed, so every novelty is 0.5 and scores are less precise; {HOW_TO_INSTALL}"


@overload
def value(
    traces: Valuable,
    *,
    embedder: str | Embedder | None = ...,
    profile: str = ...,
    novelty: str = ...,
    cache: VectorCache | None = ...,
    index: str | Path | None = ...,
    confidence: float | None = ...,
    success: bool | None = ...,
) -> TraceValue: ...
@overload
def value(
    traces: Iterable[Valuable],
    *,
    embedder: str | Embedder | None = ...,
    profile: str = ...,
    novelty: str = ...,
    cache: VectorCache | None = ...,
    index: str | Path | None = ...,
    confidence: float | None = ...,
    success: bool | None = ...,
) -> tuple[TraceValue, ...]: ...
def value(
    traces: Valuable | Iterable[Valuable],
    *,
    embedder: str | Embedder | None = "auto",
    profile: str = "default",
    novelty: str = "sequence",
    cache: VectorCache | None = None,
    index: str | Path | None = None,
    confidence: float | None = None,
    success: bool | None = None,
) -> TraceValue | tuple[TraceValue, ...]:
    """Return the value of a trace, 0..1 with its breakdown, or of each of several, in their order.

    `novelty` is `sequence` (against those before it: in `cache`, else in the process's own cache, or in `index`, which
    then is read and extended), `corpus` (against `index` alone, which stays as it is) or `leave-one-out` (against all
    others). `embedder` is a name, a callable, None, or `auto`: MiniLM where installed. `confidence` and `success` are
    for traces that do not say them. FormatError for an invalid trace, CaseError for one that cannot be derived,
    UsageError for options that do not fit.
    """
    if confidence is not None and not 0.0 <= confidence <= 1.0:
        raise UsageError(f"confidence: must be a number from 0 to 1, got {confidence!r}")
    if isinstance(traces, ReasoningTrace | Trace | Mapping | str | bytes) or not isinstance(traces, Iterable):
        alone = [_reasoning(traces, confidence, success)]
        return _values(alone, _embedder(embedder), profile, novelty, cache, index)[0]
    several = [_reasoning(one, confidence, success) for one in traces]
    return _values(several, _embedder(embedder), profile, novelty, cache, index)


def shared_cache(embedder: str | Embedder | None = "auto") -> VectorCache | None:
    """Return the cache that `value` uses where it is given none, to reset or save it; None before its first use."""
    return _shared.get(embedding.name_of(_embedder(embedder)))


def _values(
    traces: Sequence[ReasoningTrace],
    embed: Embedder | None,
    profile: str,
    mode: str,
    cache: VectorCache | None,
    index: str | Path | None,
) -> tuple[TraceValue, ...]:
    weights_of(profile)
    check_mode(mode, index=index, embedded=embed is not None)
    terms = ScoringContext(
        profile=profile, mode=mode if embed is not None else "none", embedder=embedding.name_of(embed)
    )
    nearest = _nearest(traces, embed, terms, cache, index) if embed is not None and traces else [None] * len(traces)
    return tuple(finish(weigh(trace), like, terms) for trace, like in zip(traces, nearest, strict=True))


def _nearest(
    traces: Sequence[ReasoningTrace],
    embed: Embedder,
    terms: ScoringContext,
    cache: VectorCache | None,
    index: str | Path | None,
) -> Sequence[Nearest | None]:
    from fairtrial.valuation.novelty import VectorCache, leave_one_out

    ids = [trace.id for trace in traces]
    vectors = vectors_of([trace.text for trace in traces], embed)
    if terms.mode == "leave-one-out":
        return leave_one_out(ids, vectors)
    if terms.mode == "corpus":
        return VectorCache.load(str(index), embedder=terms.embedder).search(vectors)
    if index is None:
        known = cache
        if known is None:
            known = _shared.setdefault(terms.embedder, VectorCache(dimensions=vectors.shape[1]))
        return known.sequence(ids, vectors)
    book = book_of("sequence", Path(index), embedder=terms.embedder, cache=cache)
    found = book.nearest(ids, vectors)
    book.close()
    return found


def _reasoning(trace: Valuable, confidence: float | None, success: bool | None) -> ReasoningTrace:
    """Return a trace as a valid ReasoningTrace: what is built in Python has not been checked before."""
    if isinstance(trace, Trace):
        trace = from_trace(trace, confidence=confidence, success=success)
    if not isinstance(trace, ReasoningTrace | Mapping):
        raise UsageError(
            f"traces: must be a ReasoningTrace, a Trace, a JSON object, or several of them, got {trace!r:.80}"
        )
    raw: Any = knowledgepulse.document(trace) if isinstance(trace, ReasoningTrace) else dict(trace)
    found = knowledgepulse.build(raw)
    if isinstance(found, Refused):
        raise FormatError(found.id or "trace", [str(problem) for problem in found.problems])
    return found


def _embedder(chosen: str | Embedder | None) -> Embedder | None:
    if chosen == "auto":
        found = embedding.installed_embedder()
        if found is None:
            python_warnings.warn(WITHOUT, stacklevel=1)  # this place, so that it is said once, whoever calls from where
        return found
    return embedding.embedder(chosen) if isinstance(chosen, str) else chosen
