"""A server on a real socket that speaks OpenAI chat completions; what it answers, a function says."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from shop import PROMPT_TOKENS, REPLY_TOKENS, TOOLS, Move, move

Messages = list[dict[str, Any]]


class Reset:
    """Reset the connection instead of answering."""


class Silence:
    """Say nothing, and keep the connection."""


@dataclass(frozen=True)
class Status:
    """Answer with a status, a body and headers."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def Streamed(body: bytes) -> Status:  # noqa: N802  (it stands beside the classes)
    """Answer with server-sent events."""
    return Status(200, body, {"content-type": "text/event-stream; charset=utf-8"})


Answer = dict[str, Any] | bytes | int | Reset | Silence | Status
Script = Callable[[dict[str, Any]], Answer]
"""A request's body to a reply's body; bytes are sent as they are, a number is an HTTP status."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # with the default of 5, fifty clients at once are turned away on a busy machine

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: a client that gave up is gone when it is answered, and a script may raise to break off."""


@dataclass(frozen=True)
class Request:
    """A request: its method, the path without `/v1`, and its JSON."""

    method: str
    path: str
    body: Any


class JsonServer:
    """The server, as a context manager; `requests` are the bodies and headers that it was sent."""

    def __init__(self, route: Callable[[Request], Answer]) -> None:
        self.requests: list[tuple[dict[str, Any], dict[str, str]]] = []
        self._closing = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"] or 0)) or b"null")
                outer.requests.append((body, {name.lower(): value for name, value in self.headers.items()}))
                self._answer(route(Request(self.command, self.path.removeprefix("/v1"), body)))

            do_GET = do_DELETE = do_POST  # noqa: N815

            def _answer(self, answer: Answer) -> None:
                if isinstance(answer, Silence):
                    outer._closing.wait()
                elif isinstance(answer, Reset):
                    # With linger 0 closing sends a reset, not the polite end of a connection.
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    self.connection.close()
                else:
                    extra = answer.headers if isinstance(answer, Status) else {}
                    status = answer.status if isinstance(answer, Status) else answer if isinstance(answer, int) else 200
                    answer = answer.body if isinstance(answer, Status) else answer
                    data = b"it broke" if isinstance(answer, int) else answer
                    data = data if isinstance(data, bytes) else json.dumps(data).encode()
                    self.send_response(status)
                    for name, value in {"content-type": "application/json", **extra}.items():
                        self.send_header(name, value)
                    self.send_header("content-length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                    return
                self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


class ChatServer(JsonServer):
    """A server that answers every request by a script."""

    def __init__(self, script: Script) -> None:
        super().__init__(lambda request: script(request.body))


def completion(message: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A chat completion."""
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [
            {"index": 0, "finish_reason": "tool_calls" if message.get("tool_calls") else "stop", "message": message}
        ],
        "usage": {
            "prompt_tokens": PROMPT_TOKENS,
            "completion_tokens": REPLY_TOKENS,
            "total_tokens": PROMPT_TOKENS + REPLY_TOKENS,
        },
        **more,
    }


def _said(one: Move, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": one.text or None}
    if one.call:
        function = {"name": one.call, "arguments": json.dumps(one.args)}
        message["tool_calls"] = [{"id": f"call-{one.call}-{number}", "type": "function", "function": function}]
    return message


def model(body: dict[str, Any]) -> dict[str, Any]:
    """Answer as the shop's model does: tools are called, and somebody else runs them."""
    messages: Messages = body["messages"]
    last = max(i for i, message in enumerate(messages) if message["role"] == "user")
    query = messages[last]["content"]
    results = sum(message["role"] == "tool" for message in messages[last:])
    query = query if isinstance(query, str) else "".join(part.get("text", "") for part in query)
    return completion(_said(move(query, results), len(messages)))


def agent(body: dict[str, Any]) -> dict[str, Any]:
    """Answer as the shop's assistant does: it runs its tools itself, and reports everything in `messages`."""
    reported: Messages = []
    results = 0
    while True:
        one = move(body["messages"][-1]["content"], results)
        message = _said(one, len(reported) + len(body["messages"]))
        reported.append(message)
        if not one.call:
            return completion(message, messages=reported)
        response = json.dumps(TOOLS[one.call](**one.args))
        reported.append({"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": response})
        results += 1
