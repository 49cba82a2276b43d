"""Conversations with a simulated user: what ends them, and whose failure a break is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from fairtrial import EvalCase, Recording
from fairtrial.planned_case import PlannedCase, Users
from fairtrial.protocols import Environment, Session
from fairtrial.recording import record
from fairtrial.records.case import Scenario
from fairtrial.testing import ScriptedAgent, ScriptedUsers, UserLine

CASE = EvalCase("order", scenario=Scenario("Hello", "Ask where order A-17 is."))


def held(
    lines: Sequence[UserLine], replies: int = 9, *, cap: int | None = None, users: bool = True, in_group: bool = False
) -> Recording:
    """Hold one conversation with a user who says these lines, in a task group if `in_group`."""
    scripted = ScriptedAgent({"order": [[f"reply {i}"] for i in range(1, replies + 1)]})

    @asynccontextmanager
    async def grouped(expected: EvalCase, environment: Environment | None) -> AsyncIterator[Session]:
        async with asyncio.TaskGroup(), scripted(expected, environment) as session:
            yield session

    agent = grouped if in_group else scripted
    playing: Users | None = ScriptedUsers({"order": lines}) if users else None

    work = PlannedCase(0, "order", CASE, (), users=playing, cap=cap)

    async def first() -> Recording:
        async for _, recording in record([work], agent):
            return recording
        raise AssertionError("nothing was recorded")

    return asyncio.run(first())


def test_a_user_who_stops_ends_the_conversation() -> None:
    """The conversation ends where the user has no more to say."""
    recording = held(["Hello", "Where is A-17?"])
    assert recording.ended_by == "stop"
    assert [one.query for one in recording.trace.invocations] == ["Hello", "Where is A-17?"]


@pytest.mark.parametrize(("cap", "invocations"), [(0, 0), (1, 1), (2, 2)])
def test_the_cap_ends_the_conversation(cap: int, invocations: int) -> None:
    """A user may say as much as the cap, and the recording says that it was the cap."""
    recording = held(["a", "b", "c"], cap=cap)
    assert (recording.ended_by, len(recording.trace.invocations)) == ("cap", invocations)


@pytest.mark.parametrize("in_group", [False, True])
def test_a_broken_user_is_a_failure_of_the_simulator(in_group: bool) -> None:
    """What was said before the simulated user broke is kept, and the agent is not to blame."""
    recording = held(["Hello", RuntimeError("the model is gone")], in_group=in_group)
    assert recording.failure is not None
    assert (recording.failure.side, recording.failure.cause) == ("simulator", "RuntimeError: the model is gone")
    assert [one.reply for one in recording.trace.invocations] == ["reply 1"]


def test_a_broken_agent_is_a_failure_of_the_agent() -> None:
    """An agent that breaks in a simulated conversation is to blame itself."""
    recording = held(["Hello", "and?"], replies=1)
    assert recording.failure is not None
    assert recording.failure.side == "agent"
    assert [one.reply for one in recording.trace.invocations] == ["reply 1", ""]


def test_a_scenario_that_nobody_plays_is_a_failure_of_the_simulator() -> None:
    """Without users a scenario cannot be held."""
    recording = held([], users=False)
    assert recording.failure is not None
    assert recording.failure.side == "simulator"
