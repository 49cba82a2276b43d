"""OTLP as protobuf: the body of a request, or several with their lengths before them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from fairtrial.errors import FormatError, lacks_extra
from fairtrial.formats.spans.otlp_json import kind_name, read_failure
from fairtrial.formats.spans.span import LogRecord, Span, SpanEvent, SpanItem

if TYPE_CHECKING:
    from fairtrial.records.record import Json

Signal = Literal["traces", "logs"]
"""The kind of data in a request. A service of OTLP has a path for each."""
_GROUP = 0x0A
"""The tag of the only field of a request: the spans, or the log records, of a resource."""
_LENGTH_BYTES = 4
_LONGEST_BODY = 64 << 20
"""No exporter sends a longer request."""
_TRACE_ID_BYTES = 16
_SPAN_ID_BYTES = 8


def bodies(data: bytes) -> list[bytes] | None:
    """Return the bodies of requests in a file, or None if the bytes are something else.

    A text is never mistaken for a body: the lengths inside must fit the file to the byte.
    """
    if _is_body(data):
        return [data]
    found_bodies: list[bytes] = []
    position = 0
    while position + _LENGTH_BYTES <= len(data):
        length = int.from_bytes(data[position : position + _LENGTH_BYTES])
        if position + _LENGTH_BYTES + length > len(data):
            return None
        body = data[position + _LENGTH_BYTES : position + _LENGTH_BYTES + length]
        if not _is_body(body):
            return None
        found_bodies.append(body)
        position += _LENGTH_BYTES + length
    return found_bodies if found_bodies and position == len(data) else None


def _is_body(data: bytes) -> bool:
    """Whether bytes are nothing but fields with the tag of a request."""
    position = 0
    while position < len(data):
        if data[position] != _GROUP:
            return False
        length, position = _length(data, position + 1)
        position += length
    return bool(data) and position == len(data)


def _length(data: bytes | bytearray, position: int) -> tuple[int, int]:
    """Return a length of protobuf and the position after it. A length that is cut off runs past the end."""
    length = shift = 0
    while position < len(data) and shift < 64:
        byte = data[position]
        length |= (byte & 0x7F) << shift
        position += 1
        shift += 7
        if byte < 0x80:
            return length, position
    return len(data) + 1, position


def items(body: bytes, path: str) -> Iterator[SpanItem]:
    """Yield the spans or the log records of a request. Raises FormatError for a body of something else."""
    is_empty = True
    for item in items_in_part(body, path):
        is_empty = False
        yield item
    if is_empty:
        raise FormatError(path, ["holds no span or log record of OTLP with ids of 16 and 8 bytes"])


def items_in_part(body: bytes, path: str) -> Iterator[SpanItem]:
    """Yield the spans or the log records of a request, or of a part of a request, which may hold none."""
    spans = [*_spans(_message(body, "traces", path))]
    if any(_has_ids(span) for span, _, _ in spans):
        yield from (_span(*span) for span in spans)
        return
    records = [*_log_records(_message(body, "logs", path))]
    if any(_has_ids(record) for record, _ in records):
        yield from (_log_record(record, resource) for record, resource in records)


def iter_bodies(blocks: Iterator[bytes], path: str) -> Iterator[bytes]:
    """Yield the groups of a request, or requests with their lengths before them, from a file read block by block.

    Each group is a body by itself. Raises FormatError if the file ends inside a body.
    """
    data = bytearray()
    has_lengths: bool | None = None
    for block in blocks:
        data += block
        if has_lengths is None:
            has_lengths = len(data) > _LENGTH_BYTES and not _begins_with_group(data)
        position = 0
        while (end := _end_of_body(data, position, has_lengths=has_lengths)) <= len(data) and position < len(data):
            yield bytes(data[position + (_LENGTH_BYTES if has_lengths else 0) : end])
            position = end
        del data[:position]
    if data:
        raise FormatError(path, ["is not a whole body of OTLP: its end is missing"])


def may_begin_body(start: bytes) -> bool:
    """Whether a file may hold bodies, as its first bytes say. Texts and other formats seem to have vast lengths."""
    is_long_enough = len(start) > _LENGTH_BYTES
    return is_long_enough and (_begins_with_group(start) or int.from_bytes(start[:_LENGTH_BYTES]) < _LONGEST_BODY)


def _begins_with_group(data: bytes | bytearray) -> bool:
    """Whether a file begins with the group of a request: a tag, a length, and the tag of a resource or of spans."""
    _, position = _length(data, 1)
    return data[0] == _GROUP and data[position : position + 1] in (b"\x0a", b"\x12")


def _end_of_body(data: bytes | bytearray, position: int, *, has_lengths: bool) -> int:
    """Return the position after the body at a position. It is behind the end of the data if the body is cut off."""
    if has_lengths:
        head = data[position : position + _LENGTH_BYTES]
        is_cut = len(head) < _LENGTH_BYTES
        return len(data) + 1 if is_cut else position + _LENGTH_BYTES + int.from_bytes(head)
    length, start = _length(data, position + 1)
    return start + length


def items_of_request(body: bytes, signal: Signal, path: str) -> Iterator[SpanItem]:
    """Yield the spans or the log records of a request for a signal, also those without ids.

    Raises FormatError for a body of something else.
    """
    message = _message(body, signal, path)
    if signal == "traces":
        yield from (_span(*span) for span in _spans(message))
    else:
        yield from (_log_record(record, resource) for record, resource in _log_records(message))


def _message(body: bytes, signal: Signal, path: str) -> Any:
    try:
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    except ImportError:
        raise FormatError(path, [lacks_extra("OTLP as protobuf", "otlp")]) from None
    try:
        return (ExportTraceServiceRequest if signal == "traces" else ExportLogsServiceRequest).FromString(body)
    except DecodeError as error:
        raise FormatError(path, [f"is not a whole body of OTLP: {error}"]) from None


def _log_records(request: Any) -> Iterator[tuple[Any, dict[str, Json]]]:
    for group in request.resource_logs:
        resource = _attributes(group.resource.attributes)
        for scope_group in group.scope_logs:
            for record in scope_group.log_records:
                yield record, resource


def _spans(request: Any) -> Iterator[tuple[Any, str, dict[str, Json]]]:
    for group in request.resource_spans:
        resource = _attributes(group.resource.attributes)
        for scope_group in group.scope_spans:
            for span in scope_group.spans:
                yield span, scope_group.scope.name, resource


def _has_ids(item: Any) -> bool:
    return len(item.trace_id) == _TRACE_ID_BYTES and len(item.span_id) == _SPAN_ID_BYTES


def _id(raw: bytes) -> str:
    return raw.hex() if any(raw) else ""


def _span(raw: Any, scope: str, resource: dict[str, Json]) -> Span:
    return Span(
        _id(raw.trace_id),
        _id(raw.span_id),
        _id(raw.parent_span_id),
        raw.name,
        kind_name(raw.kind),
        raw.start_time_unix_nano,
        raw.end_time_unix_nano or None,
        _attributes(raw.attributes),
        tuple(SpanEvent(event.name, _attributes(event.attributes), time=event.time_unix_nano) for event in raw.events),
        read_failure(raw.status.code, raw.status.message),
        scope,
        resource,
        dropped=raw.dropped_attributes_count
        + raw.dropped_events_count
        + sum(event.dropped_attributes_count for event in raw.events),
        trace_state=raw.trace_state,
    )


def _log_record(raw: Any, resource: dict[str, Json]) -> LogRecord:
    attributes, body = _attributes(raw.attributes), _value(raw.body)
    name = getattr(raw, "event_name", "") or attributes.get("event.name") or body
    time = raw.time_unix_nano or raw.observed_time_unix_nano
    event = SpanEvent(name if isinstance(name, str) else "", attributes, body, time)
    return LogRecord(_id(raw.trace_id), _id(raw.span_id), event, resource)


def _attributes(pairs: Iterable[Any]) -> dict[str, Json]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(raw: Any) -> Json:
    kind = raw.WhichOneof("value")
    if kind is None:
        return None
    value = getattr(raw, kind)
    if kind == "array_value":
        return [_value(item) for item in value.values]
    if kind == "kvlist_value":
        return _attributes(value.values)
    return value.hex() if kind == "bytes_value" else value
