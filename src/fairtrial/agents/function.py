"""How is a Python function talked to? It receives the conversation so far, and returns a reply or yields steps."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import inspect
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from fairtrial.agents.calling import Calls, Tell, wants_calls
from fairtrial.errors import AgentError
from fairtrial.protocols import Environment, Item
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import (
    About,
    Invocation,
    Message,
    Step,
    Thought,
    ToolCall,
    ToolResult,
    Trace,
    Usage,
    split_reply,
)
from fairtrial.text.display import described

_ITEMS = (Message, Thought, ToolCall, ToolResult, Usage, About)
_END = object()


@dataclass(frozen=True, slots=True)
class FunctionAgent:
    """An agent that is a function of the conversation so far, sync or async.

    The last invocation of the trace holds the user's new message. The function returns a reply (a string) or steps, or
    yields them: strings and `Message`s, `Thought`s, `ToolCall`s, `ToolResult`s, and `Usage`s. The last message is the
    reply. An `About` tells of its agents: instructions and tools. A function with a second parameter `call` calls its
    tools with it; the calls and their results are recorded. A sync function runs in a thread of its own that cannot
    keep the process alive.
    """

    function: Callable[..., Any]

    @property
    def refuses_environment(self) -> str:
        """Why no environment can stand before the tools; empty where one can."""
        if wants_calls(self.function):
            return ""
        return "the function calls its tools itself; give it a second parameter `call`, and call them with that"

    @property
    def documentation(self) -> str:
        """The docstring of the function; empty if it has none."""
        return inspect.getdoc(self.function) or ""

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[FunctionSession]:
        """Open a conversation; the trace's `final_state` is a copy of the case's initial state, to read and change."""
        state = copy.deepcopy(case.session_input.state) if case.session_input else None
        yield FunctionSession(self.function, Trace(session_id=case.id, final_state=state), Calls(environment))


class FunctionSession:
    """One conversation with a function; it remembers what was said."""

    def __init__(self, function: Callable[..., Any], trace: Trace, calls: Calls) -> None:
        self._function = function
        self._trace = trace
        self._calls = calls if wants_calls(function) else None
        self._told: About | None = None

    @property
    def about(self) -> About | None:
        """What the function told last of its agents, and the state that it found in the trace, as it left it."""
        state = self._trace.final_state
        return self._told if state is None else replace(self._told or About(), final_state=state)

    async def send(self, message: str) -> AsyncIterator[Item]:
        """Call the function with the conversation so far; raise AgentError for what is no step."""
        before = self._trace.invocations
        asked = replace(self._trace, invocations=(*before, Invocation(Message(message))))
        steps: list[Step] = []
        async with aclosing(self._items(asked)) as items:
            async for item in items:
                step = _item(item)
                if isinstance(step, About):
                    self._told = step
                    continue
                if not isinstance(step, Usage):
                    steps.append(step)
                yield step
        inner, reply = split_reply(steps)
        self._trace = replace(asked, invocations=(*before, Invocation(Message(message), inner, reply)))

    def _items(self, trace: Trace) -> AsyncGenerator[Any, None]:
        function, calls = self._function, self._calls
        if _is(function, inspect.isasyncgenfunction) or _is(function, inspect.iscoroutinefunction):
            return in_task(lambda tell: _gone_through(function(trace, **(calls.for_async(tell) if calls else {}))))
        loop = asyncio.get_running_loop()
        made = in_thread(lambda tell: _listed(function(trace, **(calls.for_sync(tell, loop) if calls else {}))))
        return _awaited(made)


def _is(function: Callable[..., Any], kind: Callable[[Any], bool]) -> bool:
    """Whether a function, or an object that is called like one, is of a kind."""
    return kind(function) or kind(getattr(function, "__call__", None))  # noqa: B004


async def _awaited(items: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    """What a sync function does; what it returns may be async, as with a decorator around an async function."""
    async with aclosing(items):
        async for item in items:
            if not inspect.isawaitable(item) and not hasattr(item, "__aiter__"):
                yield item
                continue
            async with aclosing(_gone_through(item)) as more:
                async for one in more:
                    yield one


async def _gone_through(result: Any) -> AsyncGenerator[Any, None]:
    """What an async function yields, or what it returns."""
    if not hasattr(result, "__aiter__"):
        result = await result
    if hasattr(result, "__aiter__"):
        async for item in result:
            yield item
    else:
        for item in _listed(result):
            yield item


def _listed(result: Any) -> Iterable[Any]:
    """What a function returned, as the things it did: nothing, one thing, or several."""
    if result is None:
        return ()
    return (result,) if isinstance(result, str | Mapping) or not isinstance(result, Iterable) else result


def _item(item: Any) -> Step | Usage | About:
    if isinstance(item, str):
        return Message(item)
    if isinstance(item, _ITEMS):
        return item
    allowed = "a string, Message, Thought, ToolCall, ToolResult, Usage or About"
    raise AgentError(f"an agent must return or yield {allowed}, got {type(item).__name__}")


class _Told:
    """What a function does, from wherever it runs, for the session to yield."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[tuple[Any, BaseException | None]] = asyncio.Queue()

    def put(self, item: Any, error: BaseException | None = None) -> None:
        """Take in something that happened in the loop."""
        self._queue.put_nowait((item, error))

    def put_from_thread(self, item: Any, error: BaseException | None = None) -> None:
        """Take in something that happened in a thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.put, item, error)

    async def items(self) -> AsyncIterator[Any]:
        """Yield what happens until the end; raise the error that it ended with."""
        while True:
            item, error = await self._queue.get()
            if isinstance(error, GeneratorExit):
                raise AgentError(described(error)) from error  # as itself it would say that nobody listens any more
            if error is not None:
                raise error
            if item is _END:
                return
            yield item


async def in_thread(function: Callable[[Tell], Iterable[Any]]) -> AsyncGenerator[Any, None]:
    """Yield what a sync function tells and gives, run in a daemon thread: a hung one can be left behind."""
    told = _Told()

    def run() -> None:
        try:
            for item in function(told.put_from_thread):
                told.put_from_thread(item)
            told.put_from_thread(_END)
        except BaseException as error:  # noqa: BLE001  (it is raised again, on the side that asked)
            told.put_from_thread(_END, error)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), daemon=True, name="fairtrial-agent").start()
    async for item in told.items():
        yield item


async def in_task(function: Callable[[Tell], AsyncIterator[Any]]) -> AsyncGenerator[Any, None]:
    """Yield what an async function tells and gives, as it happens; it ends where nobody listens any more."""
    told = _Told()

    async def run() -> None:
        try:
            async for item in function(told.put):
                told.put(item)
            told.put(_END)
        except BaseException as error:  # noqa: BLE001  (it is raised again, on the side that asked)
            told.put(_END, error)

    running = asyncio.create_task(run())
    try:
        async for item in told.items():
            yield item
    finally:
        running.cancel()
        await asyncio.wait([running])
