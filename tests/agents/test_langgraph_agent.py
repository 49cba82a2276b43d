"""Is a graph of LangChain recorded whole?"""

from __future__ import annotations

import importlib

import pytest
from kinds import recorded
from shop import INSTRUCTIONS

from fairtrial.records.case import SessionInput
from fairtrial.records.trace import Thought, ToolResult

pytestmark = pytest.mark.agents
pytest.importorskip("langgraph")

TARGET = "langgraph:langgraph_shop:agent"


def test_state_goes_in_and_comes_out() -> None:
    """The initial state is merged into the graph's, is carried from message to message, and comes out at the end."""
    one = recorded("langgraph:langgraph_shop:counting", "hello", "again", session=SessionInput(state={"visits": 4}))
    assert one.trace.final_state == {"visits": 6}
    assert [invocation.reply for invocation in one.trace.invocations] == ["Welcome.", "Welcome."]


def test_thoughts_are_no_part_of_the_reply() -> None:
    """Reasoning blocks are thoughts."""
    (invocation,) = recorded(TARGET, "think").trace.invocations
    assert invocation.steps == (Thought("Who knows?", "shop"),)
    assert invocation.reply == "I do."


def test_the_status_of_a_tool_message_is_read() -> None:
    """A result with the status `error` is an error, whatever its text says."""
    (invocation,) = recorded("langgraph_shop:failing", "hello").trace.invocations
    assert [step.is_error for step in invocation.steps or () if isinstance(step, ToolResult)] == [True]


def test_a_graph_that_remembers_has_a_thread_for_each_conversation() -> None:
    """A graph with a checkpointer gets new messages only, and keeps nothing of a conversation that ended."""
    one = recorded("langgraph_shop:remembering", "Where is A-17?", "Cancel B-42")
    assert [invocation.reply for invocation in one.trace.invocations] == [
        "Your teapot is shipped.",
        "Order B-42 is cancelled.",
    ]
    assert not importlib.import_module("langgraph_shop").saver.storage


def test_a_graph_that_asks_is_answered_by_the_next_message() -> None:
    """An interrupt is the reply, and the user's next message resumes the graph."""
    one = recorded("langgraph_shop:asking", "hello", "the blue one")
    assert [invocation.reply for invocation in one.trace.invocations] == ["Which one?", "You chose the blue one."]


def test_a_graph_that_keeps_its_latest_message_only_is_heard() -> None:
    """A message without an id, in the place of the one before, is another message."""
    one = recorded("langgraph_shop:forgetful", "hello", "again")
    assert [invocation.reply for invocation in one.trace.invocations] == ["Welcome.", "Welcome."]


def test_a_runnable_is_talked_to_with_its_messages() -> None:
    """A chain of prompt and model gets the conversation so far."""
    one = recorded("langgraph_shop:chain", "hello", "again")
    assert [invocation.reply for invocation in one.trace.invocations] == ["You said: hello", "You said: again"]
    about = one.trace.invocations[0].about
    assert about is not None
    assert about.agents[0].instructions == INSTRUCTIONS


def test_a_graph_declares_the_tools_of_all_its_models() -> None:
    """Each node asks its model with tools of its own; no other node's tool is missing."""
    about = recorded("langgraph_shop:two_models", "hello").trace.invocations[0].about
    assert about is not None
    assert [one.tool_names for one in about.agents] == [("get_order", "cancel_order")]


def test_a_state_without_messages_is_told() -> None:
    """A graph that cannot be talked to fails with what its state holds."""
    one = recorded("langgraph_shop:silent", "hello")
    assert one.failure is not None
    assert "must hold 'messages'" in one.failure.cause
