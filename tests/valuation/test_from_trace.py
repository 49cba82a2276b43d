"""The reasoning of a recorded conversation."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fairtrial.errors import CaseError
from fairtrial.formats import knowledgepulse
from fairtrial.records.trace import Invocation, Message, Step, Thought, ToolCall, ToolResult, Trace
from fairtrial.valuation.from_trace import from_trace


def _trace(*steps: Step, user: str = "do it", reply: str = "done") -> Trace:
    return Trace((Invocation(Message(user), steps, Message(reply, "agent") if reply else None),), session_id="s")


def _types(trace: Trace) -> list[str]:
    return [step.type for step in from_trace(trace, confidence=1.0, success=True).steps]


def test_thoughts_calls_results_and_replies_become_steps() -> None:
    """In their order and numbered, with their tools and inputs; the reply is the last observation."""
    trace = _trace(Thought("hm"), ToolCall("ls", {"d": "/"}), ToolResult("ls", {"files": 2}))
    steps = from_trace(trace, confidence=0.5, success=True).steps
    assert [(step.step_id, step.type, step.content) for step in steps] == [
        (0, "thought", "hm"),
        (1, "tool_call", None),
        (2, "observation", '{"files":2}'),
        (3, "observation", "done"),
    ]
    assert steps[1].tool is not None
    assert (steps[1].tool.name, steps[1].input) == ("ls", {"d": "/"})


def test_a_call_that_succeeds_after_the_same_tool_failed_is_a_recovery() -> None:
    """The failing call is a call, another tool's success is none either, and the second success is ordinary again."""
    bad, good = {"error": "no"}, {"ok": True}
    trace = _trace(
        ToolCall("a", id="1"),
        ToolResult("a", bad, id="1", is_error=True),
        ToolCall("b", id="2"),
        ToolResult("b", good, id="2"),
        ToolCall("a", {"page": 2}, id="3"),
        ToolResult("a", good, id="3"),
        ToolCall("a", id="4"),
        ToolResult("a", good, id="4"),
    )
    calls = [kind for kind in _types(trace) if kind != "observation"]
    assert calls == ["tool_call", "tool_call", "error_recovery", "tool_call"]


def test_a_blind_retry_is_no_recovery() -> None:
    """The same call with the same arguments, in any order, takes no reasoning, even after other failures."""
    trace = _trace(
        ToolCall("a", {"x": 1, "y": 2}),
        ToolResult("a", "no", is_error=True),
        ToolCall("a", {"x": 2}),
        ToolResult("a", "no", is_error=True),
        ToolCall("a", {"y": 2, "x": 1}),
        ToolResult("a", "fine"),
    )
    assert "error_recovery" not in _types(trace)


def test_a_text_before_a_call_is_a_thought() -> None:
    """The agent says why it calls the tool. A text after the result, and the reply, stay observations."""
    trace = _trace(
        Message("I look it up.", "agent"),
        ToolCall("a"),
        ToolResult("a", "fine"),
        Message("Found it.", "agent"),
    )
    assert _types(trace)[:4] == ["thought", "tool_call", "observation", "observation"]


def test_results_find_their_calls_by_id_and_else_by_name() -> None:
    """Of two calls in parallel the second failed, so that only its repetition is a recovery."""
    trace = _trace(
        ToolCall("a", {"n": 1}, id="1"),
        ToolCall("b", {"n": 2}, id="2"),
        ToolResult("b", "Error: no", id="2", is_error=True),
        ToolResult("a", "fine", id="1"),
        ToolCall("a", {"n": 3}),
        ToolResult("a", "fine"),
        ToolCall("b", {"n": 4}),
        ToolResult("b", "fine"),
    )
    assert [kind for kind in _types(trace) if kind != "observation"] == [
        "tool_call",
        "tool_call",
        "tool_call",
        "error_recovery",
    ]


def test_the_objective_is_what_the_user_said() -> None:
    """Over a whole conversation, one message a line; the result is the last reply."""
    turns = tuple(Invocation(Message(text), (), Message(text.upper())) for text in ("one", " ", "two"))
    reasoning = from_trace(Trace(turns), confidence=1, success=True)
    assert reasoning.task.objective == "one\ntwo"
    assert reasoning.outcome.result_summary == "TWO"


@pytest.mark.parametrize(
    ("said", "missing"),
    [({}, "confidence and success"), ({"confidence": 1.0}, "success"), ({"success": False}, "confidence")],
)
def test_confidence_and_success_are_never_invented(said: dict[str, Any], missing: str) -> None:
    """What is not said is asked for by name."""
    with pytest.raises(CaseError, match=f"does not state its {missing};"):
        from_trace(_trace(), **said)


@pytest.mark.parametrize(("user", "reply", "reason"), [("", "x", "no user message"), ("x", "", "no step")])
def test_what_has_no_objective_or_no_step_is_no_reasoning(user: str, reply: str, reason: str) -> None:
    """Both are required of a ReasoningTrace."""
    with pytest.raises(CaseError, match=reason):
        from_trace(_trace(user=user, reply=reply), confidence=1, success=True)


def test_what_is_derived_is_valid_and_private() -> None:
    """It passes the schema, and nobody else may see it until the user says so."""
    reasoning = from_trace(_trace(ToolCall("t")), confidence=1, success=False)
    assert knowledgepulse.build(knowledgepulse.document(reasoning)) == reasoning
    assert (reasoning.metadata.visibility, reasoning.metadata.privacy_level) == ("private", "private")


def test_the_id_is_the_sessions_or_made_from_the_content() -> None:
    """The same content without a session has the same id; other content another one."""
    assert from_trace(_trace(), confidence=1, success=True).id == "kp:trace:s"
    turn = Invocation(Message("x"), (), Message("y"))
    first, again, other = (
        from_trace(Trace((one,)), confidence=1, success=True).id
        for one in (turn, turn, Invocation(Message("x"), (), Message("z")))
    )
    assert first == again != other


@pytest.mark.parametrize(
    ("trace", "success"),
    [
        (Trace(reward=1.0), True),
        (Trace(reward=0.0, outcome="success"), False),
        (Trace(reward=0.5, outcome="failure"), False),
        (Trace(outcome="success"), True),
    ],
)
def test_success_is_the_reward_or_the_outcome_of_the_trace(trace: Trace, *, success: bool) -> None:
    """A reward of 1 or 0 counts first. Both count more than the argument `success`."""
    given = replace(trace, invocations=_trace().invocations)
    assert from_trace(given, confidence=1.0, success=not success).metadata.success is success


def test_the_seconds_of_a_step_are_its_latency() -> None:
    """The schema has milliseconds."""
    reasoning = from_trace(_trace(ToolCall("t", seconds=0.25)), confidence=1.0, success=True)
    assert [step.latency_ms for step in reasoning.steps] == [250.0, None]
