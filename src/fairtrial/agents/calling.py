"""How does a function call its tools, so that they are recorded, and an environment can stand before them?"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import queue
import types
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, get_args, get_origin

from fairtrial.agents.plain import plain
from fairtrial.agents.routing import routed
from fairtrial.errors import AgentError
from fairtrial.protocols import Environment
from fairtrial.records.record import Json
from fairtrial.records.trace import Step, ToolCall, ToolResult
from fairtrial.text.display import described

Tell = Callable[[Step], None]
Tool = Callable[..., Any]
_PARAMETER = "call"
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


def wants_calls(function: Callable[..., Any]) -> bool:
    """Whether a function has a parameter `call` beside the conversation."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    named = parameters.get(_PARAMETER)
    return named is not None and named.kind in _NAMED and next(iter(parameters)) != _PARAMETER


class Calls:
    """Records the calls of one conversation; the ids of calls go on from message to message."""

    def __init__(self, environment: Environment | None) -> None:
        self.environment = environment
        self._numbers: Iterator[int] = itertools.count(1)

    def begin(self, tool: Tool, args: dict[str, Any]) -> ToolCall:
        """Return the call of a tool."""
        name = getattr(tool, "__name__", None) or type(tool).__name__
        return ToolCall(name, plain(args), f"call-{next(self._numbers)}")

    def for_async(self, tell: Tell) -> dict[str, Any]:
        """Return the argument with which an async function calls its tools."""

        async def call(tool: Tool, /, **args: Any) -> Any:
            """Call a tool, sync or async, and return its answer."""
            made = self.begin(tool, args)

            async def real() -> Any:
                value = tool(**args)
                return await value if inspect.isawaitable(value) else value

            with _telling(tell, made):
                value = await self._asked(tool, made, real)
            tell(ToolResult(made.name, plain(value), made.id))
            return value

        return {_PARAMETER: call}

    def for_sync(self, tell: Tell, loop: asyncio.AbstractEventLoop) -> dict[str, Any]:
        """Return the argument with which a sync function calls its tools, from any thread but the loop's."""

        def call(tool: Tool, /, **args: Any) -> Any:
            """Call a tool, which runs in the thread that calls it, and return its answer."""
            made = self.begin(tool, args)
            here = _Here(tool, args, loop)
            with _telling(tell, made):
                value = here.run() if self.environment is None else here.wait(self._asked, tool, made)
            tell(ToolResult(made.name, plain(value), made.id))
            return value

        return {_PARAMETER: call}

    async def _asked(self, tool: Tool, made: ToolCall, real: Callable[[], Awaitable[Any]]) -> Any:
        if self.environment is None:
            return await real()
        return (await routed(self.environment, made, declaration(tool), real)).value


@contextmanager
def _telling(tell: Tell, made: ToolCall) -> Iterator[None]:
    """Tell of a call before it is made, and of its failure."""
    tell(made)
    try:
        yield
    except Exception as error:
        tell(_failed(made, error))
        raise


class _Here:
    """One call of a tool, run in the thread that waits for its answer: a tool may belong to its thread."""

    def __init__(self, tool: Tool, args: dict[str, Any], loop: asyncio.AbstractEventLoop) -> None:
        self._tool = tool
        self._args = args
        self._loop = loop
        self._wanted: queue.SimpleQueue[asyncio.Future[tuple[Any, Exception | None]] | None] = queue.SimpleQueue()

    def run(self) -> Any:
        """Run the tool."""
        value = self._tool(**self._args)
        if inspect.iscoroutine(value):
            value.close()
            raise AgentError(f"{self._tool.__name__} is async: the agent that calls it must be async as well")
        return value

    async def real(self) -> Any:
        """Have the tool run in the waiting thread."""
        done: asyncio.Future[tuple[Any, Exception | None]] = self._loop.create_future()
        self._wanted.put(done)
        value, error = await done
        if error is not None:
            raise error
        return value

    def wait(self, ask: Callable[..., Coroutine[Any, Any, Any]], tool: Tool, made: ToolCall) -> Any:
        """Return what the loop answers when it is asked, and run the tool as often as it wants that."""
        if _running() is self._loop:
            raise AgentError("a function that returns something async, and calls its tools with `call`, must be async")
        answering: list[asyncio.Task[Any]] = []

        def start() -> None:  # in the loop: what is asked of one that is closing is never begun
            answering.append(self._loop.create_task(ask(tool, made, self.real)))
            answering[0].add_done_callback(lambda _: self._wanted.put(None))

        self._loop.call_soon_threadsafe(start)
        while (done := self._wanted.get()) is not None:
            outcome: tuple[Any, Exception | None]
            try:
                outcome = (self.run(), None)
            except Exception as error:  # noqa: BLE001  (raised again, in the coroutine that wanted it)
                outcome = (None, error)
            self._loop.call_soon_threadsafe(_resolve, done, outcome)
        return answering[0].result()


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _resolve(done: asyncio.Future[Any], outcome: Any) -> None:
    if not done.done():
        done.set_result(outcome)


def _failed(made: ToolCall, error: Exception) -> ToolResult:
    return ToolResult(made.name, {"error": described(error)}, made.id, is_error=True)


def declaration(tool: Tool) -> dict[str, Json]:
    """Return a function as a tool's declaration: its name, its documentation and its parameters by their types."""
    name = getattr(tool, "__name__", None) or type(tool).__name__
    try:
        parameters = inspect.signature(tool, eval_str=True).parameters.values()
    except (TypeError, ValueError, NameError):
        return {"name": name, "description": inspect.getdoc(tool) or ""}
    schema = {
        "type": "object",
        "properties": {one.name: _schema(one.annotation) for one in parameters},
        "required": [one.name for one in parameters if one.default is one.empty],
    }
    return {"name": name, "description": inspect.getdoc(tool) or "", "parameters_json_schema": schema}


def _schema(annotation: Any) -> dict[str, Json]:
    """The JSON schema of a simple type; of any other, what anything fits."""
    if get_origin(annotation) is types.UnionType:
        kinds = [_schema(one) for one in get_args(annotation) if one is not type(None)]
        return kinds[0] if len(kinds) == 1 else {}
    kind = _TYPES.get(get_origin(annotation) or annotation)
    return {"type": kind} if kind else {}
