"""Every conversation ends in a recording, whatever an agent does."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from builders import case, turn, work
from fairtrial.agents.function import FunctionAgent
from fairtrial.api import evaluate
from fairtrial.protocols import Environment, Session
from fairtrial.recording import record
from fairtrial.recording.error_descriptions import shorten_traceback
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase, EvalSet, SessionInput
from fairtrial.records.trace import Message, Thought, ToolCall, ToolResult, Trace, Usage

TWO = case(turn(query="hi"), turn(query="bye"))


def held(function: Callable[[Trace], Any], expected: EvalCase = TWO, **more: Any) -> Recording:
    """The recording of one conversation with a function."""
    (found,) = held_all(function, [expected], **more)
    return found


def held_all(function: Callable[[Trace], Any], cases: list[EvalCase], **more: Any) -> list[Recording]:
    """The recordings of conversations with a function, in the order of completion."""

    async def run() -> list[Recording]:
        works = [work(expected=one, position=i) for i, one in enumerate(cases)]
        return [recording async for _, recording in record(works, FunctionAgent(function), **more)]

    return asyncio.run(run())


def echo(trace: Trace) -> str:
    """An agent that says what it heard."""
    return trace.invocations[-1].query


def test_a_conversation_is_held_by_its_script() -> None:
    """Every message of the script is said, and the replies are kept."""
    found = held(echo)
    assert [(one.query, one.reply) for one in found.trace.invocations] == [("hi", "hi"), ("bye", "bye")]
    assert (found.failure, found.ended_by, found.attempt) == (None, "script", 1)


def test_an_invocation_knows_how_long_it_took() -> None:
    """Seconds are recorded, nothing else is made up."""
    first, _ = held(echo).trace.invocations
    assert first.durations is not None
    assert (first.durations.total or 0) >= 0
    assert first.usages is None


def test_steps_are_kept_in_order() -> None:
    """Thoughts, calls, results and tokens; the last message is the reply."""

    def agent(_trace: Trace) -> Iterator[Any]:
        yield Thought("hm")
        yield ToolCall("f", {"x": (1, 2)})
        yield ToolResult("f", 1)
        yield Usage(5, 3)
        yield "hello"

    first, _ = held(agent).trace.invocations
    assert first.steps == (Thought("hm"), ToolCall("f", {"x": [1, 2]}), ToolResult("f", 1))
    assert first.usages == (Usage(5, 3),)
    assert first.reply == "hello"


def test_the_agent_hears_the_conversation_so_far_and_the_state() -> None:
    """The last invocation holds the new message, those before it their replies."""
    heard: list[list[str]] = []
    states: list[Any] = []

    def agent(trace: Trace) -> str:
        heard.append([f"{one.query}/{one.reply}" for one in trace.invocations])
        states.append(trace.final_state)
        return "ok"

    held(agent, EvalCase("c", TWO.conversation, session_input=SessionInput(state={"cart": 1})))
    assert heard == [["hi/"], ["hi/ok", "bye/"]]
    assert states == [{"cart": 1}] * 2


def raising(error: BaseException) -> Callable[[Trace], Any]:
    """An agent that raises in its second reply, after a step."""

    def agent(trace: Trace) -> Iterator[Any]:
        if len(trace.invocations) == 2:
            yield ToolCall("f")
            raise error
        yield "hello"

    return agent


def raising_async(error: BaseException) -> Callable[[Trace], Any]:
    """The same, async."""

    async def agent(trace: Trace) -> AsyncIterator[Any]:
        if len(trace.invocations) == 2:
            yield ToolCall("f")
            raise error
        yield "hello"

    return agent


class Foreign(BaseException):
    pass


class SilentError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


ERRORS = [
    (ValueError("no"), "ValueError: no"),
    (SystemExit(3), "SystemExit: 3"),
    (asyncio.CancelledError(), "CancelledError"),
    (GeneratorExit(), "GeneratorExit"),
    (TimeoutError("mine"), "TimeoutError: mine"),
    (Foreign("x"), "Foreign: x"),
    (SilentError(), "SilentError: <its message cannot be read>"),
    (ValueError("\ud800"), "ValueError: ?"),
    (ValueError("x" * 10_000), f"ValueError: {'x' * 1987}…"),
]


def without_place(cause: str) -> str:
    """The cause of a failure without the line of the user's code, which must be there: a line of this file."""
    text, bracket, place = cause.rpartition(" (")
    assert bracket
    assert re.fullmatch(r".*test_recording\.py, line \d+\)", place)
    return text


@pytest.mark.parametrize("kind", [raising, raising_async])
@pytest.mark.parametrize(("error", "cause"), ERRORS, ids=[cause[:20] for _, cause in ERRORS])
def test_whatever_an_agent_raises_is_its_own_failure(
    kind: Callable[[BaseException], Any], error: BaseException, cause: str
) -> None:
    """What came before the break is kept: the finished invocation, and the steps of the broken one."""
    found = held(kind(error), reply_timeout=60)
    assert found.failure is not None
    text = cause if isinstance(error, GeneratorExit) else without_place(found.failure.cause)
    assert (found.failure.side, text, found.ended_by) == ("agent", cause, "failure")
    assert type(error).__name__ in found.failure.traceback
    first, second = found.trace.invocations
    assert first.reply == "hello"
    assert (second.query, second.steps, second.final_response) == ("bye", (ToolCall("f"),), None)


def test_one_crash_is_one_error() -> None:
    """The other conversations are held."""

    def agent(trace: Trace) -> str:
        if trace.session_id == "b":
            raise ValueError("no")
        return "ok"

    cases = [case(turn(), name=name) for name in "abc"]
    failures = {one.case_id: one.failure and without_place(one.failure.cause) for one in held_all(agent, cases)}
    assert failures == {"a": None, "b": "ValueError: no", "c": None}


def test_an_interruption_is_not_the_agents(caplog: pytest.LogCaptureFixture) -> None:
    """Ctrl-C ends the run, and asyncio writes no traceback of the interrupted task."""

    async def agent(_trace: Trace) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        held(agent)
    gc.collect()
    assert not caplog.records


def test_a_hanging_sync_agent_is_given_up() -> None:
    """What it did so far is kept; its thread cannot keep the process."""
    never = threading.Event()

    def agent(_trace: Trace) -> Iterator[Any]:
        yield ToolCall("f")
        never.wait()

    found = held(agent, reply_timeout=0.02)
    never.set()
    assert found.failure is not None
    assert (found.failure.side, found.failure.cause) == ("agent", "no reply within 0.02 seconds")
    assert [one.steps for one in found.trace.invocations] in [[(ToolCall("f"),)], [()]]


def test_a_hanging_async_agent_is_given_up() -> None:
    """Its task is cancelled, and the other conversations go on."""
    cancelled: list[str] = []

    async def agent(trace: Trace) -> str:
        if trace.session_id == "a":
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append("a")
                raise
        return "ok"

    found = held_all(agent, [case(turn(), name="a"), case(turn(), name="b")], reply_timeout=0.5)
    assert {one.case_id: one.ended_by for one in found} == {"a": "failure", "b": "script"}
    assert cancelled == ["a"]


def test_an_agent_that_cannot_be_stopped_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its conversation ends with what came so far, the others are held, and the run ends."""
    monkeypatch.setattr("fairtrial.recording.held_conversation._GRACE", 0.02)
    monkeypatch.setattr("fairtrial.system.event_loop._GRACE", 0.02)
    released = asyncio.Event()

    async def agent(trace: Trace) -> AsyncIterator[Any]:
        if trace.session_id == "a":
            yield ToolCall("f")
            while not released.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(0.2)
        yield "ok"

    cases = (case(turn(), name="a"), case(turn(), name="b"))
    run = evaluate(EvalSet("s", cases), agent, {"tool_call_count_v1": 3}, reply_timeout=0.5)
    first, second = (one for _, one in run.recordings)
    assert first.failure is not None
    assert first.failure.cause == "no reply within 0.5 seconds"
    assert [one.steps for one in first.trace.invocations] == [(ToolCall("f"),)]
    assert (second.ended_by, second.trace.invocations[0].reply) == ("script", "ok")


def test_a_session_that_does_not_open_is_given_up() -> None:
    """Whoever is not even there within the time for a reply has not replied."""

    @asynccontextmanager
    async def agent(_case: EvalCase, _environment: Environment | None) -> AsyncIterator[Session]:
        never: Any = await asyncio.Event().wait()
        yield never

    run = evaluate(EvalSet("s", (TWO,)), agent, {"tool_call_count_v1": 3}, reply_timeout=0.02)
    ((_, found),) = run.recordings
    assert found.failure is not None
    assert (found.failure.cause, found.trace.invocations) == ("no reply within 0.02 seconds", ())


def test_a_task_group_around_a_session_hides_no_cause() -> None:
    """Python puts every error inside it into a group. The cause is the error, as without a task group."""

    async def hang(_trace: Trace) -> str:
        await asyncio.Event().wait()
        return ""

    @asynccontextmanager
    async def agent(expected: EvalCase, environment: Environment | None) -> AsyncIterator[Session]:
        async with asyncio.TaskGroup(), FunctionAgent(hang)(expected, environment) as session:
            yield session

    run = evaluate(EvalSet("s", (TWO,)), agent, {"tool_call_count_v1": 3}, reply_timeout=0.02)
    ((_, found),) = run.recordings
    assert found.failure is not None
    assert (found.failure.side, found.failure.cause) == ("agent", "no reply within 0.02 seconds")


def test_each_error_of_a_group_is_named() -> None:
    """An agent with several tasks may fail in several of them."""

    async def agent(_trace: Trace) -> str:
        raise ExceptionGroup("tasks", [KeyError("a"), ExceptionGroup("more", [ValueError("b")])])

    found = held(agent)
    assert found.failure is not None
    assert without_place(found.failure.cause) == (
        "ExceptionGroup: tasks (2 sub-exceptions): KeyError: 'a'; ExceptionGroup: more (1 sub-exception): ValueError: b"
    )


@pytest.mark.parametrize(("levels", "width"), [(20, 1), (2000, 1), (8, 3), (12, 3)])
def test_an_error_below_many_groups_is_described_in_short(levels: int, width: int) -> None:
    """Each of several concurrent tasks may have tasks of its own."""
    error: Exception = ValueError("no seat")
    for _ in range(levels):
        error = ExceptionGroup("tasks", [error] * width)

    async def agent(_trace: Trace) -> str:
        raise ExceptionGroup("both", [error, KeyError("a")])

    found = held(agent)
    assert found.failure is not None
    assert found.failure.cause.startswith("ExceptionGroup: both (2 sub-exceptions): ExceptionGroup: tasks (")
    assert ("ValueError: no seat" in found.failure.cause) is (levels < 40)


def test_a_cause_that_holds_one_error_very_often_is_shortened() -> None:
    """A group is written as often as others hold it: 2 to the power of 15 times here, in the cause of an error."""
    group: Exception = ValueError("no seat")
    for _ in range(15):
        group = ExceptionGroup("tasks", [group, group])
    error = KeyError("booking")
    error.__cause__ = group
    assert shorten_traceback(error) == "KeyError: 'booking'"


def test_a_group_of_thousands_of_errors_is_shown_without_them() -> None:
    """Python would write each of them down for seconds. The line of the agent stays."""

    def nest(levels: int) -> Exception:
        return ExceptionGroup("tasks", [nest(levels - 1) for _ in range(3)]) if levels else ValueError("no seat")

    async def agent(_trace: Trace) -> str:
        raise ExceptionGroup("both", [nest(7), KeyError("a")])

    found = held(agent)
    assert found.failure is not None
    assert "in agent" in found.failure.traceback
    assert found.failure.traceback.count("no seat") < 100


def test_an_agent_that_returns_nothing_has_said_nothing() -> None:
    """It is no failure: an invocation without a reply."""
    found = held(lambda _trace: None)
    assert found.failure is None
    assert [(one.steps, one.final_response) for one in found.trace.invocations] == [((), None), ((), None)]


def test_an_agent_that_ends_with_a_tool_has_not_replied() -> None:
    """What was said before a tool is no reply."""
    found = held(lambda _trace: [Message("wait"), ToolCall("f")])
    assert found.trace.invocations[0].final_response is None


@pytest.mark.parametrize(
    ("junk", "cause"),
    [
        (5, "an agent must return or yield a string, Message"),
        (b"bytes", "an agent must return or yield a string, Message"),
        ({"reply": "hi"}, "an agent must return or yield a string, Message"),
        ([["hi"]], "an agent must return or yield a string, Message"),
        (ToolCall("f", {"x": object()}), "a ToolCall must be JSON"),
        (ToolCall("f", {"x": {(1, 2): 3}}), "a ToolCall must be JSON"),
        (ToolCall(5), "a ToolCall must be JSON"),  # type: ignore[arg-type]
        ("\ud800", "a Message must be JSON"),
        (Usage("many"), "a Usage must be JSON"),  # type: ignore[arg-type]
    ],
)
def test_junk_is_the_agents_failure(junk: Any, cause: str) -> None:
    """What is no step, or could not be stored, is said to be none."""
    found = held(lambda _trace: junk)
    assert found.failure is not None
    assert found.failure.cause.startswith(cause)


@pytest.mark.long
def test_a_reply_of_ten_megabytes_is_kept() -> None:
    """Nothing is cut."""
    found = held(lambda _trace: "가" * 3_500_000)
    assert len(found.trace.invocations[0].reply) == 3_500_000


@pytest.mark.parametrize("limit", [1, 3])
def test_conversations_are_held_at_once_but_not_too_many(limit: int) -> None:
    """As many agents wait for each other as there may be."""
    barrier, running, most = threading.Barrier(limit), 0, 0
    lock = threading.Lock()

    def agent(_trace: Trace) -> str:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        barrier.wait(60)
        with lock:
            running -= 1
        return "ok"

    held_all(agent, [case(turn(), name=str(i)) for i in range(6)], concurrency=limit)
    assert most == limit


def test_attempts_are_numbered_and_those_held_are_left_out() -> None:
    """Three attempts at two cases, of which two stand already."""
    found = held_all(echo, [case(turn(), name="a"), case(turn(), name="b")], attempts=3, skip={(0, 1), (1, 3)})
    assert sorted((one.case_id, one.attempt) for one in found) == [("a", 2), ("a", 3), ("b", 1), ("b", 2)]


def test_an_empty_script_is_held() -> None:
    """There is nothing to say, and nothing goes wrong."""
    assert held(echo, case()).trace.invocations == ()
