"""Recorded ADK sessions are read as what happened."""

from __future__ import annotations

from typing import Any

from builders import load, said
from fairtrial.records.trace import Invocation, Message, ToolCall, ToolResult, Usage


def session(*events: dict[str, Any]) -> dict[str, Any]:
    """A session file."""
    return {"id": "s1", "app_name": "a", "user_id": "u", "state": {"done": True}, "events": list(events)}


def event(author: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One event of a session."""
    role = "user" if author == "user" else "model"
    return {"author": author, "invocation_id": "i1", "content": {"role": role, "parts": list(parts)}, **more}


def test_a_users_text_starts_an_invocation_and_the_last_text_is_its_reply() -> None:
    """Events between two messages of the user are one invocation; results of tools are no message of the user."""
    (found,) = load(
        session(
            event("user", {"text": "hi"}),
            event(
                "agent", {"function_call": {"name": "f", "args": {"x": 1}}}, usage_metadata={"prompt_token_count": 3}
            ),
            {**event("agent", {"function_response": {"name": "f", "response": {"y": 2}}}), "author": "user"},
            event("agent", {"text": "hello"}),
            event("user", {"text": "bye"}),
        ),
        "s.session.json",
    ).recordings
    first, second = found.trace.invocations
    assert first == Invocation(
        Message("hi"),
        (ToolCall("f", {"x": 1}, author="agent"), ToolResult("f", {"y": 2}, author="user")),
        Message("hello", "agent"),
        "i1",
        (Usage(3),),
    )
    assert (second.query, second.final_response, second.steps) == ("bye", None, ())


def test_state_and_id() -> None:
    """A recording is called like its session, and ends in the session's state."""
    (found,) = load(session(event("user", {"text": "hi"})), "s.session.json").recordings
    assert (found.case_id, found.trace.session_id, found.trace.final_state) == ("s1", "s1", {"done": True})


def test_partial_events_are_left_out() -> None:
    """A piece of a stream is repeated whole by a later event."""
    (found,) = load(
        session(event("user", {"text": "hi"}), event("a", {"text": "hel"}, partial=True), event("a", {"text": "hello"}))
    ).recordings
    assert found.trace.invocations[0].steps == ()
    assert found.trace.invocations[0].reply == "hello"


def test_null_names_are_no_names() -> None:
    """A null where a name could stand is not the name "None"."""
    asked = {"author": "user", "invocation_id": None, "content": said("hi")}
    (found,) = load({"id": None, "events": [asked]}).recordings
    assert found.trace.invocations[0].id == ""
    assert found.case_id == "trips", "called like its file"
