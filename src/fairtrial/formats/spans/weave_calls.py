"""Calls of W&B Weave, as `calls_query_stream` and its exports give them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fairtrial.formats.spans.span import Span
from fairtrial.formats.spans.span_values import hex_id, member, nanoseconds, without_nulls

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_PREFIX = "weave:///"


def is_document(value: Any) -> bool:
    """Whether a value is a call."""
    return isinstance(value, dict) and isinstance(value.get("op_name"), str) and "inputs" in value


def items(document: dict[str, Any]) -> Iterator[Span]:
    """Yield the span of a call."""
    own = member(document, "attributes")
    weave = member(own, "weave")
    summary = member(document, "summary")
    attributes: dict[str, Json] = {
        "weave.op": _op(document["op_name"]),
        "weave.kind": own.get("kind") or weave.get("kind"),
        "weave.inputs": document.get("inputs"),
        "weave.output": document.get("output"),
        "weave.usage": summary.get("usage"),
        "weave.thread_id": document.get("thread_id"),
    }
    exception = document.get("exception")
    yield Span(
        hex_id(document.get("trace_id")),
        hex_id(document.get("id")),
        hex_id(document.get("parent_id")),
        attributes["weave.op"],
        start=nanoseconds(document.get("started_at")) or 0,
        end=nanoseconds(document.get("ended_at")),
        attributes=without_nulls(attributes),
        failure=str(exception) if exception else "",
    )


def _op(name: str) -> str:
    """Return the name of an operation, for example `get_order` of `weave:///acme/shop/op/get_order:YSNbzJ`."""
    return name.rpartition("/")[2].partition(":")[0] if name.startswith(_PREFIX) else name
