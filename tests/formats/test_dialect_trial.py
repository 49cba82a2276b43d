"""Messages with `parts` may be of several dialects. The dialect that reads most of them counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import load
from fairtrial.errors import FormatError
from fairtrial.formats.dialects.attributes import chat_entries
from fairtrial.formats.reading import Diagnostics
from fairtrial.records.trace import ToolCall

TEXT = {"type": "text", "text": "It left."}
CALL = {"type": "tool_call", "id": "c", "name": "get", "arguments": {"id": 1}}
VERCEL_CALL = {"type": "tool-get", "toolCallId": "c", "input": {"id": 1}, "output": {"state": "here"}}
ASKED = {"role": "user", "parts": [{"type": "text", "text": "Where is it?"}]}


def chat(*parts: Any, role: str = "assistant") -> list[dict[str, Any]]:
    """Return a question and an answer of some parts."""
    return [ASKED, {"role": role, "parts": list(parts)}]


@pytest.mark.parametrize("parts", [[CALL, TEXT], [TEXT, CALL, TEXT], [VERCEL_CALL, TEXT]], ids=["GenAI", "later", "UI"])
def test_the_first_message_does_not_decide(parts: list[Any]) -> None:
    """A text part looks alike in two dialects. The call of a later message shows which it is."""
    (recording,) = load(chat(*parts), "chat.json").recordings
    (invocation,) = recording.trace.invocations
    assert [(call.name, call.args) for call in invocation.tool_calls] == [("get", {"id": 1})]
    assert (invocation.reply, recording.trace.incomplete) == ("It left.", "")


def test_a_role_of_another_dialect_does_not_make_messages_unreadable() -> None:
    """Gemini calls the agent `model`, and parts without a type are also read as GenAI messages."""
    document = [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "assistant", "parts": [{"text": "yo"}]}]
    (recording,) = load(document, "chat.json").recordings
    assert recording.trace.invocations[0].reply == "yo"


def test_two_readings_that_differ_are_an_error() -> None:
    """Each leaves a text unread, and nobody knows which text was sent."""
    both = {"type": "text", "text": "Yes, it is granted now.", "content": "No, it is not granted."}
    with pytest.raises(FormatError, match="can be read as Vercel AI SDK messages and as GenAI messages"):
        load(chat(both), "chat.json")


def test_two_readings_in_a_span_prove_nothing() -> None:
    """One message must not make a whole body of data unreadable, so that the contents of the span are unread."""
    both = {"type": "text", "text": "Yes, it is granted now.", "content": "No, it is not granted."}
    reading = Diagnostics("a")
    chat_entries(json.loads(json.dumps(chat(both))), reading)
    assert reading.unread


def test_a_span_is_read_by_trial() -> None:
    """Platforms keep messages of any instrumentation."""
    entries = chat_entries(chat(TEXT, CALL), Diagnostics("a"))
    assert any(isinstance(entry, ToolCall) for entry in entries)
