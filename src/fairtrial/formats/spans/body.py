"""Read the spans of a body of data. Several files are one body: each span counts once, with its log records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from fairtrial.formats.spans.span import LogRecord, Span, SpanEvent, SpanItem
from fairtrial.text.display import count, visible_line

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_Key = tuple[str, str]

_EMPTY: tuple[Json, ...] = (None, "", [], {})
_COUNT_LIMITS = "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT and OTEL_SPAN_EVENT_COUNT_LIMIT"
"""The variables of OpenTelemetry that limit how many attributes and events a span has."""


def dropped_reason(span: Span) -> str:
    """Return the reason for contents that are missing in a span because an SDK dropped attributes or events."""
    loss = f"the limits of an SDK dropped {span.dropped} attributes or events of the span {visible_line(span.name)!r}"
    return f"{loss}; set {_COUNT_LIMITS} higher where the agent runs"


def loss_reason(span: Span) -> str:
    """Return the reason for which spans or contents of the trace of a span may be missing, or an empty text."""
    return span.partial or (dropped_reason(span) if span.dropped else "")


def make_spans(items: Iterable[SpanItem], warnings: list[str]) -> list[Span]:
    """Return the spans of a body in the order of their start, each once and with the events of its log records.

    A span that was sent twice counts once. A span that was sent when it started and when it ended has the contents of
    both. If two whole spans contradict each other, the span that ended later counts, and a warning says so.
    A log record whose span is nowhere in the body becomes a span of its own.
    """
    spans: dict[_Key, Span] = {}
    logs: dict[_Key, list[LogRecord]] = defaultdict(list)
    differing = 0
    for place, item in enumerate(items):
        if isinstance(item, LogRecord):
            if item.trace_id:  # a log record outside of every trace belongs to no conversation
                logs[item.trace_id, item.span_id].append(item)
            continue
        span = item if item.span_id else replace(item, span_id=f"#{place}")
        earlier = spans.setdefault((span.trace_id, span.span_id), span)
        if earlier is not span and earlier != span:
            first, last = sorted((earlier, span), key=_completeness)
            is_contradicted = _contradict(first, last)
            differing += is_contradicted
            spans[span.trace_id, span.span_id] = last if is_contradicted else _unite_spans(first, last)
    if differing:
        warnings.append(f"read {count(differing, 'span')} twice with unequal content; the span that ended later counts")
    for key, records in logs.items():
        spans[key] = _with_events(spans.get(key) or _span_of_logs(records), records)
    unended = [span for span in spans.values() if span.end is None and not span.span_id.startswith("#")]
    if unended:
        name = visible_line(unended[0].name)
        warnings.append(f"{count(len(unended), 'span')} never ended, for example {name!r}; the duration is not known")
    if cut := [span for span in spans.values() if span.dropped]:
        warnings.append(
            f"an SDK dropped attributes or events of {count(len(cut), 'span')}, for example "
            f"of {visible_line(cut[0].name)!r}; raise {_COUNT_LIMITS} where the agent runs"
        )
    if partial := {span.trace_id: span.partial for span in spans.values() if span.partial}:
        warnings.append(f"incomplete: {count(len(partial), 'trace')}; {next(iter(partial.values()))}")
    return sorted(spans.values(), key=lambda span: span.start)


def _contradict(first: Span, last: Span) -> bool:
    """Whether two spans with one id both ended, and say different things of the same."""
    if first.end is None or last.end is None:
        return False
    common = first.attributes.keys() & last.attributes.keys()
    pairs = [(first.attributes[name], last.attributes[name]) for name in common]
    pairs += [(first.end, last.end), (first.failure, last.failure), (list(first.events), list(last.events))]
    return any(earlier != later for earlier, later in pairs if earlier not in _EMPTY and later not in _EMPTY)


def _unite_spans(first: Span, last: Span) -> Span:
    """Return the later span of two with one id, with the contents that only the earlier span has."""
    own_values = {name: value for name, value in last.attributes.items() if value not in _EMPTY}
    return replace(
        last,
        parent_id=last.parent_id or first.parent_id,
        name=last.name or first.name,
        kind=last.kind or first.kind,
        start=min(filter(None, (first.start, last.start)), default=0),
        end=first.end if last.end is None else last.end,
        attributes={**last.attributes, **first.attributes, **own_values},
        events=last.events or first.events,
        failure=last.failure or first.failure,
        scope=last.scope or first.scope,
        resource={**first.resource, **last.resource},
    )


def _completeness(span: Span) -> tuple[int, int, bytes]:
    """Return a key that is larger for the later and the fuller of two spans, whichever came first."""
    return (-1 if span.end is None else span.end, len(span.attributes), msgspec.json.encode(span))


def _span_of_logs(records: Sequence[LogRecord]) -> Span:
    """Return a span for log records whose own span was not recorded."""
    first = records[0]
    attributes = {key: value for record in records for key, value in record.event.attributes.items()}
    times = [record.event.time for record in records]
    return Span(
        first.trace_id,
        first.span_id or "#",
        name=first.event.name,
        start=min(times),
        end=max(times),
        attributes=attributes,
        resource=first.resource,
    )


def _with_events(span: Span, records: Sequence[LogRecord]) -> Span:
    """Return a span with the events of log records, each event once, in the order of time."""
    events: list[SpanEvent] = list(span.events)
    for record in records:
        if record.event not in events:
            events.append(record.event)
    return replace(span, events=tuple(sorted(events, key=lambda event: event.time)))
