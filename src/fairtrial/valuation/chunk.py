"""Value the traces of one chunk. Everything here runs in a worker, and is picklable."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from fairtrial.formats import knowledgepulse
from fairtrial.records.decoding import msgpack_decoder
from fairtrial.records.reasoning import ReasoningTrace, RefusedTrace
from fairtrial.records.value_row import Duplicate, Nearest, RedactionRow, ValueRow
from fairtrial.valuation.embed import Reservations
from fairtrial.valuation.trace_value import (
    ScoringContext,
    StructuralScore,
    add_novelty,
    content_digest,
    make_row,
    score_structure,
)
from fairtrial.valuation.whole_trace import TraceEmbedder, embed_traces, trace_limits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fairtrial.valuation.near_duplicates import DuplicateFinder


class Document(NamedTuple):
    """One document before it is parsed: its origin, for example `traces.jsonl:3`, and its bytes or its refusal."""

    origin: str
    data: bytes | RefusedTrace


class KeepFilter(NamedTuple):
    """Which traces are kept, if traces are kept at all (`keep`).

    These are all with a score of at least `threshold`, without private traces unless `keep_private` says so. With
    `people`, personal data is removed from them, too.
    """

    threshold: float | None = None
    keep: bool = False
    keep_private: bool = False
    people: bool = False

    def passes(self, score: float | None, is_private: bool = False) -> bool:
        """Whether a trace with this score is kept. A refused document (None) is never kept."""
        return self._reaches(score) and (self.keep_private or not is_private)

    def withholds(self, score: float | None, is_private: bool) -> bool:
        """Whether a trace is left out only because it is private."""
        return self._reaches(score) and is_private and not self.keep_private

    def _reaches(self, score: float | None) -> bool:
        return self.keep and score is not None and (self.threshold is None or score >= self.threshold)


class PreparedChunk(NamedTuple):
    """Documents with their structural scores or refusals.

    `vectors` has a row, `digests` a hash of the contents, and `limits` the limits of the vector, for each document with
    a score. All three are for novelty.
    """

    documents: list[Document]
    scores: list[StructuralScore | RefusedTrace]
    vectors: NDArray[np.float32] | None
    digests: list[str]
    limits: list[Reservations]

    @property
    def ids(self) -> list[str]:
        """The ids of the traces, without refused documents."""
        return [score.id for score in self.scores if isinstance(score, StructuralScore)]


class ValuedChunk(NamedTuple):
    """The results of one chunk: a row for each document in order, the kept traces, and what was redacted in them.

    `withheld` are the ids of the traces that were not kept only because they are private. A chunk that was only
    embedded, because other traces are compared with it, has no rows. `embedded` is its size.
    """

    origins: list[str]
    rows: list[ValueRow]
    kept: list[msgspec.Raw]
    redactions: list[RedactionRow]
    embedded: int = 0
    withheld: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the rows as MessagePack, which takes a third of the time of pickling row by row."""
        packed = msgspec.msgpack.encode(self.rows)
        return _unpickle_chunk, (self.origins, packed, self.kept, self.redactions, self.embedded, self.withheld)


def _unpickle_chunk(
    origins: list[str], packed: bytes, kept: list[msgspec.Raw], redactions: list[RedactionRow], *others: Any
) -> ValuedChunk:
    return ValuedChunk(origins, msgpack_decoder(list[ValueRow]).decode(packed), kept, redactions, *others)


def parse_document(document: Document) -> ReasoningTrace | RefusedTrace:
    """Return the trace of a document, or all its problems."""
    return document.data if isinstance(document.data, RefusedTrace) else knowledgepulse.parse(document.data)


def prepare_chunk(documents: list[Document], embed: TraceEmbedder | None) -> PreparedChunk:
    """Parse documents, score their structure, and embed the valid traces."""
    traces = [parse_document(document) for document in documents]
    scores = [trace if isinstance(trace, RefusedTrace) else score_structure(trace) for trace in traces]
    if embed is None:
        return PreparedChunk(documents, scores, None, [], [])
    valid = [trace for trace in traces if isinstance(trace, ReasoningTrace)]
    digests = [content_digest(trace) for trace in valid]
    return PreparedChunk(documents, scores, embed_traces(valid, embed), digests, trace_limits(valid, embed))


def value_prepared(
    prepared: PreparedChunk,
    nearest: Sequence[Nearest | None],
    context: ScoringContext,
    keep_filter: KeepFilter,
    finder: DuplicateFinder | None = None,
) -> ValuedChunk:
    """Return the results of a prepared chunk. `nearest` has an entry for each trace that was not refused.

    If there is a finder, each trace is marked if it repeats an earlier trace, and is then not kept.
    """
    duplicates = iter(_find_duplicates(prepared, finder))
    valued = ValuedChunk([document.origin for document in prepared.documents], [], [], [])
    limits = prepared.limits or [Reservations()] * len(nearest)
    remaining = zip(nearest, repeat(context), limits)
    withheld: list[str] = []
    for document, score in zip(prepared.documents, prepared.scores, strict=True):
        result = score if isinstance(score, RefusedTrace) else add_novelty(score, *next(remaining))
        row = make_row(result)
        if finder is not None and not isinstance(score, RefusedTrace):
            row = msgspec.structs.replace(row, duplicate=next(duplicates))
        valued.rows.append(row)
        if row.score is None or row.duplicate or isinstance(score, RefusedTrace):
            continue
        if keep_filter.withholds(row.score, score.is_private):
            withheld.append(score.id)
        elif keep_filter.passes(row.score, score.is_private):
            clean, redactions = redact_document(document, row.score, people=keep_filter.people)
            valued.kept.append(clean)
            valued.redactions.extend(redactions)
    return valued._replace(withheld=tuple(withheld))


def _find_duplicates(prepared: PreparedChunk, finder: DuplicateFinder | None) -> Sequence[Duplicate | None]:
    """Return the earlier trace that each trace repeats, or None, if there is a finder."""
    if finder is None:
        return []
    traces = [trace for document in prepared.documents if isinstance(trace := parse_document(document), ReasoningTrace)]
    return finder.find(traces, prepared.vectors)


def value_chunk(documents: list[Document], context: ScoringContext, keep_filter: KeepFilter) -> ValuedChunk:
    """Return the results of documents without an embedder. A chunk then needs nothing from outside."""
    prepared = prepare_chunk(documents, None)
    return value_prepared(prepared, [None] * len(prepared.scores), context, keep_filter)


def redact_document(
    document: Document, score: float | None = None, *, people: bool = False
) -> tuple[msgspec.Raw, list[RedactionRow]]:
    """Return the JSON object of a document's trace without its secrets, and a row for each secret.

    Its `quality_score` is the score, if there is one.
    """
    from fairtrial.text.redaction.redact_json import redact_json

    trace = parse_document(document)
    assert isinstance(trace, ReasoningTrace)  # noqa: S101  # only a trace has a score, and so can pass the filter
    if score is not None:
        trace = replace(trace, metadata=replace(trace.metadata, quality_score=score))
    clean, redactions = redact_json(knowledgepulse.document(trace), people=people)
    rows = [RedactionRow(clean["id"], redaction.kind, redaction.detail, redaction.pointer) for redaction in redactions]
    return msgspec.Raw(msgspec.json.encode(clean)), rows
