"""Sessions with OpenAI Agents SDK agents. Each user message is a run, and hooks observe it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from fairtrial.agents.nested_runs import (
    ToolAtWork,
    observe_in_tools,
    observe_unreached,
)
from fairtrial.agents.observed_framework import FrameworkSession, ObservedFramework, Opening
from fairtrial.agents.observers.openai_items import EXTRA, collect_nested_usages, declaration
from fairtrial.agents.observers.openai_observer import Routing, Watch, make_hooks
from fairtrial.agents.plain import as_text, plain
from fairtrial.agents.user_parts import responses_content
from fairtrial.formats.message_entries import read_arguments
from fairtrial.records.trace import (
    About,
    AgentDetails,
    Approval,
    Message,
    Part,
    ToolCall,
    Usage,
)
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.protocols import Item


class OpenAIAgent(ObservedFramework):
    """An agent of the OpenAI Agents SDK. The case's initial state is the run's context, unless a factory gives another.

    If an agent hands over to another agent, the next message goes to the other agent.
    """

    package_extra, library, kind = EXTRA, "agents.lifecycle", "an agents.Agent"
    options = ("context", "max_turns", "run_config", "session")

    @staticmethod
    def is_agent(thing: Any) -> bool:
        """Whether an object is an agent."""
        return hasattr(thing, "get_all_tools") and not inspect.isclass(thing)

    def session(self, opening: Opening) -> FrameworkSession:
        """Return the session of a conversation, with copies of the agents."""
        return OpenAISession(opening)


def _target(handoff: Any) -> Any:
    """Return the agent that a handover goes to, as far as it is known before the handover."""
    reference = getattr(handoff, "_agent_ref", None)
    return handoff if reference is None else reference()


class OpenAISession(FrameworkSession):
    """One conversation. The session carries the input items and the last agent from run to run."""

    def __init__(self, opening: Opening) -> None:
        self._routing = Routing(opening.environment)
        self._agent = self._routing.agent(opening.thing)
        super().__init__(opening, str(self._agent.name))
        state = opening.state if opening.case.session_input else None
        self._options = {"context": state} | opening.options
        self._items: list[Any] = []
        self._paused_run: Any = None
        self._open_calls: dict[str, ToolCall] = {}
        self._history: list[Any] = []
        self._usages: list[Usage] = []
        self._agents: dict[str, AgentDetails] = {}

    @property
    def about(self) -> About:
        """The agents with a request to a model in the latest run, and the context of the run."""
        context = plain(self._options["context"])
        return About(tuple(self._agents.values()), context if isinstance(context, dict) else None)

    async def declared(self) -> About:
        """Return the agent and the agents that it may hand over to."""
        context = import_extra("agents", EXTRA).RunContextWrapper(self._options["context"])
        agents: dict[str, AgentDetails] = {}
        await _declare(self._agent, context, agents)
        return About(tuple(agents.values()))

    def _begin(self) -> None:
        self._agents = self._routing.agents = {}

    def _start(self, message: str, parts: Sequence[Part]) -> AsyncGenerator[Item, None]:
        return self._run(self._input({"role": "user", "content": responses_content(message, parts)}))

    def _waiting(self) -> list[ToolCall]:
        return [_waiting_call(item) for item in self._items]

    def _input(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        """Return a message with the earlier items. A session of the SDK adds them itself."""
        return [message] if self._options.get("session") is not None else [*self._history, message]

    def _resume(self, decisions: Sequence[Approval]) -> AsyncGenerator[Item, None]:
        """Go on with the run that waits. The SDK keeps the arguments of a call in the item that waits."""
        for item, decision in zip(self._items, decisions, strict=True):
            if decision.decision == "reject":
                self._paused_run.reject(item, rejection_message=decision.reason or None)
                continue
            self._paused_run.approve(item)
            if decision.args is not None:
                # The SDK binds an approval to the arguments of the model. The copy of the tool replaces them.
                self._routing.edits[_waiting_call(item).id] = as_text(decision.args)
        return self._run(self._paused_run)

    async def _run(self, run_input: Any) -> AsyncGenerator[Item, None]:
        """Yield each item of a run when the hooks report it."""
        queue: asyncio.Queue[Item | None] = asyncio.Queue()
        watch = Watch(queue.put_nowait, self._agents, self._open_calls, self._routing.works)
        observe_in_tools(import_extra("agents.run", EXTRA).AgentRunner, "run", _run_in_tool)
        observe_unreached(import_extra("agents.run", EXTRA).AgentRunner, "run_streamed")
        # A run that waited goes on with its usage so far. A new run begins to count.
        self._usages = self._usages if run_input is self._paused_run else []
        watch.usages = self._usages
        run = asyncio.create_task(self._result(run_input, watch))
        run.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (item := await queue.get()) is not None:
                yield item
        finally:
            run.cancel()
            await asyncio.wait([run])
        result = run.result()
        for usage in collect_nested_usages(result.context_wrapper.usage, self._usages):
            yield usage
        self._items = list(result.interruptions)
        self._agent, self._name = result.last_agent, str(result.last_agent.name)
        if self._items:
            self._paused_run = result.to_state()
        else:
            self._history = result.to_input_list()
            if not watch.has_reply:
                yield Message(as_text(result.final_output), self._name)
        yield watch.times.durations

    async def _result(self, run_input: Any, watch: Watch) -> Any:
        runner = import_extra("agents", EXTRA).Runner
        return await runner.run(self._agent, run_input, hooks=make_hooks(watch), **self._options)


async def _declare(agent: Any, context: Any, agents: dict[str, AgentDetails]) -> None:
    """Add an agent and its handovers. Agents may hand over in circles."""
    if agent.name in agents or not hasattr(agent, "get_all_tools"):
        return
    declarations = tuple(map(declaration, [*await agent.get_all_tools(context), *agent.handoffs]))
    agents[agent.name] = AgentDetails(agent.name, await agent.get_system_prompt(context) or "", declarations)
    for handoff in agent.handoffs:
        await _declare(_target(handoff), context, agents)


def _waiting_call(item: Any) -> ToolCall:
    """Return the call that waits for a decision."""
    raw = item.raw_item if isinstance(item.raw_item, dict) else plain(item.raw_item)
    return ToolCall(str(item.tool_name), read_arguments(raw.get("arguments")), str(raw.get("call_id") or raw.get("id")))


async def _run_in_tool(
    original: Any,
    tool: ToolAtWork,
    runner: Any,
    starting_agent: Any,
    input: Any,  # noqa: A002
    **options: Any,
) -> Any:
    """Run an agent inside a tool of another agent, with hooks that report."""
    routing = Routing(tool.environment)
    routing.agents = tool.agents
    watch = Watch(tool.items.append, tool.agents, {}, routing.works)
    options["hooks"] = _both(make_hooks(watch), options.get("hooks"))
    # The state of a run that goes on has its agents already.
    agent = routing.agent(starting_agent) if isinstance(input, str | list) else starting_agent
    result = await original(runner, agent, input, **options)
    if not watch.has_reply:
        tool.items.append(Message(as_text(result.final_output), result.last_agent.name))
    return result


def _both(own: Any, other: Any) -> Any:
    """Return hooks that report to two hooks."""
    if other is None:
        return own

    def reporting(name: str) -> Callable[..., Awaitable[None]]:
        async def report(*args: Any, **options: Any) -> None:
            await getattr(own, name)(*args, **options)
            await getattr(other, name)(*args, **options)

        return report

    both = import_extra("agents.lifecycle", EXTRA).RunHooksBase()
    for name in (name for name in dir(own) if name.startswith("on_")):
        setattr(both, name, reporting(name))
    return both


agent_at, agent_around = OpenAIAgent.at, OpenAIAgent.around
