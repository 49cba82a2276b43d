"""A span of a trace as every reader gives it, and a log record that completes a span."""

from __future__ import annotations

from fairtrial.records.record import Json, Record

PROBABILITY = "fairtrial_probability"
"""The column that a sample of a query adds to its rows, and the attribute of a span that comes from it."""


class SpanEvent(Record, frozen=True):
    """Something that happened in a span. `body` is the body of a log record, which an event of a span does not have."""

    name: str
    attributes: dict[str, Json] = {}
    body: Json = None
    time: int = 0


class Span(Record, frozen=True):
    """A unit of work. Ids are lower-case hex, times are nanoseconds since 1970 as exact integers.

    `parent_id` is empty for a root. `end` is None if the span never ended. `failure` is the message of the status
    `ERROR`, or "ERROR" without a message, and empty for every other status. `attributes` hold plain JSON values, with
    the names that their instrumentation gave them. `dropped` is the number of attributes and events that an SDK dropped
    because of its limits. `partial` says why the source gave only a part of the trace, and is empty for a whole trace.
    `trace_state` is the `tracestate` of W3C, in which a sampler writes its probability.
    """

    trace_id: str
    span_id: str
    parent_id: str = ""
    name: str = ""
    kind: str = ""
    start: int = 0
    end: int | None = None
    attributes: dict[str, Json] = {}
    events: tuple[SpanEvent, ...] = ()
    failure: str = ""
    scope: str = ""
    resource: dict[str, Json] = {}
    dropped: int = 0
    partial: str = ""
    trace_state: str = ""

    @property
    def last(self) -> int:
        """The end, or the start of a span that never ended."""
        return self.start if self.end is None else self.end


class LogRecord(Record, frozen=True):
    """An event that was sent by itself, with the ids of its span."""

    trace_id: str
    span_id: str
    event: SpanEvent
    resource: dict[str, Json] = {}


SpanItem = Span | LogRecord
"""One thing that a reader of spans gives."""
