"""A source that holds a content twice, and contradicts itself, gives no verdict of absence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fairtrial.formats.recognise import read
from fairtrial.records.attempt import Recording

_SAMPLES = Path(__file__).parents[2] / "src/fairtrial/formats/samples"
_CODEX: list[dict[str, Any]] = [
    {"type": "session_meta", "payload": {"id": "s1"}},
    {"type": "event_msg", "payload": {"type": "task_started", "turn_id": "t1"}},
    {"type": "turn_context", "payload": {"turn_id": "t1", "model": "gpt"}},
    {
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Where is A-17?"}]},
    },
    {
        "type": "response_item",
        "payload": {"type": "function_call", "name": "get_order", "arguments": '{"id": "A-17"}', "call_id": "c1"},
    },
    {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c1", "output": "shipped"}},
    {
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "It has  shipped."}],
        },
    },
]
_CLAUDE: list[dict[str, Any]] = [
    {"type": "system", "subtype": "init", "session_id": "s1", "uuid": "u0", "tools": ["Read"]},
    {
        "type": "assistant",
        "session_id": "s1",
        "uuid": "u1",
        "parent_tool_use_id": None,
        "message": {"id": "m1", "role": "assistant", "content": [{"type": "text", "text": "It has shipped."}]},
    },
]


def recording(lines: list[dict[str, Any]], name: str = "x.jsonl") -> Recording:
    """Return the recording in JSON lines."""
    (own,) = read("\n".join(map(json.dumps, lines)).encode(), name).recordings
    return own


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({"type": "agent_message", "message": "It has shipped."}, ""),
        ({"type": "agent_message", "message": "I cancelled it."}, "/7/payload/message"),
        ({"type": "task_complete", "turn_id": "t1", "last_agent_message": "It has shipped."}, ""),
        ({"type": "task_complete", "turn_id": "t1", "last_agent_message": "Done."}, "/7/payload/last_agent_message"),
        ({"type": "mcp_tool_call_end", "call_id": "c1"}, ""),
        ({"type": "mcp_tool_call_end", "call_id": "c9"}, "/7/payload/call_id"),
        (
            {"type": "item_completed", "item": {"type": "AgentMessage", "content": [{"type": "Text", "text": "No."}]}},
            "/7/payload/item/content",
        ),
    ],
)
def test_events_of_codex_are_compared_with_its_items(event: dict[str, Any], reason: str) -> None:
    """An answer or a call that only an event holds was lost."""
    trace = recording([*_CODEX, {"type": "event_msg", "payload": event}], "rollout-1.jsonl").trace
    assert trace.incomplete.partition(" ")[0] == reason


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ([(10, 10), (10, 10), (25, 15)], ""),
        ([(10, 10), (40, 15)], "the session counts 40 tokens, and its model calls 25"),
        ([(30, 15)], "the session counts 30 tokens, and its model calls 15"),
    ],
    ids=["whole", "a count is missing", "the beginning is missing"],
)
def test_the_total_of_codex_is_compared_with_the_tokens_of_calls(counts: list[tuple[int, int]], reason: str) -> None:
    """Each count holds the tokens of the last call and of the session. A count is often repeated."""
    infos = [
        {"total_token_usage": {"total_tokens": total}, "last_token_usage": {"total_tokens": last, "input_tokens": last}}
        for total, last in counts
    ]
    events = [{"type": "event_msg", "payload": {"type": "token_count", "info": info}} for info in infos]
    assert recording([*_CODEX, *events], "rollout-1.jsonl").trace.incomplete == reason


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ({"result": "It has shipped."}, ""),
        ({"result": "I cancelled it."}, "the result at the end holds a text"),
        ({"result": "It has shipped.", "permission_denials": [{"tool_use_id": "c9"}]}, "the list of denied calls"),
    ],
)
def test_the_result_of_claude_is_compared_with_its_messages(end: dict[str, Any], reason: str) -> None:
    """The last line repeats the reply, and names the calls that were denied."""
    last = {"type": "result", "subtype": "success", "is_error": False, "session_id": "s1", "uuid": "u2", **end}
    incomplete = recording([*_CLAUDE, last]).trace.incomplete
    assert incomplete.startswith(reason)
    assert bool(incomplete) is bool(reason)


@pytest.mark.parametrize(
    ("version", "turns", "reason"),
    [
        ("2.1.197", 1, ""),
        ("2.1.197", 4, "the result at the end counts 4 turns, and the messages show 1"),
        ("1.0.3", 4, ""),
    ],
    ids=["whole", "messages are missing", "another way to count"],
)
def test_the_turns_of_claude_are_compared_with_its_messages(version: str, turns: int, reason: str) -> None:
    """The last line counts the prompt and each message of the user behind it, for example a result of a tool."""
    session = {"session_id": "s1", "uuid": "u0"}
    first = {"type": "system", "subtype": "init", "tools": [], "claude_code_version": version, **session}
    last = {"type": "result", "subtype": "success", "is_error": False, "num_turns": turns, **session}
    assert recording([first, *_CLAUDE, last]).trace.incomplete == reason


@pytest.mark.parametrize(
    ("totals", "notes", "reason"),
    [
        ({}, None, ""),
        ({"total_steps": 99}, None, "/final_metrics/total_steps is 99"),
        ({"total_steps": 99}, "Steps of other agents count too.", ""),
        ({"total_steps": 99}, "Tokens of the summaries count too.", "/final_metrics/total_steps is 99"),
        ({"total_completion_tokens": 10**6}, None, "/final_metrics/total_completion_tokens is 1000000"),
        ({"total_completion_tokens": 10**6}, "Tokens of the summaries count too.", ""),
    ],
)
def test_the_totals_of_atif_are_compared_with_its_steps(totals: dict[str, int], notes: str | None, reason: str) -> None:
    """A step is missing if the trajectory counts more of them, and its notes do not explain this number."""
    top = json.loads((_SAMPLES / "atif.json").read_bytes())
    for step in top["steps"]:
        if step["source"] == "agent":
            step["metrics"] = {"completion_tokens": 5}
    top["final_metrics"] = totals
    if notes:
        top["notes"] = notes
    (own,) = read(json.dumps(top).encode(), "atif.json").recordings
    assert own.trace.incomplete.startswith(reason)
    assert bool(own.trace.incomplete) is bool(reason)


def test_a_trajectory_of_atif_that_goes_on_in_another_file_is_incomplete() -> None:
    """An agent that summarises its context begins a new file."""
    top = json.loads((_SAMPLES / "atif.json").read_bytes())
    (own,) = read(json.dumps(top | {"continued_trajectory_ref": "next.json"}).encode(), "atif.json").recordings
    assert own.trace.incomplete == "/continued_trajectory_ref is next.json: the rest is in that file"
