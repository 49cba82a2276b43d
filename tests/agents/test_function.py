"""Every kind of Python function is an agent."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import case, turn
from commands import enter
from fairtrial import Case, evaluate
from fairtrial.agents import find_agent
from fairtrial.errors import UsageError
from fairtrial.records.trace import Message, ToolCall, Trace

EXACT = {"exact_match": 1.0}


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
        async with find_agent(function)(case(turn()), None) as session:
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


@pytest.mark.parametrize("inner", [asynchronous, yields_async, returns_a_stream])
def test_a_decorated_async_function_is_awaited(inner: Callable[[Trace], Any]) -> None:
    """A sync wrapper that returns what an async function gives is as good as that."""

    def wrapper(trace: Trace) -> Any:
        return inner(trace)

    assert steps(wrapper) == steps(inner)


def test_a_target_is_a_module_and_a_function() -> None:
    """As on the command line; anything else is refused before anything runs."""
    assert find_agent(f"{__name__}:plain") == find_agent(plain)
    with pytest.raises(UsageError, match="agent: must be 'module:function', got 'nowhere'"):
        find_agent("nowhere")


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("no_such_module_here:f", "cannot import"),
        ("asyncio:slep", "did you mean 'sleep'"),
        ("asyncio:", "import path"),
        ("./asyncio.py:sleep", "asyncio.py: no such file"),
        ("asyncio.tsks:f", r"did you mean 'asyncio\.tasks'"),
        ("adkk:folder", "did you mean 'adk'"),
    ],
)
def test_a_target_that_means_no_agent_is_a_usage_error(target: str, problem: str) -> None:
    """Before anything runs."""
    with pytest.raises(UsageError, match=problem):
        find_agent(target)


def test_a_module_that_is_not_there_is_offered_its_neighbour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt module of the current folder is met with the nearest one."""
    enter(tmp_path, monkeypatch)
    (tmp_path / "my_little_shop.py").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match=r"cannot import 'my_litle_shop'.*did you mean 'my_little_shop'"):
        find_agent("my_litle_shop:reply")


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("undefined", "NameError: name 'undefined' is not defined"),
        ("import json\njson.loads('{')", "JSONDecodeError: Expecting property name"),
        ("raise SystemExit('no key')", "SystemExit: no key"),
        ("raise BaseException('own')", "BaseException: own"),
    ],
)
def test_a_module_that_breaks_says_its_own_line(
    code: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a module raises while it is imported is said, before anything runs, with the user's line."""
    enter(tmp_path, monkeypatch)
    name = f"broken_{abs(hash(code))}"
    Path(f"{name}.py").write_text(code, encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        find_agent(f"{name}:reply")
    assert f"cannot import '{name}': {problem}" in str(refused.value)
    assert str(refused.value).endswith(f"({name}.py, line {len(code.splitlines())})")


def test_what_cannot_be_called_is_no_agent() -> None:
    """Before anything runs."""
    with pytest.raises(UsageError, match="must be a function or 'module:function', got int"):
        find_agent(5)


def test_a_function_that_takes_the_conversation_for_text_is_told_how_to_get_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The most usual first mistake: a parameter without an annotation gets the conversation."""
    enter(tmp_path, monkeypatch)
    Path("plain_bot.py").write_text("def reply(ask):\n    return ask.strip()\n", encoding="utf-8")
    run = evaluate([Case("Hi", expected="Hello")], "plain_bot:reply")
    [result] = run.cases
    assert result.failure is not None
    assert "annotate the parameter of the agent as `str`" in result.failure.cause


def test_a_value_of_a_thread_is_new_for_each_message() -> None:
    """An agent that keeps its history in the thread sees none of other conversations."""
    own = threading.local()

    def count(text: str) -> str:
        own.heard = [*getattr(own, "heard", []), text]
        return str(len(own.heard))

    run = evaluate([Case(f"Hi {number}", expected="1") for number in range(6)], count, EXACT)
    assert run.summary.verdict == "passed"


def test_an_event_loop_that_a_function_leaves_open_is_there_for_the_next_message() -> None:
    """As below `Runner.run_sync` of the OpenAI Agents SDK, whose client belongs to the first loop."""
    loops = []

    def reply(text: str) -> str:
        try:
            loop = asyncio.get_event_loop()
        except RuntimeError:
            loop = asyncio.new_event_loop()
            asyncio.set_event_loop(loop)
        loops.append(loop)
        return loop.run_until_complete(asyncio.sleep(0, text))

    run = evaluate([Case(text, expected=text) for text in ("one", "two", "three")], reply, EXACT, concurrency=1)
    assert run.summary.verdict == "passed"
    assert len(loops) == 3
    assert len(set(loops)) == 1


_FORKING = """
import os
from fairtrial import Case, evaluate

def count():
    cases = [Case("Hi", expected="hello")]
    return evaluate(cases, lambda text: "hello", {"response_match_score": 1.0}).summary.verdict

first = count()
child = os.fork()
if child == 0:
    os._exit(0 if count() == first else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_has_threads_of_its_own(tmp_path: Path) -> None:
    """The thread that waits after the first evaluation is in the first process only."""
    done = subprocess.run(
        [sys.executable, "-c", _FORKING], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["0"], done.stderr
