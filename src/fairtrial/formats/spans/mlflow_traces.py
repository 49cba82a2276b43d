"""Traces of MLflow, as `Trace.to_json()` and its REST interface write them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.formats.spans.flat import flat_span
from fairtrial.formats.spans.span_values import structured

if TYPE_CHECKING:
    from fairtrial.formats.spans.span import Span

_SESSION = "mlflow.trace.session"


def is_document(value: Any) -> bool:
    """Whether a value is a trace: information about it, and its spans."""
    data = value.get("data") if isinstance(value, dict) else None
    return isinstance(data, dict) and isinstance(data.get("spans"), list) and isinstance(value.get("info"), dict)


def items(document: dict[str, Any]) -> Iterator[Span]:
    """Yield the spans. The values of their attributes are JSON in texts, and the session stands in the information."""
    info = document["info"]
    metadata = [info[key] for key in ("trace_metadata", "request_metadata", "tags") if isinstance(info.get(key), dict)]
    session = next((values[_SESSION] for values in metadata if values.get(_SESSION)), None)
    for raw in document["data"]["spans"]:
        if isinstance(raw, dict):
            span = flat_span(raw)
            attributes = {name: structured(value) for name, value in span.attributes.items()}
            yield replace(span, attributes=attributes | ({_SESSION: session} if session else {}))
