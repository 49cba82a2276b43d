"""Value traces that a Python program holds."""

from __future__ import annotations

import asyncio
import warnings as python_warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from fairtrial.errors import FormatError, UsageError
from fairtrial.formats import knowledgepulse
from fairtrial.records.reasoning import ReasoningTrace, RefusedTrace
from fairtrial.records.record import Json
from fairtrial.records.trace import Trace
from fairtrial.valuation import embed as embedding
from fairtrial.valuation.dimensions import find_weights
from fairtrial.valuation.from_trace import from_trace
from fairtrial.valuation.index_files import write_lock
from fairtrial.valuation.novelty_index import check_mode, is_locked_long
from fairtrial.valuation.trace_value import ScoringContext, TraceValue, add_novelty, content_digest, score_structure
from fairtrial.valuation.weights import HOW_TO_INSTALL
from fairtrial.valuation.whole_trace import NoveltyOf, TraceEmbedder, choose_part, embed_traces, trace_limits

if TYPE_CHECKING:
    from fairtrial.protocols import Embedder
    from fairtrial.records.value_row import Nearest
    from fairtrial.valuation.novelty import VectorCache

Valuable = ReasoningTrace | Trace | Mapping[str, Json]
"""Everything that has a value: a ReasoningTrace, its JSON object, or any other trace."""

_shared: dict[str, VectorCache] = {}
WITHOUT_EMBEDDER = f"no embedder is installed, so every novelty is 0.5 and scores are less precise; {HOW_TO_INSTALL}"


@overload
def value(
    traces: Valuable,
    *,
    embedder: str | Embedder | None = ...,
    profile: str = ...,
    novelty: str = ...,
    novelty_of: NoveltyOf = ...,
    cache: VectorCache | None = ...,
    index: str | Path | None = ...,
    approximate: bool = ...,
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
    novelty_of: NoveltyOf = ...,
    cache: VectorCache | None = ...,
    index: str | Path | None = ...,
    approximate: bool = ...,
    confidence: float | None = ...,
    success: bool | None = ...,
) -> tuple[TraceValue, ...]: ...
def value(
    traces: Valuable | Iterable[Valuable],
    *,
    embedder: str | Embedder | None = "auto",
    profile: str = "default",
    novelty: str = "sequence",
    novelty_of: NoveltyOf = "contents",
    cache: VectorCache | None = None,
    index: str | Path | None = None,
    approximate: bool = False,
    confidence: float | None = None,
    success: bool | None = None,
) -> TraceValue | tuple[TraceValue, ...]:
    """Return the value of a trace, 0..1 with its breakdown, or a tuple with the value of each of several traces.

    `novelty` says which other traces a trace is compared with:

    - `sequence`: the traces before it. They are in `cache`, or in the file `index`, which is then read and extended.
      Without both they are in a cache of this process.
    - `corpus`: the traces in `index`, which does not change. `approximate` searches it with a graph of neighbours,
      which is fast in a large index and can miss the nearest trace.
    - `leave-one-out`: all other traces of the call.

    `novelty_of` says which part of them is compared: `contents`, which are the objective and the contents of the
    steps, or `trace`, which is everything: also tools, inputs and results.

    `embedder` is a name, a callable, None, or `auto`: MiniLM if it is installed. `confidence` and `success` are for
    traces that do not contain them. Raises FormatError for an invalid trace, CaseError for a trace that reasoning
    cannot be derived from, and UsageError for options that do not fit together.
    """
    if confidence is not None and not 0.0 <= confidence <= 1.0:
        raise UsageError(f"confidence: must be a number from 0 to 1, got {confidence!r}")
    reasonings = [as_reasoning(trace, confidence, success) for trace in list_traces(traces)]
    embed = choose_part(choose_embedder(embedder), novelty_of)
    values = _values(reasonings, embed, profile, novelty, cache, index, approximate)
    return values[0] if _is_alone(traces) else values


def shared_cache(embedder: str | Embedder | None = "auto", novelty_of: NoveltyOf = "contents") -> VectorCache | None:
    """Return the cache that `value` uses by default, for example to reset it. It is None before its first use."""
    return _shared.get(embedding.read_name(choose_part(choose_embedder(embedder), novelty_of)))


def _values(
    traces: Sequence[ReasoningTrace],
    embed: TraceEmbedder | None,
    profile: str,
    mode: str,
    cache: VectorCache | None,
    index: str | Path | None,
    approximate: bool,
) -> tuple[TraceValue, ...]:
    find_weights(profile)
    check_mode(mode, index=index, embedded=embed is not None, approximate=approximate)
    context = ScoringContext(
        profile=profile, mode=mode if embed is not None else "none", embedder=embedding.read_name(embed)
    )
    nearest: Sequence[Nearest | None] = [None] * len(traces)
    if embed is not None and traces:
        nearest = _nearest(traces, embed, context, cache, index, approximate=approximate)
    limits = trace_limits(traces, embed)
    return tuple(
        add_novelty(score_structure(trace), other, context, limit)
        for trace, other, limit in zip(traces, nearest, limits, strict=True)
    )


def _nearest(
    traces: Sequence[ReasoningTrace],
    embed: TraceEmbedder,
    context: ScoringContext,
    cache: VectorCache | None,
    index: str | Path | None,
    *,
    approximate: bool,
) -> Sequence[Nearest | None]:
    from fairtrial.valuation.nearest_rows import leave_one_out
    from fairtrial.valuation.novelty import VectorCache
    from fairtrial.valuation.opened_index import open_index

    ids, digests = [trace.id for trace in traces], [content_digest(trace) for trace in traces]
    vectors = embed_traces(traces, embed)
    if context.mode == "leave-one-out":
        return leave_one_out(ids, vectors)
    if context.mode == "corpus":
        path = Path(str(index))
        if not path.exists():
            raise UsageError(f"{path}: there is no such index", code="no-such-file")
        corpus = open_index("corpus", path, embedder=context.embedder, approximate=approximate)
        return corpus.nearest(ids, vectors, digests)
    if index is None:
        if cache is None:
            cache = _shared.setdefault(context.embedder, VectorCache(dimensions=vectors.shape[1]))
        return cache.sequence(ids, vectors, digests)
    with write_lock(Path(index)) if is_locked_long("sequence", Path(index)) else nullcontext():
        sequence = open_index("sequence", Path(index), embedder=context.embedder, cache=cache)
        nearest = sequence.nearest(ids, vectors, digests)
        sequence.save()
    return nearest


def list_traces(traces: Any) -> list[Any]:
    """Return traces as a list. One trace, or one path, is a list of one: a text is not a list of its letters."""
    return [traces] if _is_alone(traces) else list(traces)


def _is_alone(traces: Any) -> bool:
    return isinstance(traces, ReasoningTrace | Trace | Mapping | str | bytes) or not isinstance(traces, Iterable)


def as_reasoning(trace: Valuable, confidence: float | None, success: bool | None) -> ReasoningTrace:
    """Return a trace as a valid ReasoningTrace, because objects that were built in Python are not yet checked."""
    if isinstance(trace, Trace):
        trace = from_trace(trace, confidence=confidence, success=success)
    if not isinstance(trace, ReasoningTrace | Mapping):
        raise UsageError(
            f"traces: must be a ReasoningTrace, a Trace, a JSON object, or several of them, got {trace!r:.80}"
        )
    raw: Any = knowledgepulse.document(trace) if isinstance(trace, ReasoningTrace) else dict(trace)
    checked = knowledgepulse.build(raw)
    if isinstance(checked, RefusedTrace):
        raise FormatError(checked.id or "trace", [str(problem) for problem in checked.problems])
    return checked


def choose_embedder(choice: str | Embedder | None) -> Embedder | None:
    """Return the embedder of a name or of `auto`, or the embedder itself."""
    if choice == "auto":
        installed = embedding.installed_embedder()
        if installed is None:
            # With this place as its origin, Python shows the warning once, whoever the caller is.
            python_warnings.warn(WITHOUT_EMBEDDER, stacklevel=1)
        return installed
    return embedding.embedder(choice) if isinstance(choice, str) else choice


async def avalue(
    traces: Valuable | Iterable[Valuable],
    *,
    embedder: str | Embedder | None = "auto",
    profile: str = "default",
    novelty: str = "sequence",
    novelty_of: NoveltyOf = "contents",
    cache: VectorCache | None = None,
    index: str | Path | None = None,
    approximate: bool = False,
    confidence: float | None = None,
    success: bool | None = None,
) -> TraceValue | tuple[TraceValue, ...]:
    """Return the value of traces as `value` does. A thread computes it, so that the running event loop stays free."""
    return await asyncio.to_thread(
        value,
        traces,
        embedder=embedder,
        profile=profile,
        novelty=novelty,
        novelty_of=novelty_of,
        cache=cache,
        index=index,
        approximate=approximate,
        confidence=confidence,
        success=success,
    )
