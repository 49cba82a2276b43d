"""Sessions with Google ADK agents. They run in ADK's runner, with session services of their own."""

from __future__ import annotations

import inspect
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairtrial.agents.adk_events import (
    CONFIRMATION,
    QUESTION,
    confirmations_in,
    items_of_event,
    questions_in,
)
from fairtrial.agents.factories import AgentSource
from fairtrial.agents.nested_runs import open_conversation
from fairtrial.agents.observed_framework import FrameworkSession, Opening
from fairtrial.agents.observers.adk_plugin import EXTRA, Watch, make_plugin
from fairtrial.agents.plain import plain
from fairtrial.agents.user_parts import read_content
from fairtrial.errors import AgentError, UsageError, nearest
from fairtrial.records.case import EvalCase, SessionInput
from fairtrial.records.trace import About, AgentDetails, Approval, Message, Part, ToolCall
from fairtrial.system.importing import import_extra, import_failure, import_object

if TYPE_CHECKING:
    from fairtrial.protocols import Environment, Item
    from fairtrial.records.record import Json

_USER = "test_user_id"
_TOOLS_AT_ONCE = 64


def agent_at(target: str) -> AdkAgent:
    """Return the agent at `adk:FOLDER`, found as ADK finds it: `app`, `root_agent` or `get_agent_async`.

    `adk:MODULE:NAME` is an agent, or a factory that makes an agent for each conversation.

    Raises UsageError if the folder has no agent.
    """
    loader = import_extra("google.adk.cli.utils.agent_loader", EXTRA).AgentLoader
    name = target.partition(":")[2]
    if ":" in name.removeprefix(Path(name).drive):
        return AdkAgent(name, "fairtrial", _source(import_object(name, name)))
    path = Path(name)
    folder = path.resolve().parent if path.name in ("agent.py", "__init__.py") else path.resolve()
    if not folder.is_dir():
        allowed = "must be an agent folder, with agent.py or __init__.py"
        near = nearest(folder.name, (neighbour.name for neighbour in folder.parent.glob("*/")))
        raise UsageError(f"no such folder as {str(path)!r}; {allowed}{near}", code="unusable-agent")
    # In a folder with an agent.py, ADK's loader knows this one agent only. Otherwise it knows the folders inside.
    folder_loader = loader(str(folder))
    agent_loader = folder_loader if folder_loader.is_single_agent else loader(str(folder.parent))
    try:
        agent = agent_loader.load_agent(folder.name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        make = _factory(folder.name)
        if make is None:
            raise UsageError(import_failure(error), code="unusable-agent") from error
        return AdkAgent(str(path), folder.name, make=make)
    return AdkAgent(str(path), folder.name, _source(agent))


def agent_around(thing: Any) -> AdkAgent:
    """Return a session-opening agent for an ADK agent or app."""
    return AdkAgent(thing.name, thing.name, _source(thing))


def _source(thing: Any) -> AgentSource:
    return AgentSource(thing, _is_agent, "an agent or an app of ADK")


def _is_agent(thing: Any) -> bool:
    return hasattr(thing, "model_dump") and not inspect.isclass(thing)


def _factory(name: str) -> Callable[..., Any] | None:
    """Return the `get_agent_async` of an agent folder. ADK's loader imports the folder, but ignores this function."""
    for module in (sys.modules.get(f"{name}.agent"), sys.modules.get(name)):
        make: Callable[..., Any] | None = getattr(module, "get_agent_async", None)
        if make is not None:
            return make
    return None


@dataclass(frozen=True, slots=True)
class AdkAgent:
    """An ADK agent or app, or its factory (`source`), or a `get_agent_async` of ADK (`make`).

    The session starts with the case's `session_input`: app name, user, session id and state. The conversations share
    the resources of the agent, for example toolsets and plugins. The last conversation closes them.
    """

    path: str
    name: str
    source: AgentSource | None = field(default=None, repr=False)
    make: Callable[..., Any] | None = field(default=None, repr=False)
    _open: list[object] = field(default_factory=list, repr=False)

    @property
    def shows_tools(self) -> bool:
        """Whether the environment may describe the tools: it does in every request to a model."""
        return True

    def refuses_parts(self, parts: Sequence[Part]) -> str:  # noqa: ARG002
        """Return an empty text: ADK has a place for files and their URLs."""
        return ""

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[AdkSession]:
        """Open a conversation."""
        if self.make is not None:
            result = await self.make()
            if not isinstance(result, tuple) or len(result) != 2:
                raise UsageError(
                    "get_agent_async must return an agent, and an exit stack or None", code="unusable-agent"
                )
            agent, stack = result
            async with _Closing(stack), _conversation(agent, self.name, case, environment, []) as session:
                yield session
        elif self.source is not None:
            async with self.source.open(case) as (agent, _):
                others = [] if self.source.is_factory else self._open
                async with _conversation(agent, self.name, case, environment, others) as session:
                    yield session


class _Closing:
    """Closes the exit stack of `get_agent_async`, if it has one."""

    def __init__(self, stack: Any) -> None:
        self._stack = stack

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, *error: object) -> None:
        if self._stack is not None:
            await self._stack.aclose()


@asynccontextmanager
async def _conversation(
    agent: Any, name: str, case: EvalCase, environment: Environment | None, others: list[object]
) -> AsyncIterator[AdkSession]:
    """Open a conversation beside `others` that share the agent. The last conversation closes the agent's resources."""
    runners = import_extra("google.adk.runners", EXTRA)
    app_class = import_extra("google.adk.apps.app", EXTRA).App
    start = case.session_input or SessionInput()
    watch = Watch()
    plugin = make_plugin(watch, environment)
    if isinstance(agent, app_class):
        app = agent.model_copy(update={"plugins": [plugin, *agent.plugins]})
    else:
        app = app_class(name="fairtrial", root_agent=agent, plugins=[plugin])
    runner = runners.InMemoryRunner(app=app, app_name=start.app_name or name)
    runner.app_name = start.app_name or name
    others.append(watch)
    opening = Opening(agent, {}, case, environment, name)
    try:
        with open_conversation():
            session = await runner.session_service.create_session(
                app_name=runner.app_name,
                user_id=start.user_id or _USER,
                state=opening.state,
                session_id=start.session_id or None,
            )
            yield AdkSession(opening, runner, session, watch)
    finally:
        others.remove(watch)
        if not others:
            await runner.close()


class AdkSession(FrameworkSession):
    """One conversation, in an ADK session of its own."""

    def __init__(self, opening: Opening, runner: Any, session: Any, watch: Watch) -> None:
        super().__init__(opening, str(runner.agent.name))
        self._runner = runner
        self._session = session
        self._watch = watch
        self._state: dict[str, Json] = plain(session.state)
        self._confirmations: dict[str, ToolCall] = {}
        self._questions: dict[str, str] = {}

    @property
    def about(self) -> About:
        """The agents with a request to a model in the latest invocation, and the state of the session."""
        return About(tuple(self._watch.agents.values()), self._state)

    async def declared(self) -> About:
        """Return the agents of the tree, with instructions that are texts."""
        agents: list[AgentDetails] = []
        remaining = [self._runner.agent]
        while remaining:
            agent = remaining.pop(0)
            remaining += getattr(agent, "sub_agents", None) or ()
            tools = await agent.canonical_tools() if hasattr(agent, "canonical_tools") else ()
            instruction = getattr(agent, "instruction", "")
            declarations = (tool._get_declaration() for tool in tools)  # noqa: SLF001  (ADK has no public name for it)
            agents.append(
                AgentDetails(
                    agent.name,
                    instruction if isinstance(instruction, str) else "",
                    tuple(plain(declaration) for declaration in declarations if declaration is not None),
                )
            )
        return About(tuple(agents))

    def _begin(self) -> None:
        self._watch.begin()

    def _start(self, message: str, parts: Sequence[Part]) -> AsyncGenerator[Item, None]:
        types = import_extra("google.genai.types", EXTRA)
        answers = [
            types.Part(
                function_response=types.FunctionResponse(id=request_id, name=QUESTION, response={"result": message})
            )
            for request_id in self._questions
        ]
        self._questions = {}
        return self._run([*(answers or [types.Part(text=message)]), *map(_encode_part, parts)])

    def _waiting(self) -> list[ToolCall]:
        return list(self._confirmations.values())

    def _resume(self, decisions: Sequence[Approval]) -> AsyncGenerator[Item, None]:
        """Answer the requests for confirmation. ADK does not edit arguments; it gives them to the tool as a payload."""
        types = import_extra("google.genai.types", EXTRA)
        parts = [
            types.Part(
                function_response=types.FunctionResponse(
                    id=request_id,
                    name=CONFIRMATION,
                    response={"confirmed": decision.decision != "reject", "payload": decision.args},
                )
            )
            for request_id, decision in zip(self._confirmations, decisions, strict=True)
        ]
        return self._run(parts)

    async def _run(self, parts: list[Any]) -> AsyncGenerator[Item, None]:
        """Send a content of the user. Raises AgentError if the run ends in an error event instead of a reply."""
        types = import_extra("google.genai.types", EXTRA)
        self._confirmations = {}
        ids = {"user_id": self._session.user_id, "session_id": self._session.id}
        user_content = types.Content(role="user", parts=parts)
        last: Any = None
        running = self._runner.run_async(**ids, new_message=user_content, run_config=_make_threaded_config())
        async with aclosing(running) as events:
            async for event in events:
                if event.partial or event.author == "user":
                    continue
                last = event
                items = items_of_event(plain(event.model_dump(exclude_none=True)), is_final=event.is_final_response())
                self._confirmations |= confirmations_in(items)
                for item in map(self._watch.with_inner, items):
                    yield item
                self._questions |= questions_in(items)
        if self._questions and last is not None:
            yield Message("\n".join(self._questions.values()), str(last.author))
        yield self._watch.times.durations
        session = await self._runner.session_service.get_session(app_name=self._runner.app_name, **ids)
        self._state = plain(session.state)
        if last is not None and last.error_code and not (last.content and last.content.parts):
            raise AgentError(f"{last.author}: {last.error_code}: {last.error_message or 'no message'}")


def _encode_part(part: Part) -> Any:
    types = import_extra("google.genai.types", EXTRA)
    names = {"mime_type": part.mime_type, "display_name": part.name or None}
    if part.uri:
        return types.Part(file_data=types.FileData(file_uri=part.uri, **names))
    return types.Part(inline_data=types.Blob(data=read_content(part), **names))


def _make_threaded_config() -> Any:
    """Return a configuration with sync tools in threads. A tool that waits then delays no other conversation."""
    config = import_extra("google.adk.agents.run_config", EXTRA)
    return config.RunConfig(tool_thread_pool_config=config.ToolThreadPoolConfig(max_workers=_TOOLS_AT_ONCE))
