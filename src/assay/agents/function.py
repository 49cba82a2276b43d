"""How is a Python function talked to? It receives the conversation so far, and returns a reply or yields steps."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from assay.data.case import EvalCase
from assay.data.seams import Environment
from assay.data.trace import About, Invocation, Message, Step, Thought, ToolCall, ToolResult, Trace, Usage, split_reply
from assay.errors import AgentError

Item = Step | Usage
Told = Item | About
_ITEMS = (Message, Thought, ToolCall, ToolResult, Usage, About)
_END = object()


@dataclass(frozen=True, slots=True)
class FunctionAgent:
    """An agent that is a function of the conversation so far, sync or async.

    The last invocation of the trace holds the user's new message. The function returns a reply (a string) or steps, or
    yields them: strings and `Message`s, `Thought`s, `ToolCall`s, `ToolResult`s, and `Usage`s. The last message is the
    reply. An `About` tells of its agents: instructions and tools. A sync function runs in a thread of its own that
    cannot keep the process alive.
    """

    function: Callable[[Trace], Any]

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[FunctionSession]:  # noqa: ARG002
        """Open a conversation; the trace's `final_state` is a copy of the case's initial state, to read and change."""
        state = copy.deepcopy(case.session_input.state) if case.session_input else None
        yield FunctionSession(self.function, Trace(session_id=case.id, final_state=state))


class FunctionSession:
    """One conversation with a function; it remembers what was said."""

    def __init__(self, function: Callable[[Trace], Any], trace: Trace) -> None:
        self._function = function
        self._trace = trace
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
        async for item in self._items(asked):
            step = _item(item)
            if isinstance(step, About):
                self._told = step
                continue
            if not isinstance(step, Usage):
                steps.append(step)
            yield step
        inner, reply = split_reply(steps)
        self._trace = replace(asked, invocations=(*before, Invocation(Message(message), inner, reply)))

    async def _items(self, trace: Trace) -> AsyncIterator[Any]:
        function = self._function
        if inspect.isasyncgenfunction(function) or inspect.isasyncgenfunction(getattr(function, "__call__", None)):  # noqa: B004
            async for item in function(trace):
                yield item
        elif inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
            result = await function(trace)
            if hasattr(result, "__aiter__"):
                async for item in result:
                    yield item
            else:
                for item in _listed(result):
                    yield item
        else:
            async for item in in_thread(lambda: _listed(function(trace))):
                yield item


def _listed(result: Any) -> Iterable[Any]:
    """What a function returned, as the things it did: nothing, one thing, or several."""
    if result is None:
        return ()
    return (result,) if isinstance(result, str | Mapping) or not isinstance(result, Iterable) else result


def _item(item: Any) -> Told:
    if isinstance(item, str):
        return Message(item)
    if isinstance(item, _ITEMS):
        return item
    allowed = "a string, Message, Thought, ToolCall, ToolResult, Usage or About"
    raise AgentError(f"an agent must return or yield {allowed}, got {type(item).__name__}")


async def in_thread(function: Callable[[], Iterable[Any]]) -> AsyncIterator[Any]:
    """Yield what a sync function gives, run in a daemon thread: a hung one can be left behind."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[tuple[Any, BaseException | None]] = asyncio.Queue()

    def put(item: Any, error: BaseException | None = None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(queue.put_nowait, (item, error))

    def run() -> None:
        try:
            for item in function():
                put(item)
            put(_END)
        except BaseException as error:  # noqa: BLE001  (it is raised again, on the side that asked)
            put(_END, error)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), daemon=True, name="assay-agent").start()
    while True:
        item, error = await queue.get()
        if error is not None:
            raise error
        if item is _END:
            return
        yield item
