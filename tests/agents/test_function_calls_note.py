"""A run says that a function returned no calls if cases expect some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import fairtrial
from fairtrial.agents.function import FunctionAgent
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Invocation, Message, ToolCall
from fairtrial.text.languages import speaking
from fairtrial.text.translated_lines import say_sentence

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


def test_a_function_in_a_process_of_its_own_gets_the_note() -> None:
    """The agent in this process knows the note."""
    case = EvalCase("order", (Invocation(Message("Where is A-17?"), (CALL,)),))
    holding = fairtrial.Holding("process")
    run = fairtrial.evaluate(EvalSet("shop", (case,)), answer, {"tool_trajectory_avg_score": 1.0}, holding=holding)
    assert run.cases[0].failure is None
    assert any("returned no calls" in note for note in run.summary.notes)


def test_the_note_for_spans_is_not_given_to_a_run_with_spans() -> None:
    """The run has what the note asks for."""
    pytest.importorskip("opentelemetry.sdk")
    case = EvalCase("order", (Invocation(Message("Where is A-17?"), (CALL,)),))
    criteria: dict[str, Any] = {"tool_trajectory_avg_score": 1.0}
    for holding in (fairtrial.Holding(), fairtrial.Holding("process")):
        run = fairtrial.evaluate(EvalSet("shop", (case,)), answer, criteria, record="spans", holding=holding)
        assert run.summary.notes == ()


@pytest.mark.parametrize("language", ["ko", "ja", "zh-CN", "zh-TW"])
def test_the_note_is_told_in_the_language_of_the_reader(language: str) -> None:
    """The option stays as it is."""
    note = FunctionAgent(answer).missing_calls
    with speaking(language):
        said = say_sentence(note)
    assert said != note
    assert "record" in said
