"""Resume a valuation: separate its finished rows from the rest."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fairtrial.errors import UsageError, spell
from fairtrial.records.decoding import json_decoder
from fairtrial.records.reasoning import ReasoningTrace, RefusedTrace
from fairtrial.records.value_row import RedactionRow, ValueRow
from fairtrial.valuation.chunk import parse_document, redact_document
from fairtrial.valuation.dimensions import UNKNOWN_NOVELTY, find_weights, structure, total

if TYPE_CHECKING:
    from fairtrial.api.value.valuation_stages import Valuation
    from fairtrial.valuation.trace_value import ScoringContext

_ROUNDING = 1e-9


class FinishedRows(NamedTuple):
    """The scores in a broken-off output (None: refused), with place and id of each trace that is remembered.

    `private` says of each document whether it is a private trace.

    Later traces are compared with the remembered traces, for example with the last 1,000 in `sequence` mode.
    """

    scores: list[float | None]
    private: list[bool]
    remembered: Sequence[tuple[int, str]]


def read_finished(valuation: Valuation, lines: Iterable[bytes], output: Path) -> FinishedRows:
    """Return the finished rows of a broken-off output.

    Raises UsageError for a line that this valuation would not write: resuming would mix two outputs.
    """
    from fairtrial.valuation.opened_index import remembered_traces  # the help of a command needs no numpy

    limit = remembered_traces(
        valuation.context.mode, valuation.index, embedded=valuation.embed is not None, extend=valuation.extend
    )
    remembered: deque[tuple[int, str]] = deque(maxlen=limit)
    scores: list[float | None] = []
    private: list[bool] = []
    documents = valuation.iter_all()
    for number, line in enumerate(lines, start=1):
        document = next(documents, None)
        trace = None if document is None else parse_document(document)
        row = _decode_row(line)
        if trace is None or row is None or not _matches(row, trace, valuation.context):
            origin = "the end of the input" if document is None else document.origin
            raise UsageError(
                f"{spell('resume')}: line {number} of {output} does not match {origin}; the "
                "inputs or options have changed. "
                f"Use the original ones, or a new {spell('output')}.",
                code="cannot-resume",
            )
        if isinstance(trace, ReasoningTrace):
            remembered.append((number - 1, trace.id))
        scores.append(row.score)
        private.append(isinstance(trace, ReasoningTrace) and trace.is_private)
    return FinishedRows(scores, private, remembered)


def skip_finished(valuation: Valuation, rows: FinishedRows) -> Valuation:
    """Return the valuation of the documents that are not finished."""
    finished_count = len(rows.scores)
    remembered = finished_count - rows.remembered[0][0] if rows.remembered else 0
    is_complete = next(islice(valuation.iter_all(), finished_count, None), None) is None
    if is_complete and _is_saved(rows, valuation.index):
        remembered = 0  # the interruption came after the index was saved; adding the traces again would double them
    return replace(valuation, finished=finished_count, remembered=remembered)


def redact_finished(valuation: Valuation, rows: FinishedRows) -> Iterator[RedactionRow]:
    """Yield the redactions of the finished documents again, from their scores."""
    for document, score, is_private in zip(valuation.iter_all(), rows.scores, rows.private, strict=False):
        if score is not None and valuation.keep_filter.passes(score, is_private):
            yield from redact_document(document, score, people=valuation.keep_filter.people)[1]


def _is_saved(rows: FinishedRows, index: Path | None) -> bool:
    """Whether the remembered traces are the last traces of the index."""
    from fairtrial.valuation.opened_index import last_ids

    saved = last_ids(index, len(rows.remembered)) if index is not None and index.exists() else ()
    return saved == tuple(trace_id for _, trace_id in rows.remembered)


def _decode_row(line: bytes) -> ValueRow | None:
    try:
        return json_decoder(ValueRow).decode(line)
    except msgspec.MsgspecError:
        return None


def _matches(row: ValueRow, trace: ReasoningTrace | RefusedTrace, context: ScoringContext) -> bool:
    if row.id != trace.id or isinstance(trace, RefusedTrace) or row.score is None:
        return row.id == trace.id and isinstance(trace, RefusedTrace) and row.score is None
    novelty = row.novelty if isinstance(row.novelty, float) else UNKNOWN_NOVELTY
    expected = total(structure(trace), novelty, find_weights(context.profile))
    return row.embedder == context.embedder and abs(expected - row.score) < _ROUNDING
