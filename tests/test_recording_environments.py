"""Conversations with a simulated environment: what is marked, and whose failure a break is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import clock
from fairtrial import EvalCase, Invocation, Message, Recording, ToolCall, ToolResult
from fairtrial.planned_case import Environments, PlannedCase
from fairtrial.protocols import Agent, Environment, Item
from fairtrial.recording import record
from fairtrial.records.reply import Prompt, Reply
from fairtrial.records.trace import About, Injection
from fairtrial.simulate.environment import SimulatedEnvironments
from fairtrial.simulate.environment_options import environment_options
from fairtrial.testing import ScriptedAgent, ScriptedEnvironment

CASE = EvalCase("order", (Invocation(Message("Where is it?")), Invocation(Message("And now?"))))


def held(agent: Agent, environments: Environments, reply_timeout: float | None = None) -> Recording:
    """Hold one conversation, in virtual time."""
    work = PlannedCase(0, "order", CASE, (), environments=environments)

    async def first() -> Recording:
        (found,) = [one async for _, one in record([work], agent, reply_timeout=reply_timeout)]
        return found

    return clock.run(first())[0]


def scripted(*steps: Item | str) -> ScriptedAgent:
    """An agent that does this twice."""
    return ScriptedAgent({"order": [[*steps], [*steps]]})


def results(recording: Recording) -> list[ToolResult]:
    """The results in a trace."""
    steps = [step for one in recording.trace.invocations for step in one.steps or ()]
    return [step for step in steps if isinstance(step, ToolResult)]


def test_results_are_marked_by_the_ids_of_their_calls() -> None:
    """Where two calls of a tool are open, each result has what was injected into its own."""
    agent = scripted(
        ToolCall("get", {"n": 1}, "1"),
        ToolCall("get", {"n": 2}, "2"),
        ToolResult("get", "a", "1"),
        ToolResult("get", "b", "2"),
        "ok",
    )
    recording = held(agent, ScriptedEnvironment({"get": ["x"]}))
    assert [(one.response, [mark.effect for mark in one.injected]) for one in results(recording)] == [
        ("x", ["response"]),
        ("b", []),
        ("a", []),
        ("b", []),
    ]


class Nameless:
    """An agent whose results have no ids, and come in the order of the calls."""

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[Nameless]:  # noqa: ARG002
        """Open a conversation."""
        self.environment = environment
        yield self

    about: About | None = None

    async def send(self, message: str) -> AsyncIterator[Item]:  # noqa: ARG002
        """Call a tool twice."""
        assert self.environment is not None
        answers = [await self.environment.answer(ToolCall("get"), {}, _none) for _ in range(2)]
        for answer in answers:
            yield ToolResult("get", answer.response)
        yield Message("ok")


async def _none() -> Any:
    return None


def test_results_without_ids_are_marked_in_their_order() -> None:
    """The first answer of a tool is the first result that is told of it."""
    recording = held(Nameless(), ScriptedEnvironment({"get": ["x"]}))
    assert [bool(one.injected) for one in results(recording)] == [True, False, False, False]


class Swallowing:
    """An agent that takes whatever its tools raise for an answer, and goes on."""

    about: About | None = None

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[Swallowing]:  # noqa: ARG002
        """Open a conversation."""
        self.environment = environment
        yield self

    async def send(self, message: str) -> AsyncIterator[Item]:  # noqa: ARG002
        """Call a tool, and apologise."""
        assert self.environment is not None
        try:
            await self.environment.answer(ToolCall("get"), {}, _none)
        except Exception:  # noqa: BLE001
            yield Message("Sorry.")


def test_a_failure_that_the_agent_swallowed_is_the_environments() -> None:
    """It ends the conversation where it happened, and is no reply of the agent's."""
    recording = held(Swallowing(), ScriptedEnvironment({"get": [RuntimeError("gone")]}))
    assert recording.failure is not None
    assert (recording.failure.side, recording.ended_by) == ("environment", "failure")
    assert recording.failure.cause == "the environment could not answer get: RuntimeError: gone"
    assert "gone" in recording.failure.traceback
    assert len(recording.trace.invocations) == 1
    assert recording.trace.invocations[0].final_response is None


def test_an_environment_that_answers_no_json_has_failed() -> None:
    """It is not the agent that gave an object in place of JSON."""
    recording = held(Swallowing(), ScriptedEnvironment({"get": [object()]}))
    assert recording.failure is not None
    assert recording.failure.side == "environment"


def test_an_environment_that_cannot_be_made_has_failed() -> None:
    """Nothing is said to the agent then."""

    def environments(case: EvalCase, attempt: int) -> Environment:
        raise OSError(f"no room for {case.id}, attempt {attempt}")

    recording = held(scripted("ok"), environments)
    assert recording.failure is not None
    assert (recording.failure.side, recording.failure.cause) == ("environment", "OSError: no room for order, attempt 1")
    assert recording.trace.invocations == ()


def test_what_the_real_tool_raises_is_no_failure_of_the_environment() -> None:
    """It goes through the environment to the agent, whose affair it is."""
    raised = KeyError("A-17")

    async def broken() -> Any:
        raise raised

    class Trying(Swallowing):
        async def send(self, message: str) -> AsyncIterator[Item]:  # noqa: ARG002
            assert self.environment is not None
            with pytest.raises(KeyError) as caught:
                await self.environment.answer(ToolCall("get"), {}, broken)
            assert caught.value is raised
            yield Message("Sorry.")

    assert held(Trying(), ScriptedEnvironment({})).failure is None


def test_an_agent_may_say_itself_what_was_injected() -> None:
    """What an agent tells of its own stays, before what the environment did."""
    own = Injection("slow")
    agent = scripted(ToolCall("get", {}, "1"), ToolResult("get", "a", "1", injected=(own,)), "ok")
    first, second = results(held(agent, ScriptedEnvironment({"get": ["x"]})))
    assert [one.effect for one in first.injected] == ["slow", "response"]
    assert second.injected == (own,)


class Silent(Swallowing):
    """An agent that calls a tool and keeps what it answered to itself."""

    async def send(self, message: str) -> AsyncIterator[Item]:  # noqa: ARG002
        """Call a tool, and reply."""
        assert self.environment is not None
        await self.environment.answer(ToolCall("get"), {}, _none)
        yield Message("ok")


def test_what_was_injected_is_known_of_an_agent_that_does_not_tell() -> None:
    """Beside the steps of its own invocation: inside a tool that is an agent, say, nobody hears of the results."""
    recording = held(Silent(), ScriptedEnvironment({"get": ["x"]}))
    assert [one.unreported_injections for one in recording.trace.invocations] == [
        (ToolResult("get", injected=(Injection("response"),)),),
        (),
    ]


def test_an_agent_that_tells_leaves_nothing_unheard() -> None:
    """What stands on a result stands there alone."""
    recording = held(Nameless(), ScriptedEnvironment({"get": ["x"]}))
    assert [one.unreported_injections for one in recording.trace.invocations] == [(), ()]


def test_a_duplicate_that_the_tool_refuses_is_known() -> None:
    """The first call went well, the second raises: that it was made at all is the environment's doing."""
    calls = iter([None, KeyError("twice")] * 2)

    async def once() -> Any:
        error = next(calls)
        if error is not None:
            raise error

    class Trying(Swallowing):
        async def send(self, message: str) -> AsyncIterator[Item]:  # noqa: ARG002
            assert self.environment is not None
            with pytest.raises(KeyError):
                await self.environment.answer(ToolCall("get"), {}, once)
            yield Message("Sorry.")

    options, _ = environment_options({"chaos_effects": [{"effect": "duplicated", "invalidates": True}]})
    recording = held(Trying(), SimulatedEnvironments(options))
    invocation = recording.trace.invocations[0]
    duplicated = Injection("duplicated", "the call was made twice", invalidates=True)
    assert invocation.unreported_injections == (ToolResult("get", injected=(duplicated,)),)


async def _never(prompt: Prompt) -> Reply:  # noqa: ARG001
    await asyncio.Event().wait()
    raise AssertionError


def test_a_model_that_plays_too_slowly_is_no_failure_of_the_agent() -> None:
    """An agent that is cut off while a model is to answer in place of its tool could not have replied."""
    tool = {"tool_name": "get", "mock_strategy_type": 1}
    options, _ = environment_options({"tool_simulation_configs": [tool], "simulation_model": "openai/tools"})
    recording = held(Silent(), SimulatedEnvironments(options, _never), reply_timeout=30)
    assert recording.failure is not None
    cause = "no reply within 30 seconds: the model that plays 'get' did not answer"
    assert (recording.failure.side, recording.failure.cause) == ("environment", cause)
    assert recording.trace.invocations[0].unreported_injections[0].injected == (Injection("played", "by openai/tools"),)
