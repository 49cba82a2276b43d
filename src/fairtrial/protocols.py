"""The few places where the outside world comes in; the families implement them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

from fairtrial.records.case import EvalCase
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.record import Json
from fairtrial.records.reply import Prompt, Reply
from fairtrial.records.trace import About, Durations, Event, Step, ToolCall, ToolResult, Trace, Usage

Item = Step | Usage | Event | Durations
"""What a session tells: steps, the tokens of a model call, how the next steps are grouped, time in models and tools."""


@runtime_checkable
class Closable(Protocol):
    """An optional capability of what `Session.send` returns: it can be closed before its end, as a generator can."""

    async def aclose(self) -> None:
        """Stop, and release what is held."""
        ...


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


@runtime_checkable
class ExplainsExpectation(Protocol):
    """An optional capability of a metric: it can find mistakes in the expectation itself."""

    def expectation_problems(self, trace: Trace, case: EvalCase) -> Sequence[str]:
        """Return why no agent could meet the expectation of a case, or why it cannot be intended; empty if it is fine.

        For example, an expected tool is also one of the `forbidden_tools`.
        """
        ...


@runtime_checkable
class GivesNotes(Protocol):
    """An optional capability of a metric: it has something to tell about a case besides its score."""

    def notes(self, trace: Trace, case: EvalCase) -> Sequence[str]:
        """Return warnings about a case, for example that one of its rubrics has no type."""
        ...


class Environment(Protocol):
    """Stands between an agent and its tools; one per conversation."""

    async def answer(self, call: ToolCall, declared: dict[str, Json], real: Real) -> ToolResult:
        """Answer a call of a tool that its agent declares so, with the tool itself or without it.

        What was done to the answer on purpose stands in the result's `injected`.
        """
        ...


@runtime_checkable
class ChecksTools(Protocol):
    """An optional capability of a factory of environments: it knows which tools it expects the agents to have."""

    def undeclared(self, trace: Trace) -> Sequence[str]:
        """Return a warning for each tool that no agent of the conversation declares."""
        ...


@runtime_checkable
class TracksCalls(Protocol):
    """An optional capability of an environment: it knows which calls it has not answered yet."""

    @property
    def asking(self) -> str:
        """The tool that a language model is playing at the moment; empty if there is none."""
        ...

    def begun(self) -> Sequence[ToolResult]:
        """Hand over the unanswered calls, as results without a response but with their injections."""
        ...


@runtime_checkable
class ReportsUsage(Protocol):
    """An optional capability of a simulator or an environment: it counts its calls of language models."""

    @property
    def spent(self) -> ModelUsage | None:
        """The usage of language models so far; None if no language model is involved."""
        ...


class Simulator(Protocol):
    """Plays the user."""

    async def next_message(self, so_far: Trace) -> str | None:
        """Say the user's next message; None ends the conversation."""
        ...


Agent = Callable[[EvalCase, Environment | None], AbstractAsyncContextManager[Session]]
"""Opens a session for a case: its initial state goes in, and what the session holds is closed at the end."""


@runtime_checkable
class RefusesEnvironment(Protocol):
    """An optional capability of an agent: it can say that no environment can stand before its tools."""

    @property
    def refuses_environment(self) -> str:
        """Why an environment cannot be used with the agent; empty if it can."""
        ...


@runtime_checkable
class Documented(Protocol):
    """An optional capability of an agent: it has a description for people."""

    @property
    def documentation(self) -> str:
        """The description; empty if there is none."""
        ...


Embedder = Callable[[Sequence[str]], object]
"""Texts to an array of shape (n, dim), float32, rows of unit length."""


class Model(Protocol):
    """The seam: a language model, or anything that stands before one."""

    async def __call__(self, prompt: Prompt) -> Reply:
        """Answer a prompt; raise `CallError` where no reply can be had."""
        ...
