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
        self._call_tokens: dict[str, float] = {}
        self._starts: dict[tuple[Worker, str], float] = {}
        self._spans: dict[Worker, list[Span]] = {"model": [], "tool": []}

    def start(self, worker: Worker, key: str) -> None:
        """Note that a model or a tool begins. `key` identifies it among the models and tools at work."""
        if worker == "model" and not self._models_at_work:
            self._call_tokens.clear()
        self._starts[worker, key] = time.monotonic()

    def end(self, worker: Worker, key: str) -> None:
        """Note that a model or a tool ends. The call is ignored if it never began."""
        start = self._starts.pop((worker, key), None)
        if start is not None:
            self._spans[worker].append((start, time.monotonic()))

    def note_token(self, call: str = "") -> None:
        """Note that the agent streams a piece of text or sound. Only the first counts, and the first of each call.

        Without the key of a call, the piece belongs to the only model at work.
        """
        now = time.monotonic()
        if self._first_token is None:
            self._first_token = now - self._begin
        at_work = self._models_at_work
        call = call or (at_work[0] if len(at_work) == 1 else "")
        if call in at_work and call not in self._call_tokens:
            self._call_tokens[call] = now - self._starts["model", call]

    def take_first_token(self, call: str = "") -> float | None:
        """Return the seconds from the begin of a model call to its first piece, once.

        Without its key, the call must be the only one that can be meant.
        """
        if not call and len(self._call_tokens) == 1 and set(self._models_at_work) <= self._call_tokens.keys():
            (call,) = self._call_tokens
        return self._call_tokens.pop(call, None)

    @property
    def _models_at_work(self) -> list[str]:
        return [key for worker, key in self._starts if worker == "model"]

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
