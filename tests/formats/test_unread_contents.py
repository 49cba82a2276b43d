"""Unknown parts leave a gap that every criterion sees, instead of a shorter conversation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairtrial import EvalCase, Invocation, Message, Recording, ResponseMatch, ToolCall, ToolCallCount, ToolTrajectory
from fairtrial.formats.conversation.span_conversations import collect_recordings
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.recognise import read
from fairtrial.records.trace import ToolResult
from span_files import call, messages, otlp, span

UNKNOWN = {"type": "teleport", "to": "Mars", "name": "refund"}
QUERY = [{"function": {"name": "refund", "arguments": "{}"}}]
QUIET = EvalCase("c", (Invocation(Message("hi"), (), Message("Yes.")),))


def read_spans(*spans: dict[str, Any]) -> tuple[Recording, list[str]]:
    """Return the only recording in spans, and the warnings."""
    reading = Diagnostics("a")
    (recording,) = collect_recordings(read(json.dumps(otlp(*spans)).encode(), "a").spans, reading)
    return recording, reading.warnings


def answered(*parts: Any, **message: Any) -> dict[str, Any]:
    """Return a model call that answers with parts."""
    output = json.dumps([{"role": "assistant", "parts": parts, **message}])
    return span(1, **{"gen_ai.input.messages": messages("hi"), "gen_ai.output.messages": output})


def text(content: str) -> dict[str, Any]:
    """Return a part with a text."""
    return {"type": "text", "content": content}


PLACES = {
    "the answer of the model": [answered(text("Yes."), UNKNOWN)],
    "a part that is a number": [answered(text("Yes."), 7)],
    "a role": [answered(text("Yes."), role="oracle")],
    "a message that is a number": [
        span(1, **{"gen_ai.input.messages": "[7]", "gen_ai.output.messages": json.dumps([{"parts": [text("Yes.")]}])})
    ],
    "the messages of a provider": [
        span(
            1,
            **{
                "gen_ai.input.messages": messages("hi"),
                "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": [{"type": "hologram"}]}]),
            },
        )
    ],
    "calls under a key of the writer": [answered(text("Yes."), zzz=[{"name": "refund", "args": {}}])],
    "calls with arguments in a text": [answered(text("Yes."), zzz=[{"name": "refund", "arguments": '{"id": 1}'}])],
    "a key of a provider's message": [
        span(
            1,
            **{
                "gen_ai.input.messages": messages("hi"),
                "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": "Yes.", "zzz": QUERY}]),
            },
        )
    ],
    "a key of a numbered message": [
        span(
            1,
            **{
                "openinference.span.kind": "LLM",
                "llm.input_messages.0.message.role": "user",
                "llm.input_messages.0.message.content": "hi",
                "llm.output_messages.0.message.role": "assistant",
                "llm.output_messages.0.message.content": "Yes.",
                "llm.output_messages.0.message.zzz.0.name": "refund",
                "llm.output_messages.0.message.zzz.0.arguments": '{"id": 1}',
            },
        )
    ],
    "more parts than a file may have problems": [answered(text("Yes."), *[UNKNOWN] * 40)],
}


@pytest.mark.parametrize("spans", PLACES.values(), ids=PLACES)
def test_a_conversation_that_is_not_read_in_full_proves_no_absence(spans: list[dict[str, Any]]) -> None:
    """No criterion passes because a call or a reply is not there. The fault is the infrastructure's."""
    recording, warnings = read_spans(*spans)
    assert "was not read in full" in recording.trace.incomplete
    assert any("was not read in full" in warning for warning in warnings)
    for criterion in (ToolTrajectory(), ToolCallCount()):
        score = criterion(recording.trace, QUIET)
        assert score.value is None
        assert {part.side for part in score.parts or (score,)} == {"infrastructure"}


def test_a_reply_behind_an_unknown_part_is_withheld() -> None:
    """Its text may be only a part of the answer."""
    recording, _ = read_spans(answered(text("Yes."), UNKNOWN))
    reply = recording.trace.invocations[0].final_response
    assert reply is not None
    assert (reply.text, "teleport" in reply.withheld) == ("", True)
    (part,) = ResponseMatch()(recording.trace, QUIET).parts
    assert (part.value, part.side) == (None, "infrastructure")


def test_a_reply_that_is_not_there_is_withheld() -> None:
    """The unknown part of an earlier call may have been the reply."""
    recording, _ = read_spans(answered({"type": "tool_call", "name": "get", "arguments": {}}, UNKNOWN))
    reply = recording.trace.invocations[0].final_response
    assert reply is not None
    assert reply.withheld


def test_a_wrong_call_is_wrong_beside_an_unknown_part() -> None:
    """A call that is there counts against the agent, whatever else was called."""
    recording, _ = read_spans(answered({"type": "tool_call", "name": "drop", "arguments": {}}, UNKNOWN))
    assert ToolTrajectory()(recording.trace, QUIET).value == 0.0


def test_an_unknown_part_of_a_user_withholds_the_message() -> None:
    """What the user asked is not known in full. The reply is."""
    sent = json.dumps([{"role": "user", "parts": [text("hi"), UNKNOWN]}])
    output = json.dumps([{"role": "assistant", "parts": [text("Yes.")]}])
    recording, _ = read_spans(span(1, **{"gen_ai.input.messages": sent, "gen_ai.output.messages": output}))
    (invocation,) = recording.trace.invocations
    assert invocation.user.withheld
    assert invocation.reply == "Yes."
    assert recording.trace.incomplete
    assert not recording.trace.turns_unknown


def test_a_conversation_that_is_read_in_full_is_complete() -> None:
    """The gap of one conversation is not the gap of the next."""
    whole = {**call(2, ["hi"], "Yes."), "traceId": "f" * 32}
    reading = Diagnostics("a")
    recordings = collect_recordings(read(json.dumps(otlp(answered(UNKNOWN), whole)).encode(), "a").spans, reading)
    assert [bool(recording.trace.incomplete) for recording in recordings] == [True, False]
    assert ToolTrajectory()(recordings[1].trace, QUIET).value == 1.0


def pieces(*texts: str, kind: str = "text", last: str = "stop") -> dict[str, Any]:
    """Return a model call whose answer came as a stream: all messages but the last have no finish reason."""
    raw = [{"role": "assistant", "parts": [{"type": kind, "content": each}], "finish_reason": ""} for each in texts]
    raw[-1]["finish_reason"] = last
    return span(1, **{"gen_ai.input.messages": messages("hi"), "gen_ai.output.messages": json.dumps(raw)})


@pytest.mark.parametrize(
    ("raw", "reply"),
    [
        (pieces("It is false that ", "the refund ", "is granted."), "It is false that the refund is granted."),
        (pieces("22", "°C입니다."), "22°C입니다."),
        (pieces("It is ", "here.", "It is here."), "It is here."),
        (pieces("It is ", "here.", ""), "It is here."),
        (pieces("It is ", "here", last=""), "It is here"),
    ],
    ids=["pieces", "Korean", "repeated as a whole", "an empty last piece", "an interrupted stream"],
)
def test_the_pieces_of_a_stream_are_one_reply(raw: dict[str, Any], reply: str) -> None:
    """google-adk and the instrumentation of google-genai write a message for each piece."""
    (invocation,) = read_spans(raw)[0].trace.invocations
    assert (invocation.reply, invocation.steps) == (reply, ())


def test_whole_messages_are_not_joined() -> None:
    """Each of them has a reason to stop, or none of them has a reason at all."""
    raw = pieces("One.", "Two.")
    for reasons in (("stop", "stop"), (None, None)):
        value = json.loads(raw["attributes"][2]["value"]["stringValue"])
        for message, reason in zip(value, reasons, strict=True):
            message["finish_reason"] = reason
        raw["attributes"][2]["value"]["stringValue"] = json.dumps(value)
        (invocation,) = read_spans(raw)[0].trace.invocations
        assert invocation.reply == "Two."


def test_the_pieces_before_a_call_are_one_message() -> None:
    """A stream may end with the call of a tool. Thoughts are joined as texts are."""
    called = {"type": "tool_call", "name": "get", "arguments": {"id": 1}}
    raw = [
        {"role": "assistant", "parts": [{"type": "reasoning", "content": "I "}], "finish_reason": ""},
        {"role": "assistant", "parts": [{"type": "reasoning", "content": "look."}, text("One ")], "finish_reason": ""},
        {"role": "assistant", "parts": [text("moment."), called], "finish_reason": "tool_call"},
    ]
    attributes = {"gen_ai.input.messages": messages("hi"), "gen_ai.output.messages": json.dumps(raw)}
    (invocation,) = read_spans(span(1, **attributes))[0].trace.invocations
    steps = [step.name if isinstance(step, ToolCall | ToolResult) else step.text for step in invocation.steps or ()]
    assert steps == ["I look.", "One moment.", "get"]
