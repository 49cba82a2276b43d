"""The output of command-line agents is read as recordings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairtrial.errors import FormatError
from fairtrial.formats.loaded import Loaded
from fairtrial.formats.recognise import read
from fairtrial.records.trace import Message, ToolCall, ToolResult, Usage

CLAUDE: list[dict[str, Any]] = [
    {"type": "system", "subtype": "init", "session_id": "s", "uuid": "1", "tools": ["Bash", "Task"]},
    {
        "type": "assistant",
        "session_id": "s",
        "uuid": "2",
        "parent_tool_use_id": None,
        "message": {
            "id": "m1",
            "model": "opus",
            "content": [{"type": "tool_use", "id": "t", "name": "Task", "input": {"prompt": "look"}}],
            "usage": {"input_tokens": 5, "cache_read_input_tokens": 100, "output_tokens": 7},
        },
    },
    {
        "type": "assistant",
        "session_id": "s",
        "uuid": "3",
        "parent_tool_use_id": "t",
        "message": {"id": "m2", "model": "haiku", "content": [{"type": "text", "text": "inner"}], "usage": {}},
    },
    {
        "type": "user",
        "session_id": "s",
        "uuid": "4",
        "parent_tool_use_id": None,
        "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "seen"}]},
    },
    {
        "type": "assistant",
        "session_id": "s",
        "uuid": "5",
        "parent_tool_use_id": None,
        "message": {"id": "m3", "model": "opus", "content": [{"type": "text", "text": "Done."}], "usage": {}},
    },
    {"type": "result", "subtype": "success", "is_error": False, "session_id": "s", "uuid": "6", "total_cost_usd": 0.25},
]
GEMINI: list[dict[str, Any]] = [
    {"type": "init", "timestamp": "t", "session_id": "s", "model": "pro"},
    {"type": "message", "timestamp": "t", "role": "user", "content": "Go"},
    {"type": "tool_use", "timestamp": "t", "tool_name": "read", "tool_id": "t", "parameters": {"path": "a"}},
    {"type": "tool_result", "timestamp": "t", "tool_id": "t", "status": "error", "output": "no such file"},
    {"type": "message", "timestamp": "t", "role": "assistant", "content": "Not ", "delta": True},
    {"type": "message", "timestamp": "t", "role": "assistant", "content": "there.", "delta": True},
    {"type": "result", "timestamp": "t", "status": "success", "stats": {"input_tokens": 9, "output_tokens": 4}},
]
OPENCODE: list[dict[str, Any]] = [
    {"type": "step_start", "sessionID": "s", "part": {}},
    {
        "type": "tool_use",
        "sessionID": "s",
        "part": {
            "tool": "read",
            "callID": "t",
            "state": {"status": "completed", "input": {"path": "a"}, "output": "text"},
        },
    },
    {"type": "step_finish", "sessionID": "s", "part": {"reason": "tool-calls", "cost": 0.25, "tokens": {"input": 3}}},
    {"type": "text", "sessionID": "s", "part": {"text": "Done."}},
    {
        "type": "step_finish",
        "sessionID": "s",
        "part": {"reason": "stop", "cost": 0.5, "tokens": {"input": 3, "output": 2, "cache": {"read": 10}}},
    },
]


def load(lines: list[dict[str, Any]]) -> Loaded:
    """The content of an output."""
    return read("\n".join(map(json.dumps, lines)).encode(), "run.jsonl")


def test_claude_streams_have_calls_tokens_cost_and_inner_work() -> None:
    """Lines of an agent that was called as a tool are inside the result of its call."""
    loaded = load(CLAUDE)
    (recording,) = loaded.recordings
    (invocation,) = recording.trace.invocations
    call, result = invocation.steps or ()
    assert loaded.kind == "claude -p --output-format stream-json"
    assert call == ToolCall("Task", {"prompt": "look"}, "t", model="opus")
    assert isinstance(result, ToolResult)
    assert result.inner is not None
    assert result.response == "seen"
    assert invocation.reply == "Done."
    assert "does not write the prompt" in invocation.user.withheld
    assert (invocation.usages or ())[0] == Usage(105, 7, cached_input_tokens=100, model="opus")
    assert recording.trace.extra == {"cost_usd": 0.25}


def test_gemini_streams_join_pieces_and_keep_the_prompt() -> None:
    """Pieces of a message are one message, and a failed call is known."""
    (recording,) = load(GEMINI).recordings
    (invocation,) = recording.trace.invocations
    assert (invocation.query, invocation.reply) == ("Go", "Not there.")
    assert [step.is_error for step in invocation.steps or () if isinstance(step, ToolResult)] == [True]
    assert [usage.total_tokens for usage in invocation.usages or ()] == [13]


def test_opencode_streams_add_up_costs() -> None:
    """The cost is the sum over steps, and tokens of the cache count as input."""
    (recording,) = load(OPENCODE).recordings
    (invocation,) = recording.trace.invocations
    assert invocation.final_response == Message("Done.")
    assert recording.trace.extra == {"cost_usd": 0.75}
    assert [usage.input_tokens for usage in invocation.usages or ()] == [3, 13]


@pytest.mark.parametrize("lines", [CLAUDE, GEMINI, OPENCODE])
def test_a_stream_that_ends_early_is_broken(lines: list[dict[str, Any]]) -> None:
    """Without its last event, an output says nothing about the agent."""
    (recording,) = load(lines[:-1]).recordings
    assert recording.failure is not None
    assert (recording.failure.side, recording.ended_by) == ("infrastructure", "failure")
    assert "ends before the agent's last event" in recording.trace.broken


@pytest.mark.parametrize("lines", [GEMINI, OPENCODE])
def test_an_unknown_event_is_an_error(lines: list[dict[str, Any]]) -> None:
    """An event that nothing reads could hold a call."""
    with pytest.raises(FormatError, match="is an event of the type 'subagent', which is not read"):
        load([*lines, {**lines[0], "type": "subagent"}])
