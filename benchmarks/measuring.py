"""How much did a process take, and did it reach its target?"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SIDES = Path(__file__).parent / "sides"
"""Scripts that do one thing with one of the two tools, each in its tool's own environment."""

OURS = sys.executable


@dataclass(frozen=True)
class Taken:
    """The usage of a process: CPU seconds (user and system), peak memory in MB (10^6 bytes), and its output."""

    cpu: float
    peak_mb: float
    output: str
    code: int

    @property
    def said(self) -> dict[str, Any]:
        """The JSON object in the last line: the measurements of a script of `sides`."""
        last: dict[str, Any] = json.loads(self.output.strip().splitlines()[-1])
        return last


def run(
    command: Sequence[str | Path],
    *,
    codes: tuple[int, ...] = (0,),
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Taken:
    """Run a process to its end. If its exit code is not in `codes`, end the bench with its error output."""
    with subprocess.Popen(
        list(map(str, command)),
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout is not None
        output = process.stdout.read().decode(errors="replace")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in codes:
        sys.exit(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{output[-3000:]}")
    scale = 1 if sys.platform == "darwin" else 1024
    return Taken(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * scale / 1e6, output, process.returncode)


def in_turn(ours: Callable[[], float], theirs: Callable[[], float], *, times: int) -> tuple[float, float]:
    """Return the medians of both sides, measured one after the other `times` times, so that load falls on both."""
    pairs = [(ours(), theirs()) for _ in range(times)]
    return statistics.median(one for one, _ in pairs), statistics.median(other for _, other in pairs)


def yardstick() -> float:
    """Return the CPU seconds of a fixed piece of work: JSON, compression and words.

    Work that shares the cores makes every program slower, also in CPU time. A ratio to the yardstick stays the same.
    """
    start = time.process_time()
    for number in range(20_000):
        text = json.dumps({"reply": f"Your order {number} has been sent to the address of the customer. " * 4})
        Counter(json.loads(text)["reply"].lower().split())
        zlib.compress(text.encode(), level=3)
    return time.process_time() - start


def heading(title: str) -> None:
    """Begin the lines of a bench."""
    print(f"\n{title}", flush=True)


def line(what: str, ours: str, theirs: str = "") -> None:
    """Print a number without a target."""
    print(f"  {what:<52} ours {ours:<22} {f'google-adk {theirs}' if theirs else ''}".rstrip(), flush=True)


def target(what: str, number: float, unit: str, *, at_least: float | None = None, at_most: float | None = None) -> None:
    """Print a number beside its target, and whether it is reached."""
    reached = (at_least is None or number >= at_least) and (at_most is None or number <= at_most)
    wanted = f"at least {at_least:g}" if at_least is not None else f"at most {at_most:g}"
    verdict = "reached" if reached else "NOT REACHED"
    print(f"  {what:<52} {number:9.3g} {unit:<6} target {wanted:<14} {verdict}", flush=True)
