"""A request of OTLP over HTTP, and the answer to it, both as protobuf or as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.errors import FairtrialError, FormatError
from fairtrial.formats.jsontext import decode
from fairtrial.formats.packed import BombError, packing_at, unpack_blocks
from fairtrial.formats.spans import otlp_batch, otlp_json, otlp_protobuf
from fairtrial.formats.spans.otlp_batch import decode_batch, is_batch
from fairtrial.formats.spans.span import SpanItem
from fairtrial.records.record import Record

if TYPE_CHECKING:
    from fairtrial.formats.spans.otlp_protobuf import Signal

OTLP_PROTOBUF = "application/x-protobuf"
OTLP_JSON = "application/json"
MOST_OTLP_BYTES = 64 << 20
"""A request that is larger when it is unpacked is refused."""
_PLACE = "the request"
_TRACE_ID = re.compile(r"[0-9a-f]{32}\Z")
_SPAN_ID = re.compile(r"[0-9a-f]{16}\Z")
_KEYS = {"traces": ("resourceSpans", "resource_spans"), "logs": ("resourceLogs", "resource_logs")}
_REFUSED = {"traces": "rejectedSpans", "logs": "rejectedLogRecords"}
_REASON = (
    "a span needs a trace id of 16 bytes and a span id of 8 bytes that are not all zero, "
    "and its numbers have 64 bits at most"
)


class TooLargeError(FairtrialError):
    """A request is larger than a receiver takes."""

    code = "too-large"


class ReceivedItems(Record, frozen=True):
    """The spans or the log records of a request. `refused` is the number of those that cannot be read."""

    items: tuple[SpanItem, ...]
    refused: int = 0


def unpack_otlp(data: bytes, packing: str) -> bytes:
    """Return the body of a request that is packed with gzip or zstd.

    Raises TooLargeError, and FormatError for a broken stream.

    Unpacking stops at the limit, so that a small request cannot fill the memory.
    """
    if packing_at(data) != packing:
        raise FormatError(_PLACE, [f"is not {packing}"])
    body = bytearray()
    try:
        for content in unpack_blocks([data], _PLACE):
            body += content
            if len(body) > MOST_OTLP_BYTES:
                raise TooLargeError(f"the request is larger than {MOST_OTLP_BYTES >> 20} MiB; send smaller batches")
    except BombError as error:
        raise TooLargeError(str(error)) from None
    return bytes(body)


def read_request(body: bytes, signal: Signal, content_type: str) -> ReceivedItems:
    """Return the items of a request. Raises FormatError for a body of something else."""
    refused: list[dict[str, Any]] = []
    if content_type == OTLP_PROTOBUF:
        items = tuple(otlp_protobuf.items_of_request(body, signal, _PLACE))
    else:
        items = tuple(_json_items(body, signal, refused))
    if signal == "logs":
        # A log record outside of every trace is valid, but it belongs to no conversation.
        return ReceivedItems(tuple(item for item in items if _TRACE_ID.match(item.trace_id)), len(refused))
    with_ids = tuple(item for item in items if _TRACE_ID.match(item.trace_id) and _SPAN_ID.match(item.span_id))
    return ReceivedItems(with_ids, len(items) - len(with_ids) + len(refused))


def _json_items(body: bytes, signal: Signal, refused: list[dict[str, Any]]) -> Iterator[SpanItem]:
    try:
        document = decode_batch(body) if signal == "traces" else decode(body)
    except (ValueError, RecursionError) as error:
        raise FormatError(_PLACE, [f"is not JSON: {error}"]) from None
    if is_batch(document):
        return otlp_batch.items(document)
    groups = [document[key] for key in _KEYS[signal] if key in document] if isinstance(document, dict) else [None]
    if not isinstance(document, dict) or not all(isinstance(group, list) for group in groups):
        raise FormatError(_PLACE, [f"must be an object with a list {_KEYS[signal][0]!r}"])
    return otlp_json.items({key: document[key] for key in _KEYS[signal] if key in document}, refused)


def otlp_success(signal: str, content_type: str, *, refused: int = 0) -> bytes:
    """Return the body of the answer to a request that was accepted, with the number of the spans that were refused."""
    if content_type == OTLP_JSON:
        partial = {"partialSuccess": {_REFUSED[signal]: str(refused), "errorMessage": _REASON}} if refused else {}
        return msgspec.json.encode(partial)
    if not refused:
        return b""  # a message without fields
    return _field(1, _varint_field(1, refused) + _field(2, _REASON.encode()))


def otlp_failure(content_type: str, message: str) -> bytes:
    """Return the body of the answer to a request that was not accepted: a `google.rpc.Status`."""
    if content_type == OTLP_JSON:
        return msgspec.json.encode({"message": message})
    return _field(2, message.encode(errors="replace"))


def _field(number: int, data: bytes) -> bytes:
    """Return a field of protobuf that holds bytes, a text or a message."""
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _varint_field(number: int, value: int) -> bytes:
    return bytes([number << 3]) + _varint(value)


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])
