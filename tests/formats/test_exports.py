"""Does an exported recording read as the recording that it was?"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairtrial.formats.conversation import DEFAULTS, recordings_of
from fairtrial.formats.exports.genai_form import GenAiForm
from fairtrial.formats.exports.message_export import messages_of
from fairtrial.formats.exports.openinference_form import OpenInferenceForm
from fairtrial.formats.exports.span_export import SpanForm, document, spans_of
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


def read_again(recording: Recording, form: SpanForm) -> Recording:
    """Export a recording, and read the file."""
    data = document(spans_of(recording, form))
    reading = Diagnostics("spans")
    (again,) = recordings_of(read(data, "spans.jsonl").spans, reading, DEFAULTS)
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
    ],
)
def test_other_recordings_are_the_same_too(recording: Recording, form: SpanForm) -> None:
    """What they lack does not appear, and ids that the export needs are numbers."""
    again = read_again(recording, form)
    numbers = tuple(
        replace(invocation, id=invocation.id or str(number))
        for number, invocation in enumerate(recording.trace.invocations, 1)
    )
    assert comparable(again) == comparable(replace(recording, trace=replace(recording.trace, invocations=numbers)))


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
    assert spans_of(RECORDING, GenAiForm()) == spans_of(RECORDING, GenAiForm())
    assert (
        spans_of(RECORDING, GenAiForm())[0]["traceId"]
        != spans_of(replace(RECORDING, case_id="b"), GenAiForm())[0]["traceId"]
    )


def test_messages_give_the_same_conversation() -> None:
    """Thoughts, times and tokens are left out."""
    line = messages_of(RECORDING)
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
