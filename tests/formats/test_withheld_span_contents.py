"""Contents that a span hides, drops or cannot hold are kept apart from empty contents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairtrial import EvalCase, Invocation, Message, Recording, ToolCall, Trace
from fairtrial.formats import cut_off_texts
from fairtrial.formats.conversation.span_conversations import collect_recordings
from fairtrial.formats.dialects import dialect_table
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.recognise import read
from fairtrial.metrics.trajectory import ToolTrajectory
from fairtrial.records.trace import ToolResult
from span_files import below, call, otlp, span, tool

KEY = "sk-ant-api03-" + "Q7wZkM2vTb" * 9 + "-AA"
HIDDEN = "__REDACTED__"
tool_trajectory = ToolTrajectory()


def read_spans(*spans: dict[str, Any]) -> tuple[Recording, list[str]]:
    """Return the only recording in spans, and the warnings."""
    reading = Diagnostics("a")
    (recording,) = collect_recordings(read(json.dumps(otlp(*spans)).encode(), "a").spans, reading)
    return recording, reading.warnings


def read_invocation(*spans: dict[str, Any]) -> Invocation:
    """Return the only invocation in spans."""
    return read_spans(*spans)[0].trace.invocations[0]


def openinference(**attributes: Any) -> dict[str, Any]:
    """Return a model call of OpenInference. Two underscores in a name are a dot."""
    raw = span(1, **attributes)
    kind = {"key": "openinference.span.kind", "value": {"stringValue": "LLM"}}
    return {**raw, "attributes": [*raw["attributes"][1:], kind]}


def test_a_mark_in_place_of_a_text_is_withheld() -> None:
    """OpenInference writes the mark as the content of a message. It is neither a question nor a reply."""
    invocation = read_invocation(
        openinference(
            llm__input_messages__0__message__role="user",
            llm__input_messages__0__message__content=HIDDEN,
            llm__output_messages__0__message__role="assistant",
            llm__output_messages__0__message__content=HIDDEN,
        )
    )
    assert invocation.final_response is not None
    for message in (invocation.user, invocation.final_response):
        assert message.text == ""
        assert "OPENINFERENCE_HIDE_INPUTS" in message.withheld


def test_a_mark_in_place_of_a_result_is_withheld() -> None:
    """The call of the tool and its name are known."""
    result = tool(1, "get", **{"gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": f" {HIDDEN}"})
    assert [step.withheld for step in read_invocation(result).steps or () if isinstance(step, ToolResult)] == [""]
    hidden = call(2, ["hi"], "[REDACTED]")
    reply = read_invocation(hidden).final_response
    assert reply is not None
    assert (reply.text, bool(reply.withheld)) == ("", True)


def test_dropped_attributes_are_said() -> None:
    """A call without arguments may have had arguments. The reason names the limits of the SDK."""
    parts = [{"type": "tool_call", "id": "1", "name": "get", "arguments": {}}]
    raw = call(1, ["hi"], "")
    raw["attributes"][2]["value"]["stringValue"] = json.dumps([{"role": "assistant", "parts": parts}])
    (complete,) = read_invocation(raw).tool_calls
    recording, warnings = read_spans({**raw, "droppedAttributesCount": 3})
    (cut,) = recording.trace.invocations[0].tool_calls
    assert complete.withheld == ""
    assert "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in cut.withheld
    assert any("dropped attributes or events of 1 span," in warning for warning in warnings)


def test_only_what_is_there_counts_against_an_agent_whose_attributes_were_dropped() -> None:
    """A call and a turn may be missing. A wrong call is wrong all the same."""
    parts = [{"type": "tool_call", "id": "1", "name": "get", "arguments": {"id": 1}}]
    raw = call(1, ["hi"], "")
    raw["attributes"][2]["value"]["stringValue"] = json.dumps([{"role": "assistant", "parts": parts}])
    trace = read_spans({**raw, "droppedAttributesCount": 3})[0].trace
    whole = read_spans(raw)[0].trace

    def scores(trace: Trace, *calls: ToolCall, **options: Any) -> list[float | None]:
        expected = (Invocation(Message("hi"), calls), Invocation(Message("bye"), ()))
        return [part.value for part in ToolTrajectory(**options)(trace, EvalCase("c", expected)).parts]

    get, send = ToolCall("get", {"id": 1}), ToolCall("send")
    assert [scores(each, get, match_type="IN_ORDER") for each in (trace, whole)] == [[1.0, None], [1.0, 0.0]]
    assert [scores(each, get, send) for each in (trace, whole)] == [[None, None], [0.0, 0.0]]
    assert [scores(each, send) for each in (trace, whole)] == [[0.0, None], [0.0, 0.0]]


@pytest.mark.parametrize("options", [{}, {"match_type": "IN_ORDER", "forbidden_tools": ["drop"]}, {"partial": "f1"}])
def test_a_full_score_that_a_lost_call_would_lower_is_not_given(options: dict[str, Any]) -> None:
    """A surplus or a forbidden call may be among the dropped attributes."""
    trace = read_spans({**call(1, ["hi"], "Yes."), "droppedAttributesCount": 3})[0].trace
    case = EvalCase("c", (Invocation(Message("hi"), ()),))
    score = ToolTrajectory(**options)(trace, case)
    assert score.value is None
    assert {part.side for part in score.parts or (score,)} == {"infrastructure"}


def test_dropped_events_are_counted() -> None:
    """Older instrumentations write messages as events."""
    raw = {**span(1), "droppedEventsCount": 2, "events": [{"name": "x", "droppedAttributesCount": 1}]}
    recording, _ = read_spans(raw)
    reply = recording.trace.invocations[0].final_response
    assert reply is not None
    assert "dropped 3 attributes or events" in reply.withheld


def test_a_text_that_is_too_long_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its beginning is kept. A structured content that holds such a text is withheld as a whole."""
    monkeypatch.setattr(cut_off_texts, "LONGEST_TEXT", 5000)
    reply = read_invocation(call(1, ["hi"], "x" * 5001)).final_response
    assert reply is not None
    assert (reply.text, len(reply.beginning)) == ("", 1000)
    assert "16 MiB" in reply.withheld
    answer = tool(2, "get", **{"gen_ai.tool.call.result": json.dumps({"page": ["x" * 5001]})})
    (result,) = [step for step in read_invocation(answer).steps or () if isinstance(step, ToolResult)]
    assert result.response is None
    assert "16 MiB" in result.withheld


def test_an_attribute_that_is_too_long_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason names the attribute, so that its content is not thought to be switched off."""
    monkeypatch.setattr(dialect_table, "LONGEST_TEXT", 5000)
    reply = read_invocation(call(1, ["hi"], "x" * 5001)).final_response
    assert reply is not None
    assert "gen_ai.output.messages is longer than 16 MiB" in reply.withheld


def test_secrets_in_spans_are_removed() -> None:
    """The recording holds neither the key in the user's text nor the password among the arguments."""
    arguments = json.dumps({"password": "hunter2hunter2", "to": "kim@example.org"})
    model = call(1, [f"my key is {KEY}"], "done")
    recording, warnings = read_spans(model, below(tool(2, "login", **{"gen_ai.tool.call.arguments": arguments}), model))
    (invocation,) = recording.trace.invocations
    assert invocation.user.text == "my key is [REDACTED:provider_key]"
    assert invocation.tool_calls[0].args == {"password": "[REDACTED:pair]", "to": "kim@example.org"}
    assert any("1 pair, 1 provider_key" in warning for warning in warnings)


def test_secrets_in_declarations_of_tools_are_removed() -> None:
    """A tool may be declared with an example that holds a real key, and all conversations repeat the declaration."""
    declarations = json.dumps([{"name": "get", "description": f"key {KEY}"}])
    spans = [call(n, ["hi"], "hello", **{"gen_ai.tool.definitions": declarations}) for n in (1, 2)]
    reading = Diagnostics("a")
    recordings = collect_recordings(read(json.dumps(otlp(*spans)).encode(), "a").spans, reading)
    assert len(recordings) == 2
    assert KEY not in str(recordings)
    assert "[REDACTED:provider_key]" in str(recordings)


def test_secrets_in_message_lists_are_removed() -> None:
    """Requests that a proxy wrote hold what users paste."""
    messages = [{"role": "user", "content": f"use {KEY}"}, {"role": "assistant", "content": "ok"}]
    (recording,) = read(json.dumps(messages).encode(), "a").recordings
    assert recording.trace.invocations[0].user.text == "use [REDACTED:provider_key]"


def test_a_recording_without_secrets_stays_the_same() -> None:
    """A word such as "token" is not a secret."""
    recording, warnings = read_spans(call(1, ["reset my token"], "done"))
    assert recording.trace.invocations[0].user.text == "reset my token"
    assert warnings == []


@pytest.mark.parametrize("depth", [101, 900, 5000])
def test_contents_that_are_nested_too_deeply_stay_texts(depth: int) -> None:
    """Nothing needs more stack than there is to compare or to copy such a content."""
    deep = '{"a":' * depth + "1" + "}" * depth
    (invoked,) = read_invocation(tool(1, "get", **{"gen_ai.tool.call.arguments": deep})).tool_calls
    assert invoked.args == {"arguments": deep}
    calls = [{"id": "1", "function": {"name": "get", "arguments": deep}}]
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": calls}]
    (recording,) = read(json.dumps(messages).encode(), "a").recordings
    assert recording.trace.invocations[0].tool_calls[0].args == {"arguments": deep}


def test_a_single_trace_without_content_is_one_invocation_of_unknown_turns() -> None:
    """Two agents at the root may be two turns, or one agent after the other in the same turn."""
    agents = [span(number, **{"gen_ai.operation.name": "invoke_agent"}) for number in (1, 2)]
    recording, _ = read_spans(agents[0], {**agents[1], "traceId": agents[0]["traceId"]})
    assert (len(recording.trace.invocations), recording.trace.turns_unknown) == (1, True)


def test_the_reason_for_a_hidden_part_names_the_variable() -> None:
    """Some instrumentations write the parts of messages without their contents."""
    given = json.dumps([{"role": "user", "parts": [{"type": "text"}]}])
    answered = json.dumps([{"role": "assistant", "parts": [{"type": "text"}]}])
    invocation = read_invocation(span(1, **{"gen_ai.input.messages": given, "gen_ai.output.messages": answered}))
    assert invocation.final_response is not None
    for message in (invocation.user, invocation.final_response):
        assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in message.withheld
