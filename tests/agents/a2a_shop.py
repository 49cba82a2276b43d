"""The shop behind a real A2A server: the SDK's own request handler, tasks and routes, on a socket."""

from __future__ import annotations

import asyncio
import socket
import threading
from types import TracebackType
from typing import Any, Self

import uvicorn
from a2a.helpers import new_data_part, new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part
from shop import TOOLS, move
from starlette.applications import Starlette


class Shop(AgentExecutor):  # type: ignore[misc]
    """Runs the shop's tools itself, and reports them as ADK's A2A servers do."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Answer one message."""
        query = context.get_user_input()
        if "hello" in query:
            await event_queue.enqueue_event(new_text_message(f"You said: {query}", context_id=context.context_id))
            return
        if not context.current_task:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.start_work()
        if "which" in query:
            await updater.requires_input(updater.new_agent_message([new_text_part("Which one?")]))
        elif "sign in" in query:
            await updater.requires_auth(updater.new_agent_message([new_text_part("Please sign in.")]))
        elif context.current_task:
            await updater.add_artifact([new_text_part(f"You chose {query}.")])
            await updater.complete()
        elif "picture" in query:
            picture = Part(raw=b"\x00", media_type="image/png", filename="lamp.png")
            link = Part(url="https://example.com/lamp.pdf", media_type="application/pdf")
            await updater.add_artifact([new_text_part("Here it is."), picture, link])
            await updater.complete()
        elif "refuse" in query:
            await updater.failed(updater.new_agent_message([new_text_part("We are closed.")]))
        else:
            await self._work(query, updater)

    async def _work(self, query: str, updater: TaskUpdater) -> None:
        results = 0
        while (one := move(query, results)).call:
            data = {"id": f"{one.call}-{results}", "name": one.call}
            text = [new_text_part(one.text)] if one.text else []
            call = _part("function_call", {**data, "args": one.args})
            await updater.start_work(updater.new_agent_message([*text, call]))
            response = await asyncio.to_thread(TOOLS[one.call], **one.args)
            result = _part("function_response", {**data, "response": response})
            await updater.start_work(updater.new_agent_message([result]))
            results += 1
        half = len(one.text) // 2
        await updater.add_artifact([new_text_part(one.text[:half])], artifact_id="reply")
        await updater.add_artifact([new_text_part(one.text[half:])], artifact_id="reply", append=True, last_chunk=True)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Nothing here takes long enough."""


def _part(kind: str, data: dict[str, Any]) -> Any:
    part = new_data_part(data)
    part.metadata["adk_type"] = kind
    return part


class A2AServer:
    """The server, as a context manager."""

    def __init__(self, *, streaming: bool = True, executor: AgentExecutor | None = None) -> None:
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        card = AgentCard(
            name="shop",
            description="Helps the customers of a shop.",
            version="1",
            supported_interfaces=[
                AgentInterface(url=f"{self.url}/rpc", protocol_binding="JSONRPC", protocol_version="1.0")
            ],
            capabilities=AgentCapabilities(streaming=streaming),
            default_input_modes=["text/plain"],
            default_output_modes=["text/plain"],
            skills=[AgentSkill(id="orders", name="orders", description="Finds and cancels orders.", tags=["shop"])],
        )
        handler = DefaultRequestHandler(
            agent_executor=executor or Shop(), task_store=InMemoryTaskStore(), agent_card=card
        )
        app = Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/rpc")])
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)

    def __enter__(self) -> Self:
        self._socket.listen(128)  # whoever connects before the server runs waits in the queue
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.should_exit = True
        self._thread.join(20)
