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


def write_late_case(folder: Path) -> tuple[Path, list[str]]:
    """Write an eval set of two cases, and spans of which the second case lacks its first turn.

    Return the eval set, and the options with which its cases are found.
    """
    write_spans(folder / "spans/monday.jsonl", [span(1, "c1")])
    write_spans(folder / "spans/tuesday.jsonl", [span(102, "c2")])
    cases = [
        {
            "eval_id": f"case_{number}",
            "conversation": [
                {
                    "user_content": {"parts": [{"text": f"Where is order {number}?"}]},
                    "final_response": {"parts": [{"text": "It is on its way."}]},
                }
            ],
        }
        for number in (1, 2)
    ]
    path = folder / "late.evalset.json"
    path.write_text(json.dumps({"eval_set_id": "late", "eval_cases": cases}))
    (folder / "test_config.json").write_text(json.dumps({"criteria": {"response_match_score": 0.5}}))
    return path, ["--match", "query", "--max-refused", "1", "--store", "none"]
