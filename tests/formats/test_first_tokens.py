"""The time to the first token is read from the places where instrumentations and platforms write it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import load
from fairtrial.formats.conversation.span_conversations import collect_recordings
from fairtrial.formats.reading import Diagnostics
from fairtrial.records.trace import Durations, Invocation

SECOND = 1_000_000_000
START = 1_800_000_000 * SECOND
TRACE = "0af7651916cd43dd8448eb211c80319c"


def any_value(value: Any) -> dict[str, Any]:
    """Return a value as OTLP writes it."""
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"doubleValue": value}


def span(number: int, attributes: dict[str, Any], start: float, end: float, **more: Any) -> dict[str, Any]:
    """Return a span that starts and ends after so many seconds."""
    return {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "name": "a call",
        "startTimeUnixNano": str(START + round(start * SECOND)),
        "endTimeUnixNano": str(START + round(end * SECOND)),
        "attributes": [{"key": key, "value": any_value(value)} for key, value in attributes.items()],
        **more,
    }


def chat(answer: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return the attributes of a model call by the GenAI conventions."""
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Where is it?"}]}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": answer}]),
        **more,
    }


TEXT = [{"type": "text", "content": "Here."}]
CALL = [{"type": "tool_call", "id": "c1", "name": "find", "arguments": {}}]
FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"


def read(document: Any, path: str) -> list[Invocation]:
    """Return the invocations in a document."""
    recordings = collect_recordings(load(document, path).spans, Diagnostics(path))
    return [invocation for recording in recordings for invocation in recording.trace.invocations]


def durations(*spans: dict[str, Any], scope: str = "") -> Durations:
    """Return the durations of the only invocation in spans."""
    scoped = [{"scope": {"name": scope}, "spans": spans}]
    (invocation,) = read(json.dumps({"resourceSpans": [{"scopeSpans": scoped}]}), "trace.json")
    assert invocation.durations is not None
    return invocation.durations


@pytest.mark.parametrize(
    ("name", "value", "scope"),
    [
        (FIRST_CHUNK, 0.5, ""),
        ("gen_ai.response.time_to_first_token", 0.5, "sentry"),
        ("gen_ai.server.time_to_first_token", 0.5, "openlit.otel.tracing"),
        ("gen_ai.server.time_to_first_token", 500, "strands.telemetry.tracer"),
        ("ttft_ms", 500, "com.anthropic.claude_code.tracing"),
        ("langfuse.observation.completion_start_time", '"2027-01-15T08:00:00.500Z"', "langfuse-sdk"),
    ],
)
def test_an_attribute_says_it_in_its_own_unit(name: str, value: Any, scope: str) -> None:
    """Strands writes milliseconds where others write seconds."""
    assert durations(span(1, chat(TEXT, **{name: value}), 0, 2), scope=scope).first_token == pytest.approx(0.5)


def test_each_model_call_has_its_own_time() -> None:
    """The wait for the reply begins with the message of the user, and that of a call with the call."""
    calling = span(1, chat(CALL, **{FIRST_CHUNK: 0.25}), 0, 1)
    writing = span(2, chat(TEXT, **{FIRST_CHUNK: 0.5}), 2, 4)
    silent = span(3, chat(TEXT), 4, 5)
    scoped = [{"scope": {"name": ""}, "spans": [calling, writing, silent]}]
    (invocation,) = read(json.dumps({"resourceSpans": [{"scopeSpans": scoped}]}), "trace.json")
    assert [usage.first_token for usage in invocation.usages or ()] == [0.25, 0.5, None]


@pytest.mark.parametrize("value", ["soon", -1, 2.1, True])
def test_an_impossible_time_is_not_recorded(value: Any) -> None:
    """It is no number, or no time of a call that took two seconds."""
    assert durations(span(1, chat(TEXT, **{FIRST_CHUNK: value}), 0, 2)).first_token is None


def test_vercel_writes_milliseconds() -> None:
    """The span of the request says it."""
    attributes = {
        "ai.operationId": "ai.streamText.doStream",
        "ai.prompt.messages": json.dumps([{"role": "user", "content": "Where is it?"}]),
        "ai.response.text": "Here.",
        "ai.response.msToFirstChunk": 500.0,
    }
    assert durations(span(1, attributes, 0, 2)).first_token == pytest.approx(0.5)


def test_openinference_writes_an_event() -> None:
    """The time of the event is that of the first token."""
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "Where is it?",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "Here.",
    }
    event = {"name": "First Token Stream Event", "timeUnixNano": str(START + SECOND // 2)}
    assert durations(span(1, attributes, 0, 2, events=[event])).first_token == pytest.approx(0.5)


def test_a_call_before_the_text_is_a_part_of_the_wait() -> None:
    """People see no call. The first model call took a second, and the second began after two."""
    call, answer = chat(CALL, **{FIRST_CHUNK: 0.1}), chat(TEXT, **{FIRST_CHUNK: 0.5})
    assert durations(span(1, call, 0, 1), span(2, answer, 2, 4)).first_token == pytest.approx(2.5)


def test_a_text_that_came_whole_before_the_stream_leaves_the_time_unknown() -> None:
    """The later text was not the first that people saw."""
    whole, streamed = chat([*TEXT, *CALL]), chat(TEXT, **{FIRST_CHUNK: 0.5})
    assert durations(span(1, whole, 0, 1), span(2, streamed, 2, 4)).first_token is None


@pytest.mark.parametrize(
    "more",
    [
        {"first_token_time": "2026-01-01T00:00:00.500Z"},
        {"events": [{"name": "start"}, {"name": "new_token", "time": "2026-01-01T00:00:00.500Z"}]},
    ],
)
def test_langsmith_writes_a_moment(more: dict[str, Any]) -> None:
    """It is a field in LangSmith, and an event in the client."""
    run = {
        "id": "7e1c0c5a-7a0e-4f0e-9a55-0d7a0ffdb001",
        "trace_id": "7e1c0c5a-7a0e-4f0e-9a55-0d7a0ffdb001",
        "dotted_order": "20260101T000000000000Z7e1c0c5a-7a0e-4f0e-9a55-0d7a0ffdb001",
        "name": "ChatOpenAI",
        "run_type": "llm",
        "start_time": "2026-01-01T00:00:00Z",
        "end_time": "2026-01-01T00:00:02Z",
        "inputs": {"messages": [{"role": "user", "content": "Where is it?"}]},
        "outputs": {"choices": [{"message": {"role": "assistant", "content": "Here."}}]},
    }
    (invocation,) = read(json.dumps({**run, **more}), "runs.jsonl")
    assert invocation.durations is not None
    assert invocation.durations.first_token == pytest.approx(0.5)


def test_langfuse_writes_a_moment() -> None:
    """An observation has the time at which its completion began."""
    observation = {
        "id": f"{1:016x}",
        "traceId": TRACE,
        "type": "GENERATION",
        "name": "chat",
        "startTime": "2026-01-01T00:00:00.000Z",
        "endTime": "2026-01-01T00:00:02.000Z",
        "completionStartTime": "2026-01-01T00:00:00.500Z",
        "input": [{"role": "user", "content": "Where is it?"}],
        "output": {"role": "assistant", "content": "Here."},
    }
    (invocation,) = read(json.dumps({"trace": {"id": TRACE}, "observations": [observation]}), "trace.json")
    assert invocation.durations is not None
    assert invocation.durations.first_token == pytest.approx(0.5)
