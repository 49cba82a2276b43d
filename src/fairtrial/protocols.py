"""The protocols at which the outside world comes in. The families of this package implement them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Literal, Protocol, TypeGuard, runtime_checkable

from fairtrial.records.case import EvalCase
from fairtrial.records.record import Json
from fairtrial.records.trace import About, Durations, Event, Invocation, Part, Step, ToolCall, ToolResult, Trace, Usage

if TYPE_CHECKING:
    from fairtrial.errors import SimulatedToolError
    from fairtrial.records.model_usage import ModelUsage
    from fairtrial.records.reply import Prompt, Reply

Item = Step | Usage | Event | Durations
"""An item of a session: a step, the tokens of a model call, a group of the next steps, or time in models and tools."""


@runtime_checkable
class Closable(Protocol):
    """An optional capability of the iterator of `Session.send`: like a generator, it can be closed before its end."""

    async def aclose(self) -> None:
        """Stop, and release all resources."""
        ...


class Session(Protocol):
    """One conversation with an agent."""

    def send(self, message: str) -> AsyncIterator[Item]:
        """Send a message of the user, and yield each step when the agent takes it. The last message is the reply."""
        ...

    @property
    def about(self) -> About | None:
        """The instructions and tools of the agents, and the state of the session, after the latest reply."""
        ...


class PartsSession(Session, Protocol):
    """One conversation with an agent that `TakesParts`."""

    def send(self, message: str, parts: Sequence[Part] = ()) -> AsyncIterator[Item]:
        """Send a message of the user with its pictures and files."""
        ...


@runtime_checkable
class DeclaresAgents(Protocol):
    """An optional capability of a session: it knows the agents and their tools before the first message."""

    async def declared(self) -> About:
        """Return the instructions and tools of the agents, as far as they are known without a conversation."""
        ...


@runtime_checkable
class ReportsGaps(Protocol):
    """An optional capability of a session: it knows that its items may lack calls of the agent."""

    @property
    def incomplete(self) -> str:
        """Why calls may be missing. The text is empty if none are."""
        ...


@runtime_checkable
class HidesCalls(Protocol):
    """An optional capability of a session: it knows whether the answers of its agent have a place for calls."""

    @property
    def hides_calls(self) -> bool:
        """Whether an answer without calls says nothing about calls, for example because it is a text alone."""
        ...


@runtime_checkable
class TakesEarlierTurns(Protocol):
    """An optional capability of a session: it can go on where an earlier session stopped."""

    def take_earlier_turns(self, invocations: Sequence[Invocation], final_state: dict[str, Json] | None) -> bool:
        """Go on behind the turns of an earlier session with the same case. Return whether that is possible."""
        ...


Real = Callable[[], Awaitable[Json]]
"""Calls the tool itself. An exception of the tool is passed on."""


class ExplainsExpectation(Protocol):
    """An optional capability of a metric: it can find mistakes in the expectation itself."""

    def expectation_problems(self, trace: Trace, case: EvalCase) -> Sequence[str]:
        """Return why no agent could meet the expectation of a case, or nothing if the expectation is fine.

        For example, an expected tool is also one of the `forbidden_tools`.
        """
        ...


def explains_expectation(metric: object) -> TypeGuard[ExplainsExpectation]:
    """Whether a metric has the capability. In Python 3.11, `isinstance` takes 40 us for the same answer."""
    return hasattr(metric, "expectation_problems")


class GivesNotes(Protocol):
    """An optional capability of a metric: it has something to tell about a case besides its score."""

    def notes(self, trace: Trace, case: EvalCase) -> Sequence[str]:
        """Return warnings about a case, for example that one of its rubrics has no type."""
        ...


def gives_notes(metric: object) -> TypeGuard[GivesNotes]:
    """Whether a metric has the capability, as fast as `explains_expectation`."""
    return hasattr(metric, "notes")


class Environment(Protocol):
    """Stands between an agent and its tools. Every conversation has its own environment."""

    async def answer(self, call: ToolCall, declared: dict[str, Json], real: Real) -> ToolResult:
        """Answer a call, with the tool itself (`real`) or without it. `declared` is the declaration of the tool.

        `injected` of the result lists every deliberate change of the answer, for example an injected error.
        """
        ...


@runtime_checkable
class DescribesTools(Protocol):
    """An optional capability of an environment: it changes the descriptions of tools before a model reads them."""

    def describe(self, name: str, description: str) -> str:
        """Return the description of a tool for the next request to the model."""
        ...


@runtime_checkable
class ShowsTools(Protocol):
    """An optional capability of an agent: it asks its environment for the descriptions of its tools."""

    @property
    def shows_tools(self) -> bool:
        """Whether every request to the model has the descriptions of the environment."""
        ...


@runtime_checkable
class AddsTools(Protocol):
    """An optional capability of an environment: it has tools of its own beside those of the agent."""

    def add_tools(self, declared: Sequence[dict[str, Json]]) -> Sequence[dict[str, Json]]:
        """Return the declarations of further tools for the next request to the model, and answer their calls."""
        ...


@runtime_checkable
class HostsServers(Protocol):
    """An optional capability of an agent: the tools of its environment can stand beside its own."""

    @property
    def hosts_servers(self) -> bool:
        """Whether every request to the model has the tools of the environment."""
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
        """The tool that a language model is playing at the moment. It is empty if there is none."""
        ...

    def unfinished_calls(self) -> Sequence[ToolResult]:
        """Hand over the unanswered calls, as results without a response but with their injections."""
        ...


@runtime_checkable
class EndsConversation(Protocol):
    """An optional capability of an environment: it ends a conversation in which it does not reach a tool."""

    def end_conversation(self, error: SimulatedToolError) -> None:
        """End the conversation with an error, also if the agent catches it."""
        ...


@runtime_checkable
class ReportsState(Protocol):
    """An optional capability of an environment: it has a state of its own, which a recording keeps."""

    def report_state(self) -> dict[str, Json]:
        """Return the state at the end of the conversation. It is added to the final state of the session."""
        ...


@runtime_checkable
class OffersUserTools(Protocol):
    """An optional capability of an environment: the user of the conversation has tools too."""

    @property
    def user_tools(self) -> Sequence[dict[str, Json]]:
        """The declarations of the user's tools. It is empty if the user has none."""
        ...

    def answer_user(self, call: ToolCall) -> Json:
        """Answer a call of the user."""
        ...


@runtime_checkable
class UsesTools(Protocol):
    """An optional capability of a simulator: it can use the tools that an environment offers the user."""

    def take_tools(self, environment: OffersUserTools) -> None:
        """Use these tools from now on."""
        ...


@runtime_checkable
class ReportsUsage(Protocol):
    """An optional capability of a simulator or an environment: it counts its calls of language models."""

    @property
    def model_usage(self) -> ModelUsage | None:
        """The usage of language models so far. It is None if no language model is involved."""
        ...


@runtime_checkable
class ComparesCalls(Protocol):
    """An optional capability of a metric: it compares calls, and says which differences its options allow."""

    @property
    def match_type(self) -> Literal["EXACT", "IN_ORDER", "ANY_ORDER"]:
        """The order of the calls that it asks for."""
        ...

    @property
    def optional_tools(self) -> tuple[str, ...]:
        """The tools whose calls are not compared."""
        ...

    def same_call(self, actual: ToolCall, expected: ToolCall) -> bool:
        """Return whether two calls are the same call for this metric."""
        ...


class Simulator(Protocol):
    """Plays the user."""

    async def next_message(self, so_far: Trace) -> str | None:
        """Return the user's next message. None ends the conversation."""
        ...


Agent = Callable[[EvalCase, Environment | None], AbstractAsyncContextManager[Session]]
"""Opens a session for a case, with the case's initial state. The session is closed at the end of the block."""


@runtime_checkable
class ExplainsMissingCalls(Protocol):
    """An optional capability of an agent: it knows why a run may hold none of its calls."""

    @property
    def missing_calls(self) -> str:
        """A note for people if cases expect calls, and the agent told of none. It is empty if there is none."""
        ...


@runtime_checkable
class RefusesEnvironment(Protocol):
    """An optional capability of an agent: it can say that no environment can stand before its tools."""

    @property
    def refuses_environment(self) -> str:
        """Why an environment cannot be used with the agent. It is empty if it can."""
        ...


@runtime_checkable
class TakesParts(Protocol):
    """An optional capability of an agent: it takes pictures and files in the messages of the user."""

    def refuses_parts(self, parts: Sequence[Part]) -> str:
        """Return why the agent cannot take these parts of a message. The text is empty if it can."""
        ...


@runtime_checkable
class ChecksTarget(Protocol):
    """An optional capability of an agent: it can find out before a run whether its server answers."""

    async def check_target(self) -> None:
        """Raise UsageError if the server does not answer."""
        ...


@runtime_checkable
class Documented(Protocol):
    """An optional capability of an agent: it has a description for people."""

    @property
    def documentation(self) -> str:
        """The description. It is empty if there is none."""
        ...


Embedder = Callable[[Sequence[str]], object]
"""Turns n texts into an array of shape (n, dim): float32, each row of unit length."""


@runtime_checkable
class HasName(Protocol):
    """An optional capability of an embedder: it has a name, which stands beside its numbers and in an index."""

    @property
    def name(self) -> str:
        """The name, by which the vectors of two embedders are told apart."""
        ...


@runtime_checkable
class CountsTokens(Protocol):
    """An optional capability of an embedder: it knows how much of a text it sees."""

    def count_tokens(self, texts: Sequence[str]) -> Sequence[tuple[int, int]]:
        """Return for each text the number of tokens that the embedder sees, and the number of all its tokens."""
        ...


@runtime_checkable
class KnowsItsLanguage(Protocol):
    """An optional capability of an embedder: it knows whether it was made for English only."""

    @property
    def is_english(self) -> bool:
        """Whether the vectors of texts in other languages say little."""
        ...


class Model(Protocol):
    """A language model, or a wrapper around a model."""

    async def __call__(self, prompt: Prompt) -> Reply:
        """Answer a prompt. Raises `CallError` if there is no reply."""
        ...
