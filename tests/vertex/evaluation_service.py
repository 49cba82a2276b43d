"""Vertex AI's evaluation service on a real socket: tokens, metric files and evaluations, as its SDK asks for them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

TOKEN = "ya29.planted-token"  # noqa: S105 - planted, to be looked for
COHERENCE = 'name: coherence\nprompt_template: "Rate the coherence of {response} from 1 to 5"\n'


@dataclass(frozen=True)
class Evaluation:
    """What the service was asked: a metric, and the instance that it is to evaluate."""

    path: str
    authorization: str
    metric: dict[str, Any]
    instance: dict[str, Any]


@dataclass(frozen=True)
class Refusal:
    """An error of the service."""

    code: int
    message: str = "scripted error"
    headers: dict[str, str] = field(default_factory=dict)


Answer = dict[str, Any] | Refusal | bytes
"""The one result, an error, or a body as it is."""


class EvaluationService:
    """The service, as a context manager; `asked` is what it evaluated, probes are answered by `probe`."""

    def __init__(self, answer: Callable[[Evaluation], Answer], probe: Refusal | None = None) -> None:
        self.asked: list[Evaluation] = []
        self.answer, self.probe = answer, probe
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def post(self, path: str, authorization: str, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        """Answer a POST: a token, a probe that asks no model, or an evaluation."""
        if path == "/token":
            return 200, json.dumps({"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"}).encode(), {}
        asked = json.loads(body)
        if "exactMatchInput" in asked:
            return _sent(self.probe or {})
        (metric,) = asked["metrics"]
        self.asked.append(Evaluation(path, authorization, metric, asked["instance"]))
        return _sent(self.answer(self.asked[-1]))

    def get(self, path: str) -> bytes:
        """Answer a GET of Cloud Storage: what a file is, or what is in it."""
        return COHERENCE.encode() if "alt=media" in path else b'{"kind": "storage#object", "name": "v1.yaml"}'

    def _handler(service) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - `self` is the request's
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                self._reply(*service.post(self.path, self.headers.get("authorization", ""), body))

            def do_GET(self) -> None:
                self._reply(200, service.get(self.path), {})

            def _reply(self, code: int, body: bytes, headers: dict[str, str]) -> None:
                self.send_response(code)
                for name, value in {"content-type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler


def _sent(answer: Answer) -> tuple[int, bytes, dict[str, str]]:
    if isinstance(answer, bytes):
        return 200, answer, {}
    if isinstance(answer, Refusal):
        error = {"code": answer.code, "message": answer.message, "status": "SCRIPTED"}
        return answer.code, json.dumps({"error": error}).encode(), answer.headers
    return 200, json.dumps({"metricResults": [answer]}).encode(), {}
