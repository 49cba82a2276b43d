"""Traces of Langfuse: as its API gives them, and as its user interface downloads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairtrial.formats.spans.span import Span
from fairtrial.formats.spans.span_values import hex_id, nanoseconds, structured
from fairtrial.records.record import Json

_FIELDS = {
    "input": "input",
    "output": "output",
    "model": "model.name",
    "usageDetails": "usage_details",
    "usage": "usage_details",
}
"""The fields of an observation, with the end of the attribute that the SDK sends for the same."""


def is_document(value: Any) -> bool:
    """Whether a value is a trace with its observations, or an observation alone."""
    return isinstance(value, dict) and (_is_observation(value) or any(map(_is_observation, _observations(value)[:1])))


def items(document: dict[str, Any]) -> Iterator[Span]:
    """Yield a span for each observation."""
    if _is_observation(document):
        yield _span(document, {})
        return
    trace = document.get("trace") if isinstance(document.get("trace"), dict) else document
    for observation in _observations(document):
        if isinstance(observation, dict):
            yield _span(observation, trace if isinstance(trace, dict) else {})


def _is_observation(value: Any) -> bool:
    return isinstance(value, dict) and {"traceId", "type", "startTime"} <= value.keys()


def _observations(document: dict[str, Any]) -> list[Any]:
    """Return the observations, which stand beside the trace or in it."""
    inner = document.get("trace")
    for holder in (document, inner if isinstance(inner, dict) else {}):
        if isinstance(holder.get("observations"), list):
            return list(holder["observations"])
    return []


def _span(observation: dict[str, Any], trace: dict[str, Any]) -> Span:
    """Return an observation as the span that the SDK sends. Langfuse keeps the attributes of other instrumentations."""
    metadata = structured(observation.get("metadata"))
    original = metadata.get("attributes") if isinstance(metadata, dict) else None
    attributes: dict[str, Json] = dict(original) if isinstance(original, dict) else {}
    for field, name in _FIELDS.items():
        if observation.get(field) is not None:
            attributes.setdefault(f"langfuse.observation.{name}", observation[field])
    attributes["langfuse.observation.type"] = str(observation.get("type")).lower()
    session = observation.get("sessionId") or trace.get("sessionId")
    if session:
        attributes["langfuse.session.id"] = session
    failed = observation.get("level") == "ERROR"
    return Span(
        hex_id(observation.get("traceId")),
        hex_id(observation.get("id")),
        hex_id(observation.get("parentObservationId")),
        str(observation.get("name") or ""),
        start=nanoseconds(observation.get("startTime")) or 0,
        end=nanoseconds(observation.get("endTime")),
        attributes=attributes,
        failure=str(observation.get("statusMessage") or "ERROR") if failed else "",
    )
