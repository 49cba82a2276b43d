"""Intercept calls between an in-process MCP server and its client, so that an environment can answer."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from fairtrial.agents.plain import as_text, plain
from fairtrial.agents.routing import Answer
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.records.record import Json

Result = dict[str, Any]
"""The result of a call: `content`, `isError` and more."""


class McpCall(NamedTuple):
    """A call of a tool. `meta` is what the client says about it."""

    name: str
    arguments: dict[str, Any]
    meta: dict[str, Any]


AnswerCall = Callable[[McpCall, Callable[[], Awaitable[Result]]], Awaitable[Answer]]
"""Answers a call, with the server's own tool (the second argument) or without it."""


class ObservedServer:
    """Stands before an `mcp.server.Server`, and answers the calls of its tools. The server gets all other messages.

    `describe` gets the name and the description of a tool, and returns the description that the client reads.
    It can be served wherever the server can: it has the two methods that a host of servers calls.
    """

    def __init__(self, server: Any, answer: AnswerCall, describe: Callable[[str, str], str], extra: str) -> None:
        self._server = server
        self._answer = answer
        self._describe = describe
        self._extra = extra

    def create_initialization_options(self) -> Any:
        """Return the options with which the server runs."""
        return self._server.create_initialization_options()

    async def run(self, read: Any, write: Any, options: Any, **settings: Any) -> None:
        """Serve one client until it closes its stream."""
        async with _run_server(self._server, options, self._extra, settings) as (from_server, to_server):
            connection = _Connection(to_server, write, self._answer, self._extra)
            tasks = {asyncio.create_task(connection.pass_on(from_server))}
            try:
                async for item in read:
                    method = getattr(_message(item), "method", "")
                    if method not in ("tools/call", "tools/list"):
                        await to_server.send(item)
                        continue
                    answering = (
                        connection.answer_call(item)
                        if method == "tools/call"
                        else connection.list_tools(item, self._describe)
                    )
                    task = asyncio.create_task(answering)
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
            finally:
                for task in tasks:
                    task.cancel()


async def list_tools(server: Any, extra: str) -> list[dict[str, Any]]:
    """Return the tools of a server as it declares them."""
    session_class = import_extra("mcp", extra).ClientSession
    options = server.create_initialization_options()
    async with (
        _run_server(server, options, extra, {}) as (from_server, to_server),
        session_class(from_server, to_server) as session,
    ):
        await session.initialize()
        tools = (await session.list_tools()).tools
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]


def make_declaration(tool: dict[str, Any], name: str) -> dict[str, Json]:
    """Return the declaration of a tool under the name by which the model knows it."""
    schema = plain(tool.get("inputSchema") or {})
    return {"name": name, "description": str(tool.get("description") or ""), "parameters_json_schema": schema}


@asynccontextmanager
async def _run_server(
    server: Any, options: Any, extra: str, settings: dict[str, Any]
) -> AsyncIterator[tuple[Any, Any]]:
    """Run a server, and yield the stream from it and the stream to it."""
    streams = import_extra("mcp.shared.memory", extra).create_client_server_memory_streams
    async with streams() as (client, (server_read, server_write)):
        serving = asyncio.create_task(server.run(server_read, server_write, options, **settings))
        try:
            yield client
        finally:
            serving.cancel()
            await asyncio.wait([serving])


class _Connection:
    """The messages between one client and the server."""

    def __init__(self, to_server: Any, to_client: Any, answer: AnswerCall, extra: str) -> None:
        self._to_server = to_server
        self._to_client = to_client
        self._answer = answer
        self._types = import_extra("mcp.types", extra)
        self._numbers = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[Any]] = {}

    async def answer_call(self, item: Any) -> None:
        """Answer a call of the client."""
        message = _message(item)
        params = dict(message.params or {})
        call = McpCall(str(params.get("name")), params.get("arguments") or {}, params.get("_meta") or {})
        try:
            answer = await self._answer(call, lambda: self._real(item))
        except ServerError as error:
            await self._to_client.send(error.item_with(message.id))
            return
        result = answer.value if answer.own else {"content": [{"type": "text", "text": as_text(answer.value)}]}
        await self._reply(item, result)

    async def list_tools(self, item: Any, describe: Callable[[str, str], str]) -> None:
        """Answer the request for the tools, with other descriptions."""
        try:
            result = await self._real(item)
        except ServerError as error:
            await self._to_client.send(error.item_with(_message(item).id))
            return
        tools = [
            {**tool, "description": described} if (described := _describe(tool, describe)) else tool
            for tool in result.get("tools") or ()
        ]
        await self._reply(item, {**result, "tools": tools})

    async def _reply(self, item: Any, result: Result) -> None:
        response = self._types.JSONRPCResponse(jsonrpc="2.0", id=_message(item).id, result=result)
        await self._to_client.send(_like(item, response))

    async def pass_on(self, from_server: Any) -> None:
        """Pass the messages of the server on, but for the results of calls that were made here."""
        async for item in from_server:
            message = _message(item)
            waiting = self._waiting.pop(str(getattr(message, "id", "")), None)
            if waiting is None:
                await self._to_client.send(item)
            elif not waiting.done():
                waiting.set_result(item)

    async def _real(self, item: Any) -> Result:
        """Call the tool of the server. Each call has an id of its own, because an environment may call twice."""
        request_id = f"fairtrial-{next(self._numbers)}"
        waiting = self._waiting[request_id] = asyncio.get_running_loop().create_future()
        await self._to_server.send(_like(item, _message(item).model_copy(update={"id": request_id})))
        answer = await waiting
        result = getattr(_message(answer), "result", None)
        if result is None:
            raise ServerError(answer)
        return dict(result)


def _describe(tool: dict[str, Any], describe: Callable[[str, str], str]) -> str:
    return describe(str(tool.get("name")), str(tool.get("description") or ""))


class ServerError(Exception):
    """The server answered a call with an error of the protocol."""

    def __init__(self, item: Any) -> None:
        super().__init__(str(_message(item).error.message))
        self._item = item

    def item_with(self, request_id: Any) -> Any:
        """Return the error as the answer to a request."""
        return _like(self._item, _message(self._item).model_copy(update={"id": request_id}))


def _message(item: Any) -> Any:
    """Return the message in an item of a stream. Version 1 of the library puts it into a model of its own."""
    message = getattr(item, "message", item)
    return getattr(message, "root", message)


def _like(item: Any, message: Any) -> Any:
    """Return an item of a stream with another message."""
    wrapped = item.message.__class__(message) if hasattr(item.message, "root") else message
    return item.__class__(wrapped)
