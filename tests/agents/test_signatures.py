"""Callables that can be agents are accepted, and all others are refused before anything runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

import fairtrial
from builders import turn
from fairtrial.records.case import EvalCase, EvalSet

CASES = EvalSet("shop", (EvalCase("first", (turn(query="hello", reply="HELLO"),)),))
CRITERIA = {"response_match_score": 1.0}


def answer_text(message: str) -> str:
    """Wants the text of the user."""
    return message.upper()


async def answer_text_later(message: str, *, call: Any = None) -> str:
    """Wants the text of the user, and could call tools."""
    return message.upper() if call is not None else ""


def answer_conversation(trace: fairtrial.Trace) -> str:
    """Wants the conversation."""
    return trace.invocations[-1].query.upper()


def answer_message(message):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Wants the text of the user, as the name of its parameter says."""
    return message.upper()


class Shouting:
    """An object that can be called."""

    def __call__(self, message: str) -> str:
        """Answer."""
        return message.upper()


@asynccontextmanager
async def opened(_case: EvalCase, _environment: object) -> AsyncIterator[Any]:
    """Opens a session, whatever its parameters are called."""
    yield _Session()


class _Session:
    about = None

    async def send(self, message: str) -> AsyncIterator[fairtrial.Message]:
        yield fairtrial.Message(message.upper())


@pytest.mark.parametrize(
    "agent",
    [answer_text, answer_text_later, answer_conversation, answer_message, Shouting(), opened, lambda *_: "HELLO"],
)
def test_an_agent_gets_what_it_wants(agent: Callable[..., Any]) -> None:
    """The user's text if its parameter is annotated so or is named so, otherwise the conversation."""
    assert fairtrial.evaluate(CASES, agent, CRITERIA).verdict == "passed"


def two(message: str, history: list[str]) -> str:
    """Wants something that nobody has."""
    return message + str(history)


def nothing() -> str:
    """Wants nothing."""
    return ""


@pytest.mark.parametrize(
    ("agent", "problem"),
    [
        (two, r"got two\(message: 'str', history: 'list\[str\]'\)"),
        (nothing, r"got nothing\(\)"),
        (Shouting, r"Shouting is a class; give an instance that can be called, for example Shouting\(\)"),
        (lambda *, trace: trace, r"got <lambda>\(\*, trace\)"),
    ],
)
def test_a_callable_that_cannot_work_is_refused(agent: Callable[..., Any], problem: str) -> None:
    """Every case would end with the same error."""
    with pytest.raises(fairtrial.UsageError, match=problem):
        fairtrial.evaluate(CASES, agent, CRITERIA)


def fails(trace: fairtrial.Trace) -> str:
    """Raises in the user's code."""
    return str(trace.invocations[7])


def test_a_traceback_starts_at_the_users_frame() -> None:
    """The frames that lead there are not the user's."""
    run = fairtrial.evaluate(CASES, fails, CRITERIA)
    failure = run.cases[0].failure
    assert failure is not None
    first = failure.traceback.splitlines()[1]
    assert __file__ in first
