"""Receive the spans of programs that an agent starts, over OTLP on the loopback interface."""

from __future__ import annotations

import functools
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, cast

from fairtrial.errors import FormatError
from fairtrial.formats.spans.otlp_requests import (
    MOST_OTLP_BYTES,
    OTLP_JSON,
    OTLP_PROTOBUF,
    TooLargeError,
    otlp_failure,
    otlp_success,
    read_request,
    unpack_otlp,
)
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.agents.tracing.span_collection import SpanCollection
    from fairtrial.formats.spans.otlp_protobuf import Signal

_PATHS: dict[str, Signal] = {"v1/traces": "traces", "v1/logs": "logs"}
_SECONDS = 10.0


class SpanReceiver:
    """A server that runs while the process runs. The secret in the path of a request names its conversation."""

    def __init__(self) -> None:
        import_extra("opentelemetry.proto.collector.trace.v1.trace_service_pb2", "spans")
        self._collections: dict[str, SpanCollection] = {}
        self._server: ThreadingHTTPServer | None = None
        self._lock = threading.Lock()

    @classmethod
    @functools.cache
    def open_shared(cls) -> SpanReceiver:
        """Return the receiver of this process."""
        return cls()

    @contextmanager
    def open_for(self, collection: SpanCollection) -> Iterator[None]:
        """Take spans for a collection, and give it the variables with which programs send them."""
        secret = secrets.token_urlsafe(16)
        self._collections[secret] = collection
        collection.variables = _variables(f"http://127.0.0.1:{self._port()}/{secret}")
        try:
            yield
        finally:
            del self._collections[secret]

    def _port(self) -> int:
        with self._lock:
            if self._server is None:
                self._server = _Server(("127.0.0.1", 0), _handler(self._collections))
                threading.Thread(target=self._server.serve_forever, daemon=True, name="fairtrial-spans").start()
            return int(self._server.server_address[1])


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: a program that is gone needs no answer."""


def _variables(endpoint: str) -> dict[str, str]:
    """Return the variables of OpenTelemetry's SDKs, and those of command-line agents, for an endpoint."""
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{endpoint}/v1/traces",
        "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": f"{endpoint}/v1/logs",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
        "OTEL_BLRP_SCHEDULE_DELAY": "100",
        "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
        "GEMINI_TELEMETRY_ENABLED": "true",
        "GEMINI_TELEMETRY_TARGET": "local",
        "GEMINI_TELEMETRY_OTLP_PROTOCOL": "http",
        "GEMINI_TELEMETRY_OTLP_ENDPOINT": endpoint,
        "NO_PROXY": "127.0.0.1,localhost",
    }


def _handler(collections: dict[str, SpanCollection]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = _SECONDS

        def do_POST(self) -> None:
            secret, _, path = self.path.strip("/").partition("/")
            collection, signal = collections.get(secret), _PATHS.get(path)
            kind = (self.headers.get_content_type() or OTLP_JSON).lower()
            length = self.headers.get("content-length", "")
            if collection is None or signal is None or not length.isdecimal():
                self._answer(404 if length.isdecimal() else 411, b"", kind)
            elif int(length) > MOST_OTLP_BYTES:
                collection.gap = collection.gap or "a program sent more spans at once than are taken"
                self._answer(413, b"", kind)
            else:
                status, body = _take(collection, signal, kind, self._body(int(length)))
                self._answer(status, body, kind)

        def _body(self, length: int) -> bytes | None:
            body = self.rfile.read(length)
            packing = self.headers.get("content-encoding", "identity")
            try:
                return body if packing == "identity" else unpack_otlp(body, packing)
            except (FormatError, TooLargeError):
                return None

        def _answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            if status != 200:
                self.send_header("connection", "close")  # the body may be unread
                self.close_connection = True
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    return Handler


def _take(collection: SpanCollection, signal: Signal, kind: str, body: bytes | None) -> tuple[int, bytes]:
    """Add the spans of a request, and return the status and the body of the answer."""
    if body is None:
        collection.gap = collection.gap or "spans of a program could not be unpacked"
        return 400, otlp_failure(kind, "the request cannot be unpacked")
    try:
        received = read_request(body, signal, kind if kind == OTLP_PROTOBUF else OTLP_JSON)
    except FormatError as error:
        collection.gap = collection.gap or f"spans of a program could not be read: {error}"
        return 400, otlp_failure(kind, str(error))
    collection.add(received.items)
    return 200, otlp_success(cast("str", signal), kind, refused=received.refused)
