"""Judges see the messages from before the recording began."""

from __future__ import annotations

from fairtrial import Invocation, Message, ToolCall, Trace
from fairtrial.metrics import judge_context

PAST = Invocation(Message("hi"), (ToolCall("greet"),), Message("hello"))
TRACE = Trace((Invocation(Message("bye"), (), Message("see you")),), history=(PAST,))


def test_the_history_stands_before_the_conversation() -> None:
    """Its names differ from those of the invocations, which are counted from 1."""
    assert judge_context.whole(TRACE) == {
        "history: user message 1": "hi",
        "history: tool call 1.1": '{"args": {}, "tool": "greet"}',
        "history: reply 1": "hello",
        "user message 1": "bye",
        "reply 1": "see you",
    }


def test_the_first_invocation_has_the_history_before_it() -> None:
    """A judge of the first reply may need it."""
    texts = judge_context.earlier(TRACE, 0, with_actions=False)
    assert texts == {"history: user message 1": "hi", "history: reply 1": "hello"}
