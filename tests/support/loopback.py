"""A server on a real socket that speaks the protocols of OpenAI, Gemini, Anthropic and Bedrock, and does as it is told.

`/token` gives an access token, as Google's sign-in does.

A script is called with each request and says what to do with it: `Say` something, answer with a `Status`, `Drop` the
connection or send `Half` of a reply. It runs in a thread of its own, so that clients may use any event loop.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote


@dataclass(frozen=True)
class Request:
    """What a client asked: number from 1, path, model, all text of the prompt, JSON schema and body."""

    number: int
    path: str
    model: str
    text: str
    schema: dict[str, Any] | None
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def items(self) -> list[str]:
        """The ids that the schema asks about."""
        return list(self._fields()["id"]["enum"])

    @property
    def choices(self) -> list[str]:
        """The closed set of answers."""
        return list(self._fields()["answer"]["enum"])

    def _fields(self) -> dict[str, Any]:
        assert self.schema is not None
        fields: dict[str, Any] = self.schema["properties"]["answers"]["items"]["properties"]
        return fields

    def answers(self, answer: str | None = None, **more: str) -> str:
        """A reply in form: the same answer for every item, the first allowed one unless told."""
        chosen = answer or self.choices[0]
        entry = {"rationale": "because", "quote": "", "answer": chosen, **more}
        return json.dumps({"answers": [{"id": item, **entry} for item in self.items]}, ensure_ascii=False)


@dataclass(frozen=True)
class Say:
    """A reply in the server's protocol, after `delay` seconds; `raw` is sent as the body as it is.

    `served` is the model that answers in place of the asked one.
    """

    text: str = ""
    delay: float = 0.0
    refusal: str = ""
    raw: bytes | None = None
    finish: str = "stop"
    served: str = ""


@dataclass(frozen=True)
class Status:
    """An error."""

    code: int
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "scripted error"
    delay: float = 0.0


@dataclass(frozen=True)
class Drop:
    """Close the connection without a word."""


@dataclass(frozen=True)
class Half:
    """Announce a reply, send half of it and close the connection."""


Action = Say | Status | Drop | Half | str
Script = Callable[[Request], Action]


class Loopback:
    """The server, as a context manager; `requests` is what it was asked, `look_ups` path and headers of each GET.

    Without `keeps_open`, a connection ends with its reply, so that no client has an open one when it is collected.
    """

    def __init__(self, script: Script, *, keeps_open: bool = True) -> None:
        self.script = script
        self.keeps_open = keeps_open
        self.requests: list[Request] = []
        self.look_ups: list[tuple[str, dict[str, str]]] = []
        self.models: list[str] | None = None
        self.unauthorized = False
        self.port = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(10)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._open: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stop.wait()
        server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        body = await reader.readexactly(int(headers.get("content-length") or 0))
        if method in ("GET", "HEAD"):
            self.look_ups.append((path, headers))
            return await self._tell(writer, path)
        if path == "/token":
            token = {"access_token": "planted-access-token", "expires_in": 3600, "token_type": "Bearer"}
            return await self._send(writer, 200, json.dumps(token).encode())
        request = make_request(len(self.requests) + 1, path, headers, json.loads(body))
        self.requests.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._act(writer, request, self.script(request))
        finally:
            self.in_flight -= 1

    async def _tell(self, writer: asyncio.StreamWriter, path: str) -> bool:
        """Answer what models there are, or about one."""
        name = path.partition("/models")[2].partition("?")[0].lstrip("/")
        if self.unauthorized:
            return await self._send(writer, 401, b'{"error": {"message": "bad key", "code": 401}}')
        if self.models is None or (name and name not in self.models):
            return await self._send(writer, 404, b'{"error": {"message": "not here", "code": 404}}')
        entries = [
            {"id": one, "object": "model", "created": 1, "owned_by": "x", "name": f"models/{one}"}
            for one in self.models
        ]
        found = next((one for one in entries if one["id"] == name), None) or {"data": entries, "models": entries}
        return await self._send(writer, 200, json.dumps(found).encode())

    async def _act(self, writer: asyncio.StreamWriter, request: Request, action: Action) -> bool:
        if isinstance(action, Drop):
            return False
        if isinstance(action, Half):
            whole = reply_to(request, Say(request.answers()))
            kind = "text/event-stream" if request.body.get("stream") else "application/json"
            head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(whole)}\r\n\r\n"
            writer.write(head.encode() + whole[: len(whole) // 2])
            await writer.drain()
            return False
        if isinstance(action, Status):
            await asyncio.sleep(action.delay)
            error = {
                "error": {"message": action.message, "code": action.code, "status": "SCRIPTED", "type": "scripted"}
            }
            return await self._send(writer, action.code, json.dumps(error).encode(), action.headers)
        say = Say(action) if isinstance(action, str) else action
        await asyncio.sleep(say.delay)
        is_stream = request.body.get("stream") or ":streamGenerateContent" in request.path
        streamed = {"content-type": "text/event-stream"} if is_stream else {}
        return await self._send(writer, 200, reply_to(request, say), streamed)

    async def _send(
        self, writer: asyncio.StreamWriter, code: int, body: bytes, headers: dict[str, str] | None = None
    ) -> bool:
        lines = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
        if not self.keeps_open:
            lines["connection"] = "close"
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        writer.write(f"HTTP/1.1 {code} X\r\n{head}\r\n".encode() + body)
        await writer.drain()
        return self.keeps_open


def _is_for_claude(path: str) -> bool:
    """Whether a path is Anthropic's own, or that of Claude at Vertex AI."""
    return path.startswith("/v1/messages") or path.partition("?")[0].endswith(":rawPredict")


def make_request(number: int, path: str, headers: dict[str, str], body: dict[str, Any]) -> Request:
    """What a client asks with a body at a path."""
    if _is_for_claude(path):
        texts = [*_texts(body.get("system", "")), *_texts([message["content"] for message in body["messages"]])]
        schema = body.get("output_config", {}).get("format", {}).get("schema")
        model = body.get("model") or path.rpartition("/")[2].partition(":")[0]
    elif "enerateContent" in path:
        contents = [body.get("systemInstruction") or {}, *body["contents"]]
        texts = [part.get("text", "") for content in contents for part in content.get("parts", ())]
        config = body.get("generationConfig") or {}
        schema = config.get("responseJsonSchema") or config.get("responseSchema")
        model = path.rpartition("/")[2].partition(":")[0]
    elif "/converse" in path:
        blocks = [*body.get("system", []), *(part for message in body["messages"] for part in message["content"])]
        texts = [block.get("text", "") for block in blocks]
        schema = None
        model = unquote(path.split("/")[2])
    else:
        texts = [*_texts(body.get("instructions") or ()), *_texts(body.get("messages") or body.get("input"))]
        schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
        schema = schema or (body.get("text") or {}).get("format", {}).get("schema")
        model = body.get("model", "")
    return Request(number, path, model, "\n".join(texts), schema, body, headers)


def _texts(value: Any) -> list[str]:
    """All texts of a message: the message itself, or those of its parts."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for key in ("text", "content", "output") for text in _texts(value.get(key))]
    return [text for part in value or () for text in _texts(part)] if isinstance(value, list) else []


def reply_to(request: Request, say: Say) -> bytes:
    """A reply in the protocol of a request."""
    if say.raw is not None:
        return say.raw
    if _is_for_claude(request.path):
        return _message(request, say)
    if "enerateContent" in request.path:
        parts = [{"text": say.text}] if say.text else []
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": say.finish.upper(), "index": 0}
        usage = {"promptTokenCount": 1000, "candidatesTokenCount": 100, "totalTokenCount": 1100}
        reply: dict[str, Any] = {"candidates": [candidate], "usageMetadata": usage}
        reply["modelVersion"] = say.served or request.model
    elif request.path.endswith("/converse"):
        reply = {
            "output": {"message": {"role": "assistant", "content": [{"text": say.text}]}},
            "stopReason": "end_turn",
            "usage": {"inputTokens": 1000, "outputTokens": 100, "totalTokens": 1100},
            "metrics": {"latencyMs": 1},
        }
    elif request.path.partition("?")[0].endswith("/responses"):
        reply = _response(request, say)
    else:
        message = {"role": "assistant", "content": say.text or None, "refusal": say.refusal or None}
        reply = {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": say.served or request.model,
            "choices": [{"index": 0, "finish_reason": say.finish, "message": message}],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
        }
    return json.dumps(reply, ensure_ascii=False).encode()


def _response(request: Request, say: Say) -> dict[str, Any]:
    """A reply of OpenAI's Responses API, in the form of its reference: thoughts first, then the message."""
    part = {"type": "refusal", "refusal": say.refusal} if say.refusal else {"type": "output_text", "text": say.text}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    cut = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(say.finish)
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": cut} if cut else None,
        "model": say.served or request.model,
        "output": [{"type": "reasoning", "id": "rs_1", "summary": []}, *([message] if say.text or say.refusal else [])],
        "usage": {
            "input_tokens": 1000,
            "input_tokens_details": {"cached_tokens": 800},
            "output_tokens": 100,
            "output_tokens_details": {"reasoning_tokens": 60},
            "total_tokens": 1100,
        },
    }


def _message(request: Request, say: Say) -> bytes:
    """A reply of Anthropic's, streamed where its client asks for that: where it may be long."""
    usage = {"input_tokens": 1000, "output_tokens": 100}
    stop = {"stop": "end_turn", "content_filter": "refusal"}.get(say.finish, say.finish)
    message: dict[str, Any] = {"id": "x", "type": "message", "role": "assistant"}
    message["model"] = say.served or request.model
    message |= {
        "stop_sequence": None,
        "content": [{"type": "text", "text": say.text}],
        "stop_reason": stop,
        "usage": usage,
    }
    if not request.body.get("stream"):
        return json.dumps(message, ensure_ascii=False).encode()
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": say.text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    lines = (f"event: {one['type']}\ndata: {json.dumps(one, ensure_ascii=False)}\n\n" for one in events)
    return "".join(lines).encode()
