"""Any JSON is read as conversations by paths to their parts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairtrial.errors import FormatError
from fairtrial.formats.loaded import Loaded
from fairtrial.formats.recognise import read

ROWS: list[dict[str, Any]] = [
    {
        "session": "a",
        "in": {"text": "Where is it?"},
        "steps": [{"tool": "get_order"}],
        "out": {"say": "It left."},
    },
    {"session": "b", "in": {"text": "hi"}, "steps": [], "out": {"say": "Hello."}},
    {"session": "a", "in": {"text": "Thanks."}, "steps": [], "out": {"say": "Bye."}},
]
PATHS = {"conversation": "session", "user": "in.text", "calls": "steps[*].tool", "reply": "$.out.say"}


def load(values: list[Any], columns: dict[str, str]) -> Loaded:
    """Return the content of JSON lines."""
    return read("\n".join(map(json.dumps, values)).encode(), "log.jsonl", columns=columns)


def test_rows_are_joined_by_their_conversation() -> None:
    """Their turns stand in the order of the file. Arguments that have no path are withheld."""
    first, second = load(ROWS, PATHS).recordings
    assert [(each.query, each.reply) for each in first.trace.invocations] == [
        ("Where is it?", "It left."),
        ("Thanks.", "Bye."),
    ]
    (call,) = first.trace.invocations[0].tool_calls
    assert (call.name, call.withheld) == ("get_order", "the log does not hold this content")
    assert (second.case_id, second.trace.invocations[0].tool_calls) == ("b", ())


def test_messages_of_any_dialect_are_found() -> None:
    """The reply may be a message, and a later request of the conversation repeats the first."""
    asked = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
    answer = {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Yes."}],
    }
    rows = [
        {"s": "a", "request": {"messages": [asked]}, "response": {"choices": [{"message": answer}]}},
        {"s": "a", "request": {"messages": [asked, answer, asked]}, "response": {"choices": [{"message": answer}]}},
    ]
    columns = {"conversation": "s", "messages": "request.messages", "reply": "response.choices[0].message"}
    (found,) = load(rows, columns).recordings
    assert [(each.query, each.reply) for each in found.trace.invocations] == [("hi", "Yes."), ("hi", "Yes.")]


def test_paths_lead_into_json_texts() -> None:
    """Tables of databases keep objects as texts."""
    request = {"messages": [{"role": "user", "content": "hi"}]}
    columns = {"messages": "request.messages", "reply": "response.text"}
    (found,) = load([{"request": json.dumps(request), "response": '{"text": "Yes."}'}], columns).recordings
    assert [(each.query, each.reply) for each in found.trace.invocations] == [("hi", "Yes.")]


def test_what_no_path_reaches_is_accounted_for() -> None:
    """A text that stands in no part makes the recording incomplete."""
    rows = [{**ROWS[1], "verdict": "the refund was granted"}, ROWS[1] | {"session": "c"}]
    columns = {part: PATHS[part] for part in ("conversation", "user", "reply")}
    first, second = load(rows, columns).recordings
    assert (first.trace.incomplete, second.trace.incomplete) == ("/0/verdict was not read", "")


def test_a_path_that_leads_nowhere_says_what_stands_there() -> None:
    """The deepest place of the way is named, with its keys."""
    with pytest.raises(FormatError, match=r"columns: user=in.txt leads nowhere; at /in stands an object .* 'text'"):
        load(ROWS, PATHS | {"user": "in.txt"})


def test_a_path_of_another_language_is_refused() -> None:
    """So is a part that no conversation has."""
    with pytest.raises(FormatError, match=r"user=in\[ is no JSONPath"):
        load(ROWS, PATHS | {"user": "in["})
    with pytest.raises(FormatError, match="'mood' is not a part of a conversation"):
        load(ROWS, PATHS | {"mood": "in"})
