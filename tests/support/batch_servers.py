"""A server on a real socket that speaks the batch interfaces of OpenAI, Anthropic and Gemini.

Each request of a batch is answered by a script, as `Loopback` answers single calls. The batches are finished as soon as
they are made, unless `hold` is set. The results come in the opposite order.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import pytest

from loopback import Request, Say, Status, make_request, reply_to

KEYS = {
    "OPENAI_API_KEY": "sk-planted-0123456789",
    "ANTHROPIC_API_KEY": "sk-a-0123456789",
    "GOOGLE_API_KEY": "g-0123456789",
}
MODELS = {
    "openai": ["openai/gpt-4o-mini", "openai/gpt-4o"],
    "anthropic": ["anthropic/claude-haiku-4-5", "anthropic/claude-opus-4-6"],
    "gemini": ["gemini-2.5-flash", "gemini-2.5-pro"],
}
_URLS = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL", "gemini": "GOOGLE_GEMINI_BASE_URL"}


@dataclass(frozen=True)
class Expire:
    """The batch ends before the request."""


Outcome = str | Say | Status | Expire


@dataclass
class Batch:
    """A batch: its requests by their ids, its tag, and its state, which is that of OpenAI."""

    id: str
    kind: str
    requests: dict[str, dict[str, Any]]
    document: dict[str, Any] = field(default_factory=dict)
    state: str = "completed"
    problem: str = ""
    results: dict[str, tuple[Outcome, Request]] = field(default_factory=dict)


class BatchServer:
    """The server, as a context manager. `batches` are those that were made, `asked` the requests that were answered.

    `on_batch` is called with each new batch before its maker gets an answer, or none while the server `is_silent`.
    """

    def __init__(self, script: Callable[[Request], Outcome]) -> None:
        self.script = script
        self.hold = self.is_silent = False
        self.batches: dict[str, Batch] = {}
        self.asked: list[Request] = []
        self.files: dict[str, bytes] = {}
        self.polls = 0
        self.paths: list[str] = []
        self.on_batch: Callable[[Batch], None] = lambda _: None
        self.refusals: list[tuple[int, str]] = []
        self._lock = threading.RLock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """Say nothing."""

            def do_GET(self) -> None:
                self._send(*server.tell(self.path))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                code, answer = server.make(self.path, dict(self.headers.items()), body)
                if server.is_silent:
                    self.close_connection = True
                else:
                    self._send(code, answer)

            def _send(self, code: int, body: bytes) -> None:
                self.send_response(code)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        return Handler

    # Making batches

    def make(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        """Answer a POST."""
        self.paths.append(path)
        path = path.partition("?")[0]
        if path == "/v1/files":
            return self._upload(headers, body)
        if not (path in {"/v1/batches", "/v1/messages/batches"} or path.endswith(":batchGenerateContent")):
            return 404, b'{"error": {"message": "no single calls here", "code": 404}}'
        if self.refusals:
            code, message = self.refusals.pop(0)
            return code, json.dumps({"error": {"message": message, "code": code}}).encode()
        document = json.loads(body)
        kind, requests = self._requests(path, document)
        with self._lock:
            number = len(self.batches) + 1
            batch = Batch(f"batches/{number}" if kind == "gemini" else f"batch_{number}", kind, requests, document)
            batch.document["created_at"] = datetime.now(UTC).timestamp()
            self.batches[batch.id] = batch
        if not self.hold:
            self.finish(batch)
        self.on_batch(batch)
        return 200, json.dumps(self._state(batch)).encode()

    def _upload(self, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        kind = next(value for name, value in headers.items() if name.lower() == "content-type")
        form = BytesParser().parsebytes(b"content-type: " + kind.encode() + b"\r\n\r\n" + body)
        parts = {part.get_param("name", header="content-disposition"): part for part in form.walk()}
        assert parts["purpose"].get_payload() == "batch"
        name = f"file_{len(self.files) + 1}"
        payload = parts["file"].get_payload(decode=True)
        assert isinstance(payload, bytes)
        self.files[name] = payload
        return 200, json.dumps({"id": name, "object": "file", "purpose": "batch"}).encode()

    def _requests(self, path: str, document: dict[str, Any]) -> tuple[str, dict[str, dict[str, Any]]]:
        if path == "/v1/batches":
            assert document["completion_window"] == "24h"
            lines = [json.loads(line) for line in self.files[document["input_file_id"]].splitlines()]
            assert {(line["method"], line["url"]) for line in lines} == {("POST", document["endpoint"])}
            return "openai", {line["custom_id"]: line["body"] for line in lines}
        if path == "/v1/messages/batches":
            return "anthropic", {each["custom_id"]: each["params"] for each in document["requests"]}
        entries = document["batch"]["inputConfig"]["requests"]["requests"]
        model = path.rpartition("/")[2].partition(":")[0]
        return "gemini", {each["metadata"]["key"]: {**each["request"], "_model": model} for each in entries}

    def finish(self, batch: Batch, state: str = "completed") -> None:
        """Answer the requests of a batch, or end it in another state."""
        with self._lock:
            paths = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}
            for name, body in batch.requests.items():
                path = paths.get(batch.kind) or f"/v1beta/models/{body.get('_model')}:generateContent"
                request = make_request(len(self.asked) + 1, path, {}, body)
                self.asked.append(request)
                batch.results[name] = self.script(request), request
            batch.state = state

    def finish_all(self) -> None:
        """Finish every batch that is held, and hold none from now on."""
        with self._lock:
            self.hold = False
            for batch in self.batches.values():
                if not batch.results:
                    self.finish(batch)

    # Telling about batches

    def tell(self, path: str) -> tuple[int, bytes]:
        """Answer a GET."""
        place, _, query = path.partition("?")
        place = place.removeprefix("/v1beta").removeprefix("/v1")
        if "/models" in place:
            return 404, b'{"error": {"message": "not here", "code": 404}}'
        with self._lock:
            if place in {"/batches", "/messages/batches"}:
                return 200, json.dumps(self._list(place, query)).encode()
            if place.startswith("/files/"):
                return 200, self._file(place.split("/")[2])
            if place.endswith("/results"):
                return 200, self._lines(self.batches[place.split("/")[3]])
            self.polls += 1
            name = place.lstrip("/") if place.removeprefix("/") in self.batches else place.rpartition("/")[2]
            return 200, json.dumps(self._state(self.batches[name])).encode()

    def _list(self, place: str, query: str) -> Any:
        states = [self._state(batch) for batch in reversed(self.batches.values())]
        if any(batch.kind == "gemini" for batch in self.batches.values()):
            return {"operations": states}
        assert "limit=" in query
        return {"data": states, "has_more": False, "object": place}

    def _state(self, batch: Batch) -> dict[str, Any]:
        made = batch.document["created_at"]
        if batch.kind == "openai":
            done = "is_held" if not batch.results and not batch.problem else batch.state
            return {
                "id": batch.id,
                "object": "batch",
                "status": "in_progress" if done == "is_held" else batch.state,
                "created_at": int(made),
                "metadata": batch.document["metadata"],
                "output_file_id": f"out-{batch.id}" if batch.results else None,
                "error_file_id": f"err-{batch.id}" if batch.results else None,
                "errors": {"data": [{"code": "token_limit_exceeded", "message": batch.problem}]}
                if batch.problem
                else None,
                "request_counts": {"total": len(batch.requests), "completed": len(batch.results), "failed": 0},
            }
        ended = bool(batch.results) or batch.state == "cancelled"
        if batch.kind == "anthropic":
            kinds = [self._anthropic_kind(outcome) for outcome, _ in batch.results.values()]
            counts = {kind: kinds.count(kind) for kind in ("succeeded", "errored", "expired", "canceled")}
            return {
                "id": batch.id,
                "type": "message_batch",
                "processing_status": "ended" if ended else "in_progress",
                "created_at": datetime.fromtimestamp(made, UTC).isoformat(),
                "request_counts": {**counts, "processing": 0 if ended else len(batch.requests)},
                "results_url": None,
            }
        name = {"completed": "SUCCEEDED", "failed": "FAILED", "cancelled": "CANCELLED", "expired": "EXPIRED"}
        state = f"BATCH_STATE_{name[batch.state] if ended or batch.problem else 'RUNNING'}"
        metadata: dict[str, Any] = {"displayName": batch.document["batch"]["displayName"], "state": state}
        if ended:
            metadata["output"] = {"inlinedResponses": {"inlinedResponses": self._inlined(batch)}}
        return {"name": batch.id, "metadata": metadata, "done": ended}

    def _anthropic_kind(self, outcome: Outcome) -> str:
        if isinstance(outcome, Status):
            return "errored"
        return "expired" if isinstance(outcome, Expire) else "succeeded"

    def _file(self, name: str) -> bytes:
        kind, _, batch = name.partition("-")
        lines = []
        for custom_id, (outcome, request) in reversed(self.batches[batch].results.items()):
            if isinstance(outcome, Expire):
                line: dict[str, Any] = {"response": None, "error": {"code": "batch_expired", "message": "too late"}}
            elif isinstance(outcome, Status):
                body = {"error": {"message": outcome.message, "code": outcome.code}}
                line = {"response": {"status_code": outcome.code, "body": body}, "error": None}
            else:
                line = {"response": {"status_code": 200, "body": json.loads(reply_to(request, said(outcome)))}}
            if (kind == "out") == isinstance(outcome, str | Say):
                lines.append(json.dumps({"id": f"r-{custom_id}", "custom_id": custom_id, **line}))
        return "".join(f"{line}\n" for line in lines).encode()

    def _lines(self, batch: Batch) -> bytes:
        lines = []
        for custom_id, (outcome, request) in reversed(batch.results.items()):
            if isinstance(outcome, Expire):
                result: dict[str, Any] = {"type": "expired"}
            elif isinstance(outcome, Status):
                kind = {400: "invalid_request_error", 529: "overloaded_error"}.get(outcome.code, "api_error")
                error = {"type": kind, "message": outcome.message}
                result = {"type": "errored", "error": {"type": "error", "error": error}}
            else:
                result = {"type": "succeeded", "message": json.loads(reply_to(request, said(outcome)))}
            lines.append(json.dumps({"custom_id": custom_id, "result": result}))
        return "".join(f"{line}\n" for line in lines).encode()

    def _inlined(self, batch: Batch) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = []
        for name, (outcome, request) in reversed(batch.results.items()):
            metadata = {"key": name}
            if isinstance(outcome, Expire):
                continue
            if isinstance(outcome, Status):
                code = {400: 3, 429: 8}.get(outcome.code, 13)
                entries.append({"error": {"code": code, "message": outcome.message}, "metadata": metadata})
            else:
                entries.append({"response": json.loads(reply_to(request, said(outcome))), "metadata": metadata})
        return entries


def said(outcome: str | Say) -> Say:
    """A reply as an action."""
    return Say(outcome) if isinstance(outcome, str) else outcome


def by_content(request: Request) -> str:
    """A judge whose vote depends on its name and on the question, so that two judges agree on some replies only."""
    return request.answers(request.choices[hashlib.sha256(f"{request.model} {request.text}".encode()).digest()[0] % 2])


def point_to(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every provider be at a server."""
    for kind, variable in _URLS.items():
        monkeypatch.setenv(variable, f"{url}/v1" if kind == "openai" else url)
