"""Tool results count as a call if the messages do not hold the call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import load
from fairtrial import EvalCase, Invocation, Message, ToolTrajectory
from fairtrial.formats.conversation.span_conversations import collect_recordings
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.recognise import read
from fairtrial.records.trace import ToolResult, Trace
from span_files import answer, otlp, span

ASKED = {"role": "user", "content": "hi"}
SAID = {"role": "assistant", "content": "Done."}
QUIET = EvalCase("c", (Invocation(Message("hi"), (), Message("Done.")),))


def only_trace(document: Any) -> Trace:
    """The one conversation in a document."""
    (found,) = load(document, "chat.json").recordings
    return found.trace


def anthropic(call_id: str) -> dict[str, Any]:
    """A result of Anthropic, which does not name its tool."""
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": "gone"}]}


def test_a_result_that_names_its_tool_is_a_call() -> None:
    """Its arguments are withheld, and its name is enough for a call that nobody expected."""
    result = {"role": "tool", "name": "drop_all", "tool_call_id": "x", "content": "gone"}
    trace = only_trace([ASKED, result, SAID])
    (call,) = trace.invocations[0].tool_calls
    assert (call.name, bool(call.withheld), trace.incomplete) == ("drop_all", True, "")
    assert ToolTrajectory()(trace, QUIET).value == 0.0


@pytest.mark.parametrize(
    "result", [anthropic("x"), {"role": "tool", "tool_call_id": "x", "content": "gone"}], ids=["Anthropic", "OpenAI"]
)
def test_a_result_without_a_name_makes_the_recording_incomplete(result: dict[str, Any]) -> None:
    """A call is missing, and nobody knows which. That nothing was called is not proven."""
    trace = only_trace([ASKED, result, {**SAID, "content": [{"type": "text", "text": "Done."}]}])
    assert "the result x stands without its call" in trace.incomplete
    (part,) = ToolTrajectory()(trace, QUIET).parts
    assert (part.value, part.side) == (None, "infrastructure")


def test_results_with_their_calls_are_complete() -> None:
    """A call and its result may stand in two turns, and a result may come twice."""
    call = {"type": "tool_use", "id": "x", "name": "get", "input": {}}
    messages = [ASKED, {"role": "assistant", "content": [call]}, ASKED, anthropic("x"), anthropic("x"), SAID]
    trace = only_trace(messages)
    assert trace.incomplete == ""
    assert sum(len(invocation.tool_calls) for invocation in trace.invocations) == 1


def test_a_result_without_an_id_answers_a_call_that_waits() -> None:
    """Gemini answers by name and order. The second of two results is one too many."""
    called = {"role": "model", "parts": [{"functionCall": {"name": "get", "args": {"id": 1}}}]}
    answered = {"role": "user", "parts": [{"functionResponse": {"name": "get", "response": {}}}]}
    asked = {"role": "user", "parts": [{"text": "hi"}]}
    said = {"role": "model", "parts": [{"text": "Done."}]}
    one = only_trace([asked, called, answered, said])
    two = only_trace([asked, called, answered, answered, said])
    assert [len(trace.invocations[0].tool_calls) for trace in (one, two)] == [1, 2]


def trajectory(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A trajectory of mini-swe-agent."""
    task = [{"role": "system", "content": "One command."}, {"role": "user", "content": "Solve this issue: x"}]
    info = {"exit_status": "Submitted", "submission": "diff", "model_stats": {"api_calls": 2}}
    return {"info": info, "messages": [*task, *messages], "trajectory_format": "mini-swe-agent-1", **fields}


TEXT = [
    {"role": "assistant", "content": "Look.\n\n```bash\nls -la\n```"},
    {"role": "user", "content": "<returncode>0</returncode>\n<output>\na.py\n</output>"},
]
TAGGED = [{"role": "assistant", "content": "Look. <mswea_bash_command>ls -la</mswea_bash_command>"}, TEXT[1]]
ACTIONS = [{**TEXT[0], "extra": {"actions": [{"command": "ls -la"}]}}, {**TEXT[1], "extra": {"returncode": 0}}]
CALLS = [
    {
        "role": "assistant",
        "content": "Look.",
        "tool_calls": [{"id": "c", "function": {"name": "bash", "arguments": '{"command": "ls -la"}'}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": TEXT[1]["content"]},
    {"role": "exit", "content": "diff", "extra": {"exit_status": "Submitted"}},
]


@pytest.mark.parametrize("messages", [TEXT, TAGGED, ACTIONS, CALLS], ids=["text", "tags", "actions", "calls"])
def test_an_observation_of_mini_swe_agent_is_no_turn(messages: list[dict[str, Any]]) -> None:
    """The run is one invocation. Each command is a call of the tool `bash`."""
    found = load(trajectory(*messages), "django-1.traj.json")
    (recording,) = found.recordings
    (invocation,) = recording.trace.invocations
    results = [step.response for step in invocation.steps or () if isinstance(step, ToolResult)]
    assert (found.kind, recording.case_id) == ("mini-swe-agent trajectory", "django-1")
    assert invocation.query == "Solve this issue: x"
    assert [(call.name, call.args) for call in invocation.tool_calls] == [("bash", {"command": "ls -la"})]
    assert results == [TEXT[1]["content"]]
    assert (recording.trace.extra or {})["submission"] == "diff"


def test_a_limit_of_mini_swe_agent_is_a_cap() -> None:
    """A message that asks for the right format is not an answer of a tool."""
    unformed = {"role": "assistant", "content": "I do not know."}
    asked = {"role": "user", "content": "Please always provide EXACTLY ONE action."}
    raw = trajectory(unformed, asked, *TEXT, info={"exit_status": "LimitsExceeded"}, instance_id="i-1")
    (recording,) = load(raw, "x.json").recordings
    assert (recording.case_id, recording.ended_by) == ("i-1", "cap")
    assert len(recording.trace.invocations) == 1
    assert len(recording.trace.invocations[0].tool_calls) == 1


@pytest.mark.parametrize("name", ["drop_all", ""])
def test_a_result_in_a_request_of_a_span_proves_a_call(name: str) -> None:
    """Its own span was lost. With the name of the tool it is a call, and otherwise the recording is incomplete."""
    answered = {"type": "tool_call_response", "id": "x", "name": name, "response": "gone"}
    sent = [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}, {"role": "tool", "parts": [answered]}]
    attributes = {"gen_ai.input.messages": json.dumps(sent), "gen_ai.output.messages": answer("Done.")}
    raw = json.dumps(otlp(span(1, **attributes))).encode()
    (recording,) = collect_recordings(read(raw, "a").spans, Diagnostics("a"))
    trace = recording.trace
    assert [call.name for call in trace.invocations[0].tool_calls] == ([name] if name else [])
    assert bool(trace.incomplete) is not bool(name)
    assert ToolTrajectory()(trace, QUIET).value == (0.0 if name else None)
