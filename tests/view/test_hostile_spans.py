"""Receivers survive every span, and score the conversations of others."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from test_receiver import REPLIES

from fairtrial.formats.spans import otlp_json
from fairtrial.records.attempt import Recording
from fairtrial.records.trace import Trace
from fairtrial.store import Store
from receivers import Receiving, receiving
from span_files import below, call, otlp, span, tool

pytestmark = pytest.mark.long

HUGE = "9" * 400


def _agent(number: int, name: str, **fields: Any) -> dict[str, Any]:
    attributes = {"gen_ai.operation.name": "invoke_agent", "session.id": name}
    return {**call(number, ["Hello?"], "Hi.", **attributes), **fields}


TOO_LARGE: list[dict[str, Any]] = [
    {"endTimeUnixNano": HUGE},
    {"startTimeUnixNano": HUGE},
    {"endTimeUnixNano": str(2**64)},
    {"endTimeUnixNano": 2**64},
    {"endTimeUnixNano": f"-{HUGE}"},
    {"droppedAttributesCount": 10**400},
    {"attributes": [{"key": "gen_ai.usage.input_tokens", "value": {"intValue": HUGE}}]},
    {"attributes": [{"key": "a", "value": {"arrayValue": {"values": [{"intValue": 2**64}]}}}]},
    {"events": [{"name": "e", "timeUnixNano": HUGE}]},
]


@pytest.mark.parametrize("fields", TOO_LARGE, ids=lambda fields: json.dumps(fields)[:60])
def test_a_number_beyond_64_bits_refuses_its_span(tmp_path: Path, fields: dict[str, Any]) -> None:
    """The answer counts it, as OTLP says. The other spans of the request are stored."""
    with receiving(tmp_path, None, REPLIES, idle=0.01) as running:
        answer = running.send(otlp(_agent(1, "bad", **fields), _agent(2, "good"))).json()
        assert running.result().case_id == "good"
    assert answer["partialSuccess"]["rejectedSpans"] == "1"
    assert "64 bits" in answer["partialSuccess"]["errorMessage"]
    assert [result.case_id for result in running.run.cases] == ["good"]


def test_the_largest_time_is_taken(tmp_path: Path) -> None:
    """It is a number of 64 bits."""
    with receiving(tmp_path, None, REPLIES, idle=0.01) as running:
        assert running.send(otlp(_agent(1, "s-1", endTimeUnixNano=str(2**64 - 1)))).json() == {}
        assert running.result().verdict == "passed"


def _poison(folder: Path) -> None:
    """Store spans as an earlier version did: with a time that no float holds, with the id of a conversation and not."""
    with receiving(folder, None, REPLIES, idle=0.01) as running:
        run_id = running.receiver.info.id
    store = Store(f"sqlite:///{folder}/store.db")
    for raw in (_agent(1, "bad"), call(2, ["Hello?"], "Hi.")):
        own = replace(otlp_json.span(raw), end=10**400)
        store.spans(run_id).add({own.trace_id: [own]})
    store.close()


def test_a_conversation_that_cannot_be_read_is_an_error_of_its_own(tmp_path: Path) -> None:
    """Although its spans are stored already. Later starts score nothing twice."""
    _poison(tmp_path)
    for number in (3, 4):
        with receiving(tmp_path, None, REPLIES, idle=0.01) as running:
            running.send(otlp(_agent(number, f"good {number}")))
            results = {running.result().case_id for _ in range(3 if number == 3 else 1)}
        assert f"good {number}" in results
    verdicts = {result.case_id: result.verdict for result in running.run.cases}
    assert verdicts == {"bad": "error", f"{2:032x}": "error", "good 3": "passed", "good 4": "passed"}
    (bad,) = [recording for _, recording in running.run.recordings if recording.case_id == "bad"]
    assert bad.failure is not None
    assert bad.failure.side == "infrastructure"
    assert bad.failure.cause.startswith("the spans cannot be read: ")


def test_a_recording_whose_case_was_not_stored_is_scored_again(tmp_path: Path) -> None:
    """A receiver may be killed between the two. The next start reads the spans, and takes the same place."""
    with receiving(tmp_path, None, REPLIES, idle=0.01) as running:
        run_id = running.receiver.info.id
    store = Store(f"sqlite:///{tmp_path}/store.db")
    store.add_recording(run_id, 0, Recording("waiting", Trace(session_id="waiting")))
    own = otlp_json.span(_agent(1, "waiting"))
    store.spans(run_id).add({own.trace_id: [own]})
    store.close()
    with receiving(tmp_path, None, REPLIES, idle=0.01) as running:
        assert running.result().case_id == "waiting"
    ((position, recording),) = running.run.recordings
    assert (position, len(recording.trace.invocations)) == (0, 1)


HOSTILE: list[Any] = [
    None,
    True,
    0,
    -1,
    2**63,
    2**64 - 1,
    2**64,
    10**400,
    1e308,
    -1e308,
    0.1,
    "",
    "0",
    HUGE,
    "18446744073709551615",
    "-9223372036854775808",
    "NaN",
    "Infinity",
    "\x00\u202e\x1b[2J",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59",
    "2024-02-30",
    "[" * 500,
    '{"a":' * 200,
    "[1e400]",
    f"[{HUGE}]",
    '{"role": "user"}',
    [],
    {},
    [[]],
    [None],
    {"": {}},
    {"stringValue": 5},
    {"intValue": "x"},
    {"arrayValue": {"values": {}}},
]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """The places of all values inside a value: each container with a key or an index."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from _places(inner)


def _document() -> dict[str, Any]:
    root = span(1, **{"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 5})
    look = tool(2, "look", **{"gen_ai.tool.call.arguments": '{"a": 1}', "gen_ai.tool.call.result": '{"b": [2]}'})
    return otlp(root, below(call(3, ["Hello?"], "Hi."), root), below(look, root))


def _mutant(random: Random) -> bytes:
    """A request of OTLP as JSON in which some values are hostile, or doubled, or missing."""
    document = copy.deepcopy(_document())
    for _ in range(random.choice((1, 1, 2, 4))):
        container, key = random.choice([*_places(document), (document, "resourceSpans")])
        change = random.randrange(8)
        if change == 0:
            container[key] = {}
        elif change == 1 and isinstance(container, list):
            container.append(container[key])
        else:
            container[key] = random.choice(HOSTILE)
    body = json.dumps(document).encode()
    return body[: random.randrange(len(body))] if random.randrange(20) == 0 else body


def _request(number: int) -> bytes:
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for place in range(3):
        own = scope.spans.add(name="chat", trace_id=number.to_bytes(16), span_id=(place + 1).to_bytes(8))
        own.parent_span_id = place.to_bytes(8) if place else b""
        own.start_time_unix_nano, own.end_time_unix_nano = 10**18, 10**18 + place
        for name in ("gen_ai.operation.name", "gen_ai.input.messages", "session.id"):
            own.attributes.add(key=name).value.string_value = "chat"
    return bytes(request.SerializeToString())


def _flipped(random: Random) -> bytes:
    """A request of OTLP as protobuf in which some bytes are others."""
    body = bytearray(_request(random.randrange(1, 50)))
    for _ in range(random.choice((1, 2, 8))):
        body[random.randrange(len(body))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
    return bytes(body)


MUTANTS: list[tuple[str, Callable[[Random], bytes]]] = [("json", _mutant), ("x-protobuf", _flipped)]


def _is_alive(running: Receiving, name: str) -> bool:
    """Whether a conversation that comes now is scored."""
    running.send(otlp(_agent(900, name)))
    while running.result().case_id != name:
        pass  # results of what could be read of the mutants
    return True


@pytest.mark.parametrize(("kind", "mutant"), MUTANTS, ids=["json", "protobuf"])
def test_no_mutant_of_a_request_stops_the_receiver(
    tmp_path: Path, kind: str, mutant: Callable[[Random], bytes]
) -> None:
    """Each is refused or scored, while the receiver runs and after it starts again."""
    random = Random(7)
    with receiving(tmp_path, None, REPLIES, idle=0) as running, httpx2.Client() as client:
        for _ in range(200):
            headers = {"content-type": f"application/{kind}"}
            answer = client.post(f"{running.url}/v1/traces", content=mutant(random), headers=headers)
            assert answer.status_code in (200, 400), answer.text
        assert _is_alive(running, "honest 0")
    with receiving(tmp_path, None, REPLIES, idle=0) as running:
        assert _is_alive(running, "honest 1")
    assert {"honest 0", "honest 1"} <= {result.case_id for result in running.run.cases}
