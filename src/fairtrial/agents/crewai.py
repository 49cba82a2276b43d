"""Sessions with CrewAI agents and crews. Each user message is a kickoff with observed models."""

from __future__ import annotations

import copy
import inspect
import json
import logging
import os
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fairtrial.agents.crewai_flow import FlowSession
from fairtrial.agents.crewai_observer import EXTRA, CrewObserver, is_single, role_of, team_of, text_of_output
from fairtrial.agents.factories import AgentSource, factory_source, one_conversation
from fairtrial.agents.function import result_in_thread
from fairtrial.agents.observer import Observer
from fairtrial.errors import UsageError
from fairtrial.protocols import Environment, Item
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import About, AgentDetails, Message, Part
from fairtrial.system.importing import import_extra, import_object

_QUIET = {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "CREWAI_DISABLE_VERSION_CHECK": "true"}
_MESSAGE = "message"
_HISTORY = "crew_chat_messages"
_KIND = "an agent, a crew or a flow of CrewAI"


def agent_at(target: str) -> CrewAgent:
    """Return the agent at `crewai:MODULE:FACTORY`, a function that makes an agent, a crew or a flow."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    # Without a handler, Python would print the warnings of CrewAI.
    logging.getLogger("crewai").addHandler(logging.NullHandler())
    import_extra("crewai", EXTRA)
    path = target.partition(":")[2]
    return CrewAgent(path, factory_source(import_object(path, path), _is_agent, _KIND, ("inputs", "message")))


def agent_around(thing: Any) -> CrewAgent:
    """Raise UsageError, because an agent cannot be shared by conversations."""
    raise UsageError(
        f"agent: {one_conversation(_KIND)}, for example crewai:my_module:make_crew, got {type(thing).__name__}"
    )


def _is_agent(thing: Any) -> bool:
    if inspect.isclass(thing) or not hasattr(thing, "kickoff"):
        return False
    return is_single(thing) or hasattr(thing, "tasks") or _is_flow(thing)


def _is_flow(thing: Any) -> bool:
    return hasattr(type(thing), "flow_id")


@dataclass(frozen=True, slots=True)
class CrewAgent:
    """A function that makes an agent, a crew or a flow of CrewAI for each conversation. The case gives it inputs."""

    path: str
    source: AgentSource = field(repr=False)

    def refuses_parts(self, parts: Sequence[Part]) -> str:  # noqa: ARG002
        """Return why a message cannot hold parts."""
        return "agents, crews and flows of CrewAI take only text"

    @asynccontextmanager
    async def __call__(
        self, case: EvalCase, environment: Environment | None
    ) -> AsyncIterator[CrewSession | FlowSession]:
        """Open a conversation."""
        async with self.source.open(case) as (thing, options):
            state = copy.deepcopy(case.session_input.state) if case.session_input else {}
            inputs, name = {**state, **options.get("inputs", {})}, str(options.get("message", ""))
            session = (FlowSession if _is_flow(thing) else CrewSession)(thing, inputs, Observer(environment), name)
            try:
                yield session
            finally:
                session.close()


class CrewSession:
    """One conversation, with an agent or a crew of its own."""

    def __init__(self, thing: Any, inputs: dict[str, Any], observer: Observer, message_input: str) -> None:
        self._thing = thing
        self._inputs = inputs
        self._observer = observer
        self._crew_observer = CrewObserver(observer)
        self._history: list[dict[str, str]] = []
        self._message_input = ""
        if not is_single(thing):
            self._message_input = message_input or _message_input(thing, inputs)
        elif inputs:
            thing.interpolate_inputs(inputs)
        self._crew_observer.observe(thing)

    @property
    def about(self) -> About:
        """The agents with a request to a model in the latest invocation."""
        return About(tuple(self._observer.agents.values()))

    async def declared(self) -> About:
        """Return the agents with their tools, and those of their tasks."""
        return About(
            tuple(
                AgentDetails(role_of(agent), _instructions(agent), tuple(self._crew_observer.tools_of(agent)))
                for agent in team_of(self._thing)
            )
        )

    async def send(self, message: str, parts: Sequence[Part] = ()) -> AsyncIterator[Item]:  # noqa: ARG002
        """Run the agent or the crew in a thread of its own. Its output is the reply."""
        self._observer.begin_invocation()
        self._crew_observer.latest = None

        async def run() -> Iterable[Item]:
            try:
                output = await result_in_thread(lambda: self._kickoff(message))
            except Exception as error:
                raise self._observer.error or error from error
            reply = Message(text_of_output(output), self._author(output))
            self._history += [{"role": "user", "content": message}, {"role": "assistant", "content": reply.text}]
            return () if self._crew_observer.has_said(reply.text) else (reply,)

        async with aclosing(self._observer.items(run)) as items:
            async for item in items:
                yield item

    def close(self) -> None:
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
        f"its inputs are {', '.join(names) or 'none'}"
    )


def _instructions(agent: Any) -> str:
    return f"You are {role_of(agent)}. {agent.backstory}\nYour personal goal is: {agent.goal}"
