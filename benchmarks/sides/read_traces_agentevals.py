"""Which conversations does agentevals-cli find in files of traces? Prints JSON and the CPU seconds of the last file."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from agentevals.genai.extract import extract_conversation
from agentevals.genai.grouping import group_traces
from agentevals.loader import load_traces


def extract_text(messages: list[dict[str, Any]]) -> str:
    """Return the texts of messages."""
    parts = [part for message in messages for part in message.get("parts") or ()]
    return "\n".join(str(part["content"]) for part in parts if part.get("type") == "text" and part.get("content"))


def turn(raw: Any) -> dict[str, Any]:
    """Return a turn: the user's text, the calls and the reply."""
    calls = [[call.name, call.arguments] for call in raw.tool_calls]
    return {"user": extract_text(raw.user_input), "calls": calls, "reply": extract_text(raw.final_output)}


def conversations(path: str) -> list[list[dict[str, Any]]]:
    """Return the conversations of a file, each as its turns."""
    groups = group_traces(load_traces(path), True)
    return [[turn(raw) for raw in extract_conversation(traces, key).turns] for key, traces in groups]


def main() -> None:
    """Read each file of the arguments. A file that is refused has its problem."""
    found: dict[str, Any] = {}
    cpu = 0.0
    for path in sys.argv[1:]:
        before = time.process_time()
        try:
            found[path] = conversations(path)
        except Exception as error:  # noqa: BLE001 - the problem is the result
            found[path] = f"{type(error).__name__}: {error}"
        cpu = time.process_time() - before
    print(json.dumps({"cpu": cpu, "files": found}, default=str))


if __name__ == "__main__":
    main()
