"""Spans as OTLP writes them, for tests of readers and of conversations."""

from __future__ import annotations

import json
from typing import Any

SECOND = 10**9
START = 2_000_000_000 * SECOND


def span(number: int, **attributes: Any) -> dict[str, Any]:
    """Return a model call of a trace as OTLP writes it."""
    pairs = {"gen_ai.operation.name": "chat", **{key.replace("__", "."): value for key, value in attributes.items()}}
    return {
        "traceId": f"{number:032x}",
        "spanId": f"{number:016x}",
        "name": "chat",
        "startTimeUnixNano": str(START + number * SECOND),
        "endTimeUnixNano": str(START + number * SECOND + 1),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in pairs.items()],
    }


def messages(*texts: str) -> str:
    """Return texts of the user and of the agent in turn as messages of the GenAI conventions."""
    roles = ("user", "assistant")
    return json.dumps(
        [{"role": roles[i % 2], "parts": [{"type": "text", "content": text}]} for i, text in enumerate(texts)]
    )


def answer(text: str) -> str:
    """Return an answer as output messages."""
    return json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": text}]}])


def call(number: int, texts: list[str], reply: str, **attributes: str) -> dict[str, Any]:
    """Return a model call with its messages."""
    content = {"gen_ai.input.messages": messages(*texts), "gen_ai.output.messages": answer(reply)}
    return span(number, **{**content, **attributes})


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    """Return spans as a document of OTLP."""
    return {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "any"}, "spans": list(spans)}]}]}


def tool(number: int, name: str, **attributes: str) -> dict[str, Any]:
    """Return the call of a tool."""
    named = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, **attributes}
    return span(number, **named)


def below(raw: dict[str, Any], parent: dict[str, Any]) -> dict[str, Any]:
    """Return a span as a child of another."""
    return {**raw, "traceId": parent["traceId"], "parentSpanId": parent["spanId"]}


def lasting(raw: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Return a span with a duration."""
    return {**raw, "endTimeUnixNano": str(int(raw["startTimeUnixNano"]) + int(seconds * SECOND))}


def failed(raw: dict[str, Any], message: str) -> dict[str, Any]:
    """Return a span that ended in an error."""
    return {**raw, "status": {"code": 2, "message": message}}


def request(number: int, texts: tuple[str, ...], rounds: int, reply: str = "", *, ids: str = "") -> dict[str, Any]:
    """Return a call of a model as the client of a provider records it: its input ends with the results of tools."""
    sent = json.loads(messages(*texts))
    parts: list[dict[str, Any]] = [
        {"type": "tool_call", "id": f"{ids}{place}" if ids else "", "name": "get"} for place in range(rounds + 1)
    ]
    for part in (parts := [{**part, "arguments": {}} for part in parts])[:rounds]:
        answered = {"type": "tool_call_response", "id": part["id"], "response": "x"}
        sent += [{"role": "assistant", "parts": [part]}, {"role": "tool", "parts": [answered]}]
    answered_parts = [{"type": "text", "content": reply}] if reply else parts[rounds:]
    output = json.dumps([{"role": "assistant", "parts": answered_parts}])
    return span(number, **{"gen_ai.input.messages": json.dumps(sent), "gen_ai.output.messages": output})
