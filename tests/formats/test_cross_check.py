"""Contents that a source holds twice are compared. A contradiction gives no verdict of absence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairtrial import EvalCase, Invocation, Message, Recording, ToolTrajectory
from fairtrial.formats.conversation.span_conversations import collect_recordings
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.recognise import read
from span_files import answer, below, call, lasting, messages, otlp, span, tool

Raw = Any
"""A span, or the arguments of a call."""
WHOLE, LAST_PIECE = "It is false that the refund is granted.", "the refund is granted."


def read_spans(*spans: Raw) -> Recording:
    """Return the only recording in spans."""
    (recording,) = collect_recordings(read(json.dumps(otlp(*spans)).encode(), "a").spans, Diagnostics("a"))
    return recording


def in_one_session(*spans: Raw) -> list[Raw]:
    """Return spans of one conversation."""
    name = {"key": "gen_ai.conversation.id", "value": {"stringValue": "s"}}
    return [{**raw, "attributes": [*raw["attributes"], name]} for raw in spans]


def test_an_answer_that_a_later_request_repeats_in_full_is_cut() -> None:
    """The recording names both spans, and "no call" is not proven."""
    later = call(2, ["hi", WHOLE, "ok"], "Fine.")
    trace = read_spans(*in_one_session(call(1, ["hi"], LAST_PIECE), later)).trace
    expected = "span 0000000000000001 output and span 0000000000000002 input hold other texts of one answer"
    assert trace.incomplete == expected
    turns = [Invocation(Message(turn.user.text), (), Message("x")) for turn in trace.invocations]
    score = ToolTrajectory()(trace, EvalCase("c", tuple(turns)))
    assert score.value is None
    assert {part.side for part in score.parts} == {"infrastructure"}


@pytest.mark.parametrize("repeated", [WHOLE, WHOLE[:20], WHOLE.replace(" ", "\n")], ids=["same", "cut", "other spaces"])
def test_a_request_may_shorten_what_it_repeats(repeated: str) -> None:
    """A summary of the history or another layout is no contradiction."""
    assert (
        read_spans(*in_one_session(call(1, ["hi"], WHOLE), call(2, ["hi", repeated, "ok"], "Fine."))).trace.incomplete
        == ""
    )


def asking(number: int, args: Raw, *earlier: Raw) -> Raw:
    """Return a model call that answers with a call of the tool `get`."""
    parts = [{"type": "tool_call", "id": "c1", "name": "get", "arguments": args}]
    sent = [*json.loads(messages("hi")), *earlier]
    output = json.dumps([{"role": "assistant", "parts": parts}])
    return span(number, **{"gen_ai.input.messages": json.dumps(sent), "gen_ai.output.messages": output})


def repeating(number: int, args: Raw) -> Raw:
    """Return the next model call, which repeats the call and answers."""
    called = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "get", "arguments": args}]}
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "x"}]}
    sent = [*json.loads(messages("hi")), called, result]
    return span(number, **{"gen_ai.input.messages": json.dumps(sent), "gen_ai.output.messages": answer("Here.")})


def ran(number: int, args: Raw) -> Raw:
    """Return the span of the tool."""
    return tool(number, "get", **{"gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": json.dumps(args)})


def in_one_trace(*spans: Raw) -> list[Raw]:
    """Return spans of one trace."""
    return [{**raw, "traceId": "f" * 32} for raw in spans]


def test_a_repeated_call_has_the_same_arguments() -> None:
    """Whichever was read wrong, the call is not known."""
    spans = in_one_trace(asking(1, {"id": 1}), repeating(2, {"id": 2}))
    assert "hold other arguments of get" in read_spans(*spans).trace.incomplete
    assert read_spans(*in_one_trace(asking(1, {"id": 1}), repeating(2, {"id": 1}))).trace.incomplete == ""


@pytest.mark.parametrize(
    ("args", "is_whole"),
    [({"id": 2}, False), ({"id": 1}, True), ({"id": "1"}, True), ({"id": 1, "limit": 10}, True), ({}, True)],
    ids=["another value", "the same", "a number as text", "a default", "nothing"],
)
def test_the_span_of_a_tool_has_the_arguments_of_its_call(args: Raw, *, is_whole: bool) -> None:
    """A tool may add defaults and change types. Another value is a contradiction."""
    spans = in_one_trace(asking(1, {"id": 1}), ran(2, args), repeating(3, {"id": 1}))
    assert (read_spans(*spans).trace.incomplete == "") is is_whole


def test_a_tool_has_the_name_of_its_call() -> None:
    """A span with the arguments of a call that has no span is the same call, or one that nobody asked."""
    renamed = tool(2, "get.tool", **{"gen_ai.tool.call.arguments": '{"id": 1}'})
    spans = in_one_trace(asking(1, {"id": 1}), renamed, repeating(3, {"id": 1}))
    assert "hold one call as get and get.tool" in read_spans(*spans).trace.incomplete


def agent(reply: str, **attributes: str) -> Raw:
    """Return the span of an agent that tells the reply."""
    content = {"gen_ai.input.messages": messages("hi"), "gen_ai.output.messages": answer(reply)}
    named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"}
    return lasting(span(1, **{**named, **content, **attributes}), 9)


@pytest.mark.parametrize(("reply", "is_whole"), [(WHOLE, True), ("…", True), ("It is true.", False)])
def test_an_agent_replies_what_its_model_answers(reply: str, *, is_whole: bool) -> None:
    """A mask is no reply."""
    top = agent(reply)
    trace = read_spans(top, below(call(2, ["hi"], WHOLE), top)).trace
    assert (trace.incomplete == "") is is_whole
    assert trace.invocations[0].reply == WHOLE


@pytest.mark.parametrize(("tokens", "is_whole"), [("7", True), ("5", True), ("12", False)])
def test_an_agent_counts_the_tokens_of_its_models(tokens: str, *, is_whole: bool) -> None:
    """More tokens than those of all its calls show that the span of a call is missing."""
    top = agent(WHOLE, **{"gen_ai.usage.output_tokens": tokens})
    trace = read_spans(top, below(call(2, ["hi"], WHOLE, **{"gen_ai.usage.output_tokens": "7"}), top)).trace
    assert (trace.incomplete == "") is is_whole


@pytest.mark.parametrize(("event", "is_whole"), [(WHOLE, True), (WHOLE[:9], True), ("Something else.", False)])
def test_events_hold_the_answer_of_the_attributes(event: str, *, is_whole: bool) -> None:
    """Some instrumentations write both. A limit may cut one of them off."""
    choice = {"name": "gen_ai.choice", "attributes": [{"key": "message", "value": {"stringValue": event}}]}
    trace = read_spans({**call(1, ["hi"], WHOLE), "events": [choice]}).trace
    assert (trace.incomplete == "") is is_whole


@pytest.mark.parametrize(("key", "is_whole"), [("content", True), ("text_of_us", False)])
def test_an_event_whose_content_has_another_name_is_not_read(key: str, *, is_whole: bool) -> None:
    """A user without words is no message of the user."""
    asked = {"name": "gen_ai.user.message", "attributes": [{"key": key, "value": {"stringValue": "hi"}}]}
    choice = {"name": "gen_ai.choice", "attributes": [{"key": "message", "value": {"stringValue": WHOLE}}]}
    trace = read_spans({**span(1), "events": [asked, choice]}).trace
    assert (trace.incomplete == "") is is_whole
