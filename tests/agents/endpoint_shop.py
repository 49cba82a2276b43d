"""The shop behind endpoints: OpenAI's Responses API, a LangGraph server, ADK's server, and one of its own."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chat_server import Answer, JsonServer, Request, Status, Streamed
from shop import INSTRUCTIONS, PROMPT_TOKENS, REPLY_TOKENS, TOOLS, Move, move

_DECLARATIONS = [
    {
        "type": "function",
        "name": name,
        "description": tool.__doc__,
        "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}},
    }
    for name, tool in TOOLS.items()
]


def moves(query: str) -> Iterator[tuple[Move, Any]]:
    """What the shop does with a message: each move, with the answer of the tool that it calls."""
    for results in itertools.count():
        one = move(query, results)
        yield one, TOOLS[one.call](**one.args) if one.call else None
        if not one.call:
            return


def response(request: Request) -> dict[str, Any]:
    """Answer as a server with OpenAI's Responses API that runs the tools itself."""
    output: list[dict[str, Any]] = []
    query = request.body["input"][-1]["content"]
    for number, (one, answer) in enumerate(moves(query if isinstance(query, str) else query[0]["text"])):
        if one.text or not one.call:
            content = [{"type": "output_text", "text": one.text}]
            output.append({"type": "message", "role": "assistant", "content": content})
        if one.call:
            call_id = f"call-{id(request)}-{number}"
            arguments = json.dumps(one.args)
            output.append({"type": "function_call", "name": one.call, "arguments": arguments, "call_id": call_id})
            output.append({"type": "function_call_output", "call_id": call_id, "output": json.dumps(answer)})
    return {
        "id": f"resp-{id(request)}",
        "object": "response",
        "model": "scripted",
        "instructions": INSTRUCTIONS,
        "tools": _DECLARATIONS,
        "output": output,
        "usage": {"input_tokens": PROMPT_TOKENS, "output_tokens": REPLY_TOKENS},
    }


class LangGraphServer(JsonServer):
    """A LangGraph server: threads, and runs that stream the states of the graph."""

    def __init__(self) -> None:
        super().__init__(self._route)
        self.threads: dict[str, dict[str, Any]] = {}
        self._numbers = itertools.count(1)

    def _route(self, request: Request) -> Answer:
        if request.path == "/assistants/search":
            return b"[]"
        if request.path == "/threads":
            thread = f"thread-{next(self._numbers)}"
            self.threads[thread] = {"messages": []}
            return {"thread_id": thread}
        thread = request.path.split("/")[2]
        if request.method == "DELETE":
            del self.threads[thread]
            return Status(204, b"")
        if request.path.endswith("/runs"):
            return b"[]"
        if request.method == "GET":
            return {"values": self.threads[thread], "next": [], "tasks": []}
        return Streamed(b"".join(self._states(self.threads[thread], request.body["input"])))

    def _states(self, state: dict[str, Any], update: dict[str, Any]) -> Iterator[bytes]:
        messages = state["messages"]
        state |= {key: value for key, value in update.items() if key != "messages"}
        messages += update["messages"]
        yield b"event: metadata\r\ndata: {}\r\n\r\n"
        yield b": heartbeat\r\n\r\n"
        yield _event("values", state)
        try:
            for one, answer in moves(update["messages"][-1]["content"]):
                number = next(self._numbers)
                calls = [{"name": one.call, "args": one.args, "id": f"call-{number}"}] if one.call else []
                usage = {"input_tokens": PROMPT_TOKENS, "output_tokens": REPLY_TOKENS}
                model = {"type": "ai", "content": one.text, "tool_calls": calls, "id": f"m-{number}"}
                messages.append({**model, "usage_metadata": usage})
                yield _event("values", state)
                if one.call:
                    tool = {"type": "tool", "name": one.call, "content": json.dumps(answer), "id": f"t-{number}"}
                    messages.append({**tool, "tool_call_id": f"call-{number}", "status": "success"})
                    yield _event("values", state)
        except RuntimeError as error:
            yield _event("error", {"error": "RuntimeError", "message": str(error)})


def _event(name: str, data: Any) -> bytes:
    return f"event: {name}\r\ndata: {json.dumps(data, ensure_ascii=False)}\r\n\r\n".encode()


@contextmanager
def adk_server() -> Iterator[str]:
    """ADK's own server with the shop, as `adk api_server` runs it."""
    import uvicorn
    from google.adk.cli.fast_api import get_fast_api_app

    app = get_fast_api_app(agents_dir=str(Path(__file__).parent), web=False, session_service_uri="memory://")
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", lifespan="on"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    for _ in range(6000):
        if server.started or not thread.is_alive():
            break
        thread.join(0.01)
    assert server.started, "the server did not start within a minute"
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"adk-server:http://127.0.0.1:{port}#adk_shop"
    finally:
        server.should_exit = True
        thread.join(10)


TEMPLATE: dict[str, Any] = {
    "body": {"session": "{conversation}", "text": "{message}"},
    "reply": "$.answer",
    "calls": {"at": "$.trace[?(@.kind=='tool')]", "name": "$.tool", "args": "$.input", "result": "$.output"},
    "conversation": "$.session",
    "input_tokens": "$.tokens.in",
    "output_tokens": "$.tokens.out",
}


def own_reply(request: Request) -> Answer:
    """Answer in a form that nobody else has. It tells of tools, and of texts before them not at all."""
    trace: list[dict[str, Any]] = []
    for number, (one, answer) in enumerate(moves(request.body["text"])):
        if not one.call:
            break
        trace += [{"kind": "text", "text": one.text}] if one.text else []
        trace.append({"kind": "tool", "tool": one.call, "input": one.args, "output": answer, "id": str(number)})
    tokens = {"in": PROMPT_TOKENS, "out": REPLY_TOKENS}
    return {"answer": one.text, "trace": trace, "session": f"s-{id(request)}", "tokens": tokens}
