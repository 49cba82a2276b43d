"""A run says that a function returned no calls if cases expect some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import fairtrial
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Invocation, Message, ToolCall

CALL = ToolCall("get_order", {"order_id": "A-17"})


def answer(message: str) -> str:
    """Return only a text."""
    return f"You said: {message}"


def answer_with_call(_: str) -> list[ToolCall | str]:
    """Return a call and a text."""
    return [CALL, "It is here."]


@pytest.mark.parametrize(
    ("agent", "expected", "is_noted"),
    [(answer, (CALL,), True), (answer, (), False), (answer_with_call, (CALL,), False)],
    ids=["no calls", "none expected", "calls"],
)
def test_a_run_says_that_a_function_returned_no_calls(
    agent: Callable[[str], Any], expected: tuple[ToolCall, ...], *, is_noted: bool
) -> None:
    """The note tells how calls inside of an SDK are recorded."""
    case = EvalCase("order", (Invocation(Message("Where is A-17?"), expected),))
    run = fairtrial.evaluate(EvalSet("shop", (case,)), agent, {"tool_trajectory_avg_score": 1.0})
    assert any("returned no calls" in note and "spans" in note for note in run.summary.notes) == is_noted
