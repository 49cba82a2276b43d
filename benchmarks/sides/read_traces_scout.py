"""Which conversations does inspect_scout find in sessions of Claude Code? Prints JSON. It has no other file reader."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from inspect_scout.sources import claude_code


async def conversations(path: str) -> list[list[dict[str, Any]]]:
    """Return the conversations of a file, each as its turns."""
    found = []
    async for transcript in claude_code(path=path):
        turns: list[dict[str, Any]] = []
        for message in transcript.messages:
            if message.role == "user":
                turns.append({"user": message.text, "calls": [], "reply": ""})
            elif message.role == "assistant" and turns:
                turns[-1]["calls"] += [[call.function, call.arguments] for call in message.tool_calls or ()]
                turns[-1]["reply"] = message.text or turns[-1]["reply"]
        found.append(turns)
    return found


def main() -> None:
    """Read each file of the arguments. A file that is refused has its problem."""
    found: dict[str, Any] = {}
    for path in sys.argv[1:]:
        try:
            found[path] = asyncio.run(conversations(path))
        except Exception as error:  # noqa: BLE001 - the problem is the result
            found[path] = f"{type(error).__name__}: {error}"
    print(json.dumps({"files": found}, default=str))


if __name__ == "__main__":
    main()
