"""Traces of Jaeger, as its interface and its user interface give them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fairtrial.formats.spans.otlp_json import read_failure
from fairtrial.formats.spans.span import Span, SpanEvent
from fairtrial.formats.spans.span_values import hex_id, member, whole_number

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_MICROSECOND = 1000


def is_document(value: Any) -> bool:
    """Whether a value is a trace with spans, or an object that holds traces."""
    if not isinstance(value, dict):
        return False
    return any("operationName" in span for trace in _traces(value)[:1] for span in _objects(trace, "spans")[:1])


def items(document: dict[str, Any]) -> Iterator[Span]:
    """Yield the spans of all traces."""
    for trace in _traces(document):
        processes = member(trace, "processes")
        for raw in _objects(trace, "spans"):
            yield _span(raw, processes.get(str(raw.get("processID"))))


def _traces(document: dict[str, Any]) -> list[dict[str, Any]]:
    return _objects(document, "data") or [document]


def _span(raw: dict[str, Any], process: Any) -> Span:
    tags = _tags(raw, "tags")
    start = _nanoseconds(raw.get("startTime"))
    status = tags.get("otel.status_code", "ERROR" if tags.get("error") in (True, "true") else "")
    resource = _tags(process, "tags") if isinstance(process, dict) else {}
    return Span(
        hex_id(raw.get("traceID")),
        hex_id(raw.get("spanID")),
        _parent(raw),
        str(raw.get("operationName") or ""),
        str(tags.get("span.kind") or ""),
        start,
        whole_number(start + _nanoseconds(raw.get("duration"))),
        tags,
        tuple(_event(log) for log in _objects(raw, "logs")),
        read_failure(status, tags.get("otel.status_description")),
        str(tags.get("otel.scope.name") or tags.get("otel.library.name") or ""),
        resource,
    )


def _nanoseconds(raw: Any) -> int:
    """Return a number of microseconds in nanoseconds, or 0 if it is no number that has 64 bits then."""
    return whole_number((whole_number(raw) or 0) * _MICROSECOND) or 0


def _parent(raw: dict[str, Any]) -> str:
    references = [reference for reference in _objects(raw, "references") if reference.get("refType") == "CHILD_OF"]
    return hex_id(references[0].get("spanID") if references else raw.get("parentSpanID"))


def _event(log: dict[str, Any]) -> SpanEvent:
    fields = _tags(log, "fields")
    name = fields.pop("event", "")
    return SpanEvent(str(name), fields, time=_nanoseconds(log.get("timestamp")))


def _tags(raw: dict[str, Any], key: str) -> dict[str, Json]:
    return {tag["key"]: tag.get("value") for tag in _objects(raw, key) if isinstance(tag.get("key"), str)}


def _objects(raw: dict[str, Any], key: str) -> list[dict[str, Any]]:
    values = raw.get(key)
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
