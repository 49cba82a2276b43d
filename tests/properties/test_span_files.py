"""The way in which spans were sent and written does not change what is read from them."""

from __future__ import annotations

import base64
import contextlib
import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial import FormatError, Recording
from fairtrial.formats.conversation.span_conversations import collect_recordings
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.recognise import read
from packers import PACKERS
from span_files import below, call, lasting, messages, otlp, span, tool

pytest.importorskip("opentelemetry.proto")


def conversation() -> list[dict[str, Any]]:
    """Return the spans of two turns: a root, two model calls and a tool, and then a call without a tool."""
    root = lasting(span(1, **{"gen_ai.operation.name": "invoke_agent", "session.id": "s"}), 10)
    asked = json.dumps(
        [{"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "get", "arguments": {"n": 2**60}}]}]
    )
    calls = [
        span(2, **{"gen_ai.input.messages": messages("hi"), "gen_ai.output.messages": asked}),
        tool(3, "get", **{"gen_ai.tool.call.arguments": f'{{"n": {2**60}}}', "gen_ai.tool.call.result": "[1]"}),
        call(4, ["hi"], "done"),
    ]
    later = call(20, ["hi", "done", "bye"], "bye", **{"session.id": "s"})
    return [root, *(below(raw, root) for raw in calls), later]


SPANS = conversation()
LINES = [json.dumps(otlp(raw)).encode() for raw in SPANS]


def recordings(*files: bytes) -> tuple[Recording, ...]:
    """Return the recordings in files that are one body of data."""
    items = [item for data in files for item in read(data, "a").spans]
    return collect_recordings(items, Diagnostics("a"))


EXPECTED = recordings(b"\n".join(LINES))


def test_the_conversation_is_what_was_written() -> None:
    """The other tests compare with it."""
    (recording,) = EXPECTED
    assert [(each.query, len(each.tool_calls), each.reply) for each in recording.trace.invocations] == [
        ("hi", 1, "done"),
        ("bye", 0, "bye"),
    ]
    assert recording.trace.invocations[0].tool_calls[0].args == {"n": 2**60}


@given(st.permutations(LINES), st.lists(st.sampled_from(LINES)), st.integers(0, len(LINES)))
def test_order_batches_files_and_repetitions_change_nothing(
    lines: list[bytes], repeated: list[bytes], cut: int
) -> None:
    """A batch is not a trace, a file has no order, and a span that is sent twice counts once."""
    files = [b"\n".join(part) for part in (lines[:cut], [*lines[cut:], *repeated]) if part]
    assert recordings(*files) == EXPECTED


@given(st.lists(st.sampled_from(["base64", "upper", "0x"]), min_size=len(SPANS), max_size=len(SPANS)))
def test_the_form_of_ids_changes_nothing(forms: list[str]) -> None:
    """Hex of any case, with 0x or without, and base64 are the same ids."""
    spans = copy.deepcopy(SPANS)
    for raw, form in zip(spans, forms, strict=True):
        for key in ("traceId", "spanId", "parentSpanId"):
            if raw.get(key):
                raw[key] = written_id(raw[key], form)
    assert recordings(json.dumps(otlp(*spans)).encode()) == EXPECTED


def written_id(value: str, form: str) -> str:
    """Return an id in another form."""
    if form == "base64":
        return base64.b64encode(bytes.fromhex(value)).decode()
    return value.upper() if form == "upper" else "0x" + value


def protobuf(*spans: dict[str, Any]) -> bytes:
    """Return spans as protobuf, by the library's own reader of JSON."""
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    document = copy.deepcopy(otlp(*spans))
    for raw in document["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for key in ("traceId", "spanId", "parentSpanId"):
            raw[key] = written_id(raw.get(key, ""), "base64")
    data: bytes = ParseDict(document, ExportTraceServiceRequest()).SerializeToString()
    return data


@pytest.mark.parametrize("pack", [bytes, *PACKERS.values()])
@pytest.mark.parametrize("has_lengths", [False, True])
def test_the_encoding_changes_nothing(pack: Callable[[bytes], bytes], has_lengths: bool) -> None:
    """Protobuf as one body or several with their lengths, packed or not, is the same as JSON."""
    if has_lengths:
        bodies = [protobuf(raw) for raw in SPANS]
        data = b"".join(len(body).to_bytes(4) + body for body in bodies)
    else:
        data = protobuf(*SPANS)
    assert recordings(pack(data)) == EXPECTED


@given(st.sampled_from([LINES[1], protobuf(*SPANS[:2]), *(pack(LINES[0]) for pack in PACKERS.values())]), st.data())
def test_a_changed_byte_is_read_or_refused(data: bytes, draw: st.DataObject) -> None:
    """Nothing but a reading, or an error that names the problem."""
    place = draw.draw(st.integers(0, len(data) - 1))
    changed = data[:place] + bytes([draw.draw(st.integers(0, 255))]) + data[place + 1 :]
    with contextlib.suppress(FormatError):
        recordings(changed)
