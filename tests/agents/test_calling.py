"""Functions that call tools through fairtrial get answers, and their calls are recorded."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

from fairtrial import EvalCase, Invocation, Message, Recording, ToolCall, ToolResult, Trace
from fairtrial.agents import find_agent
from fairtrial.agents.calling import declaration
from fairtrial.planned_case import Environments, PlannedCase
from fairtrial.recording import record
from fairtrial.testing import ScriptedEnvironment

Call = Callable[..., Any]


def held(function: Callable[..., Any], environments: Environments | None = None, **more: Any) -> Recording:
    """One conversation of one message."""
    work = PlannedCase(0, "case", EvalCase("case", (Invocation(Message("hi")),)), (), environments=environments)

    async def first() -> Recording:
        (found,) = [one async for _, one in record([work], find_agent(function), **more)]
        return found

    return asyncio.run(first())


def twice(number: int) -> int:
    """Double a number."""
    return 2 * number


async def slowly(number: int) -> int:
    """Double a number."""
    await asyncio.sleep(0)
    return 2 * number


def sync_agent(conversation: Trace, call: Call) -> Iterator[str]:  # noqa: ARG001
    """A sync generator."""
    yield "Let me see."
    yield f"It is {call(twice, number=2)}."


def plain_agent(conversation: Trace, *, call: Call) -> str:  # noqa: ARG001
    """A sync function."""
    return f"It is {call(twice, number=2)}."


async def async_agent(conversation: Trace, call: Callable[..., Awaitable[Any]]) -> AsyncIterator[str]:  # noqa: ARG001
    """An async generator, whose tool is sync."""
    yield "Let me see."
    yield f"It is {await call(twice, number=2)}."


async def plain_async_agent(conversation: Trace, call: Callable[..., Awaitable[Any]]) -> str:  # noqa: ARG001
    """An async function, whose tool is async."""
    return f"It is {await call(slowly, number=2)}."


@pytest.mark.parametrize(
    ("agent", "before", "tool"),
    [
        (sync_agent, (Message("Let me see."),), "twice"),
        (plain_agent, (), "twice"),
        (async_agent, (Message("Let me see."),), "twice"),
        (plain_async_agent, (), "slowly"),
    ],
)
def test_a_call_is_recorded_where_it_was_made(agent: Call, before: tuple[Message, ...], tool: str) -> None:
    """Call and result stand between what was said before and after, without the function yielding them."""
    (invocation,) = held(agent).trace.invocations
    steps = (ToolCall(tool, {"number": 2}, "call-1"), ToolResult(tool, 4, "call-1"))
    assert (invocation.steps, invocation.reply) == ((*before, *steps), "It is 4.")


@pytest.mark.parametrize("agent", [sync_agent, async_agent])
def test_an_environment_answers_the_call(agent: Call) -> None:
    """The function gets what the environment answers, and the trace says that it was injected."""
    (invocation,) = held(agent, ScriptedEnvironment({"twice": [{"error": "no"}]})).trace.invocations
    assert invocation.reply == "It is {'error': 'no'}."
    result = (invocation.steps or ())[-1]
    assert isinstance(result, ToolResult)
    assert [one.effect for one in result.injected] == ["response"]


@pytest.mark.parametrize("environments", [None, ScriptedEnvironment({})])
def test_what_a_tool_returns_keeps_its_type(environments: Environments | None) -> None:
    """Only the trace holds JSON; the function goes on with what its tool gave it."""
    found: list[Any] = []

    def agent(conversation: Trace, call: Call) -> str:  # noqa: ARG001
        found.append(call(complex, real=1, imag=2))
        return "done"

    assert held(agent, environments).failure is None
    assert found == [1 + 2j]


@pytest.mark.parametrize("environments", [None, ScriptedEnvironment({})])
def test_what_a_tool_raises_is_raised_and_recorded(environments: Environments | None) -> None:
    """The function may catch it; the result says what it was."""

    def broken() -> None:
        raise KeyError("A-17")

    def agent(conversation: Trace, call: Call) -> str:  # noqa: ARG001
        try:
            call(broken)
        except KeyError:
            return "I found nothing."
        return "?"

    async def async_one(conversation: Trace, call: Callable[..., Awaitable[Any]]) -> str:  # noqa: ARG001
        try:
            await call(broken)
        except KeyError:
            return "I found nothing."
        return "?"

    for one in (agent, async_one):
        (invocation,) = held(one, environments).trace.invocations
        assert invocation.reply == "I found nothing."
        assert (invocation.steps or ())[-1] == ToolResult(
            "broken", {"error": "KeyError: 'A-17'"}, "call-1", is_error=True
        )


def test_a_tool_runs_in_the_thread_of_its_agent() -> None:
    """A tool may hold what belongs to one thread: a database connection, say."""
    threads: list[int] = []

    def agent(conversation: Trace, call: Call) -> str:  # noqa: ARG001
        threads.append(threading.get_ident())
        call(lambda: threads.append(threading.get_ident()))
        return "done"

    assert held(agent, ScriptedEnvironment({})).failure is None
    assert len(set(threads)) == 1


def test_an_async_tool_of_a_sync_agent_is_an_error() -> None:
    """A coroutine that nobody awaits would be no answer."""
    recording = held(lambda conversation, call: str(call(slowly, number=2)))  # noqa: ARG005
    assert recording.failure is not None
    assert recording.failure.cause == "slowly is async: the agent that calls it must be async as well"


def test_a_call_out_of_what_a_sync_agent_returns_is_an_error() -> None:
    """Where an environment is to answer it, which it could not while it is waited for."""

    async def reply(call: Any) -> str:
        return str(call(twice, number=2))

    def wrapper(_trace: Trace, call: Any) -> Any:
        return reply(call)

    failure = held(wrapper, ScriptedEnvironment({})).failure
    assert failure is not None
    assert "must be async" in failure.cause


@pytest.mark.long
def test_a_call_under_way_is_kept_when_the_time_is_over() -> None:
    """What was called before the timeout stands in the trace."""

    async def forever() -> None:
        await asyncio.Event().wait()

    async def agent(conversation: Trace, call: Callable[..., Awaitable[Any]]) -> str:  # noqa: ARG001
        await call(forever)
        return "never"

    recording = held(agent, reply_timeout=2)
    assert recording.failure is not None
    assert recording.trace.invocations[0].steps == (ToolCall("forever", {}, "call-1"),)


def test_a_call_after_the_end_of_the_run_asks_nobody() -> None:
    """A thread that was left behind gets an error for its call, once the loop is gone."""
    go_on, over, caught = threading.Event(), threading.Event(), list[str]()

    def agent(conversation: Trace, call: Call) -> str:  # noqa: ARG001
        go_on.wait(60)
        try:
            call(twice, number=2)
        except RuntimeError as error:
            caught.append(str(error))
        over.set()
        return "late"

    assert held(agent, ScriptedEnvironment({}), reply_timeout=0.05).failure is not None
    go_on.set()
    assert over.wait(60)
    assert caught == ["Event loop is closed"]


def test_ids_go_on_from_message_to_message() -> None:
    """Two messages have no call of the same id."""
    case = EvalCase("case", (Invocation(Message("one")), Invocation(Message("two"))))

    async def whole() -> Recording:
        (found,) = [one async for _, one in record([PlannedCase(0, "case", case, ())], find_agent(plain_agent))]
        return found

    ids = [call.id for one in asyncio.run(whole()).trace.invocations for call in one.tool_calls]
    assert ids == ["call-1", "call-2"]


def order(order_id: str, count: int | None = None, *, tags: list[str], other: Any = None) -> None:
    """Order something."""


def test_a_function_declares_itself() -> None:
    """Name, documentation, the simple types of its parameters, and which must be there."""
    assert declaration(order) == {
        "name": "order",
        "description": "Order something.",
        "parameters_json_schema": {
            "type": "object",
            "properties": {
                "order_id": {"type": "string"},
                "count": {"type": "integer"},
                "tags": {"type": "array"},
                "other": {},
            },
            "required": ["order_id", "tags"],
        },
    }
