"""Calls that a function makes to its tools, so that they are recorded and an environment can answer them."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import queue
import types
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, get_args, get_origin

from fairtrial.agents.outages import describe_failure
from fairtrial.agents.plain import plain
from fairtrial.agents.routing import route_call
from fairtrial.errors import AgentError
from fairtrial.records.trace import Step, ToolCall, ToolResult

if TYPE_CHECKING:
    from fairtrial.protocols import Environment
    from fairtrial.records.record import Json

Report = Callable[[Step], None]
Tool = Callable[..., Any]
_PARAMETER = "call"
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


def wants_calls(function: Callable[..., Any]) -> bool:
    """Whether a function has a parameter `call` beside the conversation."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    parameter = parameters.get(_PARAMETER)
    return parameter is not None and parameter.kind in _BY_NAME and next(iter(parameters)) != _PARAMETER


class Calls:
    """Records the calls of one conversation. Ids count on from message to message, for example `call-1`, `call-2`."""

    def __init__(self, environment: Environment | None) -> None:
        self.environment = environment
        self._numbers: Iterator[int] = itertools.count(1)

    def begin(self, tool: Tool, args: dict[str, Any]) -> ToolCall:
        """Return the call of a tool."""
        name = getattr(tool, "__name__", None) or type(tool).__name__
        return ToolCall(name, plain(args), f"call-{next(self._numbers)}")

    def for_async(self, report: Report) -> dict[str, Any]:
        """Return the argument with which an async function calls its tools."""

        async def call(tool: Tool, /, **args: Any) -> Any:
            """Call a tool, sync or async, and return its answer."""
            record = self.begin(tool, args)

            async def real() -> Any:
                value = tool(**args)
                return await value if inspect.isawaitable(value) else value

            with _reporting(report, record):
                value = await self._answer(tool, record, real)
            report(ToolResult(record.name, plain(value), record.id))
            return value

        return {_PARAMETER: call}

    def for_sync(self, report: Report, loop: asyncio.AbstractEventLoop) -> dict[str, Any]:
        """Return the argument with which a sync function calls its tools, from any thread but the loop's."""

        def call(tool: Tool, /, **args: Any) -> Any:
            """Call a tool in the thread of the caller, and return its answer."""
            record = self.begin(tool, args)
            thread = _CallingThread(tool, args, loop)
            with _reporting(report, record):
                value = thread.run() if self.environment is None else thread.wait(self._answer, tool, record)
            report(ToolResult(record.name, plain(value), record.id))
            return value

        return {_PARAMETER: call}

    async def _answer(self, tool: Tool, record: ToolCall, real: Callable[[], Awaitable[Any]]) -> Any:
        if self.environment is None:
            return await real()
        return (await route_call(self.environment, record, declaration(tool), real)).value


@contextmanager
def _reporting(report: Report, record: ToolCall) -> Iterator[None]:
    """Report a call before the tool runs, and its failure if the tool raises."""
    report(record)
    try:
        yield
    except Exception as error:
        report(ToolResult(record.name, {"error": describe_failure(error)}, record.id, is_error=True))
        raise


class _CallingThread:
    """Runs a tool in the thread that called it, because a tool may depend on its thread, for example with SQLite."""

    def __init__(self, tool: Tool, args: dict[str, Any], loop: asyncio.AbstractEventLoop) -> None:
        self._tool = tool
        self._args = args
        self._loop = loop
        self._requests: queue.SimpleQueue[asyncio.Future[tuple[Any, Exception | None]] | None] = queue.SimpleQueue()

    def run(self) -> Any:
        """Run the tool."""
        value = self._tool(**self._args)
        if inspect.iscoroutine(value):
            value.close()
            raise AgentError(f"{self._tool.__name__} is async: the agent that calls it must be async as well")
        return value

    async def real(self) -> Any:
        """Request a run of the tool from the waiting thread, and return the answer of the tool."""
        request: asyncio.Future[tuple[Any, Exception | None]] = self._loop.create_future()
        self._requests.put(request)
        value, error = await request
        if error is not None:
            raise error
        return value

    def wait(self, answer: Callable[..., Coroutine[Any, Any, Any]], tool: Tool, record: ToolCall) -> Any:
        """Return the answer that the loop computes; meanwhile run the tool here each time that the loop requests it."""
        if _running_loop() is self._loop:
            raise AgentError("a function that returns something async, and calls its tools with `call`, must be async")
        tasks: list[asyncio.Task[Any]] = []

        def start() -> None:
            # The task is created in the loop: a loop that is closing never starts a coroutine from elsewhere.
            tasks.append(self._loop.create_task(answer(tool, record, self.real)))
            tasks[0].add_done_callback(lambda _: self._requests.put(None))

        self._loop.call_soon_threadsafe(start)
        while (request := self._requests.get()) is not None:
            outcome: tuple[Any, Exception | None]
            try:
                outcome = (self.run(), None)
            except Exception as error:  # noqa: BLE001  (raised again, in the coroutine that requested the run)
                outcome = (None, error)
            self._loop.call_soon_threadsafe(_resolve, request, outcome)
        return tasks[0].result()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _resolve(request: asyncio.Future[Any], outcome: Any) -> None:
    if not request.done():
        request.set_result(outcome)


def declaration(tool: Tool) -> dict[str, Json]:
    """Return a function as a tool's declaration: its name, its documentation and its parameters by their types."""
    name = getattr(tool, "__name__", None) or type(tool).__name__
    try:
        parameters = inspect.signature(tool, eval_str=True).parameters.values()
    except (TypeError, ValueError, NameError):
        return {"name": name, "description": inspect.getdoc(tool) or ""}
    schema = {
        "type": "object",
        "properties": {parameter.name: _schema(parameter.annotation) for parameter in parameters},
        "required": [parameter.name for parameter in parameters if parameter.default is parameter.empty],
    }
    return {"name": name, "description": inspect.getdoc(tool) or "", "parameters_json_schema": schema}


def _schema(annotation: Any) -> dict[str, Json]:
    """Return the JSON schema of a simple type, for example `{"type": "string"}`; other types allow any value."""
    if get_origin(annotation) is types.UnionType:
        kinds = [_schema(member) for member in get_args(annotation) if member is not type(None)]
        return kinds[0] if len(kinds) == 1 else {}
    kind = _TYPES.get(get_origin(annotation) or annotation)
    return {"type": kind} if kind else {}
