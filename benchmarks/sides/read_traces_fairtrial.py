"""Which conversations does fairtrial find in files of traces? Prints JSON and the CPU seconds of the last file."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from fairtrial import loading
from fairtrial.records.trace import Invocation


def turn(invocation: Invocation) -> dict[str, Any]:
    """Return a turn: the user's text, the calls and the reply."""
    calls = [[call.name, call.args] for call in invocation.tool_calls]
    return {"user": invocation.user.text, "calls": calls, "reply": invocation.reply}


def conversations(paths: str) -> list[list[dict[str, Any]]]:
    """Return the conversations of files that belong together, each as its turns."""
    sources = loading.sources([Path(path) for path in paths.split("+")], recorded=True)
    recordings = [recording for source in sources for recording in source.loaded.recordings]
    return [[turn(invocation) for invocation in recording.trace.invocations] for recording in recordings]


def main() -> None:
    """Read each file of the arguments."""
    found: dict[str, Any] = {}
    cpu = 0.0
    for paths in sys.argv[1:]:
        before = time.process_time()
        found[paths] = conversations(paths)
        cpu = time.process_time() - before
    print(json.dumps({"cpu": cpu, "files": found}))


if __name__ == "__main__":
    main()
