"""Sessions with an MCP server: its tools are called as the case says, or as a model chooses."""

from __future__ import annotations

import asyncio
import itertools
import os
import shlex
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

import msgspec
from msgspec.structs import replace

from fairtrial.agents.endpoints.endpoint_client import EndpointClient, connect, url_ending_in
from fairtrial.agents.endpoints.urls import check_answers
from fairtrial.agents.error_relay import relay_errors
from fairtrial.agents.mcp_calls import make_declaration
from fairtrial.agents.plain import as_text
from fairtrial.agents.routing import describe_tool, route_call
from fairtrial.errors import AgentError, UsageError
from fairtrial.formats.message_entries import read_arguments
from fairtrial.protocols import AddsTools, Environment, Item
from fairtrial.records.trace import About, AgentDetails, Message, ToolCall, ToolResult, Usage
from fairtrial.system.importing import import_extra
from fairtrial.text.display import describe_error, shorten

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.record import Json

EXTRA = "agents-mcp"
_SECONDS = 30.0
"""So long a server may take to start, and a call to be answered by a check."""
_MOST_ROUNDS = 20
_SHOWN = 300
_LIKE = "mcp:python server.py#http://localhost:8000/v1#gpt"


def agent_at(target: str) -> McpServerAgent:
    """Return the agent of `mcp:COMMAND` or `mcp:URL`, with a model of `mcp:COMMAND#URL#MODEL`. Raises UsageError."""
    import_extra("mcp", EXTRA)
    server, _, model = target.partition(":")[2].partition("#")
    if not server.strip():
        raise UsageError("must name a command or a URL, for example mcp:python server.py", code="unusable-agent")
    if not server.startswith(("http://", "https://")):
        words = split_command(server)
        if shutil.which(words[0]) is None:
            raise UsageError(f"no such program as {words[0]!r}", code="unusable-agent")
    url, _, name = model.partition("#")
    endpoint = url_ending_in("/chat/completions", url, like=_LIKE) if url else ""
    return McpServerAgent(server, endpoint, name or "default")


def split_command(command: str) -> list[str]:
    """Return the words of a command. Raises UsageError if a quotation mark is open."""
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"is not a command: {error}", code="unusable-agent") from None


@dataclass(frozen=True, slots=True)
class McpServerAgent:
    """An MCP server. Each conversation has a connection of its own, and a process if the server is a command.

    Without a model, a message is a call, such as `get_order {"order_id": "A-17"}`. If it is any other text, the
    expected calls of the case are made. The reply is the text of the last result. With a `url` of chat completions, the
    `model` there gets the message and the tools, and chooses.
    """

    server: str
    url: str = ""
    model: str = ""

    @property
    def shows_tools(self) -> bool:
        """Whether a model reads the declarations of the tools here."""
        return bool(self.url)

    @property
    def hosts_servers(self) -> bool:
        """Whether a model may choose between this server and another one."""
        return bool(self.url)

    async def check_target(self) -> None:
        """Raise UsageError if the server does not list its tools, or if the endpoint of the model does not answer."""
        async with open_answering(self.server):
            pass
        if self.url:
            httpx = import_extra("httpx2", "http")
            async with httpx.AsyncClient(timeout=_SECONDS) as client:
                await check_answers(client, httpx, self.url)

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[McpServerSession]:
        """Open a conversation."""
        async with AsyncExitStack() as stack:
            server = await stack.enter_async_context(open_server(self.server))
            client = await stack.enter_async_context(connect(self.url)) if self.url else None
            yield McpServerSession(server, case, environment, None if client is None else _Model(self, client))


class McpConnection:
    """A connection with a server: its name, its instructions, and its tools as it declares them."""

    def __init__(self, session: Any, server: dict[str, Any], tools: list[dict[str, Any]]) -> None:
        self._session = session
        self.name = str((server.get("serverInfo") or {}).get("name") or "server")
        self.version = str((server.get("serverInfo") or {}).get("version") or "")
        self.instructions = str(server.get("instructions") or "")
        self.tools = tools

    async def call(self, name: str, args: dict[str, Any]) -> dict[str, Any]:
        """Call a tool, and return its result as JSON. An error of the protocol is a result with `isError`, too."""
        error_class = getattr(import_extra("mcp", EXTRA), "MCPError", None) or import_extra("mcp", EXTRA).McpError
        try:
            result = await self._session.call_tool(name, args)
        except error_class as error:
            return {"content": [{"type": "text", "text": str(error)}], "isError": True}
        return _as_json(result)


@asynccontextmanager
async def open_server(server: str) -> AsyncIterator[McpConnection]:
    """Start a server, or connect with it, and list its tools."""
    async with AsyncExitStack() as stack:
        errors = await stack.enter_async_context(relay_errors("the MCP server"))
        streams = await stack.enter_async_context(_transport(server, errors))
        session_class = import_extra("mcp", EXTRA).ClientSession
        session = await stack.enter_async_context(session_class(streams[0], streams[1]))
        about = _as_json(await session.initialize())
        tools: list[dict[str, Any]] = []
        cursor = None
        for _ in range(_MOST_ROUNDS):
            page = _as_json(await _list_page(session, cursor))
            tools += page.get("tools") or []
            cursor = page.get("nextCursor")
            if not cursor:
                break
        yield McpConnection(session, about, tools)


@asynccontextmanager
async def open_answering(server: str) -> AsyncIterator[McpConnection]:
    """Open a server. Raises UsageError if it ends, or does not list its tools within 30 seconds.

    An error while the server closes is not raised, because what was asked before is answered.
    """
    is_open = False
    try:
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(_SECONDS):
                connection = await stack.enter_async_context(open_server(server))
            is_open = True
            yield connection
            is_open = False
            with suppress(Exception):
                await stack.aclose()
    except UsageError:
        raise
    except Exception as error:
        if is_open:
            raise
        late = f"its tools are not listed after {_SECONDS:g} seconds"
        cause = late if isinstance(error, TimeoutError) else shorten(describe_error(_innermost(error)), _SHOWN)
        raise UsageError(f"{server} does not answer as an MCP server: {cause}", code="no-answer") from error


def _transport(server: str, errors: TextIO) -> Any:
    if server.startswith(("http://", "https://")):
        module = import_extra("mcp.client.streamable_http", EXTRA)
        make_client = getattr(module, "streamable_http_client", None) or module.streamablehttp_client
        return make_client(server)
    stdio = import_extra("mcp.client.stdio", EXTRA)
    command, *args = split_command(server)
    parameters = stdio.StdioServerParameters(command=command, args=args, env=dict(os.environ))
    return stdio.stdio_client(parameters, errlog=errors)


async def _list_page(session: Any, cursor: str | None) -> Any:
    if cursor is None:
        return await session.list_tools()
    types = import_extra("mcp.types", EXTRA)
    return await session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))


def _as_json(model: Any) -> dict[str, Any]:
    fields: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return fields


def _innermost(error: BaseException) -> BaseException:
    """Return the first error in a group of a task group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


class McpServerSession:
    """One conversation: calls of tools, and their results."""

    def __init__(
        self, server: McpConnection, case: EvalCase, environment: Environment | None, model: _Model | None
    ) -> None:
        self._server = server
        self._model = model
        self._environment = environment
        self._expected = [invocation.tool_calls for invocation in case.conversation or ()]
        self._turn = 0
        self._numbers = itertools.count(1)
        self._declarations = {
            str(tool.get("name")): make_declaration(tool, str(tool.get("name"))) for tool in server.tools
        }
        self._details = AgentDetails(
            server.name, server.instructions, tool_declarations=tuple(self._declarations.values())
        )
        self.about: About | None = About((self._details,))

    async def send(self, message: str) -> AsyncIterator[Item]:
        """Make the calls of a message, or let the model choose, and yield calls, results and the reply."""
        expected = self._expected[self._turn] if self._turn < len(self._expected) else ()
        self._turn += 1
        if self._model is not None:
            async for item in self._choose(self._model, message):
                yield item
            return
        reply = ""
        for name, args in _calls_in(message) or [(call.name, call.args) for call in expected]:
            call = self._make_call(name, args)
            yield call
            result = await self._call(call)
            yield result
            reply = as_text(result.response)
        if not reply and not expected and not _calls_in(message):
            raise AgentError(
                f'the message must be a call, such as get_order {{"id": 1}}, got {shorten(message, _SHOWN)!r}'
            )
        yield Message(reply, self._server.name)

    async def _choose(self, model: _Model, message: str) -> AsyncIterator[Item]:
        model.messages.append({"role": "user", "content": message})
        for _ in range(_MOST_ROUNDS):
            answer, usage = await model.ask(self._describe_tools())
            if usage is not None:
                yield usage
            calls = answer.get("tool_calls") or []
            if not calls:
                yield Message(str(answer.get("content") or ""), self._server.name)
                return
            for raw in calls:
                function = raw.get("function") or {}
                name, args = str(function.get("name")), read_arguments(function.get("arguments"))
                call = ToolCall(name, args, str(raw.get("id") or f"call-{next(self._numbers)}"))
                yield call
                result = await self._call(call)
                yield result
                model.messages.append({"role": "tool", "tool_call_id": call.id, "content": as_text(result.response)})
        raise AgentError(f"the model called tools in {_MOST_ROUNDS} rounds, and did not reply")

    def _describe_tools(self) -> list[dict[str, Json]]:
        """Return the declarations that the model reads next, and note them."""
        declarations = [
            {**own, "description": describe_tool(self._environment, name, str(own.get("description") or ""))}
            for name, own in self._declarations.items()
        ]
        environment: object = self._environment
        if isinstance(environment, AddsTools):
            declarations += environment.add_tools(list(self._declarations.values()))
        self.about = About((replace(self._details, tool_declarations=tuple(declarations)),))
        return declarations

    def _make_call(self, name: str, args: dict[str, Any]) -> ToolCall:
        return ToolCall(name, args, f"call-{next(self._numbers)}")

    async def _call(self, call: ToolCall) -> ToolResult:
        """Call a tool of the server, or let the environment answer."""
        is_error = False

        async def real() -> Json:
            nonlocal is_error
            result = await self._server.call(call.name, call.args)
            is_error = bool(result.get("isError"))
            return response_in(result)

        if self._environment is None:
            return ToolResult(call.name, await real(), call.id, is_error=is_error)
        declaration = self._declarations.get(call.name, {"name": call.name})
        answer = await route_call(self._environment, call, declaration, real)
        return ToolResult(call.name, answer.value, call.id, is_error=is_error and answer.own)


class _Model:
    """The model that chooses the tools, behind an endpoint of chat completions."""

    def __init__(self, agent: McpServerAgent, client: EndpointClient) -> None:
        self._agent = agent
        self._client = client
        self.messages: list[dict[str, Any]] = []

    async def ask(self, declarations: Sequence[dict[str, Json]]) -> tuple[dict[str, Any], Usage | None]:
        """Return the next message of the model, and its tokens."""
        tools = [
            {
                "type": "function",
                "function": {
                    "name": declaration["name"],
                    "description": declaration["description"],
                    "parameters": declaration["parameters_json_schema"],
                },
            }
            for declaration in declarations
        ]
        body = {"model": self._agent.model, "messages": self.messages, "tools": tools}
        reply = await self._client.post(self._agent.url, body)
        choices = reply.get("choices") if isinstance(reply, dict) else None
        message = choices[0].get("message") if isinstance(choices, list) and choices else None
        if not isinstance(message, dict):
            raise AgentError(
                f"{self._agent.url}: must reply an object with 'choices', got {shorten(str(reply), _SHOWN)}"
            )
        self.messages.append({**message, "role": "assistant"})
        usage = reply.get("usage") or {}
        return message, Usage(usage.get("prompt_tokens"), usage.get("completion_tokens"), model=reply.get("model"))


def _calls_in(message: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the call in a message: a name and a JSON object behind it, or an object with `name` and `arguments`."""
    name, _, rest = message.strip().partition("{")
    try:
        value = msgspec.json.decode("{" + rest) if rest else None
    except msgspec.DecodeError:
        return []
    if not isinstance(value, dict):
        return []
    if name.strip():
        return [(name.strip(), value)] if len(name.split()) == 1 else []
    args = value.get("arguments", {})
    return [(value["name"], args)] if isinstance(value.get("name"), str) and isinstance(args, dict) else []


def response_in(result: dict[str, Any]) -> Json:
    """Return the content of a result: the structured content, or its texts, or its parts if there are others.

    A text that an SDK wraps as `{"result": TEXT}` is the text.
    """
    parts = result.get("content") or []
    are_texts = all(part.get("type") == "text" for part in parts)
    text = "\n".join(str(part.get("text", "")) for part in parts)
    structured = result.get("structuredContent")
    if structured is not None and structured != {"result": text}:
        return structured
    return text if are_texts else parts
