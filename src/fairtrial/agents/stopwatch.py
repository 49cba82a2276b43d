"""How long were models and tools at work?"""

from __future__ import annotations

import time
from typing import Literal

from fairtrial.records.trace import Durations

Span = tuple[float, float]
What = Literal["model", "tool"]


class Stopwatch:
    """Times the models and tools of one invocation, which may be at work side by side."""

    def __init__(self) -> None:
        self._since: dict[tuple[What, str], float] = {}
        self._spans: dict[What, list[Span]] = {"model": [], "tool": []}

    def start(self, what: What, which: str) -> None:
        """A model or a tool begins; `which` tells it from others that are at work."""
        self._since[what, which] = time.monotonic()

    def end(self, what: What, which: str) -> None:
        """A model or a tool is done; one that never began is none."""
        since = self._since.pop((what, which), None)
        if since is not None:
            self._spans[what].append((since, time.monotonic()))

    @property
    def durations(self) -> Durations:
        """Seconds with a model at work, and those with a tool at work but no model, as in ADK."""
        model = covered(self._spans["model"])
        return Durations(None, model, covered(self._spans["model"] + self._spans["tool"]) - model)


def covered(spans: list[Span]) -> float:
    """Return the length of the union of spans."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(end - max(start, reached), 0.0)
        reached = max(reached, end)
    return total
