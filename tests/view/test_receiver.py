"""Receivers answer as OTLP says, and score each conversation once."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from commands import MATCH, case, eval_set, write
from fairtrial import Criterion, Trace, history
from fairtrial.errors import UsageError
from fairtrial.records.case import EvalCase
from fairtrial.store.bodies import raw_json
from fairtrial.view import receiver
from packers import PACKERS
from receivers import receiving
from span_files import answer, below, call, messages, otlp, request, span, tool


def replies(trace: Trace, _case: EvalCase) -> bool:
    """Whether the agent always replied."""
    return all(invocation.reply for invocation in trace.invocations)


_TOKEN = "open-sesame"  # noqa: S105
REPLIES = [Criterion("replies", replies, 1.0)]


def conversation(number: int, name: str, *texts: str, reply: str = "Hi.") -> dict[str, Any]:
    """A trace with one call of a model, in a conversation."""
    return call(number, [*texts] or ["Hello?"], reply, **{"session.id": name})


def test_a_conversation_is_scored_when_it_is_ended(tmp_path: Path) -> None:
    """The result has the name of the conversation, and the run holds its recording."""
    with receiving(tmp_path, None, REPLIES) as running:
        running.send(otlp(conversation(1, "s-1")))
        running.end("s-1")
        result = running.result()
    assert (result.case_id, result.verdict) == ("s-1", "passed")
    (recorded,) = [recording for _, recording in running.run.recordings]
    assert [(own.query, own.reply) for own in recorded.trace.invocations] == [("Hello?", "Hi.")]


def _stored(folder: Path) -> bytes:
    """Everything that a receiver stored, with its compressed bodies unpacked."""
    with closing(sqlite3.connect(folder / "store.db")) as store:
        tables = [name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = [row for table in tables for row in store.execute(f'SELECT * FROM "{table}"')]  # noqa: S608
    return b"\n".join(_unpack_bytes(value) for row in rows for value in row)


def _unpack_bytes(value: Any) -> bytes:
    return raw_json(value) if isinstance(value, bytes) else str(value).encode()


def test_personal_data_is_removed_before_it_is_stored(tmp_path: Path) -> None:
    """From texts, arguments of tools, resources and names of spans."""
    pytest.importorskip("phonenumbers", reason="the extra people is not installed")
    with receiving(tmp_path, None, REPLIES, redact="people") as running:
        own = conversation(1, "s-1", "Call me at +82 10-2345-6789", reply="I will call +82 10-2345-6789.")
        inner = below(tool(2, "call", **{"gen_ai.tool.call.arguments": '{"phone": "010-2345-6789"}'}), own)
        inner["name"] = "GET /users/jane.doe@example.com"
        document = otlp(own, inner)
        resource = [{"key": "host.user", "value": {"stringValue": "/home/jane/agent.py"}}]
        document["resourceSpans"][0]["resource"] = {"attributes": resource}
        running.send(document)
        running.end("s-1")
        running.result()
    stored = _stored(tmp_path)
    assert b"[REDACTED:phone]" in stored
    # Four digits alone may stand in an id or a time.
    number = (b"10-2345", b"2345-6789", b"23456789")
    assert not [data for data in (*number, b"example.com", b"jane") if data in stored]


def test_personal_data_stays_by_default(tmp_path: Path) -> None:
    """Eval sets name telephone numbers and addresses, which would otherwise not match."""
    with receiving(tmp_path, None, REPLIES) as running:
        running.send(otlp(conversation(1, "s-1", "Call me at +82 10-2345-6789")))
        running.end("s-1")
        running.result()
    (recording,) = [recording for _, recording in running.run.recordings]
    assert recording.trace.invocations[0].query == "Call me at +82 10-2345-6789"


@pytest.mark.long
def test_conversations_of_two_people_stay_apart(tmp_path: Path) -> None:
    """An address as the id of a conversation gets a pseudonym, and the conversation can be ended by its address."""
    pytest.importorskip("phonenumbers", reason="the extra people is not installed")
    names = []
    with receiving(tmp_path, None, REPLIES, redact="people") as running:
        for number, person in enumerate(("jane@example.com", "john@example.com", "jane@example.com"), 1):
            running.send(otlp(conversation(number, person, f"Question {number}?")))
            running.end(person)
            names.append(running.result().case_id)
    assert names[0] == names[2] != names[1]
    assert b"example.com" not in _stored(tmp_path)


def test_secrets_of_the_process_are_not_stored(tmp_path: Path) -> None:
    """The resource of a span may hold the command line of the agent."""
    with receiving(tmp_path, None, REPLIES) as running:
        document = otlp(conversation(1, "s-1"))
        arguments = [{"stringValue": text} for text in ("agent.py", "--password", "x9Kq2Lm8Zt4v")]
        resource = [{"key": "process.command_args", "value": {"arrayValue": {"values": arguments}}}]
        document["resourceSpans"][0]["resource"] = {"attributes": resource}
        running.send(document)
        running.end("s-1")
        running.result()
    assert b"[REDACTED:pair]" in _stored(tmp_path)
    assert b"x9Kq2Lm8Zt4v" not in _stored(tmp_path)


def test_a_conversation_is_scored_when_nothing_came_for_a_while(tmp_path: Path) -> None:
    """Without any end."""
    with receiving(tmp_path, None, REPLIES, idle=0.01) as running:
        running.send(otlp(conversation(1, "s-1")))
        assert running.result().case_id == "s-1"


def test_a_conversation_waits_for_its_root(tmp_path: Path) -> None:
    """Children are exported before their parents."""
    root = span(1, **{"gen_ai.operation.name": "invoke_agent", "session.id": "s-1"})
    child = below(call(2, ["Hello?"], "Hi."), root)
    with receiving(tmp_path, None, REPLIES, idle=0) as running:
        running.send(otlp(child))
        running.send(otlp(conversation(7, "other")))
        assert running.result().case_id == "other", "the child was looked at before"
        running.send(otlp(root))
        assert running.result().case_id == "s-1"


@pytest.mark.long
def test_spans_that_come_later_replace_the_result(tmp_path: Path) -> None:
    """One result for each conversation, which counts all its invocations."""
    with receiving(tmp_path, None, REPLIES) as running:
        for number, texts in enumerate((["Hello?"], ["Hello?", "Hi.", "And now?"]), 1):
            running.send(otlp(conversation(number, "s-1", *texts)))
            running.end("s-1")
            running.result()
    (result,) = running.run.cases
    assert result.attempt == 1
    (recording,) = [recording for _, recording in running.run.recordings]
    assert [invocation.query for invocation in recording.trace.invocations] == ["Hello?", "And now?"]


@pytest.mark.long
def test_traces_without_an_id_are_joined_by_their_history(tmp_path: Path) -> None:
    """As in files: each trace repeats what was said before. Another conversation with a text of its own stays alone."""
    texts = ["Hello?", "Hi.", "And now?", "Hi.", "Bye."]
    with receiving(tmp_path, None, REPLIES, idle=0) as running:
        for number in (1, 2, 3):
            running.send(otlp(call(number, texts[: 2 * number - 1], "Hi.")))
            assert running.result().case_id == f"{1:032x}"
        running.send(otlp(call(4, ["Other", "Hi.", "And now?"], "Hi.")))
        assert running.result().case_id == f"{4:032x}"
    assert "joined 2 traces without a conversation id to an earlier trace, by the history" in running.receiver.warnings
    recordings = {recording.trace.session_id: recording.trace for _, recording in running.run.recordings}
    queries = [[invocation.query for invocation in trace.invocations] for trace in recordings.values()]
    assert queries == [["Hello?", "And now?", "Bye."], ["And now?"]]


def test_the_beginning_of_a_conversation_may_come_last(tmp_path: Path) -> None:
    """The traces of a conversation are sent by different processes."""
    with receiving(tmp_path, None, REPLIES, idle=0) as running:
        for number, texts in ((2, ["Hello?", "Hi.", "And now?"]), (1, ["Hello?"])):
            running.send(otlp(call(number, texts, "Hi.")))
            assert running.result().case_id == f"{2:032x}"
    (recording,) = [recording for _, recording in running.run.recordings]
    assert [invocation.query for invocation in recording.trace.invocations] == ["Hello?", "And now?"]


@pytest.mark.long
def test_no_trace_is_joined_where_two_could_go_on(tmp_path: Path) -> None:
    """Nobody knows which of both the user meant. The first was joined and scored, and is now alone again."""
    with receiving(tmp_path, None, REPLIES, idle=0) as running:
        for number, last, name in ((1, None, 1), (2, "a", 1), (3, "b", 3)):
            running.send(otlp(call(number, ["Hello?", *(["Hi.", last] if last else [])], "Hi.")))
            assert name in {int(running.result().case_id, 16) for _ in range(3 if number == 3 else 1)}
    recordings = {int(recording.case_id, 16): recording.trace for _, recording in running.run.recordings}
    queries = {number: [own.query for own in trace.invocations] for number, trace in recordings.items()}
    assert queries == {1: ["Hello?"], 2: ["a"], 3: ["b"]}
    assert running.receiver.waiting == 0


@pytest.mark.long
def test_two_that_could_go_on_stay_alone_over_a_restart(tmp_path: Path) -> None:
    """The second comes after the restart, and a third one, which is not joined either."""
    for number, last, results in ((1, None, 1), (2, "a", 1), (3, "b", 3), (4, "c", 1)):
        with receiving(tmp_path, None, REPLIES, idle=0) as running:
            running.send(otlp(call(number, ["Hello?", *(["Hi.", last] if last else [])], "Hi.")))
            for _ in range(results):
                running.result()
    recordings = {int(recording.case_id, 16): recording.trace for _, recording in running.run.recordings}
    queries = {number: [own.query for own in trace.invocations] for number, trace in recordings.items()}
    assert queries == {1: ["Hello?"], 2: ["a"], 3: ["b"], 4: ["c"]}


def test_histories_are_joined_over_a_restart(tmp_path: Path) -> None:
    """The conversation is scored again with its new turn."""
    for number, texts in ((1, ["Hello?"]), (2, ["Hello?", "Hi.", "And now?"])):
        with receiving(tmp_path, None, REPLIES, idle=0) as running:
            running.send(otlp(call(number, texts, "Hi.")))
            assert running.result().case_id == f"{1:032x}"
    (recording,) = [recording for _, recording in running.run.recordings]
    assert [invocation.query for invocation in recording.trace.invocations] == ["Hello?", "And now?"]


@pytest.mark.long
def test_the_traces_of_a_tool_loop_are_joined_over_a_restart(tmp_path: Path) -> None:
    """Each call of the model is a trace of its own. Any of them may go on, or get a late span, after each restart."""
    late_tool = below(tool(9, "get", **{"gen_ai.tool.call.result": "y"}), request(2, ("Hello?",), 1))
    for spans in (
        [request(1, ("Hello?",), 0), request(2, ("Hello?",), 1)],
        [late_tool],
        [request(3, ("Hello?",), 2, "Hi.")],
    ):
        with receiving(tmp_path, None, REPLIES, idle=0.2) as running:
            running.send(otlp(*spans))
            assert running.result().case_id == f"{1:032x}"
    (recording,) = [recording for _, recording in running.run.recordings]
    turns = [(own.query, len(own.tool_calls), own.reply) for own in recording.trace.invocations]
    assert turns == [("Hello?", 2, "Hi.")]


@pytest.mark.long
def test_two_that_could_go_on_with_a_tool_loop_stay_alone_over_a_restart(tmp_path: Path) -> None:
    """The second that goes on with the same call comes after the restart."""
    for spans, results in (
        ([request(1, ("Hello?",), 0), request(2, ("Hello?",), 1, "a")], 1),
        ([request(3, ("Hello?",), 1, "b")], 3),
    ):
        with receiving(tmp_path, None, REPLIES, idle=0.2) as running:
            running.send(otlp(*spans))
            for _ in range(results):
                running.result()
    replies = {int(each.case_id, 16): each.trace.invocations[-1].reply for _, each in running.run.recordings}
    assert replies == {1: "", 2: "a", 3: "b"}


@pytest.mark.long
def test_a_restart_goes_on_with_what_waits(tmp_path: Path) -> None:
    """And scores nothing twice."""
    with receiving(tmp_path, None, REPLIES) as first:
        first.send(otlp(conversation(1, "s-1"), conversation(2, "s-2")))
        first.end("s-1")
        first.result()
    assert first.receiver.waiting == 1
    with receiving(tmp_path, None, REPLIES) as second:
        second.end("s-1", 404)
        second.end("s-2")
        assert second.result().case_id == "s-2"
    assert second.receiver.info.id == first.receiver.info.id
    assert second.results.empty()
    assert [result.case_id for result in second.run.cases] == ["s-1", "s-2"]


def test_a_receiver_that_stops_follows_the_series_of_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first look at the history then reads what is kept, as after `run` and `score`."""
    monkeypatch.setattr("fairtrial.api.execution._WORTH_FOLLOWING", 1)
    with receiving(tmp_path, None, REPLIES) as running:
        running.send(otlp(conversation(1, "s-1")))
        running.end("s-1")
        running.result()
    with closing(sqlite3.connect(tmp_path / "store.db")) as store:
        (kept,) = store.execute("SELECT key, body FROM fairtrial_histories").fetchall()
    assert [row.id for row in history(store=f"sqlite:///{tmp_path}/store.db").rows] == [running.run.info.id]
    with closing(sqlite3.connect(tmp_path / "store.db")) as store:
        assert store.execute("SELECT key, body FROM fairtrial_histories").fetchall() == [kept]


def test_other_criteria_start_another_run(tmp_path: Path) -> None:
    """So does `is_new`."""
    ids: list[str] = []
    for threshold, is_new in ((1.0, False), (0.5, False), (0.5, True)):
        with receiving(tmp_path, None, [Criterion("replies", replies, threshold)], is_new=is_new) as running:
            ids.append(running.receiver.info.id)
    assert len(set(ids)) == 3


@pytest.mark.long
def test_conversations_answer_cases_by_id_or_by_the_first_text(tmp_path: Path) -> None:
    """Several conversations are attempts at a case. Others only meet criteria that need no reference."""
    evals = write(
        tmp_path / "shop.evalset.json", eval_set(case("greeting", "Hi.", query="Hello?"), case("bye", "Bye."))
    )
    match = write(tmp_path / "config.json", MATCH)
    with receiving(tmp_path, evals, match) as running:
        running.send(
            otlp(
                conversation(1, "bye", "So long", reply="Bye."),
                conversation(2, "s-2", "Hello?", reply="Hi."),
                conversation(3, "s-3", "Hello?", reply="No."),
                conversation(4, "s-4", "Else?"),
            )
        )
        for name in ("bye", "s-2", "s-3", "s-4"):
            running.end(name)
            running.result()
    verdicts = {(result.case_id, result.attempt): result.outcomes[0].verdict.value for result in running.run.cases}
    assert verdicts == {
        ("bye", 1): "passed",
        ("greeting", 1): "passed",
        ("greeting", 2): "failed",
        ("s-4", 1): "not_applicable",
    }


@pytest.mark.long
def test_a_sample_is_chosen_by_the_id_of_the_conversation(tmp_path: Path) -> None:
    """The same conversations after a restart, and spans of others leave nothing that waits."""
    names = [f"s-{number}" for number in range(40)]
    chosen: list[set[str]] = []
    for _ in range(2):
        with receiving(tmp_path, None, REPLIES, idle=0, sample=0.5, is_new=True) as running:
            running.send(otlp(*(conversation(number, name) for number, name in enumerate(names, 1))))
            running.send(otlp(conversation(90, "last")))
            plan = running.receiver._plan
            expected = {name for name in (*names, "last") if plan.is_in_sample(name)}
            chosen.append({running.result().case_id for _ in expected})
        assert chosen[-1] == expected
        assert running.receiver.waiting == 0
    assert 5 < len(chosen[0]) < 35


def test_the_answer_has_the_content_type_of_the_request(tmp_path: Path) -> None:
    """JSON for JSON, protobuf for protobuf, and both count the spans without ids."""
    broken = {**conversation(1, "s"), "spanId": "00"}
    with receiving(tmp_path, None, REPLIES) as running:
        assert running.send(otlp(conversation(1, "s"))).json() == {}
        partial = running.send(otlp(broken, conversation(2, "s"))).json()["partialSuccess"]
        assert partial["rejectedSpans"] == "1"
        assert "8 bytes" in partial["errorMessage"]
        # A span without ids: resource spans, scope spans, and a span with the name "a".
        body = bytes([0x0A, 7, 0x12, 5, 0x12, 3, 0x2A, 1, 0x61])
        response = running.send(body, content_type="application/x-protobuf")
        assert response.headers["content-type"] == "application/x-protobuf"
        assert ExportTraceServiceResponse.FromString(response.content).partial_success.rejected_spans == 1


UNREADABLE: list[tuple[bytes, dict[str, str], int]] = [
    (b"{", {}, 400),
    (b"[]", {}, 400),
    (b'{"resourceSpans": 5}', {}, 400),
    (b"\xff\xff", {"content_type": "application/x-protobuf"}, 400),
    (b"{}", {"content_type": "text/plain"}, 415),
    (b"{}", {"content_encoding": "br"}, 415),
    (b"\x1f\x8bnot", {"content_encoding": "gzip"}, 400),
    *[(pack(b"{}")[:-1], {"content_encoding": packing}, 400) for packing, pack in PACKERS.items()],
    *[(pack(b" " * (65 << 20)), {"content_encoding": packing}, 413) for packing, pack in PACKERS.items()],
]


@pytest.mark.long
def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """With the status of the protocol, and nothing is stored."""
    with receiving(tmp_path, None, REPLIES) as running:
        for body, headers, status in UNREADABLE:
            running.send(body, status=status, **headers)
        assert running.receiver.waiting == 0


def test_a_request_of_another_content_type_is_answered_in_plain_text(tmp_path: Path) -> None:
    """The sender speaks neither protobuf nor JSON."""
    with receiving(tmp_path, None, REPLIES) as running:
        response = running.send(b"x", status=415, content_type="text/plain")
    assert response.text.startswith("the content type must be ")


def test_a_full_queue_asks_the_sender_to_come_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the header that says when. Nothing is stored."""
    monkeypatch.setattr(receiver, "MOST_WAITING", 0)
    with receiving(tmp_path, None, REPLIES) as running:
        response = running.send(otlp(conversation(1, "s")), status=429)
        assert not [*running.receiver._spans.pending()]
    assert response.headers["retry-after"] == "1"


def test_metrics_are_accepted_and_dropped(tmp_path: Path) -> None:
    """So that an exporter of everything reports no error."""
    with receiving(tmp_path, None, REPLIES) as running:
        assert running.send({"resourceMetrics": []}, path="/v1/metrics").json() == {}


def test_metrics_are_forwarded(tmp_path: Path) -> None:
    """A receiver between an agent and its collector takes nothing from the collector."""
    forwarded: list[str] = []

    def keep(path: str, *_: Any) -> bool:
        forwarded.append(path)
        return True

    with receiving(tmp_path, None, REPLIES, forward=keep) as running:
        running.send({"resourceMetrics": []}, path="/v1/metrics")
    assert forwarded == ["/v1/metrics"]


@pytest.mark.parametrize("packing", PACKERS)
def test_a_packed_stream_may_have_several_members(packing: str, tmp_path: Path) -> None:
    """RFC 1952 and RFC 8878 allow it. Spans in the second would be lost although the answer is 200."""
    text = json.dumps(otlp(conversation(1, "s"))).encode()
    packed = PACKERS[packing](text[:100]) + PACKERS[packing](text[100:])
    with receiving(tmp_path, None, REPLIES) as running:
        running.send(packed, content_encoding=packing)
        assert running.receiver.waiting == 1


@pytest.mark.parametrize("path", ["/v1/traces", "/v1/logs"])
@pytest.mark.parametrize("request_body", [{}, {"resourceSpans": []}, {"resourceLogs": []}])
def test_an_empty_request_is_accepted(path: str, request_body: dict[str, Any], tmp_path: Path) -> None:
    """Every list of a request is optional in OTLP."""
    with receiving(tmp_path, None, REPLIES) as running:
        assert running.send(request_body, path=path).json() == {}
        assert running.receiver.waiting == 0


def test_log_records_complete_spans(tmp_path: Path) -> None:
    """The contents of a call come as events, to a path of their own."""
    record = {
        "traceId": f"{1:032x}",
        "spanId": f"{1:016x}",
        "timeUnixNano": "2000000001000000000",
        "eventName": "gen_ai.client.inference.operation.details",
        "attributes": call(1, ["Hello?"], "From a log.")["attributes"],
    }
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record, {"body": {"stringValue": "no trace"}}]}]}]}
    with receiving(tmp_path, None, REPLIES) as running:
        running.send(otlp(span(1, **{"session.id": "s-1"})))
        running.send(logs, path="/v1/logs")
        running.end("s-1")
        running.result()
    (recording,) = [recording for _, recording in running.run.recordings]
    assert recording.trace.invocations[0].reply == "From a log."


def test_a_token_is_needed_if_there_is_one(tmp_path: Path) -> None:
    """It stands in no answer."""
    with receiving(tmp_path, None, REPLIES, token=_TOKEN) as running:
        for wrong in ({}, {"authorization": "Bearer sesame"}):
            response = running.send(otlp(conversation(1, "s")), status=401, **wrong)
            assert _TOKEN not in response.text
        running.end("s", 401)
        running.send(otlp(conversation(1, "s")), authorization=f"Bearer {_TOKEN}")


def test_secrets_are_removed_before_spans_are_stored(tmp_path: Path) -> None:
    """They stand in no file, whether the conversation is scored or not."""
    secret = "sk-ant-" + "api03-" + "Zq8" * 12
    with receiving(tmp_path, None, REPLIES) as running:
        running.send(otlp(conversation(1, "s-1", f"My key is {secret}")))
        (batch,) = running.receiver._spans.pending()
    assert "[REDACTED:provider_key]" in str(batch)
    assert secret not in str(batch)


def test_a_full_forwarder_asks_the_sender_to_come_again(tmp_path: Path) -> None:
    """With the header that says when."""
    with receiving(tmp_path, None, REPLIES, forward=lambda *_: False) as running:
        response = running.send(otlp(conversation(1, "s")), status=429)
    assert response.headers["retry-after"] == "1"


def test_requests_are_forwarded_unchanged(tmp_path: Path) -> None:
    """Body, path and encoding."""
    forwarded: list[tuple[Any, ...]] = []

    def keep(*request: Any) -> bool:
        forwarded.append(request)
        return True

    packed = PACKERS["gzip"](json.dumps(otlp(conversation(1, "s"))).encode())
    with receiving(tmp_path, None, REPLIES, forward=keep) as running:
        running.send(packed, content_encoding="gzip")
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert forwarded == [("/v1/traces", packed, headers)]


def test_an_exporter_of_opentelemetry_sends_here(tmp_path: Path) -> None:
    """The real one, as protobuf with gzip. Children end before their parents."""
    with receiving(tmp_path, None, REPLIES) as running:
        exporter = OTLPSpanExporter(f"{running.url}/v1/traces", compression=Compression.Gzip)
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        tracer = provider.get_tracer("shop")
        with tracer.start_as_current_span("agent") as agent:
            agent.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "s-1"})
            with tracer.start_as_current_span("chat") as chat:
                chat.set_attribute("gen_ai.operation.name", "chat")
                chat.set_attribute("gen_ai.input.messages", messages("Where is A-17?"))
                chat.set_attribute("gen_ai.output.messages", answer("On its way."))
        provider.shutdown()
        running.end("s-1")
        running.result()
    (recording,) = [recording for _, recording in running.run.recordings]
    assert [(own.query, own.reply) for own in recording.trace.invocations] == [("Where is A-17?", "On its way.")]


OTHER_PAGES: list[tuple[str, dict[str, str], int]] = [
    ("/v1/traces", {"host": "evil.example"}, 421),
    ("/v1/traces", {"host": "evil.example", "origin": "http://evil.example"}, 421),
    ("/v1/traces", {"host": ""}, 421),
    ("/v1/traces", {"host": "[::1"}, 421),
    ("/v1/traces", {"origin": "https://evil.example"}, 403),
    ("/v1/traces", {"origin": "null"}, 403),
    ("/v1/conversations/s/end", {"host": "evil.example"}, 421),
    ("/v1/conversations/s/end", {"origin": "https://evil.example"}, 403),
    ("/v1/conversations/s/end", {"content_type": "text/plain"}, 415),
    ("/v1/conversations/s/end", {"content_type": "application/x-www-form-urlencoded"}, 415),
]


@pytest.mark.long
@pytest.mark.parametrize(("path", "headers", "status"), OTHER_PAGES)
def test_pages_of_others_write_no_spans(tmp_path: Path, path: str, headers: dict[str, str], status: int) -> None:
    """A browser sends requests for any page. The name of the page may resolve to this machine."""
    with receiving(tmp_path, None, REPLIES) as running:
        running.send(otlp(conversation(1, "s")), path="/v1/traces")
        running.send(otlp(conversation(2, "s")), path=path, status=status, **headers)
        assert running.receiver.waiting == 1
        assert running.results.empty()


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:4318", "127.0.0.1:9", "[::1]:4318"])
def test_this_machine_has_several_names(tmp_path: Path, host: str) -> None:
    """Containers and tunnels use other ports."""
    with receiving(tmp_path, None, REPLIES) as running:
        running.send(otlp(conversation(1, "s")), host=host)


def test_with_a_token_every_name_is_right(tmp_path: Path) -> None:
    """No other page knows the token, and other machines know this one by any name."""
    with receiving(tmp_path, None, REPLIES, token=_TOKEN) as running:
        running.send(otlp(conversation(1, "s")), host="collector.example:4318", authorization=f"Bearer {_TOKEN}")


def test_something_must_say_what_to_score(tmp_path: Path) -> None:
    """Nothing is near a receiver that could say it."""
    with pytest.raises(UsageError, match="criteria, or an eval set with eval_set"):
        receiving(tmp_path).__enter__()
