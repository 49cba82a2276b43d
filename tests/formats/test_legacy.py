"""ADK's two old list formats are read."""

from __future__ import annotations

from builders import load
from fairtrial.records.case import SessionInput
from fairtrial.records.trace import Invocation, Message, ToolCall

TURN = {
    "query": "hi",
    "expected_tool_use": [{"tool_name": "f", "tool_input": {"x": 1}}],
    "expected_intermediate_agent_responses": [{"author": "helper", "text": "one moment"}],
    "reference": "hello",
}
READ = Invocation(Message("hi"), (ToolCall("f", {"x": 1}), Message("one moment", "helper")), Message("hello"))


def test_old_test_file_is_one_case() -> None:
    """A list of queries is one conversation, its case called like the file."""
    found = load([TURN, {"query": "bye"}], "light.test.json")
    assert found.eval_set is not None
    (case,) = found.eval_set.cases
    assert case.id == "light"
    assert case.conversation == (READ, Invocation(Message("bye")))


def test_old_eval_set_has_a_case_for_each_entry() -> None:
    """A list of named conversations is an eval set, with the state that each session starts from."""
    session = {"state": {"cart": 1}, "app_name": "shop", "user_id": "u"}
    found = load([{"name": "a", "data": [TURN], "initial_session": session}, {"name": "b", "data": []}])
    assert found.eval_set is not None
    first, second = found.eval_set.cases
    assert (first.id, first.conversation, first.session_input) == ("a", (READ,), SessionInput("shop", "u", {"cart": 1}))
    assert (second.id, second.conversation, second.session_input) == ("b", (), None)


def test_absent_calls_are_not_no_calls() -> None:
    """Without `expected_tool_use` nothing is expected of the calls; an empty list expects none."""
    found = load([{"query": "hi"}, {"query": "hi", "expected_tool_use": []}], "a.test.json").eval_set
    assert found is not None
    unknown, none = found.cases[0].conversation or ()
    assert (unknown.steps, none.steps) == (None, ())


def test_absent_reference_is_not_a_blank_one() -> None:
    """Without `reference` there is none; an empty one is a blank reference."""
    found = load([{"query": "hi"}, {"query": "hi", "reference": ""}], "a.test.json").eval_set
    assert found is not None
    unknown, blank = found.cases[0].conversation or ()
    assert (unknown.final_response, blank.final_response) == (None, Message(""))
