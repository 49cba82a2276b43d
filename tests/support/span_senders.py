"""A process that sends conversations to a receiver, for tests: `python span_senders.py URL NUMBER COUNT`.

Even numbers send protobuf with gzip through OpenTelemetry's exporter, and odd numbers send JSON. The spans of a
conversation go out one by one, the last one first. Each request is sent until the receiver has accepted it.
"""

from __future__ import annotations

import gzip
import json
import sys
from typing import Any

import httpx2
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from span_files import answer, below, messages, otlp, span, tool


class PatientExporter(SpanExporter):
    """Exports spans until the receiver has accepted them."""

    def __init__(self, url: str) -> None:
        self._exporter = OTLPSpanExporter(f"{url}/v1/traces", compression=Compression.Gzip)

    def export(self, spans: Any) -> SpanExportResult:
        """Export spans."""
        while self._exporter.export(spans) is not SpanExportResult.SUCCESS:
            pass
        return SpanExportResult.SUCCESS


def send_by_exporter(url: str, names: list[str]) -> None:
    """Send conversations as OpenTelemetry does: each span when it ends, so that the root is last."""
    kept: list[ReadableSpan] = []

    class Keeper(SpanExporter):
        def export(self, spans: Any) -> SpanExportResult:
            kept.extend(spans)
            return SpanExportResult.SUCCESS

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(Keeper()))
    tracer, exporter = provider.get_tracer("shop"), PatientExporter(url)
    for name in names:
        with tracer.start_as_current_span("agent") as agent:
            agent.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": name})
            with tracer.start_as_current_span("get") as get:
                get.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get"})
            with tracer.start_as_current_span("chat") as chat:
                chat.set_attribute("gen_ai.operation.name", "chat")
                chat.set_attribute("gen_ai.input.messages", messages(f"Where is {name}?"))
                chat.set_attribute("gen_ai.output.messages", answer("Here."))
        for each in reversed(kept):
            exporter.export([each])
        kept.clear()


def send_json(url: str, names: list[str], first: int) -> None:
    """Send conversations as JSON, the call of the model first and the root last."""
    with httpx2.Client() as client:
        for number, name in enumerate(names, first):
            root = span(number, **{"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": name})
            content = {
                "gen_ai.input.messages": messages(f"Where is {name}?"),
                "gen_ai.output.messages": answer("Here."),
            }
            later = {"startTimeUnixNano": str(int(root["startTimeUnixNano"]) + 1)}
            chat = {**below(span(number, **content), root), **later, "spanId": f"c{number:015x}"}
            get = {**below(tool(number, "get"), root), "spanId": f"d{number:015x}"}
            for each in (chat, get, root):
                body = gzip.compress(json.dumps(otlp(each)).encode())
                headers = {"content-type": "application/json", "content-encoding": "gzip"}
                while not is_accepted(client, f"{url}/v1/traces", body, headers):
                    pass


def is_accepted(client: httpx2.Client, url: str, body: bytes, headers: dict[str, str]) -> bool:
    """Send a request once."""
    try:
        return client.post(url, content=body, headers=headers).status_code == 200
    except httpx2.TransportError:
        return False


if __name__ == "__main__":
    address, process, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    ids = [f"s-{process}-{place}" for place in range(count)]
    if process % 2:
        send_json(address, ids, process << 24)
    else:
        send_by_exporter(address, ids)
