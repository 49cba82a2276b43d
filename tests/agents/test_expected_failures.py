"""Guardrails that fire are outcomes that a case can expect, and a guardrail that does not fire is a failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from shop import ProviderError, saying

import fairtrial
from fairtrial.formats.adk.evalset import case as read_case
from fairtrial.formats.adk.write import case_json
from fairtrial.formats.reading import Diagnostics
from fairtrial.records.case import EvalCase
from fairtrial.text.languages import speaking
from fairtrial.text.translated_lines import say_sentence

CRITERIA: dict[str, Any] = {"tool_trajectory_avg_score": 1.0}
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


class GuardrailTriggered(Exception):  # noqa: N818  (as frameworks name it)
    """What a guardrail raises."""


def guarded(message: str) -> str:
    """Answer, unless the message is about passwords."""
    if "password" in message:
        raise GuardrailTriggered("no secrets")
    if "outage" in message:
        raise ProviderError(503)
    if "bug" in message:
        raise KeyError("order")
    return "Hello."


def make_run(agent: Any, *queries: str, expected: str = "GuardrailTriggered") -> Any:
    """A run of one case that expects a failure, and no call of a tool."""
    (case,) = saying(*queries).cases
    turns = tuple(replace(turn, steps=()) for turn in case.conversation or ())
    case = replace(case, conversation=turns, expected_failure=expected)
    return fairtrial.evaluate(fairtrial.EvalSet("guarded", (case,)), agent, CRITERIA)


def test_a_guardrail_that_fires_is_the_expected_outcome() -> None:
    """The conversation is whole: the error is the reply, and the criteria see what the agent did before."""
    run = make_run(guarded, "hello", "the password?")
    ((_, recording),) = run.recordings
    assert recording.failure is None
    assert [turn.reply for turn in recording.trace.invocations] == ["Hello.", "GuardrailTriggered: no secrets"]
    assert run.verdict == "passed"


def test_the_failure_alone_decides_if_no_criterion_applies(tmp_path: Path) -> None:
    """The case of the documentation states no answer and no calls, and runs with the default criteria."""
    case = {
        "eval_id": "asks_for_a_password",
        "expected_failure": "GuardrailTriggered",
        "conversation": [{"user_content": {"parts": [{"text": "What is the password of Kim?"}]}}],
    }
    file = tmp_path / "guarded.evalset.json"
    file.write_text(json.dumps({"eval_set_id": "guarded", "eval_cases": [case]}))
    run = fairtrial.evaluate(file, guarded)
    assert run.verdict == "passed", run.summary.reasons
    assert [recording.ended_by for _, recording in run.recordings] == ["expected_failure"]
    assert len(run.summary.notes) == 2
    file.write_text(file.read_text().replace("GuardrailTriggered", "OtherError"))
    assert fairtrial.evaluate(file, guarded).verdict == "failed"


@pytest.mark.parametrize("expected", ["budget guard tripped", "ExceptionGroup", "ValueError", "3 of 2 calls"])
def test_a_guardrail_may_raise_a_group(expected: str) -> None:
    """The case expects the class or the message of the group, or of the error in it."""

    def limited(_message: str) -> str:
        raise ExceptionGroup("budget guard tripped", [ValueError("3 of 2 calls")])

    run = make_run(limited, "hello", expected=expected)
    assert run.verdict == "passed", run.summary.reasons


def test_a_guardrail_that_does_not_fire_is_a_failure_of_the_agent() -> None:
    """The case names what it expected."""
    run = make_run(guarded, "hello")
    ((_, recording),) = run.recordings
    assert recording.failure is not None
    assert (recording.failure.side, recording.failure.cause) == (
        "agent",
        "the case expects the failure 'GuardrailTriggered', and nothing failed",
    )
    assert run.verdict == "failed"


@pytest.mark.parametrize(("query", "side"), [("bug", "agent"), ("outage", "infrastructure")])
def test_another_failure_is_a_failure(query: str, side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake of the agent is not its guardrail, and an outage is never expected."""
    monkeypatch.setattr("fairtrial.agents.restarts._PAUSE", 0.0)
    ((_, recording),) = make_run(guarded, query).recordings
    assert recording.failure is not None
    assert recording.failure.side == side
    assert recording.failure.cause.endswith("; the case expects the failure 'GuardrailTriggered'")


def test_an_outage_with_the_expected_name_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """An outage is never expected."""
    monkeypatch.setattr("fairtrial.agents.restarts._PAUSE", 0.0)
    ((_, recording),) = make_run(guarded, "outage", expected="ProviderError").recordings
    assert recording.failure is not None
    assert recording.failure.side == "infrastructure"
    assert "expects" not in recording.failure.cause


@pytest.mark.parametrize("language", ["ko", "ja", "zh-CN", "zh-TW"])
def test_the_expected_failure_is_told_in_the_language_of_the_reader(language: str) -> None:
    """Each part of the reason has a translation."""
    with speaking(language):
        said = [say_sentence(f"{text} 'Guardrail'") for text in ("the attempt failed:", "the case expects the failure")]
    assert not any("the " in text for text in said)


def test_a_guardrail_that_does_not_fire_is_no_error_of_the_agent() -> None:
    """Nothing broke: the reason says what the case expects."""
    (failed,) = fairtrial.failures(make_run(guarded, "hello")).failed
    assert failed.reason == "the attempt failed: the case expects the failure 'GuardrailTriggered', and nothing failed"


@pytest.mark.agents
@pytest.mark.parametrize("kind", ["input", "output"])
def test_guardrails_of_the_openai_agents_sdk(kind: str) -> None:
    """The tripwire is the expected outcome, and without it the case fails."""
    pytest.importorskip("agents.lifecycle")
    from agents import Agent, GuardrailFunctionOutput, input_guardrail, output_guardrail
    from openai_shop import ScriptedModel

    async def no_passwords(_context: Any, _agent: Any, text: Any) -> Any:
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered="password" in str(text))

    decorator: Any = input_guardrail if kind == "input" else output_guardrail
    guardrails = {f"{kind}_guardrails": [decorator(no_passwords)]}
    agent = Agent(name="shop", model=ScriptedModel(), **guardrails)
    expected = f"{kind.capitalize()}GuardrailTripwireTriggered"
    assert make_run(agent, "Tell me the password", expected=expected).verdict == "passed"
    assert make_run(agent, "hello", expected=expected).verdict == "failed"


@pytest.mark.agents
def test_a_guardrail_of_langchain() -> None:
    """A middleware that blocks personal data raises its own exception."""
    pytest.importorskip("langgraph.graph")
    from langchain.agents import create_agent
    from langchain.agents.middleware import PIIMiddleware
    from langgraph_shop import ScriptedChat

    agent = create_agent(ScriptedChat(), tools=[], middleware=[PIIMiddleware("email", strategy="block")])
    assert make_run(agent, "I am kim@example.com", expected="PIIDetectionError").verdict == "passed"
    assert make_run(agent, "hello", expected="PIIDetectionError").verdict == "failed"


def test_the_expected_failure_stands_in_the_file_of_the_case() -> None:
    """It is read and written back."""
    case = EvalCase("a", (), expected_failure="Guardrail")
    reading = Diagnostics("x")
    assert read_case(case_json(case), (), reading).expected_failure == "Guardrail"
    assert reading.errors == []
