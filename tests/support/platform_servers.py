"""Services that keep traces, on a real socket of this machine: Langfuse, Phoenix, LangSmith, Tempo and Jaeger.

Each has the paths, the paging and the authentication of the real one. `troubles` are answers that come first.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

TRACE_IDS = [f"{number:032x}" for number in range(1, 8)]
KEY = "key-for-tests"
USER = [{"role": "user", "content": "Hello?"}]


@dataclass(frozen=True)
class Asked:
    """A request to a service."""

    method: str
    path: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    content: bytes

    @property
    def body(self) -> Any:
        """The body as JSON."""
        return json.loads(self.content)

    def first(self, name: str, default: str = "") -> str:
        """The first value of a parameter."""
        return dict(reversed(self.query)).get(name, default)


@dataclass
class Service:
    """A service. `answer` gives the JSON for a request, or raises KeyError for an unknown path."""

    answer: Callable[[Asked], Any]
    allowed: Callable[[dict[str, str]], bool] = lambda _: True
    troubles: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    requests: list[Asked] = field(default_factory=list)
    url: str = ""

    def respond(self, asked: Asked) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body."""
        self.requests.append(asked)
        if self.troubles:
            status, headers = self.troubles.pop(0)
            return status, headers, b'{"detail": "trouble"}'
        if not self.allowed(asked.headers):
            return 401, {}, f'{{"detail": "bad credentials {KEY}"}}'.encode()
        try:
            return 200, {}, json.dumps(self.answer(asked)).encode()
        except KeyError:
            return 404, {}, b'{"detail": "unknown path"}'


@contextmanager
def running(service: Service) -> Iterator[Service]:
    """Run a service during the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            content = self.rfile.read(int(headers.get("content-length", 0)))
            query = parse_qsl(parts.query, keep_blank_values=True)
            status, more, body = service.respond(Asked(self.command, parts.path, query, headers, content))
            self.send_response(status)
            for name, value in {"content-type": "application/json", "content-length": str(len(body)), **more}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    service.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@dataclass
class FakeLangfuse:
    """A project of Langfuse with traces. Scores are kept by their ids."""

    traces: list[dict[str, Any]] = field(default_factory=lambda: [langfuse_trace(trace_id) for trace_id in TRACE_IDS])
    scores: dict[str, Any] = field(default_factory=dict)
    page_size: int = 3
    filters: bool = True

    def service(self) -> Service:
        """Return the service."""
        token = base64.b64encode(f"pk:{KEY}".encode()).decode()
        return Service(self._answer, lambda headers: headers.get("authorization") == f"Basic {token}")

    def _answer(self, asked: Asked) -> Any:
        if asked.path == "/api/public/traces":
            session = asked.first("sessionId")
            traces = [trace for trace in self.traces if not session or trace["sessionId"] == session]
            return self._page(asked, [{key: trace[key] for key in ("id", "sessionId")} for trace in traces])
        if asked.path == "/api/public/observations":
            return self._page(asked, self._filtered(json.loads(asked.first("filter", "[]"))))
        if asked.path == "/api/public/scores" and asked.method == "POST":
            self.scores[asked.body["id"]] = asked.body
            return {"id": asked.body["id"]}
        if asked.path == "/api/public/v2/scores":
            source = asked.first("source")
            return self._page(asked, [score for score in self.scores.values() if score.get("source") == source])
        return {trace["id"]: trace for trace in self.traces}[asked.path.removeprefix("/api/public/traces/")]

    def _filtered(self, conditions: list[Any]) -> list[Any]:
        """Return the observations of traces. A version without filters ignores them."""
        observations = [each for trace in self.traces for each in trace["observations"]]
        if not self.filters:
            return observations
        (condition,) = conditions
        assert (condition["type"], condition["column"]) == ("stringOptions", "traceId")
        return [each for each in observations if each["traceId"] in condition["value"]]

    def _page(self, asked: Asked, items: list[Any]) -> Any:
        number = int(asked.first("page", "1"))
        pages = -(-len(items) // self.page_size)
        start = (number - 1) * self.page_size
        return {"data": items[start : start + self.page_size], "meta": {"page": number, "totalPages": pages}}


def langfuse_trace(trace_id: str) -> dict[str, Any]:
    """A trace with one generation."""
    generation = {
        "id": trace_id[16:],
        "traceId": trace_id,
        "type": "GENERATION",
        "name": "chat",
        "startTime": "2026-01-01T00:00:00.000Z",
        "endTime": "2026-01-01T00:00:01.000Z",
        "input": USER,
        "output": {"role": "assistant", "content": "Hi."},
    }
    return {"id": trace_id, "sessionId": f"s-{int(trace_id, 16)}", "observations": [generation]}


@dataclass
class FakePhoenix:
    """A project of Phoenix, as version 20 answers. Annotations are kept by kind, place, name and identifier."""

    project: str = "default"
    annotations: dict[tuple[str, ...], Any] = field(default_factory=dict)

    def service(self) -> Service:
        """Return the service."""
        return Service(self._answer, lambda headers: headers.get("authorization") == f"Bearer {KEY}")

    def _answer(self, asked: Asked) -> Any:
        project = f"/v1/projects/{self.project}"
        if asked.path == project:
            return {"data": {"id": "UHJvamVjdDox", "name": self.project}}
        if asked.path == f"{project}/traces":
            session = asked.first("session_identifier")
            ids = [trace_id for trace_id in TRACE_IDS if f"s-{int(trace_id, 16)}" == session]
            return {"data": [{"trace_id": trace_id} for trace_id in ids], "next_cursor": None}
        if asked.path == f"{project}/spans":
            chosen_ids = [value for name, value in asked.query if name == "trace_id"] or TRACE_IDS
            start = int(asked.first("cursor", "0"))
            spans = [span for trace_id in chosen_ids[start : start + 3] for span in phoenix_spans(trace_id)]
            return {"data": spans, "next_cursor": str(start + 3) if start + 3 < len(chosen_ids) else None}
        kind = asked.path.rpartition("/")[2].removesuffix("_annotations")
        if asked.method == "POST" and asked.path == f"/v1/{kind}_annotations":
            for item in asked.body["data"]:
                self.annotations[kind, item[f"{kind}_id"], item["name"], item["identifier"]] = item
            return {"data": []}
        if asked.path == f"{project}/{kind}_annotations":
            wanted = {value for name, value in asked.query if name == f"{kind}_ids"}
            places = {"span": {trace_id[16:] for trace_id in TRACE_IDS}, "trace": set(TRACE_IDS)}
            if kind in places and wanted.isdisjoint(places[kind]):
                raise KeyError(f"None of the supplied {kind}_ids exist in this project")
            chosen = [item for key, item in self.annotations.items() if key[0] == kind and key[1] in wanted]
            return {"data": chosen, "next_cursor": None}
        raise KeyError(asked.path)


def phoenix_spans(trace_id: str) -> list[dict[str, Any]]:
    """A trace of one call of a model. Only the root names the session."""
    call = {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "Hello?",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "Hi.",
    }
    root: dict[str, Any] = {
        "id": "U3Bhbjox",
        "name": "agent",
        "context": {"trace_id": trace_id, "span_id": trace_id[16:]},
        "span_kind": "CHAIN",
        "parent_id": None,
        "start_time": "2026-01-01T00:00:00+00:00",
        "end_time": "2026-01-01T00:00:01+00:00",
        "status_code": "OK",
        "attributes": {"session.id": f"s-{int(trace_id, 16)}"},
        "events": [],
    }
    context = {"trace_id": trace_id, "span_id": f"f{trace_id[17:]}"}
    return [root, {**root, "context": context, "parent_id": trace_id[16:], "span_kind": "LLM", "attributes": call}]


@dataclass
class FakeLangSmith:
    """A workspace of LangSmith with the project `shop`. Feedback is kept by its ids."""

    feedback: dict[str, Any] = field(default_factory=dict)
    filters: list[str] = field(default_factory=list)

    def service(self) -> Service:
        """Return the service."""
        return Service(self._answer, lambda headers: headers.get("x-api-key") == KEY)

    def _answer(self, asked: Asked) -> Any:
        if asked.path == "/sessions":
            return [{"id": "p-1", "name": "shop"}] if asked.first("name") == "shop" else []
        if asked.path == "/runs/query":
            return self._runs(asked.body)
        if asked.path == "/feedback" and asked.method == "POST":
            self.feedback[asked.body["id"]] = asked.body
            return asked.body
        if asked.path == "/feedback":
            offset = int(asked.first("offset", "0"))
            chosen = [item for item in self.feedback.values() if item["run_id"] == asked.first("run")]
            return chosen[offset : offset + int(asked.first("limit"))]
        raise KeyError(asked.path)

    def _runs(self, query: Any) -> Any:
        if "trace" in query:
            return {"runs": langsmith_runs(query["trace"]), "cursors": {"next": None}}
        assert query["session"] == ["p-1"]
        self.filters.append(query.get("filter", ""))
        start = int(query.get("cursor") or 0)
        roots = [langsmith_runs(langsmith_id(number))[0] for number in range(1, 8)][start : start + 3]
        return {"runs": roots, "cursors": {"next": str(start + 3) if start + 3 < 7 else None}}


def langsmith_id(number: int) -> str:
    """The id of a trace, which is the id of its root run."""
    return f"00000000-0000-0000-0000-{number:012x}"


def langsmith_runs(trace_id: str) -> list[dict[str, Any]]:
    """A root run with a call of a model below."""
    about = {"trace_id": trace_id, "extra": {"metadata": {"thread_id": f"s-{int(trace_id[-4:], 16)}"}}}
    times = {"start_time": "2026-01-01T00:00:00.000000", "end_time": "2026-01-01T00:00:01.000000"}
    root = {**about, **times, "id": trace_id, "dotted_order": "1", "run_type": "chain", "name": "agent"}
    call = {
        **root,
        "id": f"1{trace_id[1:]}",
        "parent_run_id": trace_id,
        "dotted_order": "1.2",
        "run_type": "llm",
        "name": "chat",
        "inputs": {"messages": USER},
        "outputs": {"choices": [{"message": {"role": "assistant", "content": "Hi."}}]},
    }
    return [root, call]
