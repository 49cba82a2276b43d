"""Spans with plain attributes: lists that an SDK hands to Python code, and the output of its console exporter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fairtrial.formats.spans.otlp_json import dropped_count, kind_name, read_failure
from fairtrial.formats.spans.span import Span, SpanEvent
from fairtrial.formats.spans.span_values import hex_id, nanoseconds, without_nulls

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_STARTS = ("start_time_unix_nano", "startTimeUnixNano", "start_time", "startTime")
_ENDS = ("end_time_unix_nano", "endTimeUnixNano", "end_time", "endTime")
_PARENTS = ("parent_span_id", "parentSpanId", "parent_id", "parentId")
_TIMES = ("timestamp", "time_unix_nano", "timeUnixNano", "time")


def is_console_document(value: Any) -> bool:
    """Whether a value is a span of the console exporter of the Python SDK, which keeps its ids in `context`."""
    context = value.get("context") if isinstance(value, dict) else None
    return isinstance(context, dict) and "trace_id" in context and "attributes" in value


def is_flat_document(value: Any) -> bool:
    """Whether a value is a flat span, or an object that holds a list of them."""
    if not isinstance(value, dict):
        return False
    spans = value.get("spans")
    if isinstance(spans, list):
        return bool(spans) and (is_flat_document(spans[0]) or is_console_document(spans[0]))
    has_ids = _has(value, "trace_id", "traceId") and _has(value, "span_id", "spanId")
    return has_ids and "attributes" in value and "event_type" not in value  # rows of ADK's analytics are no spans


def items(document: dict[str, Any]) -> Iterator[Span]:
    """Yield the spans."""
    spans = document.get("spans")
    if isinstance(spans, list):
        yield from (flat_span(span) for span in spans if isinstance(span, dict))
    else:
        yield flat_span(document)


def flat_span(raw: dict[str, Any]) -> Span:
    """Return a span."""
    ids = raw["context"] if isinstance(raw.get("context"), dict) else raw
    status = raw.get("status")
    status = status if isinstance(status, dict) else {"code": raw.get("status_code", status)}
    message = status.get("description") or status.get("message") or raw.get("status_message")
    resource = _object(raw.get("resource"))
    scope = _object(raw.get("scope") or raw.get("instrumentation_scope"))
    return Span(
        hex_id(_first(ids, ("trace_id", "traceId"))),
        hex_id(_first(ids, ("span_id", "spanId"))),
        hex_id(_first(raw, _PARENTS)),
        _text(raw.get("name")),
        kind_name(raw.get("kind")),
        nanoseconds(_first(raw, _STARTS)) or 0,
        nanoseconds(_first(raw, _ENDS)),
        _attributes(raw.get("attributes")),
        tuple(_event(event) for event in _list(raw, "span_events") or _list(raw, "events")),
        read_failure(_first(status, ("code", "status_code")), message),
        _text(scope.get("name")),
        _object(resource.get("attributes", resource)),
        dropped=dropped_count(raw),
    )


def _event(raw: dict[str, Any]) -> SpanEvent:
    name = raw.get("name") or raw.get("event_name")
    return SpanEvent(
        _text(name), _attributes(raw.get("attributes")), raw.get("body"), nanoseconds(_first(raw, _TIMES)) or 0
    )


def _attributes(raw: Any) -> dict[str, Json]:
    """Return attributes. They are an object, and their values are plain."""
    return without_nulls(_object(raw))


def _list(raw: dict[str, Any], key: str) -> list[dict[str, Any]]:
    values = raw.get(key)
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _first(raw: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((raw[name] for name in names if raw.get(name) is not None), None)


def _has(value: dict[str, Any], *names: str) -> bool:
    return any(isinstance(value.get(name), str) for name in names)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
