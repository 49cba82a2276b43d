"""Sessions with CrewAI agents and crews. Each user message is a kickoff with observed models."""

from __future__ import annotations

import inspect
import json
import logging
import os
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

from fairtrial.agents.crewai_flow import FlowSession, gives_own_state, list_missing_fields
from fairtrial.agents.function import result_in_thread
from fairtrial.agents.observed_framework import FrameworkSession, ObservedFramework, ObservedSession, Opening
from fairtrial.agents.observers.crewai_observer import (
    EXTRA,
    CrewObserver,
    collect_inputs,
    find_role,
    is_single,
    list_team,
    text_of_output,
)
from fairtrial.errors import UsageError
from fairtrial.records.trace import AgentDetails, Message, Part
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.protocols import Environment, Item
    from fairtrial.records.case import EvalCase

_QUIET = {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "CREWAI_DISABLE_VERSION_CHECK": "true"}
_MESSAGE = "message"
_HISTORY = "crew_chat_messages"


def _is_flow(thing: Any) -> bool:
    return hasattr(type(thing), "flow_id")


def _is_project(thing: Any) -> bool:
    """Whether an object is of a class with `@CrewBase`, as `crewai create crew` writes it."""
    return hasattr(type(thing), "is_crew_class") and hasattr(thing, "crew")


class CrewAgent(ObservedFramework):
    """A function that makes an agent, a crew or a flow of CrewAI for each conversation. The case gives it inputs."""

    package_extra, library, kind = EXTRA, "crewai", "an agent, a crew or a flow of CrewAI"
    options = ("inputs", "message")
    holds_conversation = True

    @classmethod
    def at(cls, target: str) -> Self:
        """Return the agent at `crewai:MODULE:FACTORY`, a function that makes an agent, a crew or a flow."""
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)
        # Without a handler, Python would print the warnings of CrewAI.
        logging.getLogger("crewai").addHandler(logging.NullHandler())
        agent = super().at(target)
        flow = agent.source.thing
        if inspect.isclass(flow) and not gives_own_state(flow) and (missing := list_missing_fields(flow)):
            raise _refuse_state(flow.__name__, missing)
        return agent

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[FrameworkSession]:
        """Open a conversation. Raises UsageError if a factory begins a flow without the values of its state."""
        async with AsyncExitStack() as stack:
            try:
                session = await stack.enter_async_context(super().__call__(case, environment))
            except Exception as error:
                flow = _find_flow(error)
                if flow is None or not (missing := list_missing_fields(flow)):
                    raise
                raise _refuse_state(flow.__name__, missing) from error
            yield session

    @staticmethod
    def is_agent(thing: Any) -> bool:
        """Whether an object is an agent, a crew or a flow, or makes a crew."""
        if inspect.isclass(thing) or not hasattr(thing, "kickoff"):
            return not inspect.isclass(thing) and _is_project(thing)
        return is_single(thing) or hasattr(thing, "tasks") or _is_flow(thing)

    def refuses_parts(self, parts: Sequence[Part]) -> str:  # noqa: ARG002
        """Return why a message cannot hold parts."""
        return "agents, crews and flows of CrewAI take only text"

    def session(self, opening: Opening) -> FrameworkSession:
        """Return the session of a conversation."""
        if _is_project(opening.thing):
            opening = opening._replace(thing=opening.thing.crew())
        return FlowSession(opening) if _is_flow(opening.thing) else CrewSession(opening)


def _find_flow(error: Exception) -> type | None:
    """Return the class of the flow that an exception of Pydantic says cannot be made, or None."""
    place = error.__traceback__
    while place is not None:
        own = place.tb_frame.f_locals.get("self")
        if _is_flow(own) and getattr(error, "title", "") == type(own).__name__:
            return type(own)
        place = place.tb_next
    return None


def _refuse_state(name: str, missing: Sequence[str]) -> UsageError:
    return UsageError(
        f"the state of the flow {name} needs values for {', '.join(missing)}, which CrewAI asks for before a message; "
        f"give these fields a default, or name a function that returns {name}(initial_state=...)",
        code="unusable-agent",
    )


class CrewSession(ObservedSession):
    """One conversation, with an agent or a crew of its own."""

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening, "agent")
        self._thing = thing = opening.thing
        self._inputs = inputs = collect_inputs(opening)
        self._crew_observer = CrewObserver(self._observer)
        self._history: list[dict[str, str]] = []
        self._message_input = ""
        if not is_single(thing):
            self._message_input = str(opening.options.get("message") or "") or _message_input(thing, inputs)
        elif inputs:
            thing.interpolate_inputs(inputs)
        self._crew_observer.observe(thing)

    def _declare(self) -> Iterable[AgentDetails]:
        """Yield the agents with their tools, and those of their tasks."""
        for agent in list_team(self._thing):
            yield AgentDetails(find_role(agent), _instructions(agent), tuple(self._crew_observer.list_tools(agent)))

    async def _run(self, message: str, parts: Sequence[Part]) -> Iterable[Item]:  # noqa: ARG002
        """Run the agent or the crew in a thread of its own. Its output is the reply."""
        self._crew_observer.latest = None
        output = await result_in_thread(lambda: self._kickoff(message))
        reply = Message(text_of_output(output), self._author(output))
        self._history += [{"role": "user", "content": message}, {"role": "assistant", "content": reply.text}]
        return () if self._crew_observer.has_said(reply.text) else (reply,)

    async def close(self) -> None:
        """Let no model and no tool begin."""
        self._crew_observer.close()

    def _kickoff(self, message: str) -> Any:
        # It holds for the context of this thread only.
        import_extra("crewai.events.utils.console_formatter", EXTRA).set_suppress_console_output(True)
        if is_single(self._thing):
            return self._thing.kickoff([*self._history, {"role": "user", "content": message}])
        inputs = {**self._inputs, self._message_input: message}
        if self._history:
            inputs[_HISTORY] = json.dumps(self._history)
        return self._thing.kickoff(inputs=inputs)

    def _author(self, output: Any) -> str:
        tasks = getattr(output, "tasks_output", None)
        return str(tasks[-1].agent if tasks else output.agent_role).strip()


def _message_input(crew: Any, inputs: dict[str, Any]) -> str:
    """Return the name of the crew's input that is the message of the user. After a kickoff the crew has none."""
    names: list[str] = sorted(crew.fetch_inputs())
    unfilled = [name for name in names if name not in inputs]
    if _MESSAGE in names:
        return _MESSAGE
    if len(unfilled) == 1:
        return unfilled[0]
    raise UsageError(
        "the crew needs an input for the message of the user, for example {message} in the description of a task; "
        f"its inputs are {', '.join(names) or 'none'}",
        code="unusable-agent",
    )


def _instructions(agent: Any) -> str:
    return f"You are {find_role(agent)}. {agent.backstory}\nYour personal goal is: {agent.goal}"


agent_at, agent_around = CrewAgent.at, CrewAgent.around
