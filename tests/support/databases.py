"""Databases with traffic: conversations as rows, and ClickHouse's engine behind its protocol."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit


def messages(number: int) -> str:
    """A conversation as JSON text."""
    return json.dumps(
        [
            {"role": "user", "content": f"Where is order {number}?"},
            {"role": "assistant", "content": "It is on its way."},
        ]
    )


def chats(count: int) -> list[tuple[str, str, int]]:
    """Conversations with their ids. Every tenth has failed."""
    return [(f"c{number}", messages(number), int(number % 10 == 0)) for number in range(count)]


def write_duckdb(path: Path, count: int = 200) -> str:
    """Write a database of DuckDB with the table `chats`, and return its URL."""
    import duckdb

    with closing(duckdb.connect(str(path))) as connection:
        connection.execute("CREATE TABLE chats (id VARCHAR, messages VARCHAR, failed INTEGER)")
        connection.executemany("INSERT INTO chats VALUES (?, ?, ?)", chats(count))
    return f"duckdb:///{path}"


def write_sqlite(path: Path, count: int = 200) -> str:
    """Write a database of SQLite with the table `chats`, and return its URL."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE chats (id TEXT, messages TEXT, failed INTEGER)")
        connection.executemany("INSERT INTO chats VALUES (?, ?, ?)", chats(count))
        connection.commit()
    return f"sqlite:///{path}"


@contextmanager
def clickhouse() -> Iterator[tuple[str, Any]]:
    """Serve ClickHouse's engine over its HTTP protocol. Yields the URL of the database `otel`, and the engine."""
    sessions: Any = import_module("chdb.session")
    engine, lock = sessions.Session(), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            parameters = dict(parse_qsl(urlsplit(self.path).query))
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            sql = f"{parameters.get('query', '')}\n{body}".strip()
            try:
                with lock:
                    data, status = engine.query(sql, "TabSeparated").bytes(), 200
            except RuntimeError as error:
                data, status = str(error).encode(), 500
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    engine.query("CREATE DATABASE otel ENGINE = Atomic")
    try:
        yield f"clickhouse://default:{PASSWORD}@127.0.0.1:{server.server_port}/otel", engine
    finally:
        server.shutdown()
        server.server_close()


PASSWORD = "pass-word-of-tests"  # noqa: S105
OTEL_TRACES = """
CREATE TABLE otel.otel_traces (
  Timestamp DateTime64(9), TraceId String, SpanId String, ParentSpanId String, TraceState String,
  SpanName LowCardinality(String), SpanKind LowCardinality(String), ServiceName LowCardinality(String),
  ResourceAttributes Map(LowCardinality(String), String), ScopeName String, ScopeVersion String,
  SpanAttributes Map(LowCardinality(String), String), Duration UInt64, StatusCode LowCardinality(String),
  StatusMessage String,
  Events Nested (Timestamp DateTime64(9), Name LowCardinality(String), Attributes Map(LowCardinality(String), String)),
  Links Nested (TraceId String, SpanId String, TraceState String, Attributes Map(LowCardinality(String), String))
) ENGINE = MergeTree() ORDER BY (ServiceName, SpanName, toDateTime(Timestamp))
"""
"""The table that the collector's exporter for ClickHouse makes, without its codecs and indexes."""
