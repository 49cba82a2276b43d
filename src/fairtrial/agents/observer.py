"""The observer of an agent run. Wrappers around models and tools report to it."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.agents.declarations import add_declarations
from fairtrial.agents.function import in_task
from fairtrial.agents.nested_runs import ToolAtWork, current_stage, current_tool, tool_at_work
from fairtrial.agents.outages import describe_failure
from fairtrial.agents.plain import plain
from fairtrial.agents.routing import Answer, route_call
from fairtrial.agents.stopwatch import Stopwatch
from fairtrial.errors import UsageError
from fairtrial.records.trace import AgentDetails, Message, ToolCall, ToolResult, Trace, Usage

if TYPE_CHECKING:
    from fairtrial.protocols import Environment, Item
    from fairtrial.records.record import Json


class Observer:
    """Reports the items of one conversation. Wrappers around models and tools call it.

    `has_reply` says that the latest step is a message, and `latest_message` is the latest message. `error` is the
    latest exception of a model, which a framework may hide. `refusal` says that the conversation cannot be recorded,
    and ends it, also if the framework goes on. `usage_count` is the number of model calls that were
    reported, with those of agents inside tools. `edits` are the arguments that users have given instead of the model's,
    by the ids of the calls. The observer of an agent inside a `tool` reports to this tool.
    """

    def __init__(self, environment: Environment | None, tool: ToolAtWork | None = None) -> None:
        self.environment = environment
        self.has_reply = False
        self.latest_message: Message | None = None
        self.error: Exception | None = None
        self.refusal: UsageError | None = None
        self.usage_count = 0
        self.edits: dict[str, dict[str, Json]] = {}
        self.agents: dict[str, AgentDetails] = {} if tool is None else tool.agents
        self._times = Stopwatch()
        self._report: Callable[[Any], None] = (lambda _: None) if tool is None else tool.items.append
        self._open_calls: dict[str, ToolCall] = {}
        self._numbers = itertools.count(1)

    async def items(self, run: Callable[[], Awaitable[Iterable[Item]]]) -> AsyncGenerator[Item, None]:
        """Yield the items that a run reports while it runs, the items that it returns, and the times."""

        async def follow() -> AsyncIterator[Item]:
            for item in await run():
                yield item

        def start(report: Callable[[Any], None]) -> AsyncIterator[Item]:
            self._report, self._times, self.error, self.has_reply = report, Stopwatch(), None, False
            self.latest_message = None
            return follow()

        async for item in in_task(start):
            yield item
        yield self._times.durations

    def refuse(self, problem: str) -> UsageError:
        """Return the exception that ends the conversation, because the agent works in a way that is not recorded."""
        self.refusal = UsageError(problem, code="unusable-agent")
        return self.refusal

    def check(self) -> None:
        """Raise the exception that ends the conversation, if there is one."""
        if self.refusal is not None:
            raise self.refusal

    def begin_invocation(self) -> None:
        """Forget the requests of the earlier invocation."""
        self.agents = {}

    def note(self, *items: Item) -> None:
        """Report items in their order."""
        for item in items:
            if isinstance(item, Message):
                self.has_reply, self.latest_message = True, item
            elif isinstance(item, ToolCall):
                self.has_reply = False
                self._open_calls[item.id] = item
            elif isinstance(item, Usage):
                self.usage_count += 1
                if item.first_token is None:
                    item = replace(item, first_token=self._times.take_first_token())  # noqa: PLW2901
            self._report(item)

    def note_result(self, call_id: str, response: Json, *, is_error: bool = False, inner: Trace | None = None) -> None:
        """Report the result of a call. The first report of a result counts.

        A framework answers some calls itself, for example calls that a user rejects, or calls of unknown tools. Their
        results stand in the next request only.
        """
        call = self._open_calls.pop(call_id, None)
        if call is not None:
            self.usage_count += sum(len(one.all_usages or ()) for one in inner.invocations) if inner else 0
            self._times.end("tool", call_id)
            self._report(ToolResult(call.name, response, call_id, call.author, is_error=is_error, inner=inner))

    def expect_result(self, call: ToolCall) -> None:
        """Wait for the result of a call that another observer has reported, for example inside of a tool."""
        self._open_calls.setdefault(call.id, call)

    def note_token(self) -> None:
        """Note that the agent streams a piece of text to the user."""
        self._times.note_token()

    def begin_tool(self, call_id: str) -> None:
        """Measure a tool that runs elsewhere. It ends with the result of its call."""
        self._times.start("tool", call_id)

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls that have no result yet, in their order."""
        return tuple(self._open_calls.values())

    def note_request(self, name: str, instructions: str, tools: Iterable[dict[str, Json]]) -> None:
        """Note the request of an agent to its model. The latest instructions count, and all tools."""
        earlier = self.agents[name].tool_declarations if name in self.agents else ()
        self.agents[name] = add_declarations(AgentDetails(name, instructions, earlier), tools)

    @contextmanager
    def model_at_work(self) -> Iterator[None]:
        """Measure a call of a model, and keep its exception."""
        key = str(next(self._numbers))
        self._times.start("model", key)
        try:
            yield
        except Exception as error:
            self.error = error
            raise
        else:
            self.error = None
        finally:
            self._times.end("model", key)

    async def answer(
        self,
        call: ToolCall,
        declaration: dict[str, Json],
        real: Callable[[], Awaitable[Any]],
        *,
        as_json: Callable[[Any], Json] = plain,
        has_failed: Callable[[Any], bool] = lambda _: False,
    ) -> Answer:
        """Return the answer of a tool or of the environment, and report it. An exception is reported as the result.

        `has_failed` says of what a tool returned whether it is an error.
        """
        self._times.start("tool", call.id)
        try:
            with tool_at_work(call, self.environment, self.agents) as tool:
                if self.environment is None:
                    answer = Answer(await real(), own=True)
                else:
                    answer = await route_call(self.environment, call, declaration, real, as_json=as_json)
        except Exception as error:
            self.note_result(call.id, {"error": describe_failure(error)}, is_error=True, inner=tool.inner)
            raise
        finally:
            self._times.end("tool", call.id)
        if answer.own:
            self.note_result(call.id, as_json(answer.value), is_error=has_failed(answer.value), inner=tool.inner)
        else:
            self.note_result(call.id, answer.value, inner=tool.inner)
        return answer


def observer_here(agent: Any, package: str = "") -> Observer | None:
    """Return the observer of an agent that works inside a tool or on a stage, or None elsewhere."""
    tool = current_tool()
    if tool is None:
        stage: Observer | None = current_stage(package)
        return stage
    observer: Observer = tool.observers.setdefault(id(agent), Observer(tool.environment, tool))
    return observer
