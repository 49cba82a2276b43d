"""The rows of received spans. Spans are in the store before they are acknowledged."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fairtrial.formats.spans.span import LogRecord, Span, SpanItem
from fairtrial.records.record import Record
from fairtrial.store.bodies import BodyDecoder, encode
from fairtrial.store.schema import SPANS

if TYPE_CHECKING:
    from fairtrial.store.connections import Connections

OUT_OF_SAMPLE = "-"
"""The conversation of spans that are not scored: they belong to no agent, or the sample leaves them out."""


class _Body(Record, frozen=True):
    """The spans and the log records of one trace in one request."""

    spans: tuple[Span, ...] = ()
    logs: tuple[LogRecord, ...] = ()


class SpanBatch(Record, frozen=True):
    """A row with spans of one trace."""

    number: int
    trace_id: str
    conversation: str
    items: tuple[SpanItem, ...]

    @property
    def is_pending(self) -> bool:
        """Whether no result counts these spans yet."""
        return not self.conversation

    @property
    def is_left_out(self) -> bool:
        """Whether the spans are never scored."""
        return self.conversation == OUT_OF_SAMPLE


class ScoredTraces:
    """The traces of each conversation that is scored."""

    def __init__(self, traces: Mapping[str, Sequence[str]]) -> None:
        """Keep traces by the keys of their conversations."""
        self._traces = traces

    def list_trace_ids(self, conversation: str) -> Sequence[str]:
        """Return a conversation's trace ids, in the order in which they came."""
        return self._traces.get(_digest(conversation), ())


class SpanRows:
    """The received spans of one run."""

    def __init__(self, connections: Connections, run: int) -> None:
        """Read and write a run's spans by run number. Each write commits immediately."""
        self._connections, self._run = connections, run
        self._decoder = BodyDecoder(_Body)

    def add(self, traces: Mapping[str, Sequence[SpanItem]]) -> None:
        """Store a request's spans by their traces, all of them or none."""
        rows = [
            {"run": self._run, "trace_id": trace_id, "conversation": "", "body": _encode(items)}
            for trace_id, items in traces.items()
        ]
        if rows:
            self._connections.transact(lambda connection: connection.execute(sa.insert(SPANS), rows))

    def pending(self) -> Iterator[SpanBatch]:
        """Yield the spans that no result counts yet, in the order in which they came."""
        yield from self._batches(SPANS.c.conversation == "")

    def find_trace_spans(self, trace_id: str) -> list[SpanBatch]:
        """Return a trace's spans."""
        return list(self._batches(SPANS.c.trace_id == trace_id))

    def find_conversation_spans(self, conversation: str) -> list[SpanBatch]:
        """Return a conversation's spans that are scored already."""
        return list(self._batches(SPANS.c.conversation == _digest(conversation)))

    def mark_scored(self, batches: Iterable[SpanBatch], conversation: str) -> None:
        """Note that a conversation result counts some spans."""
        self._update([batch.number for batch in batches], {"conversation": _digest(conversation)})

    def reopen(self, batches: Iterable[SpanBatch]) -> None:
        """Note that no result counts some spans any more."""
        self._update([batch.number for batch in batches], {"conversation": ""})

    def leave_out(self, batches: Iterable[SpanBatch]) -> None:
        """Remove the content of spans that are never scored. That they came stays known."""
        self._update([batch.number for batch in batches], {"conversation": OUT_OF_SAMPLE, "body": _encode(())})

    def scored_traces(self) -> ScoredTraces:
        """Return the traces of all scored conversations."""
        first = sa.func.min(SPANS.c.number)
        query = sa.select(SPANS.c.conversation, SPANS.c.trace_id).where(SPANS.c.run == self._run)
        query = query.where(SPANS.c.conversation.not_in(("", OUT_OF_SAMPLE)))
        query = query.group_by(SPANS.c.conversation, SPANS.c.trace_id).order_by(first)
        traces: dict[str, list[str]] = defaultdict(list)
        for row in self._connections.rows(query):
            traces[row.conversation].append(row.trace_id)
        return ScoredTraces(traces)

    def count_pending(self) -> int:
        """Return the number of traces with spans that no result counts yet."""
        query = sa.select(sa.func.count(sa.distinct(SPANS.c.trace_id)))
        query = query.where(SPANS.c.run == self._run, SPANS.c.conversation == "")
        (row,) = self._connections.rows(query)
        return int(row[0])

    def _batches(self, condition: sa.ColumnElement[bool]) -> Iterator[SpanBatch]:
        query = sa.select(SPANS).where(SPANS.c.run == self._run, condition).order_by(SPANS.c.number)
        for row in self._connections.rows(query):
            body = self._decoder.decode(row.body)
            yield SpanBatch(row.number, row.trace_id, row.conversation, (*body.spans, *body.logs))

    def _update(self, numbers: Sequence[int], values: Mapping[str, str | bytes]) -> None:
        update = sa.update(SPANS).where(SPANS.c.number == sa.bindparam("row_number")).values(values)
        rows = [{"row_number": number} for number in numbers]
        if rows:
            self._connections.transact(lambda connection: connection.execute(update, rows))


def _encode(items: Iterable[SpanItem]) -> bytes:
    members = list(items)
    spans = tuple(item for item in members if isinstance(item, Span))
    logs = tuple(item for item in members if isinstance(item, LogRecord))
    return encode(_Body(spans, logs))


def _digest(conversation: str) -> str:
    """Return a conversation id's key with limited length, which may be any text."""
    return hashlib.sha256(conversation.encode(errors="surrogatepass")).hexdigest()
