"""A stopwatch for the time in which models and tools were at work."""

from __future__ import annotations

import time
from typing import Literal

from fairtrial.records.trace import Durations

Span = tuple[float, float]
Worker = Literal["model", "tool"]


class Stopwatch:
    """Times the models and tools of one invocation, also if several of them work at the same time."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._first_token: float | None = None
        self._starts: dict[tuple[Worker, str], float] = {}
        self._spans: dict[Worker, list[Span]] = {"model": [], "tool": []}

    def start(self, worker: Worker, key: str) -> None:
        """Note that a model or a tool begins. `key` identifies it among the models and tools at work."""
        self._starts[worker, key] = time.monotonic()

    def end(self, worker: Worker, key: str) -> None:
        """Note that a model or a tool ends. The call is ignored if it never began."""
        start = self._starts.pop((worker, key), None)
        if start is not None:
            self._spans[worker].append((start, time.monotonic()))

    def note_token(self) -> None:
        """Note that the agent streams a piece of text or sound. Only the first counts."""
        if self._first_token is None:
            self._first_token = time.monotonic() - self._begin

    @property
    def durations(self) -> Durations:
        """The seconds with a model at work, and the seconds with a tool but no model at work, as in ADK."""
        model = measure_union(self._spans["model"])
        tool = measure_union(self._spans["model"] + self._spans["tool"]) - model
        return Durations(None, model, tool, self._first_token)


def measure_union(spans: list[Span]) -> float:
    """Return the length of the union of spans."""
    total, end_of_union = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(end - max(start, end_of_union), 0.0)
        end_of_union = max(end_of_union, end)
    return total
