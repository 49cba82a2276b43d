"""OTLP as JSON in its usual form: the names of protobuf's JSON mapping, and only fields of the protocol.

Most files have this form, and large ones are read several times faster if each value is decoded into its place.
`decode_batch` returns plain data for every other form, which `otlp_json.py` reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, TypeGuard

import msgspec

from fairtrial.formats.jsontext import MOST_DEPTH, decode
from fairtrial.formats.shared_texts import shared
from fairtrial.formats.spans.otlp_json import kind_name, read_failure
from fairtrial.formats.spans.span import Span, SpanEvent
from fairtrial.formats.spans.span_values import hex_id, nanoseconds, read_double
from fairtrial.records.decoding import json_decoder
from fairtrial.records.record import Json, Record


class _Message(Record, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A message of OTLP. A field that it does not know makes the batch one of another form."""


_Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""A whole number. A batch with a larger one is of another form."""


class _Value(_Message, frozen=True):
    string_value: str | None = None
    int_value: _Whole | None = None
    double_value: Any = None
    bool_value: Any = None
    array_value: _Array | None = None
    kvlist_value: _Object | None = None
    bytes_value: Any = None

    def plain(self, depth: int = 1) -> Json:
        """Return the value. A value that is nested too deeply is null."""
        if self.string_value is not None:
            return self.string_value
        if self.int_value is not None:
            return self.int_value
        if depth > MOST_DEPTH:
            return None
        if self.array_value is not None:
            return [value.plain(depth + 1) for value in self.array_value.values]
        if self.kvlist_value is not None:
            return {pair.key: pair.value.plain(depth + 1) for pair in self.kvlist_value.values}
        scalars = (read_double(self.double_value), self.bool_value, self.bytes_value)
        return next((value for value in scalars if value is not None), None)


class _KeyValue(_Message, frozen=True):
    key: str
    value: _Value = _Value()


class _Array(_Message, frozen=True):
    values: list[_Value] = []


class _Object(_Message, frozen=True):
    values: list[_KeyValue] = []


class _Status(_Message, frozen=True):
    code: Any = None
    message: Any = None


class _Event(_Message, frozen=True):
    time_unix_nano: _Whole | None = None
    name: str = ""
    attributes: list[_KeyValue] = []
    dropped_attributes_count: _Whole = 0


class _Span(_Message, frozen=True):
    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str = ""
    trace_state: Any = None
    flags: Any = None
    name: str = ""
    kind: Any = None
    start_time_unix_nano: _Whole | None = None
    end_time_unix_nano: _Whole | None = None
    attributes: list[_KeyValue] = []
    events: list[_Event] = []
    links: Any = None
    status: _Status | None = None
    dropped_attributes_count: _Whole = 0
    dropped_events_count: _Whole = 0
    dropped_links_count: Any = 0


class _Scope(_Message, frozen=True):
    name: str = ""
    version: Any = None
    attributes: Any = None
    dropped_attributes_count: Any = 0


class _ScopeSpans(_Message, frozen=True):
    scope: _Scope = _Scope()
    spans: list[_Span] = []
    schema_url: Any = None


class _Resource(_Message, frozen=True):
    attributes: list[_KeyValue] = []
    dropped_attributes_count: Any = 0
    entity_refs: Any = None


class _ResourceSpans(_Message, frozen=True):
    resource: _Resource = _Resource()
    scope_spans: list[_ScopeSpans] = []
    schema_url: Any = None


class OtlpBatch(_Message, frozen=True):
    """A batch of spans."""

    resource_spans: list[_ResourceSpans]


_decoder = json_decoder(OtlpBatch, strict=False)  # numbers may be texts


def decode_batch(data: bytes) -> Any:
    """Decode strict JSON as `decode` does. A batch of spans in its usual form becomes an `OtlpBatch`."""
    try:
        return _decoder.decode(data)
    except (ValueError, RecursionError):
        return decode(data)


def is_batch(value: Any) -> TypeGuard[OtlpBatch]:
    """Whether a value is a batch that `decode_batch` returned."""
    return type(value) is OtlpBatch


def items(batch: OtlpBatch) -> Iterator[Span]:
    """Yield the spans of a batch."""
    for group in batch.resource_spans:
        resource = _plain(group.resource.attributes)
        for scope_group in group.scope_spans:
            for span in scope_group.spans:
                yield _span(span, scope_group.scope.name, resource)


def _span(raw: _Span, scope: str, resource: dict[str, Json]) -> Span:
    return Span(
        hex_id(raw.trace_id),
        hex_id(raw.span_id),
        hex_id(raw.parent_span_id),
        raw.name,
        kind_name(raw.kind),
        nanoseconds(raw.start_time_unix_nano) or 0,
        nanoseconds(raw.end_time_unix_nano),
        _plain(raw.attributes),
        tuple(map(_event, raw.events)) if raw.events else (),
        read_failure(raw.status.code, raw.status.message) if raw.status is not None and raw.status.code else "",
        scope,
        resource,
        dropped=raw.dropped_attributes_count
        + raw.dropped_events_count
        + (sum([event.dropped_attributes_count for event in raw.events]) if raw.events else 0),
        trace_state=raw.trace_state if isinstance(raw.trace_state, str) else "",
    )


def _event(raw: _Event) -> SpanEvent:
    return SpanEvent(raw.name, _plain(raw.attributes), time=nanoseconds(raw.time_unix_nano) or 0)


def _plain(attributes: list[_KeyValue]) -> dict[str, Json]:
    # Most values are texts, and a file holds very many.
    return {
        shared(pair.key): pair.value.plain() if (text := pair.value.string_value) is None else text
        for pair in attributes
    }
