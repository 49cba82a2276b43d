"""Read spans that warehouses and tracing services keep as rows: ClickHouse, BigQuery, Zipkin and Cloud Trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from fairtrial.formats.spans.otlp_json import kind_name, read_failure
from fairtrial.formats.spans.span import PROBABILITY, Span, SpanEvent
from fairtrial.formats.spans.span_values import hex_id, member, nanoseconds, structured, without_nulls

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_CLICKHOUSE = frozenset(("TraceId", "SpanId", "SpanName", "SpanAttributes"))
_BIGQUERY = frozenset(("trace_id", "span_id", "name", "attributes"))
_ZIPKIN = frozenset(("traceId", "id", "tags", "timestamp"))
_MICROSECONDS = 1_000


class _Names(NamedTuple):
    """The names of the columns with the ids, the name and the kind of a span."""

    trace: str
    span: str
    parent: str
    name: str
    kind: str


_CLICKHOUSE_NAMES = _Names("TraceId", "SpanId", "ParentSpanId", "SpanName", "SpanKind")
_BIGQUERY_NAMES = _Names("trace_id", "span_id", "parent_span_id", "name", "kind")
_ZIPKIN_NAMES = _Names("traceId", "id", "parentId", "name", "kind")


def is_clickhouse(value: Any) -> bool:
    """Whether a value is a row of the table `otel_traces`, as the collector's exporter for ClickHouse makes it."""
    return isinstance(value, dict) and value.keys() >= _CLICKHOUSE


def clickhouse_items(row: dict[str, Any]) -> Iterator[Span]:
    """Yield the span of a row."""
    start = nanoseconds(row.get("Timestamp")) or 0
    yield replace(
        _span(row, _CLICKHOUSE_NAMES, start, _end(start, row.get("Duration")), row.get("SpanAttributes")),
        events=tuple(_clickhouse_events(row)),
        failure=read_failure(_text(row.get("StatusCode")).upper(), row.get("StatusMessage")),
        scope=_text(row.get("ScopeName")),
        resource=_attributes(row.get("ResourceAttributes")),
        trace_state=_text(row.get("TraceState")),
    )


def _clickhouse_events(row: dict[str, Any]) -> Iterator[SpanEvent]:
    """Yield the events of a row. They stand in three columns, or in one column of objects."""
    events = row.get("Events")
    if isinstance(events, list):
        objects = [event for event in events if isinstance(event, dict)]
        columns: list[Any] = [[event.get(key) for event in objects] for key in ("Timestamp", "Name", "Attributes")]
    else:
        values = [row.get(f"Events.{key}") for key in ("Timestamp", "Name", "Attributes")]
        columns = [value if isinstance(value, list | tuple) else [] for value in values]
    for time, name, attributes in zip(*columns, strict=False):
        yield SpanEvent(_text(name), _attributes(attributes), None, nanoseconds(time) or 0)


def is_bigquery(value: Any) -> bool:
    """Whether a value is a row of spans whose attributes are a JSON text, as views of BigQuery return them."""
    return isinstance(value, dict) and value.keys() >= _BIGQUERY and isinstance(value["attributes"], str)


def bigquery_items(row: dict[str, Any]) -> Iterator[Span]:
    """Yield the span of a row."""
    start = nanoseconds(row.get("start_time")) or 0
    end = nanoseconds(row.get("end_time"))
    status = structured(row.get("status"))
    status = status if isinstance(status, dict) else {"code": status}
    events = structured(row.get("events"))
    yield replace(
        _span(
            row,
            _BIGQUERY_NAMES,
            start,
            _end(start, row.get("duration_nano")) if end is None else end,
            row.get("attributes"),
        ),
        events=tuple(
            SpanEvent(
                _text(event.get("name")),
                _attributes(event.get("attributes")),
                time=nanoseconds(event.get("time")) or 0,
            )
            for event in (events if isinstance(events, list) else ())
            if isinstance(event, dict)
        ),
        failure=read_failure(status.get("code"), status.get("message")),
        resource=_attributes(row.get("resource")),
        trace_state=_text(row.get("trace_state")),
    )


def is_zipkin(value: Any) -> bool:
    """Whether a value is a span of Zipkin."""
    return isinstance(value, dict) and value.keys() >= _ZIPKIN


def zipkin_items(row: dict[str, Any]) -> Iterator[Span]:
    """Yield the span."""
    timestamp, duration = row.get("timestamp"), row.get("duration")
    start = timestamp * _MICROSECONDS if isinstance(timestamp, int) else 0
    end = _end(start, duration * _MICROSECONDS if isinstance(duration, int) else None)
    span = _span(row, _ZIPKIN_NAMES, start, end, row.get("tags"))
    failure = span.attributes.get("error")
    yield replace(span, failure="" if failure in (None, "", "false") else _text(failure) or "ERROR")


def is_cloud_trace(value: Any) -> bool:
    """Whether a value is a trace of Google's Cloud Trace, whose spans have labels."""
    spans = value.get("spans") if isinstance(value, dict) and "traceId" in value else None
    return (
        isinstance(spans, list)
        and bool(spans)
        and isinstance(spans[0], dict)
        and {"spanId", "labels"} <= spans[0].keys()
    )


def cloud_trace_items(trace: dict[str, Any]) -> Iterator[Span]:
    """Yield the spans. Their ids are decimal numbers."""
    for raw in trace["spans"]:
        if isinstance(raw, dict):
            yield Span(
                hex_id(trace.get("traceId")),
                str(raw.get("spanId") or ""),
                str(raw.get("parentSpanId") or ""),
                _text(raw.get("name")),
                start=nanoseconds(raw.get("startTime")) or 0,
                end=nanoseconds(raw.get("endTime")),
                attributes=_attributes(raw.get("labels")),
                failure=_text(member(raw, "labels").get("/error/message")),
            )


def _span(row: dict[str, Any], names: _Names, start: int, end: int | None, attributes: Any) -> Span:
    """Return the part of a span that all rows have. A row of a sample also has its probability."""
    own = _attributes(attributes)
    if PROBABILITY in row:
        own[PROBABILITY] = row[PROBABILITY]
    return Span(
        hex_id(row.get(names.trace)),
        hex_id(row.get(names.span)),
        hex_id(row.get(names.parent)),
        _text(row.get(names.name)),
        kind_name(row.get(names.kind)),
        start,
        end,
        own,
    )


def _end(start: int, duration: Any) -> int | None:
    return start + duration if isinstance(duration, int) else None


def _attributes(raw: Any) -> dict[str, Json]:
    """Return attributes: an object, its JSON text, or a list of pairs, as Arrow returns a map."""
    value = structured(raw)
    if isinstance(value, list) and all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in value):
        value = {str(key): item for key, item in value}
    return without_nulls(value) if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
