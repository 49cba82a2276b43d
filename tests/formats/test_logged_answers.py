"""Answers beside the messages of a request are read, or refused with their place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import load
from fairtrial import EvalCase, Invocation, Message, ToolTrajectory
from fairtrial.errors import FormatError
from fairtrial.records.trace import ToolCall, ToolResult

ASKED = {"role": "user", "content": "hi"}
SAID = {"role": "assistant", "content": "Yes."}
TEXT = {"type": "output_text", "text": "Yes."}
ITEM = {"type": "message", "role": "assistant", "content": [TEXT]}
ANSWERS: dict[str, dict[str, Any]] = {
    "LiteLLM": {"messages": [ASKED], "response": {"id": "r", "choices": [{"index": 0, "message": SAID}]}},
    "choices": {"messages": [ASKED], "choices": [{"message": SAID}, {"message": {**SAID, "content": "No."}}]},
    "Anthropic": {
        "messages": [ASKED],
        "response": {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Yes."}]},
    },
    "Bedrock": {
        "messages": [{"role": "user", "content": [{"text": "hi"}]}],
        "output": {"message": {"role": "assistant", "content": [{"text": "Yes."}]}},
    },
    "Gemini": {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "response": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Yes."}]}}]},
    },
    "Responses": {"input": [ASKED], "response": {"object": "response", "output": [ITEM]}},
    "a message": {"messages": [ASKED], "message": SAID},
    "a repeated message": {"messages": [ASKED, SAID], "response": {"choices": [{"message": SAID}]}},
    "a text": {"messages": [ASKED], "completion": "Yes."},
}


@pytest.mark.parametrize("logged", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("as_lines", [False, True])
def test_the_answer_beside_a_request_is_the_reply(logged: dict[str, Any], *, as_lines: bool) -> None:
    """Proxies and SDKs log it in many places. The first of several choices counts."""
    document = "\n".join([json.dumps(logged)] * 2) if as_lines else logged
    for recording in load(document, "log.jsonl").recordings:
        (invocation,) = recording.trace.invocations
        assert (invocation.query, invocation.reply) == ("hi", "Yes.")


def test_the_calls_of_a_logged_answer_are_known() -> None:
    """The response of a provider would hold a call, so that "no call" is proven."""
    quiet = EvalCase("c", (Invocation(Message("hi"), (), Message("Yes.")),))
    (recording,) = load(ANSWERS["LiteLLM"], "log.json").recordings
    assert ToolTrajectory()(recording.trace, quiet).value == 1.0


def test_a_list_of_texts_says_nothing_of_calls() -> None:
    """That is the fault of the recording, and not of the agent. Declared tools make the difference."""
    quiet = EvalCase("c", (Invocation(Message("hi"), (), Message("Yes.")),))
    for expected in (quiet, EvalCase("c", quiet.conversation, expected_calls=())):
        criterion = ToolTrajectory(scope="conversation" if expected.expected_calls is not None else "invocation")
        (recording,) = load([ASKED, SAID], "chat.json").recordings
        score = criterion(recording.trace, expected)
        assert score.value is None
        assert {part.side for part in score.parts or (score,)} == {"infrastructure"}
    missed = EvalCase("c", (Invocation(Message("hi"), (ToolCall("get", {}),), Message("Yes.")),))
    (recording,) = load([ASKED, SAID], "chat.json").recordings
    assert {part.side for part in ToolTrajectory()(recording.trace, missed).parts} == {"infrastructure"}
    declared = {"messages": [ASKED, SAID], "tools": [{"type": "function", "function": {"name": "get"}}]}
    (recording,) = load(declared, "chat.json").recordings
    assert ToolTrajectory()(recording.trace, quiet).value == 1.0
    assert ToolTrajectory()(recording.trace, missed).value == 0.0


def test_texts_before_a_reply_say_nothing_of_calls() -> None:
    """The texts are kept, and what was called between them is not known."""
    (recording,) = load([ASKED, {"role": "assistant", "content": "Let me look."}, SAID], "chat.json").recordings
    quiet = EvalCase("c", (Invocation(Message("hi"), (), Message("Yes.")),))
    assert [step.text for step in recording.trace.invocations[0].steps or () if isinstance(step, Message)] == [
        "Let me look."
    ]
    assert {part.side for part in ToolTrajectory()(recording.trace, quiet).parts} == {"infrastructure"}


@pytest.mark.parametrize("key", ["history", "zzz"])
@pytest.mark.parametrize("value", [[ASKED, SAID], {"steps": [{"message": SAID}]}], ids=str)
def test_a_second_list_of_messages_is_refused(key: str, value: Any) -> None:
    """A part of the conversation would be lost, and the agent be blamed."""
    with pytest.raises(FormatError, match=f"/{key}: holds messages beside the conversation"):
        load({"messages": [ASKED, SAID], key: value}, "log.json")
    assert load({"messages": [ASKED, SAID], key: value}, "log.json", lenient=True).warnings


def test_a_text_that_may_be_the_reply_or_the_reference_is_a_question() -> None:
    """Nobody knows which, and without it the reply is empty."""
    with pytest.raises(FormatError, match=r"write columns=\{'reply': 'answer'\} or columns=\{'expected': 'answer'\}"):
        load({"messages": [ASKED], "answer": "42"}, "log.json")


def test_metadata_beside_messages_is_kept() -> None:
    """It holds no message."""
    (recording,) = load({"messages": [ASKED, SAID], "model": "m", "usage": {"total": 3}}, "log.json").recordings
    assert recording.trace.extra == {"model": "m", "usage": {"total": 3}}


def rows(*messages: tuple[str, str, str], **more: Any) -> str:
    """Return JSON lines of messages with the id of their conversation."""
    return "\n".join(
        json.dumps({"conversation_id": name, "role": role, "content": text, **more}) for name, role, text in messages
    )


def test_rows_of_messages_are_one_conversation_for_each_id() -> None:
    """The rows of a table may be mixed."""
    found = load(
        rows(("a", "user", "hi"), ("b", "user", "ho"), ("a", "assistant", "yo"), ("b", "assistant", "no")), "m.jsonl"
    )
    turns = [
        (each.case_id, each.trace.invocations[0].query, each.trace.invocations[0].reply) for each in found.recordings
    ]
    assert (found.kind, turns) == ("rows of messages", [("a", "hi", "yo"), ("b", "ho", "no")])


def test_rows_of_messages_are_read_from_a_text_file() -> None:
    """Its numbers are texts, and its empty cells are no values."""
    table = (
        "conversation_id,position,role,content,tool_calls\n"
        'a,10,assistant,It left.,\na,9,tool,"{""ok"": 1}",\nb,1,user,ho,\n'
        'a,1,user,Where is it?,\na,2,assistant,,"[{""id"": ""c"", ""type"": ""function"", ""function"": '
        '{""name"": ""get"", ""arguments"": ""{}""}}]"\nb,2,assistant,no,\n'
    )
    first, second = load(table, "m.csv").recordings
    (turn,) = first.trace.invocations
    assert (first.case_id, turn.query, turn.reply, [call.name for call in turn.tool_calls]) == (
        *("a", "Where is it?", "It left."),
        ["get"],
    )
    assert [(turn.query, turn.reply) for turn in second.trace.invocations] == [("ho", "no")]


def test_rows_of_messages_come_in_the_order_of_their_time() -> None:
    """A dump of a table has no order. Calls are JSON text there, and empty columns are null."""
    calls = json.dumps([{"id": "c", "type": "function", "function": {"name": "get", "arguments": "{}"}}])
    dumped = [
        {"session_id": 7, "created_at": 3, "role": "assistant", "content": "yo", "tool_calls": None},
        {"session_id": 7, "created_at": 1, "role": "user", "content": "hi", "tool_calls": None},
        {"session_id": 7, "created_at": 2, "role": "assistant", "content": None, "tool_calls": calls},
    ]
    (recording,) = load(dumped, "m.json").recordings
    (invocation,) = recording.trace.invocations
    assert (recording.case_id, invocation.query, invocation.reply) == ("7", "hi", "yo")
    assert [call.name for call in invocation.tool_calls] == ["get"]


def test_a_row_without_the_id_of_its_conversation_is_refused() -> None:
    """It belongs to one of them, and nobody knows to which."""
    with pytest.raises(FormatError, match="/1: must be a message with 'conversation_id'"):
        load([{"conversation_id": "a", **ASKED}, SAID], "m.json")


def test_messages_in_the_json_texts_of_a_row_are_messages() -> None:
    """A platform exports them as text. The JSON is neither what the user wrote nor the reply."""
    row = {"id": "t-1", "name": "chat", "input": json.dumps([ASKED]), "output": json.dumps(SAID)}
    (recording,) = load([row], "traces.json").recordings
    (invocation,) = recording.trace.invocations
    assert (recording.case_id, invocation.query, invocation.reply) == ("t-1", "hi", "Yes.")
    plain = {"question": '["a", "b"]', "reply": '{"answer": 1}'}
    assert load([plain], "rows.json").recordings[0].trace.invocations[0].query == '["a", "b"]'


def test_lines_that_are_lists_are_conversations() -> None:
    """`datasets` writes a column of lists so. A line that is not JSON is named."""
    line = json.dumps([ASKED, SAID])
    found = load(f"{line}\n{line}\n", "chats.jsonl")
    assert [each.trace.invocations[0].reply for each in found.recordings] == ["Yes.", "Yes."]
    with pytest.raises(FormatError, match="line 3"):
        load(f"{line}\n{line}\n[{{]\n", "chats.jsonl")


CALLED = {"toolCallId": "c", "toolName": "get", "args": {"id": 1}}
INVOKED = {**CALLED, "state": "result", "result": {"state": "here"}}
PARTS = [
    {"type": "step-start"},
    {"type": "tool-invocation", "toolInvocation": INVOKED},
    {"type": "text", "text": "Yes."},
]


@pytest.mark.parametrize(
    "said",
    [
        {**SAID, "toolInvocations": [INVOKED]},
        {**SAID, "parts": PARTS},
        {**SAID, "parts": PARTS, "toolInvocations": [INVOKED]},
    ],
    ids=["beside the content", "in the parts", "both"],
)
def test_calls_of_version_4_of_the_vercel_ai_sdk_are_read(said: dict[str, Any]) -> None:
    """A message may hold the same call in its parts and beside them."""
    (recording,) = load([ASKED, said], "chat.json").recordings
    (invocation,) = recording.trace.invocations
    results = [step.response for step in invocation.steps or () if isinstance(step, ToolResult)]
    assert [(call.name, call.args) for call in invocation.tool_calls] == [("get", {"id": 1})]
    assert (results, invocation.reply) == ([{"state": "here"}], "Yes.")


def test_a_call_of_version_4_without_a_result_has_none() -> None:
    """A call without a name of its tool is refused."""
    (recording,) = load([ASKED, {**SAID, "toolInvocations": [{**CALLED, "state": "call"}]}], "c.json").recordings
    assert not any(isinstance(step, ToolResult) for step in recording.trace.invocations[0].steps or ())
    with pytest.raises(FormatError, match="toolName"):
        load([ASKED, {**SAID, "toolInvocations": [{"state": "call"}]}], "c.json")


@pytest.mark.parametrize("key", ["my_calls", "actions"])
def test_calls_of_a_message_under_an_unknown_key_are_refused(key: str) -> None:
    """They would be lost, and an agent that called a tool would pass as silent."""
    with pytest.raises(FormatError, match=f"/1/{key}: holds calls under a key that is not read"):
        load([ASKED, {**SAID, key: [{"name": "refund", "args": {}}]}], "chat.json")


def test_the_keys_of_messages_that_are_not_read_are_said() -> None:
    """Once for a file. Ids, times and numbers are not worth a word."""
    said = {**SAID, "notes": "he was very angry today", "my_id": "x-1", "at": 7}
    assert load([ASKED, said, ASKED, said], "chat.json").warnings == (
        "chat.json: /1/notes: holds content that is not read; nothing is said to be absent in this recording",
    )
