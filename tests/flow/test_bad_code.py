"""Failures of an agent or of a user's metric stay in their own case."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, cast

import pytest

import fairtrial
from fairtrial import CaseResult, Criterion, EvalCase, EvalSet, Invocation, Message, Score, ToolCall, Trace, Verdict

CASES = EvalSet(
    "two", tuple(EvalCase(name, (Invocation(Message(name), (), Message("ok")),)) for name in ("bad", "fine"))
)
SURROGATE = "half \ud83d of a pair"


class Unspeakable(Exception):  # noqa: N818  (it is no error of ours)
    """An exception that cannot be turned into text."""

    def __str__(self) -> str:
        raise RuntimeError("not now")


class Outside(BaseException):
    """An exception that is no Exception, as some test frameworks raise."""


def raising(error: BaseException) -> Callable[[], str]:
    """A reply that is an exception."""

    def reply() -> str:
        raise error

    return reply


def yielding(*steps: Any) -> Callable[[], list[Any]]:
    """A reply that is a list of steps."""
    return lambda: list(steps)


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "half a surrogate pair": (yielding(SURROGATE), "a Message must be JSON: UnicodeEncodeError"),
    "an object as argument": (
        yielding(ToolCall("t", {"x": object()})),
        "a ToolCall must be JSON: TypeError",
    ),
    "null for arguments": (yielding(ToolCall("t", cast("Any", None))), "Expected `object`, got `null` - at `$.args`"),
    "a number for a name": (yielding(ToolCall(cast("Any", 7))), "Expected `str`, got `int` - at `$.name`"),
    "a number as step": (yielding(7), "an agent must return or yield a string, Message"),
    "an error with half a pair": (raising(ValueError(SURROGATE)), "ValueError: half ? of a pair"),
    "an error without text": (raising(Unspeakable()), "Unspeakable: <its message cannot be read>"),
    "sys.exit()": (raising(SystemExit(0)), "SystemExit: 0"),
    "an exception from outside": (raising(Outside("gone")), "Outside: gone"),
    "a cancellation of its own": (raising(asyncio.CancelledError()), "CancelledError"),
    "a timeout of its own": (raising(TimeoutError("upstream")), "TimeoutError: upstream"),
    "the end of an iteration": (raising(StopIteration()), "StopIteration"),
}


def results(agent: Callable[..., Any]) -> tuple[CaseResult, CaseResult]:
    """The results of an agent on a case where it misbehaves and one where it does not."""
    run = fairtrial.evaluate(CASES, agent, {"response_match_score": 0.8})
    bad, fine = run.cases
    assert len(list(run.recordings)) == 2
    return bad, fine


def check(bad: CaseResult, fine: CaseResult, cause: str) -> None:
    """The bad case is an error of the agent with its cause, the other one passed."""
    assert fine.verdict is Verdict.PASSED
    assert bad.verdict is Verdict.ERROR
    assert bad.failure
    assert bad.failure.side == "agent"
    assert cause in bad.failure.cause


def is_bad(conversation: Trace) -> bool:
    """Whether this is the case in which the agent misbehaves."""
    return conversation.invocations[-1].query == "bad"


@pytest.mark.parametrize(("reply", "cause"), BAD.values(), ids=BAD.keys())
def test_sync_agents(reply: Callable[[], Any], cause: str) -> None:
    """What a function does wrong is an error of its case."""
    check(*results(lambda conversation: reply() if is_bad(conversation) else "ok"), cause)


@pytest.mark.parametrize(("reply", "cause"), BAD.values(), ids=BAD.keys())
def test_async_agents(reply: Callable[[], Any], cause: str) -> None:
    """What a coroutine does wrong is an error of its case."""

    async def agent(conversation: Trace) -> Any:
        await asyncio.sleep(0)
        return reply() if is_bad(conversation) else "ok"

    check(*results(agent), cause)


@pytest.mark.parametrize(("reply", "cause"), BAD.values(), ids=BAD.keys())
def test_agents_that_yield(reply: Callable[[], Any], cause: str) -> None:
    """What an async generator does wrong is an error of its case; what it did before is kept."""

    async def agent(conversation: Trace) -> AsyncIterator[Any]:
        yield ToolCall("first")
        given = reply() if is_bad(conversation) else "ok"
        for step in [given] if isinstance(given, str) else given:
            yield step

    run = fairtrial.evaluate(CASES, agent, {"response_match_score": 0.8})
    bad, fine = run.cases
    check(bad, fine, cause)
    (_, recording), _ = run.recordings
    assert recording.trace.invocations[0].tool_calls == (ToolCall("first"),)


def test_what_an_agent_gives_is_scored_as_it_is_kept() -> None:
    """A tuple among the arguments is the JSON array that it becomes in the store."""

    def agent(conversation: Trace) -> Iterator[Any]:
        del conversation
        yield ToolCall("t", {"x": (1, 2)})
        yield "ok"

    expected = Invocation(Message("hi"), (ToolCall("t", {"x": [1, 2]}),), Message("ok"))
    run = fairtrial.evaluate(EvalSet("one", (EvalCase("a", (expected,)),)), agent, {"tool_trajectory_avg_score": 1})
    assert run.verdict is Verdict.PASSED


def test_a_second_parameter_with_a_default_is_no_seam() -> None:
    """A function of the conversation may have options of its own."""

    def agent(conversation: Trace, style: str = "plain") -> str:
        return "ok" if style == "plain" else conversation.session_id

    assert fairtrial.evaluate(CASES, agent, {"response_match_score": 0.8}).verdict is Verdict.PASSED


METRICS: dict[str, tuple[Callable[[], Any], str]] = {
    "an exception": (raising(ValueError("no")), "the metric failed: ValueError: no"),
    "an error without text": (raising(Unspeakable()), "Unspeakable: <its message cannot be read>"),
    "sys.exit()": (raising(SystemExit(0)), "SystemExit: 0"),
    "nothing": (lambda: None, "must return a Score, a number or a bool, got NoneType"),
    "not a number": (lambda: math.nan, "must return a finite number"),
    "outside its range": (lambda: 1.5, "must be from 0 to 1, got 1.5"),
    "null for a reason": (lambda: Score(0.5, cast("Any", None)), "Expected `str`, got `null` - at `$.reason`"),
    "half a surrogate pair": (lambda: Score(0.5, SURROGATE), "surrogates not allowed"),
}


@pytest.mark.parametrize(("give", "reason"), METRICS.values(), ids=METRICS.keys())
def test_metrics(give: Callable[[], Any], reason: str) -> None:
    """What a metric does wrong leaves its own outcome unscored with the reason; the other case has its number."""

    def metric(trace: Trace, case: EvalCase) -> Any:
        del trace
        return give() if case.id == "bad" else 1.0

    run = fairtrial.evaluate(CASES, lambda _: "ok", [Criterion("mine", metric, 0.5)])
    bad, fine = run.cases
    assert (bad.verdict, fine.verdict) == (Verdict.UNSCORED, Verdict.PASSED)
    assert bad.outcomes[0].score.value is None
    assert reason in bad.outcomes[0].score.reason
