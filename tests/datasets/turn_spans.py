"""Turns of conversations as spans, each in a trace of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def span(number: int, conversation: str, reply: str = "It is on its way.") -> dict[str, Any]:
    """A turn of a conversation in a trace of its own, as the collector writes it."""
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": conversation,
        "gen_ai.input.messages": json.dumps(
            [{"role": "user", "parts": [{"type": "text", "content": f"Where is order {number}?"}]}]
        ),
        "gen_ai.output.messages": json.dumps(
            [{"role": "assistant", "parts": [{"type": "text", "content": reply}], "finish_reason": "stop"}]
        ),
    }
    own = {
        "traceId": f"{number:032x}",
        "spanId": f"{number:016x}",
        "name": "invoke_agent shop",
        "kind": 1,
        "startTimeUnixNano": str(1_764_000_000_000_000_000 + number),
        "endTimeUnixNano": str(1_764_000_000_000_000_900 + number),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "shop"}, "spans": [own]}]}]}


def write_spans(path: Path, spans: Iterable[dict[str, Any]]) -> Path:
    """Write a span a line."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in spans))
    return path
