"""OTLP as JSON: one document, or a line for each batch. Tempo's export is the same with other names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from fairtrial.formats.spans.span import LogRecord, Span, SpanEvent, SpanItem
from fairtrial.formats.spans.span_values import (
    any_value,
    exceeds_64_bits,
    hex_id,
    key_values,
    nanoseconds,
    whole_number,
)
from fairtrial.text.display import shorten, visible_line

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_RESOURCE_SPANS = ("resourceSpans", "resource_spans", "batches")
_RESOURCE_LOGS = ("resourceLogs", "resource_logs")
_LISTS = (*_RESOURCE_SPANS, *_RESOURCE_LOGS)
_TEMPO = "trace"
"""The key under which the second version of Tempo's interface puts a batch."""
_PARTIAL = ("PARTIAL", 1)
_LONGEST_MESSAGE = 200
_SCOPE_SPANS = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans")
_SCOPE_LOGS = ("scopeLogs", "scope_logs", "instrumentationLibraryLogs")
_SCOPE = ("scope", "instrumentationLibrary", "instrumentation_library")
_KINDS = ("", "internal", "server", "client", "producer", "consumer")
_DROPPED = frozenset(
    ("droppedAttributesCount", "dropped_attributes_count", "droppedEventsCount", "dropped_events_count")
)
_FAILED = (2, "STATUS_CODE_ERROR", "ERROR", "StatusCode.ERROR", "2")


def is_document(value: Any) -> bool:
    """Whether a value is a batch of spans or of log records, alone or in the answer of Tempo to a query by id."""
    return bool(_batch_in(value))


def items(document: dict[str, Any], refused: list[dict[str, Any]] | None = None) -> Iterator[SpanItem]:
    """Yield the spans and the log records of a batch. An empty request of OTLP is a batch without any list.

    Those with numbers beyond 64 bits go to `refused`. Without that list, such numbers are not known.
    """
    batch, partial = _batch_in(document), _partial_reason(document)
    for group in _objects(batch, _RESOURCE_SPANS):
        resource = _resource(group)
        for scope_group in _objects(group, _SCOPE_SPANS):
            scope = _scope_name(scope_group)
            for raw in _take_objects(_objects(scope_group, ("spans",)), refused):
                yield span(raw, scope, resource, partial)
    for group in _objects(batch, _RESOURCE_LOGS):
        resource = _resource(group)
        for scope_group in _objects(group, _SCOPE_LOGS):
            for raw in _take_objects(_objects(scope_group, ("logRecords", "log_records")), refused):
                yield _log_record(raw, resource)


def _take_objects(raws: Iterable[dict[str, Any]], refused: list[dict[str, Any]] | None) -> Iterator[dict[str, Any]]:
    for raw in raws:
        if refused is not None and exceeds_64_bits(raw):
            refused.append(raw)
        else:
            yield raw


def _batch_in(value: Any) -> dict[str, Any]:
    """Return the batch that a value is or holds, or an empty one."""
    for inner in (value, value.get(_TEMPO)) if isinstance(value, dict) else ():
        if isinstance(inner, dict) and any(isinstance(inner.get(key), list) for key in _LISTS):
            return inner
    return {}


def _partial_reason(document: dict[str, Any]) -> str:
    """Return why Tempo gave only a part of a trace, or an empty text. It cuts traces that are larger than its limit."""
    if document.get("status") not in _PARTIAL or _TEMPO not in document:
        return ""
    message = shorten(visible_line(_text(document.get("message"))), _LONGEST_MESSAGE)
    reason = f"Tempo gave only a part of the trace{message and ': '}{message}"
    return f"{reason}; raise max_bytes_per_trace in its configuration, and fetch the trace again"


def span(raw: dict[str, Any], scope: str = "", resource: dict[str, Json] | None = None, partial: str = "") -> Span:
    """Return a span."""
    start = nanoseconds(_member(raw, "startTimeUnixNano", "start_time_unix_nano"))
    status = raw.get("status")
    return Span(
        hex_id(_member(raw, "traceId", "trace_id")),
        hex_id(_member(raw, "spanId", "span_id")),
        hex_id(_member(raw, "parentSpanId", "parent_span_id")),
        _text(raw.get("name")),
        kind_name(raw.get("kind")),
        start or 0,
        nanoseconds(_member(raw, "endTimeUnixNano", "end_time_unix_nano")),
        key_values(raw.get("attributes")),
        tuple(map(_event, _events(raw))),
        read_failure(status.get("code"), status.get("message")) if isinstance(status, dict) else "",
        scope,
        resource or {},
        dropped=dropped_count(raw),
        partial=partial,
        trace_state=_text(_member(raw, "traceState", "trace_state")),
    )


def dropped_count(raw: dict[str, Any]) -> int:
    """Return how many attributes and events of a span the SDK dropped, the attributes of its events included."""
    count = 0 if _DROPPED.isdisjoint(raw) else sum(whole_number(raw.get(name)) or 0 for name in _DROPPED)
    return count + sum(dropped_count(event) for event in _events(raw))


def read_failure(code: Any, message: Any) -> str:
    """Return the failure that a status states, by its number or its name, or an empty text."""
    if code not in _FAILED:
        return ""
    return message if isinstance(message, str) and message else "ERROR"


def kind_name(kind: Any) -> str:
    """Return the kind of a span in lower case, from its number or its name: `client` for 3 and `SPAN_KIND_CLIENT`."""
    if isinstance(kind, int):
        return _KINDS[kind] if 0 <= kind < len(_KINDS) else ""
    name = _text(kind).lower().removeprefix("span_kind_").removeprefix("spankind.")
    return name if name in _KINDS else ""


def _events(raw: dict[str, Any]) -> Iterable[dict[str, Any]]:
    return _objects(raw, ("events",)) if raw.get("events") else ()


def _event(raw: dict[str, Any]) -> SpanEvent:
    time = nanoseconds(_member(raw, "timeUnixNano", "time_unix_nano"))
    return SpanEvent(_text(raw.get("name")), key_values(raw.get("attributes")), time=time or 0)


def _log_record(raw: dict[str, Any], resource: dict[str, Json]) -> LogRecord:
    """Return a log record. Its event's name stands in `eventName`, in the attribute `event.name`, or as the body."""
    attributes = key_values(raw.get("attributes"))
    body = any_value(raw.get("body"))
    name = _member(raw, "eventName", "event_name") or attributes.get("event.name") or body
    time = nanoseconds(_member(raw, "timeUnixNano", "time_unix_nano")) or nanoseconds(
        _member(raw, "observedTimeUnixNano", "observed_time_unix_nano")
    )
    event = SpanEvent(_text(name), attributes, body, time or 0)
    return LogRecord(
        hex_id(_member(raw, "traceId", "trace_id")), hex_id(_member(raw, "spanId", "span_id")), event, resource
    )


def _objects(raw: dict[str, Any], keys: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for key in keys:
        values = raw.get(key)
        if isinstance(values, list):
            yield from (value for value in values if isinstance(value, dict))


def _resource(group: dict[str, Any]) -> dict[str, Json]:
    resource = group.get("resource")
    return key_values(resource.get("attributes")) if isinstance(resource, dict) else {}


def _scope_name(group: dict[str, Any]) -> str:
    scope: dict[str, Any] = next((group[key] for key in _SCOPE if isinstance(group.get(key), dict)), {})
    return _text(scope.get("name"))


def _member(raw: dict[str, Any], camel_case: str, snake_case: str) -> Any:
    """Return a member under its name in JSON, or else under its name in protobuf."""
    value = raw.get(camel_case)
    return raw.get(snake_case) if value is None else value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
