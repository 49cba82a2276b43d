"""Turns, replies and arguments in spans of smolagents are those of its users and tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairtrial import Message, Recording, Thought, ToolResult
from fairtrial.formats.conversation.span_conversations import collect_recordings
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.recognise import read
from span_files import below, call, messages, otlp, span

CODE = "Thought: I look.\n<code>get_order()</code>"


def read_recording(*spans: dict[str, Any]) -> Recording:
    """Return the only recording in spans."""
    items = read(json.dumps(otlp(*spans)).encode(), "a").spans
    (recording,) = collect_recordings(items, Diagnostics("a"))
    return recording


def beside(raw: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return a span as another root of the trace of a span."""
    return {**raw, "traceId": other["traceId"]}


def test_an_observation_with_the_role_of_the_user_is_no_turn() -> None:
    """A provider knows no role for the observations of a code agent, so that they get the role of the user."""
    first = call(1, ["New task:\nWhere is it?"], CODE)
    second = call(2, ["New task:\nWhere is it?", CODE, "Observation:\nhere"], "It is here.")
    recording = read_recording(first, beside(second, first))
    assert [(own.query, own.reply) for own in recording.trace.invocations] == [("Where is it?", "It is here.")]


def test_a_task_after_an_observation_in_one_message_is_the_next_turn() -> None:
    """The library joins neighbours of one role before it asks a provider."""
    first = call(1, ["New task:\nWhere is it?"], "It is here.")
    both = "Observation:\nhere\nNew task:\nCancel it."
    second = call(2, ["New task:\nWhere is it?", "It is here.", both], "Done.")
    recording = read_recording(first, beside(second, first))
    assert [own.query for own in recording.trace.invocations] == ["Where is it?", "Cancel it."]


@pytest.mark.parametrize(
    ("observed", "response", "is_error"),
    [
        ("Observation:\nhere", "here", False),
        ("Call id: c\nError:\nno stock", "Call id: c\nError:\nno stock", True),
        ('Observation:\n{"state": "here"}', {"state": "here"}, False),
    ],
)
def test_an_observation_answers_the_call(observed: str, response: Any, is_error: bool) -> None:
    """Without a span of the tool, the next request is the only place that tells its answer."""
    parts = [{"type": "tool_call", "id": "c", "name": "get", "arguments": {}}]
    output = json.dumps([{"role": "assistant", "parts": parts}])
    task = "New task:\nWhere is it?"
    first = span(1, **{"gen_ai.input.messages": messages(task), "gen_ai.output.messages": output})
    second = call(2, [task, "Calling tools:\n[]", observed], "Done.")
    (invocation,) = read_recording(first, beside(second, first)).trace.invocations
    (result,) = [step for step in invocation.steps or () if isinstance(step, ToolResult)]
    assert (result.name, result.response, result.is_error) == ("get", response, is_error)


PLANNING = (
    "You are a world expert at analyzing a situation to derive facts, and plan accordingly towards solving a task.\n"
    "Now begin! Here is your task:\n```\nWhere is it?\n```\nFirst in part 1, write the facts survey."
)


def test_a_request_for_a_plan_is_no_turn() -> None:
    """The first plan of a run is asked for in a message of its own, and later plans after the history."""
    task = "New task:\nWhere is it?"
    plan = call(1, [PLANNING], "1. Look it up.")
    first = beside(call(2, [task, "The plan.", "Now proceed and carry out this plan."], CODE), plan)
    update = "Now write your updated facts below, taking into account the above history:"
    next_plan = beside(call(3, [task, CODE, f"Observation:\nhere\n{update}"], "2. Answer."), plan)
    asked_alone = beside(call(4, [task, CODE, update], "3. Answer."), plan)
    last = beside(call(5, [task, CODE, "Observation:\nhere"], "It is here."), plan)
    (invocation,) = read_recording(plan, first, next_plan, asked_alone, last).trace.invocations
    assert (invocation.query, invocation.reply) == ("Where is it?", "It is here.")
    thoughts = [step.text for step in invocation.steps or () if isinstance(step, Thought)]
    assert thoughts == ["1. Look it up.", "2. Answer.", "3. Answer."]


ANSWERING = [{"type": "tool_call", "id": "c", "name": "final_answer", "arguments": {"answer": "It is here."}}]


def replying_span(parent: dict[str, Any]) -> dict[str, Any]:
    """Return the span of the tool with which an agent replies, a second after its model."""
    raw = tool_span({"answer": {"type": "any", "description": "The answer."}}, {"kwargs": {"answer": "It is here."}})
    pairs = {"tool.name": "final_answer", "output.value": "It is here."}
    attributes = [
        {"key": own["key"], "value": {"stringValue": pairs.get(own["key"], own["value"]["stringValue"])}}
        for own in raw["attributes"]
    ]
    return below({**raw, "name": "FinalAnswerTool", "spanId": f"{9:016x}", "attributes": attributes}, parent)


@pytest.mark.parametrize("has_tool_span", [False, True])
def test_the_final_answer_of_a_model_is_the_reply(has_tool_span: bool) -> None:
    """An eval set expects the calls of the user's tools, and not how the library ends a run."""
    output = json.dumps([{"role": "assistant", "parts": ANSWERING}])
    attributes = {"gen_ai.input.messages": messages("New task:\nWhere is it?"), "gen_ai.output.messages": output}
    first = span(1, **attributes)
    spans = [first, *([replying_span(first)] if has_tool_span else [])]
    (invocation,) = read_recording(*spans).trace.invocations
    assert (invocation.tool_calls, invocation.steps, invocation.reply) == ((), (), "It is here.")


def test_the_final_answer_in_a_program_is_the_reply() -> None:
    """The model of a code agent only writes the program, and the span of the tool tells the answer."""
    first = call(1, ["New task:\nWhere is it?"], CODE)
    (invocation,) = read_recording(first, replying_span(first)).trace.invocations
    assert (invocation.tool_calls, invocation.reply) == ((), "It is here.")
    assert [step.text for step in invocation.steps or () if isinstance(step, Message)] == [CODE]


def test_other_users_may_write_of_observations() -> None:
    """Only a conversation that begins with a task is one of smolagents."""
    first = call(1, ["Hello"], "Hi.")
    second = call(2, ["Hello", "Hi.", "Observation:\nit rains"], "Indeed.")
    recording = read_recording(first, beside(second, first))
    assert [own.query for own in recording.trace.invocations] == ["Hello", "Observation:\nit rains"]


@pytest.mark.parametrize("are_parts", [False, True])
def test_a_list_of_messages_has_the_tasks_as_its_turns(are_parts: bool) -> None:
    """The library writes calls as the text of Python objects. They are unknown, and must not count as missing."""
    texts = [
        ("system", "You solve tasks."),
        ("user", "New task:\nWhere is it?"),
        ("assistant", "Calling tools:\n[{'function': {'name': 'get', 'arguments': {}}}]"),
        ("user", "Observation:\nhere\nNew task:\nCancel it."),
        ("assistant", "Done."),
    ]
    chat = [{"role": role, "content": [{"type": "text", "text": text}] if are_parts else text} for role, text in texts]
    (recording,) = read(json.dumps(chat).encode(), "chat.json").recordings
    trace = recording.trace
    assert [(own.query, own.reply) for own in trace.invocations][1:] == [("Cancel it.", "Done.")]
    assert trace.invocations[0].query == "Where is it?"
    assert trace.agents[0].instructions == "You solve tasks."
    assert "writes calls as text" in trace.incomplete


def tool_span(parameters: Any, wrapped: Any) -> dict[str, Any]:
    """Return the call of a tool as the instrumentation of OpenInference writes it."""
    attributes = {
        "gen_ai.operation.name": "",
        "openinference.span.kind": "TOOL",
        "tool.name": "get",
        "tool.parameters": json.dumps(parameters),
        "input.value": json.dumps(wrapped),
        "output.value": "here",
    }
    return span(1, **attributes)


ORDER = {"id": {"type": "string", "description": "The order."}, "day": {"type": "string", "description": "A day."}}


@pytest.mark.parametrize(
    ("parameters", "wrapped", "args"),
    [
        (ORDER, {"args": [], "sanitize_inputs_outputs": False, "kwargs": {"id": "A"}}, {"id": "A"}),
        (ORDER, {"args": ["A"], "sanitize_inputs_outputs": True, "kwargs": {"day": "now"}}, {"id": "A", "day": "now"}),
        ({"type": "object", "properties": ORDER}, {"args": ["A"], "kwargs": {}}, {"id": "A"}),
        ({"id": "A"}, {"args": ["B"], "kwargs": {}}, {"id": "A"}),
    ],
)
def test_a_declaration_is_not_taken_for_arguments(parameters: Any, wrapped: Any, args: Any) -> None:
    """The instrumentation writes the declaration of a tool where others write the arguments of its call."""
    (call_,) = read_recording(tool_span(parameters, wrapped)).trace.invocations[0].tool_calls
    assert (call_.args, call_.withheld) == (args, "")


def test_an_argument_without_the_name_of_its_parameter_is_not_known() -> None:
    """A call must not look as if it had fewer arguments than it had."""
    spans = tool_span({"type": "object", "properties": {}}, {"args": ["A"], "kwargs": {}})
    (call_,) = read_recording(spans).trace.invocations[0].tool_calls
    assert call_.args == {}
    assert "OPENINFERENCE_HIDE_INPUTS" in call_.withheld


def test_an_observation_never_replaces_what_the_span_of_a_tool_tells() -> None:
    """The program of a code agent prints more than the answer of a tool."""
    task = "New task:\nWhere is it?"
    first = call(2, [task], CODE)
    tool = beside(tool_span(ORDER, {"args": ["A"], "kwargs": {}}), first)
    second = beside(call(3, [task, CODE, "Observation:\nExecution logs:\nhere\nNone"], "It is here."), first)
    (invocation,) = read_recording(
        first, {**tool, "startTimeUnixNano": first["endTimeUnixNano"]}, second
    ).trace.invocations
    results = [step.response for step in invocation.steps or () if isinstance(step, ToolResult)]
    assert (results, invocation.reply) == (["here"], "It is here.")


def listing(*calls: tuple[str, Any]) -> str:
    """Return the text of calls as smolagents writes it."""
    listed = [{"id": "c", "type": "function", "function": {"name": name, "arguments": args}} for name, args in calls]
    return f"Calling tools:\n{listed}"


ASKED = ("get", {"id": "A", "limits": "[1]", "note": "it's\nhere"})
GIVEN = ("get", {**ASKED[1], "limits": [1]})
"""The same call: the library reads texts that look like JSON before it lists a call."""


@pytest.mark.parametrize(
    ("repeated", "is_whole"),
    [
        (listing(GIVEN), True),
        (f"I look.\n{listing(GIVEN)}", True),
        (listing(GIVEN, GIVEN), True),
        (listing(("get", {"id": "B"})), False),
        (listing(("put", GIVEN[1])), False),
        (listing(GIVEN, ("put", {})), False),
        (listing(("put", {}), GIVEN), False),
        (listing(("python_interpreter", "get()")), False),
        (f"I look elsewhere.\n{listing(GIVEN)}", False),
        (f"{listing(GIVEN)}\nand more", False),
        ("Calling tools:\nget", False),
    ],
)
def test_calls_in_a_text_are_compared_with_the_calls_of_the_answer(repeated: str, *, is_whole: bool) -> None:
    """Another call or another text shows that an answer was not read in full."""
    parts = [
        {"type": "text", "content": "I look."},
        {"type": "tool_call", "id": "c", "name": ASKED[0], "arguments": ASKED[1]},
    ]
    output = json.dumps([{"role": "assistant", "parts": parts}])
    task = "New task:\nWhere is it?"
    first = span(1, **{"gen_ai.input.messages": messages(task), "gen_ai.output.messages": output})
    second = call(2, [task, repeated, "Observation:\nhere"], "Done.")
    incomplete = read_recording(first, beside(second, first)).trace.incomplete
    assert ("hold other texts of one answer" in incomplete) is not is_whole
    assert is_whole is (incomplete == "")


@pytest.mark.parametrize(("answer", "is_whole"), [("It is here.", True), ("It is there.", False)])
def test_the_reply_of_an_earlier_turn_is_the_call_that_a_later_one_repeats(answer: str, *, is_whole: bool) -> None:
    """The memory of an agent that goes on holds the call of `final_answer`."""
    task = "New task:\nWhere is it?"
    output = json.dumps([{"role": "assistant", "parts": ANSWERING}])
    first = span(1, **{"gen_ai.input.messages": messages(task), "gen_ai.output.messages": output})
    repeated = listing(("final_answer", {"answer": answer}))
    second = call(2, [task, repeated, "Observation:\nhere\nNew task:\nCancel it."], "Done.")
    incomplete = read_recording(first, beside(second, first)).trace.incomplete
    assert ("hold other texts of one answer" in incomplete) is not is_whole


@pytest.mark.parametrize(("code", "is_whole"), [("\nget_order()\n", True), ("get_order(1)", False)])
@pytest.mark.parametrize("end", ["", "</code>"])
def test_code_in_a_list_of_calls_is_that_of_the_answer(code: str, end: str, *, is_whole: bool) -> None:
    """A code agent lists the code of its answer as a call, and ends it as the model would have without its stop."""
    task, cut = "New task:\nWhere is it?", CODE.removesuffix("</code>")
    first = call(1, [task], cut)
    repeated = f"{cut}{end}\n{listing(('python_interpreter', code.strip()))}"
    second = call(2, [task, repeated, "Observation:\nhere"], "Done.")
    incomplete = read_recording(first, beside(second, first)).trace.incomplete
    assert (incomplete == "") is is_whole
