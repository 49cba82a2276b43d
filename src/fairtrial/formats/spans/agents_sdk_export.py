"""The trace export of the OpenAI Agents SDK."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fairtrial.formats.spans.span import Span
from fairtrial.formats.spans.span_values import hex_id, member, nanoseconds

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_OBJECTS = ("trace", "trace.span")


def is_document(value: Any) -> bool:
    """Whether a value is a trace, a span, or a batch of both as the SDK sends it."""
    return _is_object(value) or (isinstance(value, dict) and any(map(_is_object, _batch(value)[:1])))


def items(document: dict[str, Any]) -> Iterator[Span]:
    """Yield the spans. The object of a trace holds the id of its group, and becomes a span without a time."""
    for value in [document] if _is_object(document) else _batch(document):
        if isinstance(value, dict):
            yield _span(value) if value.get("object") == "trace.span" else _trace(value)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) and value.get("object") in _OBJECTS and isinstance(value.get("id"), str)


def _batch(document: dict[str, Any]) -> list[Any]:
    batch = document.get("data")
    return batch if isinstance(batch, list) else []


def _trace(value: dict[str, Any]) -> Span:
    trace_id, group = hex_id(value.get("id")), value.get("group_id")
    attributes: dict[str, Json] = {"openai_agents.group_id": group} if group else {}
    return Span(trace_id, trace_id, name=str(value.get("workflow_name") or ""), end=0, attributes=attributes)


def _span(value: dict[str, Any]) -> Span:
    data = member(value, "span_data")
    attributes: dict[str, Json] = {
        f"openai_agents.{name}": field for name, field in data.items() if field is not None and isinstance(name, str)
    }
    error = value.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    return Span(
        hex_id(value.get("trace_id")),
        hex_id(value.get("id")),
        hex_id(value.get("parent_id")) or hex_id(value.get("trace_id")),
        str(data.get("name") or data.get("type") or ""),
        start=nanoseconds(value.get("started_at")) or 0,
        end=nanoseconds(value.get("ended_at")),
        attributes=attributes,
        failure=str(message or "ERROR") if error else "",
    )
