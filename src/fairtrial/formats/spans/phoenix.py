"""Spans of Phoenix: its REST interface in both forms, and its data frame as lines or as rows of Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.formats.spans import otlp_json
from fairtrial.formats.spans.flat import flat_span
from fairtrial.formats.spans.span_values import structured

if TYPE_CHECKING:
    from fairtrial.formats.spans.span import Span

_KIND = "openinference.span.kind"
_PREFIX = "attributes."
_DATA = frozenset(("tool.parameters", "metadata", "llm.invocation_parameters", "llm.prompt_template.variables"))
"""Attributes that are objects in themselves. Their members are not attributes."""


def is_document(value: Any) -> bool:
    """Whether a value is a span, a row of a data frame, or a page of spans."""
    if not isinstance(value, dict):
        return False
    page = value.get("data")
    if isinstance(page, list):
        return bool(page) and (is_document(page[0]) or _is_otlp(page[0]))
    return "span_kind" in value and (_has_attributes(value) or "context.trace_id" in value)


def items(document: dict[str, Any]) -> Iterator[Span]:
    """Yield the spans."""
    page = document.get("data")
    for raw in page if isinstance(page, list) else [document]:
        if isinstance(raw, dict):
            yield otlp_json.span(raw) if _is_otlp(raw) else _span(raw)


def _has_attributes(value: dict[str, Any]) -> bool:
    attributes = value.get("attributes")
    return isinstance(attributes, dict) or (isinstance(attributes, str) and attributes.startswith("{"))


def _is_otlp(value: Any) -> bool:
    return isinstance(value, dict) and {"trace_id", "span_id", "start_time_unix_nano"} <= value.keys()


def _span(raw: dict[str, Any]) -> Span:
    """Return a span. The kind is a field of its own, and the columns of a data frame have dots in their names."""
    own = structured(raw.get("attributes"))
    attributes = own if isinstance(own, dict) else {}
    if "context.trace_id" in raw:
        columns = {name.removeprefix(_PREFIX): raw[name] for name in raw if name.startswith(_PREFIX)}
        ids = {"trace_id": raw["context.trace_id"], "span_id": raw.get("context.span_id")}
        raw = {**raw, "context": ids}
        attributes = {**attributes, **columns}
    span = flat_span({**raw, "attributes": dict(_flatten_keys(attributes))})
    return replace(span, attributes={_KIND: raw.get("span_kind"), **span.attributes})


def _flatten_keys(attributes: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield attributes under dotted names. Phoenix stores `{"llm": {"model_name": "m"}}` for `llm.model_name`."""
    todo = [("", attributes)]
    while todo:
        before, members = todo.pop()
        for name, value in members.items():
            if isinstance(value, dict) and value and before + name not in _DATA:
                todo.append((f"{before}{name}.", value))
            else:
                yield before + name, value
