"""Sessions with Python functions, which get the conversation so far and return a reply or yield steps."""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import copy
import functools
import inspect
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.agents.calling import Calls, Report, wants_calls
from fairtrial.agents.outages import uses_other_loop
from fairtrial.agents.signatures import check_parameters, wants_text
from fairtrial.errors import AgentError, spell
from fairtrial.records.trace import (
    About,
    Durations,
    Invocation,
    Message,
    Part,
    Step,
    Thought,
    ToolCall,
    ToolResult,
    Trace,
    Usage,
    split_reply,
)
from fairtrial.text.display import describe_error

if TYPE_CHECKING:
    from fairtrial.protocols import Environment, Item
    from fairtrial.records.case import EvalCase
    from fairtrial.records.record import Json

_ITEMS = (Message, Thought, ToolCall, ToolResult, Usage, Durations, About)
_END = object()
_OTHER_LOOP = (
    "the function uses a client in an event loop that the client does not belong to; make the client inside of the "
    "function, make the function async, or hold one conversation at a time"
)
_IDLE: list[asyncio.AbstractEventLoop] = []
"""Event loops that functions left open in their threads, the newest last."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_IDLE.clear)  # a forked process shares their sockets with its parent


@dataclass(frozen=True, slots=True)
class FunctionAgent:
    """An agent that is a function of the conversation so far, sync or async.

    The last invocation of the trace holds the user's new message. The function returns a reply (a string) or steps, or
    it yields them: strings, `Message`, `Thought`, `ToolCall`, `ToolResult`, `Usage` and
    `Durations`. The last message is the reply.
    An `About` describes the agents: their instructions and tools. If the function has a second parameter `call`, it
    calls its tools with `call`, for example `call(get_order, id="A-17")`, and the calls and results are recorded. A
    sync function runs in a thread of its own that cannot keep the process alive. A function that `wants_text` gets the
    text of the user's new message instead of the conversation. A function that cannot yield calls `hides_calls`. Any
    other that yields none has made none.
    """

    function: Callable[..., Any]
    hides_calls: bool = False

    def __post_init__(self) -> None:
        """Raise UsageError for a callable that cannot be called with a conversation."""
        check_parameters(self.function)

    @property
    def refuses_environment(self) -> str:
        """Why an environment cannot answer the calls of tools. The text is empty if an environment can."""
        if wants_calls(self.function):
            return ""
        return "the function calls its tools itself; give it a second parameter `call`, and call them with that"

    def refuses_parts(self, parts: Sequence[Part]) -> str:  # noqa: ARG002
        """Return why the function cannot take pictures and files. They are in the conversation, as `parts`."""
        return "the function takes only the text of the message" if wants_text(self.function) else ""

    @property
    def missing_calls(self) -> str:
        """A note if cases expect calls, and the function returned none."""
        return (
            "the function returned no calls, and cases expect calls; if it calls tools inside of an SDK, record them "
            f"with {spell('record')} spans"
        )

    @property
    def documentation(self) -> str:
        """The docstring of the function; empty if it has none."""
        return inspect.getdoc(self.function) or ""

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[FunctionSession]:
        """Open a conversation. `final_state` of the trace is a copy of the case's initial state, to read and change."""
        state = copy.deepcopy(case.session_input.state) if case.session_input else None
        session = FunctionSession(self.function, Trace(session_id=case.id, final_state=state), Calls(environment))
        session.hides_calls = self.hides_calls
        yield session


class FunctionSession:
    """One conversation with a function. The session keeps the conversation for the function."""

    def __init__(self, function: Callable[..., Any], trace: Trace, calls: Calls) -> None:
        self._function = function
        self._trace = trace
        self._calls = calls if wants_calls(function) else None
        self._wants_text = wants_text(function)
        self._latest: About | None = None
        self.hides_calls = False

    @property
    def about(self) -> About | None:
        """The latest description of the agents by the function, and the state in the trace as the function left it."""
        state = self._trace.final_state
        return self._latest if state is None else replace(self._latest or About(), final_state=state)

    def take_earlier_turns(self, invocations: Sequence[Invocation], final_state: dict[str, Json] | None) -> bool:
        """Go on behind the turns of an earlier session: the function gets the whole conversation anyway."""
        self._trace = replace(self._trace, invocations=tuple(invocations))
        if final_state is not None and self._trace.final_state is not None:
            self._trace = replace(self._trace, final_state=copy.deepcopy(final_state))
        return True

    async def send(self, message: str, parts: Sequence[Part] = ()) -> AsyncIterator[Item]:
        """Call the function with the conversation so far. Raises AgentError if the function returns no step."""
        earlier = self._trace.invocations
        user = Message(message, parts=tuple(parts))
        conversation = replace(self._trace, invocations=(*earlier, Invocation(user)))
        steps: list[Step] = []
        async with _with_hint(), aclosing(self._items(conversation)) as items:
            async for item in items:
                step = _item(item)
                if isinstance(step, About):
                    self._latest = step
                    continue
                if not isinstance(step, Usage | Durations):
                    steps.append(step)
                yield step
        steps_before, reply = split_reply(steps)
        invocation = Invocation(user, steps_before, reply)
        self._trace = replace(conversation, invocations=(*earlier, invocation))

    def _items(self, trace: Trace) -> AsyncGenerator[Any, None]:
        calls = self._calls
        function, argument = self._function, trace.invocations[-1].query if self._wants_text else trace
        if _is(function, inspect.isasyncgenfunction) or _is(function, inspect.iscoroutinefunction):

            def answer(report: Report) -> AsyncGenerator[Any, None]:
                return _async_items(function(argument, **(calls.for_async(report) if calls else {})))

            return in_task(answer)
        loop = asyncio.get_running_loop()

        def answer_in_thread(report: Report) -> Iterable[Any]:
            return _list_items(function(argument, **(calls.for_sync(report, loop) if calls else {})))

        items = in_thread(answer_in_thread)
        return _await_items(items)


@asynccontextmanager
async def _with_hint() -> AsyncIterator[None]:
    """Name the change of the function in an error: a conversation taken for text, or a client of another loop."""
    try:
        yield
    except RuntimeError as error:
        if uses_other_loop(error):
            error.args = (f"{error}; {_OTHER_LOOP}",)
        raise
    except (TypeError, AttributeError) as error:
        if "'Trace'" in str(error):
            error.args = (f"{error}; to get the user's text, annotate the parameter of the agent as `str`",)
        raise


def _is(function: Callable[..., Any], kind: Callable[[Any], bool]) -> bool:
    """Whether a function, or an object with `__call__`, is of a kind."""
    return kind(function) or kind(getattr(function, "__call__", None))  # noqa: B004


async def _await_items(items: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    """Yield the items of a sync function. An item may be async, for example if a decorator hides an async function."""
    async with aclosing(items):
        async for item in items:
            if not inspect.isawaitable(item) and not hasattr(item, "__aiter__"):
                yield item
                continue
            async with aclosing(_async_items(item)) as inner_items:
                async for inner_item in inner_items:
                    yield inner_item


async def _async_items(result: Any) -> AsyncGenerator[Any, None]:
    """Yield the items that an async function yields or returns."""
    if not hasattr(result, "__aiter__"):
        result = await result
    if hasattr(result, "__aiter__"):
        async for item in result:
            yield item
    else:
        for item in _list_items(result):
            yield item


def _list_items(result: Any) -> Iterable[Any]:
    """Return the result of a function as items: none, one or several."""
    if result is None:
        return ()
    return (result,) if isinstance(result, str | Mapping) or not isinstance(result, Iterable) else result


def _item(item: Any) -> Step | Usage | Durations | About:
    if isinstance(item, str):
        return Message(str.__str__(item))  # the text of a message of LangChain is of a class of its own
    if isinstance(item, _ITEMS):
        return item
    allowed = "a string, Message, Thought, ToolCall, ToolResult, Usage, Durations or About"
    raise AgentError(f"an agent must return or yield {allowed}, got {type(item).__name__}")


class _ItemQueue:
    """Carries the items of a function from its thread or task to the session."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[tuple[Any, BaseException | None]] = asyncio.Queue()

    def put(self, item: Any, error: BaseException | None = None) -> None:
        """Add an item from the loop, or the error that ended the function."""
        self._queue.put_nowait((item, error))

    def put_from_thread(self, item: Any, error: BaseException | None = None) -> None:
        """Add an item from a thread, or the error that ended the function."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.put, item, error)

    async def items(self) -> AsyncIterator[Any]:
        """Yield the items until the end. Raises the error that ended the function."""
        while True:
            item, error = await self._queue.get()
            if isinstance(error, GeneratorExit):
                raise AgentError(describe_error(error)) from error  # a bare GeneratorExit would end our own generator
            if error is not None:
                raise error
            if item is _END:
                return
            yield item


async def in_thread(function: Callable[[Report], Iterable[Any]]) -> AsyncGenerator[Any, None]:
    """Yield the items that a sync function reports and returns.

    The function has a daemon thread for itself, so that a hung function cannot keep the process alive.
    """
    queue = _ItemQueue()

    def run() -> None:
        end = functools.partial(queue.put_from_thread, _END)
        loop = _enter_loop()
        try:
            for item in function(queue.put_from_thread):
                queue.put_from_thread(item)
        except BaseException as error:  # noqa: BLE001  (raised again in the session)
            end = functools.partial(queue.put_from_thread, _END, error)
        _leave_loop(loop)  # before the session hears of the end, and sends the next message
        end()

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), daemon=True, name="fairtrial-agent").start()
    async for item in queue.items():
        yield item


def _enter_loop() -> asyncio.AbstractEventLoop | None:
    """Give this thread the event loop that an earlier function left open, if there is one.

    The connections of a client belong to an event loop, for example below `Runner.run_sync` of the OpenAI Agents SDK. A
    client that lives longer than a message therefore finds its loop again, and a thread-local value is new.
    """
    try:
        loop = _IDLE.pop()  # sessions in several threads may ask at once
    except IndexError:
        return None
    asyncio.set_event_loop(loop)
    return loop


def _leave_loop(entered: asyncio.AbstractEventLoop | None) -> None:
    """Keep the event loops of this thread that are open."""
    try:
        current = asyncio.get_event_loop()
    except RuntimeError:  # no function made one
        current = None
    asyncio.set_event_loop(None)
    _IDLE.extend(loop for loop in dict.fromkeys((entered, current)) if loop and not loop.is_closed())


@atexit.register
def _close_loops() -> None:
    while _IDLE:
        _IDLE.pop().close()


async def result_in_thread(function: Callable[[], Any]) -> Any:
    """Return what a sync function returns. If it hangs, it cannot keep the process alive."""
    async with aclosing(in_thread(lambda _: [function()])) as answers:
        return await anext(answers)


async def in_task(function: Callable[[Report], AsyncIterator[Any]]) -> AsyncGenerator[Any, None]:
    """Yield the items that an async function reports and yields. The function is cancelled if the session closes."""
    queue = _ItemQueue()

    async def run() -> None:
        try:
            async for item in function(queue.put):
                queue.put(item)
            queue.put(_END)
        except BaseException as error:  # noqa: BLE001  (raised again in the session)
            queue.put(_END, error)

    running = asyncio.create_task(run())
    try:
        async for item in queue.items():
            yield item
    finally:
        running.cancel()
        await asyncio.wait([running])
