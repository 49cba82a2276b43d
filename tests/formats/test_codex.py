"""Codex sessions that name no turns, and parts of sessions, are read rightly or said to be parts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import load
from fairtrial.errors import FormatError
from fairtrial.formats.loaded import Loaded
from fairtrial.records.trace import Trace

META = {"type": "session_meta", "payload": {"id": "s-1"}}
CONTEXT = {"type": "turn_context", "payload": {"cwd": "/shop", "model": "codex"}}
AGENTS = "# AGENTS.md instructions for /shop"


def item(**payload: Any) -> dict[str, Any]:
    """Return a response item of a session."""
    return {"type": "response_item", "payload": payload}


def text(role: str, content: str) -> dict[str, Any]:
    """Return a message of a session."""
    return item(type="message", role=role, content=[{"type": "input_text", "text": content}])


def event(**payload: Any) -> dict[str, Any]:
    """Return an event of a session."""
    return {"type": "event_msg", "payload": payload}


def said(content: str) -> list[dict[str, Any]]:
    """Return a text of the user as older versions write it: as an item, then as an event."""
    return [text("user", content), event(type="user_message", message=content)]


CALL = item(type="function_call", name="shell", arguments="{}", call_id="c")
RESULT = item(type="function_call_output", call_id="c", output="ok")
DONE, LATER = text("assistant", "Done."), text("assistant", "Again done.")
WORK = [CALL, RESULT, DONE]


def read(*lines: dict[str, Any]) -> Loaded:
    """Return the content of the lines of a session."""
    return load("\n".join(map(json.dumps, lines)), "rollout.jsonl")


def dialogue(trace: Trace) -> list[tuple[str, list[str], str]]:
    """Return the texts of the user, the names of the calls, and the replies of a trace."""
    return [(turn.query, [call.name for call in turn.tool_calls], turn.reply) for turn in trace.invocations]


BOTH = [("Fix it.", ["shell"], "Done."), ("Again.", [], "Again done.")]


@pytest.mark.parametrize(
    "lines",
    [
        [*said("Fix it."), CONTEXT, CALL, CONTEXT, RESULT, CONTEXT, DONE, *said("Again."), CONTEXT, LATER],
        [text("user", "# Notes of the editor"), *said("Fix it."), CONTEXT, *WORK, *said("Again."), CONTEXT, LATER],
        [text("user", "Fix it."), *WORK, CONTEXT, text("user", "Again."), LATER],
        [text("user", "Fix it."), *WORK, text("user", "Again."), LATER],
        [
            *(event(type="task_started", turn_id="1"), text("user", "Fix it."), *WORK),
            *(event(type="task_started", turn_id="2"), text("user", "Again."), LATER),
        ],
    ],
    ids=["context behind the text", "text of Codex", "late context", "no context", "started turns"],
)
def test_turns_without_a_name_are_kept_apart(lines: list[dict[str, Any]]) -> None:
    """Older versions name no turn, and write the context of a turn behind the text of the user."""
    (recording,) = read(META, text("user", AGENTS), *lines).recordings
    assert dialogue(recording.trace) == BOTH


def test_a_text_during_a_turn_belongs_to_the_turn() -> None:
    """The agent has not answered yet."""
    (recording,) = read(META, *said("Fix it."), CALL, RESULT, *said("Faster."), DONE).recordings
    assert dialogue(recording.trace) == [("Fix it.\n\nFaster.", ["shell"], "Done.")]


def test_turns_that_nothing_names_are_said() -> None:
    """Codex itself may have written a text with the role of the user."""
    assert any("does not say where its turns begin" in warning for warning in read(META, text("user", "x")).warnings)
    assert not read(META, *said("Fix it."), DONE).warnings


def test_a_session_without_its_beginning_is_incomplete() -> None:
    """Its calls may be missing, and the text of the user is not empty but unknown."""
    loaded = read(*WORK, *said("Again."), LATER)
    (recording,) = loaded.recordings
    first, _ = recording.trace.invocations
    assert "session_meta" in recording.trace.incomplete
    assert any("session_meta" in warning for warning in loaded.warnings)
    assert "does not hold the text of the user" in first.user.withheld


def test_events_without_items_are_refused() -> None:
    """Events repeat some texts and no whole call, so that the agent would seem to have called nothing."""
    with pytest.raises(FormatError, match="no response_item"):
        read(META, event(type="user_message", message="Fix it."), event(type="agent_message", message="Done."))
