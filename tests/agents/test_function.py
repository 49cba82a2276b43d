"""Is every kind of Python function an agent?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from assay.agents import agent_of
from assay.data.trace import Message, ToolCall, Trace
from assay.errors import UsageError
from builders import case, turn


def plain(_trace: Trace) -> str:
    """Return a reply."""
    return "hello"


def listed(_trace: Trace) -> list[Any]:
    """Return steps."""
    return [ToolCall("f"), "hello"]


def yields(_trace: Trace) -> Iterator[Any]:
    """Yield steps."""
    yield ToolCall("f")
    yield "hello"


async def asynchronous(_trace: Trace) -> str:
    """Return a reply later."""
    await asyncio.sleep(0)
    return "hello"


async def yields_async(_trace: Trace) -> AsyncIterator[Any]:
    """Yield steps later."""
    yield ToolCall("f")
    yield "hello"


async def returns_a_stream(_trace: Trace) -> AsyncIterator[Any]:
    """Return steps that come later."""
    return yields_async(_trace)


class Sync:
    def __call__(self, _trace: Trace) -> str:
        return "hello"


class Async:
    async def __call__(self, _trace: Trace) -> str:
        return "hello"


class AsyncYields:
    async def __call__(self, _trace: Trace) -> AsyncIterator[Any]:
        yield ToolCall("f")
        yield "hello"


def steps(function: Callable[..., Any]) -> list[Any]:
    """What an agent does in answer to one message."""

    async def run() -> list[Any]:
        async with agent_of(function)(case(turn()), None) as session:
            return [item async for item in session.send("hi")]

    return asyncio.run(run())


@pytest.mark.parametrize("function", [plain, asynchronous, Sync(), Async(), lambda _trace: Message("hello")])
def test_a_reply(function: Callable[..., Any]) -> None:
    """Functions and objects, sync and async, return a reply."""
    assert steps(function) == [Message("hello")]


@pytest.mark.parametrize("function", [listed, yields, yields_async, returns_a_stream, AsyncYields()])
def test_steps(function: Callable[..., Any]) -> None:
    """Functions return or yield steps, sync and async."""
    assert steps(function) == [ToolCall("f"), Message("hello")]


def test_a_target_is_a_module_and_a_function() -> None:
    """As on the command line; anything else is refused before anything runs."""
    assert agent_of(f"{__name__}:plain") == agent_of(plain)
    with pytest.raises(UsageError, match="--agent: must be 'module:function', got 'nowhere'"):
        agent_of("nowhere")


@pytest.mark.parametrize(
    ("target", "problem"),
    [("no_such_module_here:f", "cannot import"), ("asyncio:slep", "did you mean 'sleep'"), ("asyncio:", "import path")],
)
def test_a_target_that_means_no_agent_is_a_usage_error(target: str, problem: str) -> None:
    """Before anything runs."""
    with pytest.raises(UsageError, match=problem):
        agent_of(target)


def test_what_cannot_be_called_is_no_agent() -> None:
    """Before anything runs."""
    with pytest.raises(UsageError, match="must be a function or 'module:function', got int"):
        agent_of(5)
