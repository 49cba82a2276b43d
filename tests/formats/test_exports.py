"""Exported recordings read as the recordings that they were."""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairtrial import api
from fairtrial.formats.conversation.options import DEFAULTS
from fairtrial.formats.conversation.span_conversations import collect_recordings
from fairtrial.formats.exports.genai_form import GenAiForm
from fairtrial.formats.exports.message_export import collect_messages, list_losses
from fairtrial.formats.exports.openinference_form import OpenInferenceForm
from fairtrial.formats.exports.span_export import SpanForm, document, make_spans
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.recognise import read
from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.trace import (
    About,
    AgentDetails,
    Durations,
    Invocation,
    Message,
    Part,
    Step,
    Thought,
    ToolCall,
    ToolResult,
    Trace,
    Usage,
)

FORMS: list[SpanForm] = [GenAiForm(), OpenInferenceForm()]
AGENT = AgentDetails("shop", "Be brief.", ({"name": "get", "description": "Get it."},))
START = 1_800_000_000.0
USAGES = (Usage(5, 2, 1, 3, "m-1"), Usage(9, 4, model="m-1"))
STEPS: tuple[Step, ...] = (
    Thought("hm", "shop"),
    Message("One moment.", "shop"),
    ToolCall("get", {"id": 1}, "c-1", "shop"),
    ToolCall("get", {"id": 2}, "c-2", "shop"),
    ToolResult("get", {"state": "here"}, "c-1", "shop", started=START + 1, seconds=0.5),
    ToolResult("get", {"error": "gone"}, "c-2", "shop", started=START + 1, seconds=1.0, is_error=True),
)
FIRST = Invocation(
    Message("Where are they?"),
    STEPS,
    Message("One is here.", "shop"),
    "i-1",
    USAGES,
    Durations(4.0, 2.0, 1.0),
    about=About((AGENT,)),
    created=START,
)
SECOND = Invocation(
    Message("yes"), (), Message("Fine.", "shop"), "i-2", USAGES[:1], Durations(1.0, 1.0), created=START + 10
)
THIRD = replace(SECOND, id="i-3", created=START + 20)
RECORDING = Recording("lookup", Trace((FIRST, SECOND, THIRD), "s-1"))


UNKNOWN = "the switch was off"
CALL = ToolCall("get", {"id": 1}, "c-1", "shop")
ANSWER = ToolResult("get", {"state": "here"}, "c-1", "shop", started=START + 1, seconds=1.0)
PAST = Invocation(Message("before"), (replace(CALL, id="c-0"), replace(ANSWER, id="c-0")), Message("So.", "shop"))


def changed_trace(**changes: Any) -> Recording:
    """The recording with other facts about the whole conversation."""
    return replace(RECORDING, trace=replace(RECORDING.trace, **changes))


def changed_turn(**changes: Any) -> Recording:
    """The recording with another first turn, and a second turn that has nothing special."""
    return changed_trace(invocations=(replace(FIRST, **changes), SECOND))


def read_again(recording: Recording, form: SpanForm) -> Recording:
    """Export a recording, and read the file."""
    data = document(make_spans(recording, form))
    reading = Diagnostics("spans")
    (again,) = collect_recordings(read(data, "spans.jsonl").spans, reading, DEFAULTS)
    return again


def comparable(recording: Recording) -> Any:
    """A recording without the places of its spans, and without the time and the model of single steps."""

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            left_out = ("origin", "span_id", "parent_id", "started", "model") if "kind" in value else ("origin",)
            return {name: clean(item) for name, item in value.items() if name not in left_out}
        return [clean(item) for item in value] if isinstance(value, list | tuple) else value

    return clean(msgspec.to_builtins(recording))


def test_spans_of_the_genai_conventions_give_the_same_recording() -> None:
    """Texts, calls, results, tokens, durations, instructions, tools, ids and the case."""
    assert comparable(read_again(RECORDING, GenAiForm())) == comparable(RECORDING)


def test_spans_of_openinference_give_the_same_recording() -> None:
    """The same."""
    assert comparable(read_again(RECORDING, OpenInferenceForm())) == comparable(RECORDING)


@pytest.mark.parametrize("form", FORMS, ids=["genai", "openinference"])
@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(
            Recording("a", Trace((Invocation(Message("Hi"), (), Message("Ho", "shop")),))), id="without times and ids"
        ),
        pytest.param(replace(RECORDING, attempt=2, trace=replace(RECORDING.trace, session_id="")), id="an attempt"),
        pytest.param(
            replace(
                RECORDING,
                trace=replace(
                    RECORDING.trace, broken="Boom: it fell", invocations=(FIRST, replace(SECOND, final_response=None))
                ),
                failure=Failure("agent", "Boom: it fell"),
                ended_by="failure",
            ),
            id="broken",
        ),
        pytest.param(
            changed_trace(invocations=(FIRST, replace(SECOND, durations=Durations(1.0)))), id="a total duration alone"
        ),
        pytest.param(changed_trace(invocations=(FIRST, Invocation(Message("Bye")))), id="a message without an answer"),
        pytest.param(
            replace(RECORDING, trace=replace(RECORDING.trace, opening=(Message("Welcome."),))), id="an opening"
        ),
        pytest.param(
            Recording("a", Trace((replace(FIRST, usages=None, durations=Durations(4.0, None, 1.0)),), "s")),
            id="no tokens",
        ),
        pytest.param(
            Recording(
                "a", Trace((replace(SECOND, user=Message("See", parts=(Part("", "https://x.example/1.png"),))),), "s")
            ),
            id="an image",
        ),
        pytest.param(changed_trace(incomplete="attributes were dropped"), id="incomplete"),
        pytest.param(changed_trace(turns_unknown=True, outcome="failure", reward=0.5), id="an outcome"),
        pytest.param(changed_trace(final_state={"orders": [1]}, ended_by="cap"), id="a final state"),
        pytest.param(changed_trace(history=(PAST,)), id="a history"),
        pytest.param(replace(RECORDING, ended_by="stop", eval_set="shop"), id="an eval set"),
        pytest.param(changed_turn(user=Message("", withheld=UNKNOWN, beginning="Whe")), id="a hidden question"),
        pytest.param(changed_turn(final_response=Message("", "shop", withheld=UNKNOWN)), id="a hidden reply"),
        pytest.param(changed_turn(steps=(replace(CALL, args={}, withheld=UNKNOWN), ANSWER)), id="hidden arguments"),
        pytest.param(
            changed_turn(steps=(CALL, replace(ANSWER, response=None, withheld=UNKNOWN))), id="a hidden result"
        ),
        pytest.param(changed_turn(steps=(Thought("", "shop", withheld=UNKNOWN),)), id="a hidden thought"),
        pytest.param(changed_turn(steps=None), id="steps that nobody recorded"),
        pytest.param(changed_turn(steps=(CALL,), final_response=None), id="a call without a result"),
        pytest.param(changed_turn(steps=(CALL, replace(ANSWER, response='{"x": 1}'))), id="a result that is JSON text"),
        pytest.param(changed_turn(steps=(CALL, replace(ANSWER, response=None))), id="a result that is null"),
        pytest.param(changed_turn(user=Message("")), id="an empty question"),
        pytest.param(changed_turn(steps=(CALL, replace(ANSWER, author="helper"))), id="another author"),
        pytest.param(changed_turn(usages=USAGES[:1]), id="fewer tokens than answers"),
        pytest.param(changed_turn(about=About((AGENT, replace(AGENT, name="helper")))), id="more agents than answers"),
    ],
)
def test_other_recordings_are_the_same_too(recording: Recording, form: SpanForm) -> None:
    """What they lack does not appear, and what the conventions cannot say is there all the same."""
    assert comparable(read_again(recording, form)) == comparable(recording)


@pytest.mark.parametrize("form", FORMS, ids=["genai", "openinference"])
def test_the_conventions_alone_tell_an_ordinary_recording(form: SpanForm) -> None:
    """No field of it needs an attribute of our own."""
    own = {each["key"] for span in make_spans(RECORDING, form) for each in span["attributes"]}
    assert {name for name in own if name.startswith("fairtrial.")} == {
        "fairtrial.case.id",
        "fairtrial.attempt",
        "fairtrial.invocation.id",
    }


@pytest.mark.parametrize("fields", ['{"reward": "much"}', '{"nobody": 1}', "[1]", "{", '{"invocations": 5}'])
def test_fields_that_a_record_cannot_have_are_ignored(fields: str) -> None:
    """Anybody can write spans with our attributes."""
    spans = make_spans(RECORDING, GenAiForm())
    for name in ("trace", "recording", "invocation"):
        for span in spans:
            span["attributes"].append({"key": f"fairtrial.{name}.fields", "value": {"stringValue": fields}})
    (again,) = collect_recordings(read(document(spans), "spans.jsonl").spans, Diagnostics("spans"), DEFAULTS)
    assert comparable(again) == comparable(RECORDING)


@pytest.mark.parametrize("form", ["otlp", "openinference"])
def test_two_recordings_of_one_session_stay_two(form: Literal["otlp", "openinference"]) -> None:
    """They have the same session, and other cases."""
    recordings = (RECORDING, replace(RECORDING, case_id="other"))
    run = api.score(recordings, criteria={"agent_cost_v1": 1.0})
    lines = b"".join(api.export_recordings(run, form))
    again = collect_recordings(read(lines, "spans.jsonl").spans, Diagnostics("spans"), DEFAULTS)
    assert [(each.case_id, each.trace.session_id) for each in again] == [("lookup", "s-1"), ("other", "s-1")]


def test_an_inner_trace_is_inside_the_result() -> None:
    """The work of an agent as a tool."""
    inner = Trace((replace(SECOND, user=Message("inner"), created=START + 1, id="1"),))
    steps = (
        ToolCall("ask", {}, "c", "shop"),
        ToolResult("ask", "ok", "c", "shop", started=START + 1, seconds=2.0, inner=inner),
    )
    recording = Recording("a", Trace((replace(FIRST, steps=steps),), "s"))
    (invocation,) = read_again(recording, GenAiForm()).trace.invocations
    result = next(step for step in invocation.steps or () if isinstance(step, ToolResult))
    assert result.inner is not None
    assert [(own.query, own.reply) for own in result.inner.invocations] == [("inner", "Fine.")]
    assert len(invocation.tool_calls) == 1


@pytest.mark.parametrize("form", FORMS, ids=["genai", "openinference"])
@pytest.mark.parametrize("opening", [(), (Message("Welcome."),)])
def test_a_recording_without_invocations_is_the_same_after_an_export(
    opening: tuple[Message, ...], form: SpanForm
) -> None:
    """An attempt may break before its first message. It must not vanish, because it counts."""
    trace = Trace(session_id="s-1", opening=opening)
    recording = Recording("a", trace, 2, Failure("infrastructure", "no room"), "failure")
    assert comparable(read_again(recording, form)) == comparable(recording)


# No text of these letters looks like a secret, which a reader would remove.
TEXTS = st.text('ab1 é한"\\{[', min_size=1, max_size=8)
VALUES = st.dictionaries(TEXTS, st.integers(-9, 9) | TEXTS | st.booleans(), max_size=2)


@st.composite
def calls(draw: st.DrawFn) -> list[Step]:
    """Calls with their results."""
    names = draw(st.lists(st.sampled_from(["get", "put"]), max_size=3))
    answers = [draw(VALUES) for _ in names]
    steps: list[Step] = [ToolCall(name, draw(VALUES), f"c-{i}", "shop") for i, name in enumerate(names)]
    for i, (name, answer) in enumerate(zip(names, answers, strict=True)):
        steps.append(ToolResult(name, {"value": answer}, f"c-{i}", "shop", started=START, seconds=1.0))
    return steps


@pytest.mark.long
@given(st.lists(st.tuples(TEXTS, calls(), TEXTS), min_size=1, max_size=3))
def test_any_conversation_is_the_same_after_an_export(turns: list[tuple[str, list[Step], str]]) -> None:
    """Also if the user says the same twice."""
    invocations = tuple(
        Invocation(Message(query), tuple(steps), Message(reply, "shop"), str(number))
        for number, (query, steps, reply) in enumerate(turns, 1)
    )
    again = read_again(Recording("a", Trace(invocations, "s")), GenAiForm())
    seen = [(own.query, own.steps, own.reply) for own in again.trace.invocations]
    clean = [(query, [comparable_step(step) for step in steps or ()], reply) for query, steps, reply in seen]
    assert clean == [(query, [comparable_step(step) for step in steps], reply) for query, steps, reply in turns]


def comparable_step(step: Step) -> Step:
    """A step without the place and the time of its span."""
    return replace(step, started=None, seconds=None, span_id="", parent_id="")


def test_an_export_is_equal_when_it_is_made_again() -> None:
    """Its ids come from the content."""
    assert make_spans(RECORDING, GenAiForm()) == make_spans(RECORDING, GenAiForm())
    assert (
        make_spans(RECORDING, GenAiForm())[0]["traceId"]
        != make_spans(replace(RECORDING, case_id="b"), GenAiForm())[0]["traceId"]
    )


def strip_for_messages(recording: Recording) -> Recording:
    """What a file of messages tells of a recording: no times, tokens and models, and no authors of results."""

    def step(own: Step) -> Step:
        where: dict[str, Any] = {"started": None, "seconds": None}
        return replace(own, **where, **({"author": ""} if isinstance(own, ToolResult) else {"model": ""}))

    def turn(own: Invocation) -> Invocation:
        steps = None if own.steps is None else tuple(step(each) for each in own.steps)
        reply = None if own.final_response is None else step(own.final_response)
        return Invocation(own.user, steps, reply if isinstance(reply, Message) else None)

    trace = recording.trace
    return replace(
        recording,
        trace=Trace(
            tuple(map(turn, trace.invocations)),
            reward=trace.reward,
            opening=tuple(replace(each, started=None, seconds=None, model="") for each in trace.opening),
            history=tuple(map(turn, trace.history)),
            turns_unknown=trace.turns_unknown,
            incomplete=trace.incomplete,
        ),
    )


@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(RECORDING, id="ordinary"),
        pytest.param(changed_turn(steps=(*STEPS, Thought("so", "shop"), Thought("well", "shop"))), id="thoughts"),
        pytest.param(changed_turn(steps=(Thought("so", "a"), replace(CALL, author="b"))), id="two agents"),
        pytest.param(changed_turn(steps=(CALL, replace(CALL, id="c-2", author="b"))), id="calls of two agents"),
        pytest.param(changed_turn(steps=(CALL, ANSWER, Thought("so", "b")), final_response=None), id="a thought alone"),
        pytest.param(changed_trace(incomplete="attributes were dropped", turns_unknown=True), id="incomplete"),
        pytest.param(changed_trace(history=(PAST,), opening=(Message("Welcome."),), reward=0.5), id="a history"),
        pytest.param(changed_turn(user=Message("", withheld=UNKNOWN, beginning="Whe")), id="a hidden question"),
        pytest.param(changed_turn(final_response=Message("", "shop", withheld=UNKNOWN)), id="a hidden reply"),
        pytest.param(changed_turn(steps=(replace(CALL, args={}, withheld=UNKNOWN), ANSWER)), id="hidden arguments"),
        pytest.param(
            changed_turn(steps=(CALL, replace(ANSWER, response=None, withheld=UNKNOWN))), id="a hidden result"
        ),
        pytest.param(changed_trace(invocations=(SECOND,)), id="an agent that called no tool"),
        pytest.param(changed_trace(invocations=(replace(SECOND, steps=None),)), id="calls that nobody recorded"),
    ],
)
def test_messages_tell_what_is_missing(recording: Recording) -> None:
    """A reader must not take it for an empty text, or for an agent that called no tool."""
    (again,) = read(collect_messages(recording), "messages.jsonl").recordings
    assert comparable(strip_for_messages(again)) == comparable(strip_for_messages(recording))


def test_messages_give_the_same_conversation() -> None:
    """A tool that reads OpenAI chat messages knows every message."""
    line = collect_messages(RECORDING)
    assert [message["role"] for message in json.loads(line)["messages"]][:3] == ["system", "user", "assistant"]
    (again,) = read(line, "messages.jsonl").recordings
    expected = [
        (own.query, [(call.name, call.args) for call in own.tool_calls], own.reply)
        for own in RECORDING.trace.invocations
    ]
    assert again.case_id == "lookup"
    assert [
        (own.query, [(call.name, call.args) for call in own.tool_calls], own.reply) for own in again.trace.invocations
    ] == expected


@pytest.mark.parametrize(("author", "is_lost"), [("shop", False), ("clerk", True)])
def test_a_result_of_another_agent_is_named_as_a_loss(author: str, is_lost: bool) -> None:
    """A message with a result names no agent. The agent of its call is in the message with the call."""
    losses = list_losses(changed_turn(steps=(CALL, replace(ANSWER, author=author))))
    assert ("the agents that ran tools for other agents" in losses) == is_lost
