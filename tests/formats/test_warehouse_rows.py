"""Rows of warehouses are spans: with maps of Arrow, JSON texts, failures and events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairtrial.formats.conversation.span_conversations import collect_recordings
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.recognise import read
from fairtrial.formats.spans.span import Span

ATTRIBUTES = {
    "gen_ai.operation.name": "chat",
    "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]),
    "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Hello."}]}]),
}
CLICKHOUSE: dict[str, Any] = {
    "Timestamp": "2026-11-21 08:00:00.123456789",
    "TraceId": "a" * 32,
    "SpanId": "b" * 16,
    "ParentSpanId": "",
    "SpanName": "chat",
    "SpanAttributes": ATTRIBUTES,
    "Duration": 5_000_000,
    "StatusCode": "Error",
    "StatusMessage": "the model was down",
    "Events.Timestamp": ["2026-11-21 08:00:00.2"],
    "Events.Name": ["exception"],
    "Events.Attributes": [{"exception.type": "Timeout"}],
}


def only_span(row: dict[str, Any]) -> Span:
    """Return the only span of a row."""
    (span,) = read(json.dumps(row).encode(), "rows.json").spans
    assert isinstance(span, Span)
    return span


def test_a_row_of_clickhouse_is_a_span() -> None:
    """Its time has nanoseconds, and its events stand in three columns."""
    span = only_span(CLICKHOUSE)
    assert (span.start % 10**9, span.end) == (123456789, span.start + 5_000_000)
    assert span.failure == "the model was down"
    assert [(event.name, event.attributes) for event in span.events] == [("exception", {"exception.type": "Timeout"})]


def test_a_parquet_file_of_clickhouse_is_read() -> None:
    """Arrow gives a map as a list of pairs."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    row = {key: value for key, value in CLICKHOUSE.items() if not key.startswith(("Events", "Status"))}
    columns = {key: pa.array([value]) for key, value in row.items() if key != "SpanAttributes"}
    kind = pa.map_(pa.string(), pa.string())
    columns["SpanAttributes"] = pa.array([list(ATTRIBUTES.items())], type=kind)
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table(columns), sink)
    spans = read(sink.getvalue().to_pybytes(), "rows.parquet").spans
    (recording,) = collect_recordings(spans, Diagnostics("rows.parquet"))
    assert [(each.query, each.reply) for each in recording.trace.invocations] == [("hi", "Hello.")]


def test_a_row_with_attributes_as_text_is_a_span() -> None:
    """Views of BigQuery return JSON columns so."""
    row = {
        "trace_id": "a" * 32,
        "span_id": "b" * 16,
        "name": "chat",
        "start_time": "2026-11-21T08:00:00Z",
        "end_time": "2026-11-21T08:00:01Z",
        "attributes": json.dumps(ATTRIBUTES),
        "status": json.dumps({"code": 2, "message": "down"}),
        "events": json.dumps([{"name": "exception", "attributes": {"exception.type": "Timeout"}}]),
    }
    span = only_span(row)
    assert (span.attributes, span.failure, len(span.events)) == (ATTRIBUTES, "down", 1)
    assert span.end == span.start + 10**9


def test_a_span_of_zipkin_has_microseconds() -> None:
    """The tag `error` is its failure."""
    row = {"traceId": "a" * 32, "id": "b" * 16, "timestamp": 1_763_712_000_000_001, "duration": 7, "tags": ATTRIBUTES}
    span = only_span({**row, "tags": {**ATTRIBUTES, "error": "Timeout"}})
    assert (span.start, span.end, span.failure) == (1_763_712_000_000_001_000, 1_763_712_000_000_008_000, "Timeout")
    assert only_span(row).failure == ""


def test_a_trace_of_cloud_trace_has_labels() -> None:
    """Its span ids are decimal."""
    raw = {"spanId": "7", "name": "chat", "startTime": "2026-11-21T08:00:00Z", "labels": ATTRIBUTES}
    trace = {"traceId": "a" * 32, "spans": [raw]}
    span = only_span(trace)
    assert (span.span_id, span.attributes) == ("7", ATTRIBUTES)
