"""Sessions with Google ADK agents. They run in ADK's runner, with session services of their own."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from fairtrial.agents.adk_events import CONFIRMATION, confirmations_in, items_of_event
from fairtrial.agents.approvals import Approvals
from fairtrial.agents.declarations import add_declarations
from fairtrial.agents.factories import AgentSource
from fairtrial.agents.nested_runs import ToolAtWork, begin_tool, current_tool, end_tool
from fairtrial.agents.plain import plain
from fairtrial.agents.routing import route_call
from fairtrial.agents.stopwatch import Stopwatch
from fairtrial.agents.user_parts import content_of
from fairtrial.errors import AgentError, UsageError, nearest
from fairtrial.protocols import Environment, Item
from fairtrial.records.case import EvalCase, SessionInput
from fairtrial.records.record import Json
from fairtrial.records.trace import About, AgentDetails, Approval, Event, Part, ToolCall, ToolResult
from fairtrial.system.importing import import_extra, import_failure, import_object
from fairtrial.text.display import described

EXTRA = "agents-adk"
_USER = "test_user_id"
_STEERING = ("transfer_to_agent", "set_model_response", "finish_task")
_TOOLS_AT_ONCE = 64
_ROUTED = "routed_by_fairtrial"
"""The attribute of a copy of a tool that asks the environment."""
_RESPONSE_KEYS = ("content", "usage_metadata", "model_version")


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
        raise UsageError(f"no such folder as {str(path)!r}; {allowed}{near}")
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
            raise UsageError(import_failure(error)) from error
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

    def refuses_parts(self, parts: Sequence[Part]) -> str:  # noqa: ARG002
        """Return an empty text: ADK has a place for files and their URLs."""
        return ""

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[AdkSession]:
        """Open a conversation."""
        if self.make is not None:
            result = await self.make()
            if not isinstance(result, tuple) or len(result) != 2:
                raise UsageError("get_agent_async must return an agent, and an exit stack or None")
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
    watch = _Watch()
    plugin = _plugin(watch, environment)
    if isinstance(agent, app_class):
        app = agent.model_copy(update={"plugins": [plugin, *agent.plugins]})
    else:
        app = app_class(name="fairtrial", root_agent=agent, plugins=[plugin])
    runner = runners.InMemoryRunner(app=app, app_name=start.app_name or name)
    runner.app_name = start.app_name or name
    others.append(watch)
    try:
        session = await runner.session_service.create_session(
            app_name=runner.app_name,
            user_id=start.user_id or _USER,
            state=copy.deepcopy(start.state),
            session_id=start.session_id or None,
        )
        yield AdkSession(runner, session, watch, Approvals(case))
    finally:
        others.remove(watch)
        if not others:
            await runner.close()


class AdkSession:
    """One conversation, in an ADK session of its own."""

    def __init__(self, runner: Any, session: Any, watch: _Watch, approvals: Approvals) -> None:
        self._runner = runner
        self._session = session
        self._watch = watch
        self._state: dict[str, Json] = plain(session.state)
        self._approvals = approvals
        self._waiting: dict[str, ToolCall] = {}

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

    async def send(self, message: str, parts: Sequence[Part] = ()) -> AsyncIterator[Item]:
        """Run one invocation. If calls wait for a confirmation, the message decides."""
        types = import_extra("google.genai.types", EXTRA)
        self._watch.begin()
        items = self._approvals.send(
            message,
            lambda: self._run([types.Part(text=message), *map(_sent_part, parts)]),
            self._resume,
            lambda: list(self._waiting.values()),
            lambda: str(self._runner.agent.name),
        )
        async with aclosing(items):
            async for item in items:
                yield item

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
            for request_id, decision in zip(self._waiting, decisions, strict=True)
        ]
        return self._run(parts)

    async def _run(self, parts: list[Any]) -> AsyncGenerator[Item, None]:
        """Send a content of the user. Raises AgentError if the run ends in an error event instead of a reply."""
        types = import_extra("google.genai.types", EXTRA)
        self._waiting = {}
        ids = {"user_id": self._session.user_id, "session_id": self._session.id}
        user_content = types.Content(role="user", parts=parts)
        last: Any = None
        running = self._runner.run_async(**ids, new_message=user_content, run_config=_threaded())
        async with aclosing(running) as events:
            async for event in events:
                if event.partial or event.author == "user":
                    continue
                last = event
                items = items_of_event(plain(event.model_dump(exclude_none=True)), is_final=event.is_final_response())
                self._waiting |= confirmations_in(items)
                for item in map(self._watch.with_inner, items):
                    yield item
        yield self._watch.times.durations
        session = await self._runner.session_service.get_session(app_name=self._runner.app_name, **ids)
        self._state = plain(session.state)
        if last is not None and last.error_code and not (last.content and last.content.parts):
            raise AgentError(f"{last.author}: {last.error_code}: {last.error_message or 'no message'}")


def _sent_part(part: Part) -> Any:
    types = import_extra("google.genai.types", EXTRA)
    names = {"mime_type": part.mime_type, "display_name": part.name or None}
    if part.uri:
        return types.Part(file_data=types.FileData(file_uri=part.uri, **names))
    return types.Part(inline_data=types.Blob(data=content_of(part), **names))


def _threaded() -> Any:
    """Return a configuration with sync tools in threads. A tool that waits then delays no other conversation."""
    config = import_extra("google.adk.agents.run_config", EXTRA)
    return config.RunConfig(tool_thread_pool_config=config.ToolThreadPoolConfig(max_workers=_TOOLS_AT_ONCE))


class _Watch:
    """The requests to the models in one invocation, and the times of models and tools."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin a new invocation."""
        self.agents: dict[str, AgentDetails] = {}
        self.times = Stopwatch()
        self._works: dict[str, ToolAtWork] = {}

    def note_response(self, name: str, response: Any) -> None:
        """Note the response of an agent inside a tool. It runs in a session of its own, and its events stay there."""
        tool = current_tool()
        if tool is None or response.partial:
            return
        raw = {"author": name, **plain(response.model_dump(exclude_none=True, include={*_RESPONSE_KEYS}))}
        tool.items += [item for item in items_of_event(raw, is_final=False) if not isinstance(item, Event)]

    def begin_tool(self, name: str, args: dict[str, Any], call_id: str, author: str) -> None:
        """Note the begin of a tool."""
        self.times.start("tool", call_id)
        begin_tool(ToolAtWork(ToolCall(name, plain(args), call_id, author), None, self.agents))

    def end_tool(self, call_id: str, response: Json, *, is_error: bool = False) -> None:
        """Note the end of a tool. The result of a tool inside another tool belongs to the other tool."""
        self.times.end("tool", call_id)
        tool = end_tool()
        if tool is None:
            return
        if tool.outer is None:
            self._works[call_id] = tool
            return
        call = tool.call
        result = ToolResult(call.name, response, call.id, call.author, is_error=is_error, inner=tool.inner)
        tool.outer.items.append(result)

    def with_inner(self, item: Item) -> Item:
        """Return the result of a tool with the work of the agents inside it. Other items stay as they are."""
        work = self._works.pop(item.id, None) if isinstance(item, ToolResult) else None
        return replace(item, inner=work.inner) if work is not None and isinstance(item, ToolResult) else item

    def note_request(self, name: str, request: Any) -> None:
        """Note the request of an agent. As in ADK, the instructions of its first request count, and all its tools."""
        config = request.config
        agent = self.agents.get(name) or AgentDetails(name, _text(config.system_instruction))
        declarations = (declaration for tool in config.tools or () for declaration in _declarations(tool))
        self.agents[name] = add_declarations(agent, declarations)
        self.times.start("model", name)


def _text(instruction: Any) -> str:
    """Return a system instruction as text. It may be a text, a content with parts, or a list of these."""
    if instruction is None or isinstance(instruction, str):
        return instruction or ""
    if isinstance(instruction, list):
        return "\n".join(filter(None, map(_text, instruction)))
    parts = getattr(instruction, "parts", None)
    return _text(list(parts)) if parts is not None else str(getattr(instruction, "text", None) or "")


def _declarations(tool: Any) -> list[dict[str, Any]]:
    """Return the functions that a tool declares, or the tool itself if the model's provider runs it."""
    dump = getattr(tool, "model_dump", None)
    raw = plain(dump(exclude_none=True)) if dump is not None else {"name": getattr(tool, "__name__", str(tool))}
    functions = raw.pop("function_declarations", [])
    return [*functions, *([raw] if raw else [])]


def _route_tool(tool: Any, environment: Environment) -> Any:
    """Return a copy of a tool that an environment answers. Tools that only control ADK's flow stay as they are."""
    if tool.name in _STEERING:
        return tool
    copied = copy.copy(tool)

    async def run_async(*, args: dict[str, Any], tool_context: Any) -> Any:
        if await _waits(tool, args, tool_context):
            # The tool asks for the confirmation, or refuses, and does nothing else.
            return await tool.run_async(args=args, tool_context=tool_context)
        call = ToolCall(tool.name, plain(args), str(tool_context.function_call_id or ""))
        declaration = tool._get_declaration()  # noqa: SLF001  (ADK has no public name for it)
        declared = plain(declaration) if declaration is not None else {"name": tool.name}

        async def real() -> Any:
            return await tool.run_async(args=args, tool_context=tool_context)

        return (await route_call(environment, call, declared, real)).value

    copied.run_async = run_async
    setattr(copied, _ROUTED, True)
    return copied


async def _waits(tool: Any, args: dict[str, Any], tool_context: Any) -> bool:
    """Whether a call needs a confirmation that it does not have."""
    check = getattr(tool, "check_require_confirmation", None)
    if check is None or not await check(args, tool_context):
        return False
    confirmation = tool_context.tool_confirmation
    return confirmation is None or not confirmation.confirmed


def _plugin(watch: _Watch, environment: Environment | None) -> Any:
    """Return a plugin of ADK that reports to a watch, and lets an environment answer the tools of every agent.

    The class is defined in this function, because its base class is ADK's, which is imported late.
    """
    base: Any = import_extra("google.adk.plugins.base_plugin", EXTRA).BasePlugin

    class Watcher(base):  # type: ignore[misc]
        async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
            watch.note_request(callback_context.agent_name, llm_request)
            if environment is not None:
                # Only the tools of the request are replaced, so that callbacks and confirmations still run around them.
                llm_request.tools_dict.update(
                    {name: _route_tool(tool, environment) for name, tool in llm_request.tools_dict.items()}
                )

        async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
            watch.times.end("model", callback_context.agent_name)
            watch.note_response(callback_context.agent_name, llm_response)

        async def on_model_error_callback(self, *, callback_context: Any, **_: Any) -> None:
            watch.times.end("model", callback_context.agent_name)

        async def before_tool_callback(self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any) -> Any:
            call_id = str(tool_context.function_call_id)
            watch.begin_tool(tool.name, tool_args, call_id, tool_context.agent_name)
            if environment is None or hasattr(tool, _ROUTED):
                return None
            # After a confirmation ADK calls the tool itself, without a request to the model.
            routed = _route_tool(tool, environment)
            if routed is tool:
                return None
            value = await routed.run_async(args=tool_args, tool_context=tool_context)
            return value if isinstance(value, dict) else {"result": value}

        async def after_tool_callback(self, *, tool_context: Any, result: Any = None, **_: Any) -> None:
            watch.end_tool(str(tool_context.function_call_id), plain(result))

        async def on_tool_error_callback(self, *, tool_context: Any, error: Any = None, **_: Any) -> None:
            watch.end_tool(str(tool_context.function_call_id), {"error": described(error)}, is_error=True)

    return Watcher(name="fairtrial")
