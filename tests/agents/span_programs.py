"""Agents that say nothing of their tools but write spans, by the conventions of OpenTelemetry."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from opentelemetry import trace
from shop import TOOLS, move

import fairtrial

tracer: Any = trace.get_tracer("shop")


def _parts(text: str, role: str) -> list[dict[str, Any]]:
    return [{"role": role, "parts": [{"type": "text", "content": text}]}]


def answer(query: str, own_tracer: Any = tracer, failure: str | Exception = "", *, repeats_results: bool = True) -> str:
    """Answer as the shop does, with a span for each call of the model and of a tool. Tools may fail.

    The spans of the model hold the results of tools, unless `repeats_results` is false.
    """
    history = _parts(query, "user")
    with own_tracer.start_as_current_span("invoke_agent shop", attributes={"gen_ai.operation.name": "invoke_agent"}):
        for number in range(5):
            one = move(query, number)
            output: dict[str, Any] = {"role": "assistant", "parts": [], "finish_reason": "stop"}
            if one.text:
                output["parts"].append({"type": "text", "content": one.text})
            if one.call:
                call = {"type": "tool_call", "id": f"c{number}", "name": one.call, "arguments": one.args}
                output["parts"].append(call)
            attributes = {
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": "scripted",
                "gen_ai.usage.input_tokens": 10,
                "gen_ai.usage.output_tokens": 5,
                "gen_ai.response.time_to_first_chunk": 0.0,
                "gen_ai.input.messages": json.dumps(history),
                "gen_ai.output.messages": json.dumps([output]),
            }
            with own_tracer.start_as_current_span("chat scripted", attributes=attributes):
                pass
            history.append(output)
            if not one.call:
                return one.text
            response = json.dumps(TOOLS[one.call](**one.args))
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": one.call,
                "gen_ai.tool.call.id": f"c{number}",
                "gen_ai.tool.call.arguments": json.dumps(one.args),
                "gen_ai.tool.call.result": response,
            }
            with own_tracer.start_as_current_span(f"execute_tool {one.call}", attributes=attributes) as span:
                if isinstance(failure, Exception):
                    span.record_exception(failure)
                if failure:
                    span.set_status(trace.Status(trace.StatusCode.ERROR, str(failure)))
            part = {"type": "tool_call_response", "id": f"c{number}", "response": response}
            if repeats_results:
                history.append({"role": "tool", "parts": [part]})
    raise AssertionError


def traced(query: str) -> str:
    """Answer in the thread of the conversation."""
    return answer(query)


def in_thread(query: str) -> str:
    """Answer in a thread that has only the current span, as frameworks start it."""
    replies: list[str] = []
    with tracer.start_as_current_span("turn") as turn:

        def work() -> None:
            with trace.use_span(turn):
                replies.append(answer(query, tracer))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    return replies[0]


def contradicting(query: str) -> Any:
    """Report a call that no span holds, while the spans hold others."""
    reply = answer(query)
    yield fairtrial.ToolCall("refund", {"order": "Z-1"}, "r1")
    yield fairtrial.ToolResult("refund", "done", "r1")
    yield reply


def main() -> None:
    """Answer lines of JSON, and export the spans over OTLP as the environment says."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    for line in sys.stdin:
        sys.stdout.write(json.dumps({"reply": answer(json.loads(line)["message"])}) + "\n")
        sys.stdout.flush()
    provider.shutdown()


if __name__ == "__main__":
    main()
