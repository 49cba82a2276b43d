"""Replies, agents and token totals of traces."""

from __future__ import annotations

from fairtrial.records.trace import (
    About,
    AgentDetails,
    Invocation,
    Message,
    Thought,
    ToolCall,
    ToolResult,
    Trace,
    Usage,
    split_reply,
)


def test_the_reply_is_the_last_message_after_the_last_tool() -> None:
    """What was said before a tool is no reply."""
    steps = (Message("wait"), ToolCall("f"), ToolResult("f"), Message("one"), Message("two"))
    assert split_reply(steps) == (steps[:4], Message("two"))


def test_a_tool_at_the_end_leaves_no_reply() -> None:
    """An agent that stopped after a tool did not answer."""
    steps = (Message("wait"), ToolCall("f"))
    assert split_reply(steps) == (steps, None)


def test_a_thought_is_no_reply_and_does_not_end_it() -> None:
    """Reasoning may come after the reply."""
    assert split_reply([Message("a"), Thought("b")]) == ((Thought("b"),), Message("a"))
    assert split_reply([Thought("b")]) == ((Thought("b"),), None)
    assert split_reply([]) == ((), None)


def test_the_total_counts_reasoning_and_cached_tokens_once() -> None:
    """Input includes cached tokens, output includes reasoning tokens."""
    assert Usage(12, 8, 3, 4).total_tokens == 20


def test_unknown_tokens_are_not_zero_tokens() -> None:
    """A call with a known model may have no known tokens."""
    assert Usage(model="m").total_tokens is None
    assert Usage(0).total_tokens == 0


def test_the_last_word_about_an_agent_counts() -> None:
    """Agents may change their instructions in a conversation."""
    first, last = AgentDetails("a", "old"), AgentDetails("a", "new")
    trace = Trace(tuple(Invocation(Message("x"), about=about) for about in (About((first,)), None, About((last,)))))
    assert trace.agents == (last,)


def test_tool_names_of_declarations_and_of_groups() -> None:
    """Genai groups declarations, OpenAI does not."""
    group, camel = {"function_declarations": [{"name": "f"}]}, {"functionDeclarations": [{"name": "g"}]}
    assert AgentDetails("a", tool_declarations=(group, camel, {"name": "h"}, {})).tool_names == ("f", "g", "h")
