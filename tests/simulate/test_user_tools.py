"""Simulated users use the tools that an environment offers, and the recording keeps the state."""

from __future__ import annotations

from typing import Any

import pytest

import fairtrial
from fairtrial import EvalCase, EvalSet, Scenario, ToolCall, ToolResult
from fairtrial.protocols import Real
from fairtrial.records.attempt import Recording
from fairtrial.records.record import Json
from fairtrial.simulate.user import MOST_CALLS, SimulatedUsers
from fairtrial.simulate.user_options import UserOptions
from fairtrial.testing import ScriptedModel

EVAL_SET = EvalSet("phones", (EvalCase("dark", scenario=Scenario("Hello", "Your phone is off. Switch it on.")),))


class Phone:
    """An environment in which the user can switch a phone on."""

    def __init__(self) -> None:
        self.is_on = False

    @property
    def user_tools(self) -> list[dict[str, Json]]:
        """The switch."""
        return [{"name": "press_power", "description": "Press the power key."}]

    async def answer(self, call: ToolCall, declared: dict[str, Json], real: Real) -> ToolResult:  # noqa: ARG002
        """Let the tools of the agent answer."""
        return ToolResult(call.name, await real(), call.id)

    def answer_user(self, call: ToolCall) -> Json:
        """Switch the phone on or off."""
        self.is_on = not self.is_on
        return f"{call.name}: on is {self.is_on}"

    def report_state(self) -> dict[str, Json]:
        """Whether the phone is on."""
        return {"is_on": self.is_on}


def held(*replies: str, **options: Any) -> tuple[Recording, ScriptedModel]:
    """The recording of one conversation whose user says this, and the model of the user."""
    model = ScriptedModel(list(replies))
    run = fairtrial.evaluate(
        EVAL_SET,
        lambda conversation, call: "Is it on?",  # noqa: ARG005
        {"response_match_score": 0.0},
        users=SimulatedUsers(model, UserOptions(**options)),
        environment=lambda _case, _attempt: Phone(),
    )
    return next(run.recordings)[1], model


def test_a_call_comes_before_the_message() -> None:
    """The environment answers, the next prompts show the answer, and the agent gets only the message."""
    recording, model = held('CALL {"name": "press_power", "args": {}}', "It is on now.", "</finished>")
    assert [invocation.user.text for invocation in recording.trace.invocations] == ["Hello", "It is on now."]
    assert recording.trace.final_state == {"is_on": True}
    declared, after, later = model.prompts
    assert '"name": "press_power"' in declared.system
    answer = 'your tool press_power with {} answered "press_power: on is True"'
    assert answer not in declared.text
    assert answer in after.text
    assert later.text.index(answer) < later.text.index("user: It is on now.")
    assert len({prompt.draw for prompt in model.prompts}) == len(model.prompts)


def test_custom_instructions_do_not_speak_of_tools() -> None:
    """A text of the user's own stays as it is, and a call is a message."""
    text = "{{ stop_signal }} {{ conversation_plan }} {{ conversation_history }}"
    recording, _ = held("CALL {}", "</finished>", custom_instructions=text)
    assert recording.trace.invocations[1].user.text == "CALL {}"


@pytest.mark.parametrize(
    ("replies", "cause"),
    [
        (["CALL press_power"], "made a call that cannot be read: press_power"),
        (['CALL {"name": "press_power", "args": 1}'], "made a call that cannot be read"),
        (['CALL {"name": "press_power"}'] * (MOST_CALLS + 1), f"called {MOST_CALLS} tools without a message"),
    ],
)
def test_a_call_that_cannot_be_made_is_the_simulators_failure(replies: list[str], cause: str) -> None:
    """The attempt says nothing about the agent."""
    recording, _ = held(*replies)
    assert recording.failure is not None
    assert (recording.failure.side, cause in recording.failure.cause) == ("simulator", True)


def test_a_state_that_cannot_be_told_is_the_environments_failure() -> None:
    """The exception is the cause."""

    class Broken(Phone):
        def report_state(self) -> dict[str, Json]:
            raise KeyError("lost")

    run = fairtrial.evaluate(
        EVAL_SET,
        lambda conversation, call: "Hi",  # noqa: ARG005
        {"response_match_score": 0.0},
        users=SimulatedUsers(ScriptedModel(["</finished>"])),
        environment=lambda _case, _attempt: Broken(),
    )
    failure = next(run.recordings)[1].failure
    assert failure is not None
    assert (failure.side, "could not report its state: KeyError" in failure.cause) == ("environment", True)
