"""Batches of OTLP as JSON lines, in their usual form and in others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairtrial.formats.jsontext import decode
from fairtrial.formats.spans import otlp_batch, otlp_json
from fairtrial.formats.spans.otlp_requests import OTLP_JSON, read_request
from fairtrial.formats.spans.readers import find_reader

TRACE, SPAN, PARENT = "0AF7651916CD43DD8448EB211C80319C", "B7AD6B7169203331", "00F067AA0BA902B7"


def batch(**fields: Any) -> dict[str, Any]:
    """Return a batch of one span with some fields."""
    span = {"traceId": TRACE, "spanId": SPAN, "name": "chat", "startTimeUnixNano": "1544712660000000001", **fields}
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    scopes = [{"scope": {"name": "agent", "version": "1"}, "spans": [span], "schemaUrl": "https://example.com/1"}]
    return {"resourceSpans": [{"resource": resource, "scopeSpans": scopes}]}


def attribute(value: Any) -> dict[str, Any]:
    """Return a batch of a span with an attribute."""
    return batch(attributes=[{"key": "a", "value": value}])


USUAL = {
    "a span without attributes": batch(),
    "ids in base64": batch(traceId="CvdlGRbNQ92ESOshHIAxnA==", spanId="t61rcWkgMzE="),
    "a parent, a kind and an end": batch(parentSpanId=PARENT, kind=3, endTimeUnixNano=1544712661000000000),
    "a kind by its name": batch(kind="SPAN_KIND_SERVER"),
    "a failure": batch(status={"code": "STATUS_CODE_ERROR", "message": "no stock"}),
    "a failure without a message": batch(status={"code": 2}),
    "attributes that were dropped": batch(droppedAttributesCount=2, droppedEventsCount="3"),
    "an event": batch(
        events=[
            {
                "timeUnixNano": "1544712660000000002",
                "name": "exception",
                "droppedAttributesCount": 1,
                "attributes": [{"key": "exception.type", "value": {"stringValue": "ValueError"}}],
            }
        ]
    ),
    "links and flags": batch(links=[{"traceId": TRACE}], flags=257, traceState="a=b"),
    "a text": attribute({"stringValue": "text"}),
    "an empty text": attribute({"stringValue": ""}),
    "a number as a text": attribute({"intValue": "9007199254740993"}),
    "a number": attribute({"intValue": 7}),
    "a fraction": attribute({"doubleValue": 0.5}),
    "false": attribute({"boolValue": False}),
    "bytes": attribute({"bytesValue": "AAA="}),
    "an array": attribute({"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": "1"}]}}),
    "an empty array": attribute({"arrayValue": {}}),
    "an object": attribute({"kvlistValue": {"values": [{"key": "k", "value": {"boolValue": True}}]}}),
    "no value": attribute({}),
    "members that are null": attribute({"stringValue": None, "intValue": "1"}),
    "a key that stands there twice": batch(
        attributes=[{"key": "a", "value": {"stringValue": "1"}}, {"key": "a", "value": {"stringValue": "2"}}]
    ),
}
OTHER = {
    "log records": {"resourceLogs": []},
    "spans of a library": {"resourceSpans": [{"instrumentationLibrarySpans": [{"spans": [{"traceId": TRACE}]}]}]},
    "a field that OTLP does not have": batch(tenant="a"),
    "names of protobuf": {"resource_spans": [{"scope_spans": [{"spans": [{"trace_id": TRACE, "span_id": SPAN}]}]}]},
    "a text that is a number": attribute({"stringValue": 1}),
    "an attribute without a key": batch(attributes=[{"value": {"stringValue": "a"}}]),
    "a span that is null": {"resourceSpans": [{"scopeSpans": [{"spans": [None]}]}]},
    "a list": [1],
}


@pytest.mark.parametrize("document", USUAL.values(), ids=USUAL)
def test_a_batch_in_its_usual_form_holds_the_same_spans_as_its_plain_data(document: dict[str, Any]) -> None:
    """A batch that is decoded into its places gives the spans that the reader of plain data finds."""
    line = json.dumps(document).encode()
    value = otlp_batch.decode_batch(line)
    assert otlp_batch.is_batch(value)
    assert [*otlp_batch.items(value)] == [*otlp_json.items(decode(line))]


@pytest.mark.parametrize("document", OTHER.values(), ids=OTHER)
def test_any_other_document_stays_plain_data(document: Any) -> None:
    """A document with anything that the usual form does not have is left to the reader of plain data."""
    assert otlp_batch.decode_batch(json.dumps(document).encode()) == document


@pytest.mark.parametrize("key", ["resourceSpans", "batches"])
def test_a_batch_in_an_answer_of_tempo_holds_the_same_spans(key: str) -> None:
    """The second version of its interface puts the batch under `trace`, beside numbers of its own."""
    document = {key: batch()["resourceSpans"]}
    answer = {"trace": document, "metrics": {"inspectedBytes": "1"}}
    reader = find_reader(answer)
    assert reader is not None
    assert [*reader.items(answer)] == [*otlp_json.items(document)]


@pytest.mark.parametrize("fields", [{}, {"tenant": "a"}])
def test_a_request_holds_the_same_spans_in_both_forms(fields: dict[str, Any]) -> None:
    """A receiver reads the usual form in the fast way, and every other form in the general way."""
    document = batch(**fields, attributes=[{"key": "a", "value": {"stringValue": "b"}}])
    received = read_request(json.dumps(document).encode(), "traces", OTLP_JSON)
    assert (received.items, received.refused) == (tuple(otlp_json.items(document)), 0)


def test_a_trace_of_something_else_is_not_one_of_tempo() -> None:
    """Other formats have a member of the same name."""
    assert not otlp_json.is_document({"trace": {"id": TRACE}, "observations": []})


def test_both_forms_of_a_batch_have_the_same_name() -> None:
    """A file whose lines are batches in both forms holds one kind of spans."""
    values = [otlp_batch.decode_batch(json.dumps(document).encode()) for document in (batch(), batch(tenant="a"))]
    assert {reader.name for value in values if (reader := find_reader(value)) is not None} == {"OTLP spans"}


def test_a_line_that_is_not_json_is_an_error() -> None:
    """A broken line is not JSON in any form."""
    with pytest.raises(ValueError, match="truncated"):
        otlp_batch.decode_batch(b'{"resourceSpans": [')
