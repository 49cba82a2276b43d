"""The few places where the outside world comes in; the families implement them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from fairtrial.records.case import EvalCase
from fairtrial.records.record import Json
from fairtrial.records.reply import Prompt, Reply
from fairtrial.records.trace import About, Durations, Event, Step, ToolCall, ToolResult, Trace, Usage

Item = Step | Usage | Event | Durations
"""What a session tells: steps, the tokens of a model call, how the next steps are grouped, time in models and tools."""


class Session(Protocol):
    """One conversation with an agent."""

    def send(self, message: str) -> AsyncIterator[Item]:
        """Say something; yield what the agent does, as it does it. The last message is its reply."""
        ...

    @property
    def about(self) -> About | None:
        """Instructions and tools of the agents, and the session's state, as known after the latest reply."""
        ...


Real = Callable[[], Awaitable[Json]]
"""Asks the tool itself, each time that it is called; what the tool raises comes out of it."""


class Environment(Protocol):
    """Stands between an agent and its tools; one per conversation."""

    async def answer(self, call: ToolCall, declared: dict[str, Json], real: Real) -> ToolResult:
        """Answer a call of a tool that its agent declares so, with the tool itself or without it.

        What was done to the answer on purpose stands in the result's `injected`.
        """
        ...


class Simulator(Protocol):
    """Plays the user. One that asks a language model says in an attribute `spent` what that took so far."""

    async def next_message(self, so_far: Trace) -> str | None:
        """Say the user's next message; None ends the conversation."""
        ...


Agent = Callable[[EvalCase, Environment | None], AbstractAsyncContextManager[Session]]
"""Opens a session for a case: its initial state goes in, and what the session holds is closed at the end."""

Embedder = Callable[[Sequence[str]], object]
"""Texts to an array of shape (n, dim), float32, rows of unit length."""


class Model(Protocol):
    """The seam: a language model, or anything that stands before one."""

    async def __call__(self, prompt: Prompt) -> Reply:
        """Answer a prompt; raise `CallError` where no reply can be had."""
        ...
