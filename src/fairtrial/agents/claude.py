"""Sessions with agents of the Claude Agent SDK, and so with Claude Code, through a client of the SDK."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairtrial.agents.claude_options import (
    list_servers,
    make_block,
    make_variables,
    name_of_tool,
    read_instructions,
    sub_agent,
    working_folder,
)
from fairtrial.agents.mcp_calls import McpCall, ObservedServer, Result, ServerError, list_tools, make_declaration
from fairtrial.agents.observed_framework import FrameworkSession, ObservedFramework, ObservedSession, Opening
from fairtrial.agents.observers.claude_messages import Listener, answers_to, read_question
from fairtrial.agents.plain import as_text, plain
from fairtrial.agents.routing import Answer, describe_tool
from fairtrial.agents.user_parts import refuse_parts
from fairtrial.errors import AgentError, UsageError
from fairtrial.formats.chats.anthropic_messages import response
from fairtrial.records.trace import AgentDetails, Approval, Message, Part, ToolCall
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.agents.factories import AgentSource
    from fairtrial.protocols import Environment, Item
    from fairtrial.records.record import Json

EXTRA = "agents-claude"
_ASKS_USER = "AskUserQuestion"
_OUTPUT_TOOL = "StructuredOutput"
"""The tool with which Claude Code lets its model answer in a schema."""
_NEW_NAMES = {"Task": "Agent"}
"""Tools that Claude Code lists under an older name than its model calls them by."""
_NOT_REACHED = (
    "Claude Code runs its tools itself, and an environment reaches only tools of MCP servers in this process "
    "(create_sdk_mcp_server), which the options lack"
)


def _read_options(thing: Any) -> Any:
    """Return the options of a client. A client holds one conversation, so that each conversation has its own."""
    return thing.options if hasattr(thing, "receive_response") and not inspect.isclass(thing) else thing


class ClaudeAgent(ObservedFramework):
    """Options of the Claude Agent SDK. Each conversation has a process of Claude Code, and folders of its own."""

    package_extra, library, kind = EXTRA, "claude_agent_sdk", "a claude_agent_sdk.ClaudeAgentOptions"
    options = ("can_use_tool",)

    @classmethod
    def make_source(cls, thing: Any) -> AgentSource:
        """Return the source of options in an object. Raises UsageError if it is none."""
        return super().make_source(_read_options(thing))

    @staticmethod
    def is_agent(thing: Any) -> bool:
        """Whether an object is options or a client."""
        return hasattr(_read_options(thing), "permission_mode") and not inspect.isclass(thing)

    @property
    def refuses_environment(self) -> str:
        """Why an environment cannot answer the calls of tools. The text is empty if an environment can."""
        return "" if self.source.is_factory or list_servers(self.source.thing) else _NOT_REACHED

    def refuses_parts(self, parts: Sequence[Part]) -> str:
        """Return why a message cannot hold the parts. Claude takes pictures, PDF and text."""
        if any(make_block(part) is None for part in parts):
            return "Claude takes pictures, PDF documents and texts only, and no text at a URL"
        return ""

    def session(self, opening: Opening) -> FrameworkSession:
        """Return the session of a conversation."""
        _check(_read_options(opening.thing), opening.environment)
        return ClaudeSession(opening)


def _check(options: Any, environment: Environment | None) -> None:
    if environment is not None and not list_servers(options):
        raise UsageError(_NOT_REACHED, code="unusable-agent")
    for name in ("resume", "continue_conversation"):
        if getattr(options, name) and "CLAUDE_CONFIG_DIR" not in options.env:
            raise UsageError(
                f"{name} of the options needs the folder of earlier sessions, but each conversation begins with an "
                "empty folder; name the folder in env, for example env={'CLAUDE_CONFIG_DIR': '/data/claude'}",
                code="unusable-agent",
            )


class ClaudeSession(ObservedSession):
    """One conversation, with a process of its own. A task reads its messages until the end."""

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening, opening.target_name)
        self._listener = Listener(self._name, self._observer)
        self._options: Any = _read_options(opening.thing)
        self._policy = opening.options.get("can_use_tool")
        self._folder = tempfile.TemporaryDirectory(prefix="fairtrial-", ignore_cleanup_errors=True)
        self._client: Any = None
        self._reading: asyncio.Task[None] | None = None
        self._paused = asyncio.Event()
        self._error: Exception | None = None
        self._calls: dict[str, tuple[ToolCall, asyncio.Future[Approval]]] = {}
        self._question: tuple[dict[str, Any], asyncio.Future[str]] | None = None
        self._declarations: dict[str, dict[str, Json]] = {}

    async def open(self) -> None:
        """Start Claude Code. A function of the factory may decide about calls itself."""
        library = import_extra("claude_agent_sdk", EXTRA)
        self._listener.output_tool = _OUTPUT_TOOL if getattr(self._options, "output_format", None) else ""
        options = self._options
        await self._learn_tools(options)
        asks = self._policy or (self._decide if options.can_use_tool else None)
        folder = Path(self._folder.name)
        self._options = dataclasses.replace(
            options,
            cwd=working_folder(options, folder),
            env=make_variables(options, folder),
            can_use_tool=asks,
            include_partial_messages=True,
            forward_subagent_text=True,
            mcp_servers=self._observe_servers(options),
        )
        self._client = library.ClaudeSDKClient(self._options)
        await self._client.connect()
        self._reading = asyncio.create_task(self._read())

    async def close(self) -> None:
        """End the process, and delete its folders."""
        with self._folder:
            for _, decision in self._calls.values():
                decision.cancel()
            if self._client is not None:
                await self._client.disconnect()
            if self._reading is not None:
                self._reading.cancel()
                await asyncio.wait([self._reading])

    def _declare(self) -> Iterable[AgentDetails]:
        """Yield the agents with their tools. Claude Code lists all of its own tools in a turn only."""
        options = self._options
        listed_names = options.tools if isinstance(options.tools, list) else options.allowed_tools
        names = dict.fromkeys(name for name in listed_names if "(" not in name)
        tools = self._declarations | {
            name: {"name": name} for name in names if name not in self._declarations and not name.startswith("mcp__")
        }
        yield AgentDetails(self._name, read_instructions(options), tuple(tools.values()))
        for name, definition in (options.agents or {}).items():
            yield sub_agent(name, definition)

    async def _run(self, message: str, parts: Sequence[Part]) -> Iterable[Item]:
        """Send the message, and wait until Claude Code is idle, or waits for a decision of the user."""
        if self._question is None:
            return await self._say(message, parts)
        refuse_parts(parts)
        return await self._reply(message)

    def _waiting(self) -> list[ToolCall]:
        return [call for call, _ in self._calls.values()]

    async def _say(self, message: str, parts: Sequence[Part]) -> Iterable[Item]:
        content = [{"type": "text", "text": message}, *map(make_block, parts)] if parts else message

        async def messages() -> AsyncIterator[dict[str, Any]]:
            yield {"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": None}

        self._listener.begin_turn()
        await self._client.query(messages())
        return await self._until_pause()

    async def _reply(self, message: str) -> Iterable[Item]:
        """Answer the question of the agent with the message of the user."""
        if self._question is not None:
            _, answer = self._question
            self._question = None
            answer.set_result(message)
        return await self._until_pause()

    async def _go_on(self, decisions: Sequence[Approval]) -> Iterable[Item]:
        waiting, self._calls = self._calls, {}
        for (call, future), decision in zip(waiting.values(), decisions, strict=True):
            self._listener.approvals[call.id] = decision
            future.set_result(decision)
        return await self._until_pause()

    @property
    def _is_paused(self) -> bool:
        """Whether Claude Code has ended, is idle, or waits for the user. It may be so before anybody waits for it."""
        has_ended = self._listener.is_idle and self._listener.result is not None
        return has_ended or bool(self._error or self._calls or self._question)

    async def _until_pause(self) -> list[Item]:
        """Wait until Claude Code is idle, or asks the user. Return the items that no message has reported."""
        while not self._is_paused:
            self._paused.clear()
            await self._paused.wait()
        if self._error is not None:
            raise self._error
        if self._question is not None:
            return [Message(read_question(self._question[0]), self._name)]
        if self._calls:
            return []
        failure = self._listener.failure()
        if failure is not None:
            raise failure
        result = self._listener.result
        items: list[Item] = [*self._listener.remaining_usage()]
        if result.structured_output is not None:
            items.append(Message(as_text(result.structured_output), self._name))
        elif not self._observer.has_reply:
            items.append(Message(str(result.result or ""), self._name))
        return items

    async def _read(self) -> None:
        """Take the messages of Claude Code until it ends."""
        try:
            async for message in self._client.receive_messages():
                self._listener.take(message)
                if getattr(message, "subtype", "") == "init":
                    self._note_agents()
                self._paused.set()
            self._fail(AgentError("Claude Code ended"))
        except Exception as error:  # noqa: BLE001  (raised again in the session)
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self._error = self._error or error
        self._paused.set()

    def _note_agents(self) -> None:
        """Note the main agent at the beginning of a turn."""
        names = [_NEW_NAMES.get(name, name) for name in self._listener.tool_names]
        tools = [self._declarations.get(name, {"name": name}) for name in names]
        self._observer.note_request(self._name, read_instructions(self._options), tools)

    async def _decide(self, name: str, arguments: dict[str, Any], context: Any) -> Any:
        """Wait for the decision about a call, or for the answer to a question, in place of the user's function."""
        library = import_extra("claude_agent_sdk", EXTRA)
        loop = asyncio.get_running_loop()
        if name == _ASKS_USER:
            answer: asyncio.Future[str] = loop.create_future()
            self._question = (arguments, answer)
            self._paused.set()
            return library.PermissionResultAllow(updated_input=answers_to(arguments, await answer))
        call_id = str(context.tool_use_id)
        future: asyncio.Future[Approval] = loop.create_future()
        self._calls[call_id] = (ToolCall(name, plain(arguments), call_id, self._name), future)
        self._paused.set()
        decision = await future
        self._observer.begin_tool(call_id)
        if decision.decision == "reject":
            return library.PermissionResultDeny(message=decision.reason or "The call was rejected.")
        return library.PermissionResultAllow(updated_input=decision.args)

    async def _learn_tools(self, options: Any) -> None:
        """Note the tools of the MCP servers in this process."""
        for server_name, server in list_servers(options).items():
            for tool in await list_tools(server, EXTRA):
                name = name_of_tool(server_name, str(tool["name"]), options)
                self._declarations[name] = make_declaration(tool, name)

    def _observe_servers(self, options: Any) -> Any:
        """Return the MCP servers, those in this process behind an observer."""
        if not isinstance(options.mcp_servers, dict):
            return options.mcp_servers
        observed = {
            name: ObservedServer(server, self._answering(name), self._describing(name), EXTRA)
            for name, server in list_servers(options).items()
        }
        return {
            name: {**server, "instance": observed[name]} if name in observed else server
            for name, server in options.mcp_servers.items()
        }

    def _describing(self, server: str) -> Callable[[str, str], str]:
        def describe(tool: str, description: str) -> str:
            name = name_of_tool(server, tool, self._options)
            described = describe_tool(self._observer.environment, name, description) or ""
            if described != description:
                self._declarations[name] = {**self._declarations.get(name, {"name": name}), "description": described}
            return described

        return describe

    def _answering(self, server: str) -> Callable[[McpCall, Callable[[], Awaitable[Result]]], Awaitable[Answer]]:
        async def answer(mcp_call: McpCall, real: Callable[[], Awaitable[Result]]) -> Answer:
            name = name_of_tool(server, mcp_call.name, self._options)
            call_id = str(mcp_call.meta.get("claudecode/toolUseId") or "")
            call = ToolCall(name, plain(mcp_call.arguments), call_id, self._name)
            declaration = self._declarations.get(name, {"name": name})
            try:
                return await self._observer.answer(
                    call, declaration, real, as_json=_content, has_failed=lambda result: bool(result.get("isError"))
                )
            except ServerError:
                raise
            except Exception as error:
                self._fail(error)
                raise

        return answer


def _content(result: Result) -> Json:
    return response(plain(result.get("content")))


agent_at, agent_around = ClaudeAgent.at, ClaudeAgent.around
