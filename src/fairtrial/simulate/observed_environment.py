"""The injections and failures of an environment, observed outside the agent, which may report neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from fairtrial.errors import SimulatedToolError, StoreError, UsageError
from fairtrial.protocols import (
    AddsTools,
    DescribesTools,
    Environment,
    OffersUserTools,
    Real,
    ReportsState,
    ReportsUsage,
    Simulator,
    TracksCalls,
    UsesTools,
)
from fairtrial.records.model_usage import ModelUsage
from fairtrial.text.display import describe_error, shorten

if TYPE_CHECKING:
    from fairtrial.records.record import Json
    from fairtrial.records.trace import ToolCall, ToolResult


class ObservedEnvironment:
    """An environment that passes every call on to another environment, and records the results.

    `failure` is the first failure of the environment itself. The agent may have caught it, and gone on as if its tool
    had failed. A UsageError stays as it is, because every other conversation would fail in the same way. For example,
    a cassette lacks the call. An exception of the real tool does not count as a failure of the environment.
    """

    def __init__(self, environment: Environment) -> None:
        self.failure: SimulatedToolError | UsageError | StoreError | None = None
        self._environment = environment
        self._results: list[ToolResult] = []

    @property
    def model_usage(self) -> ModelUsage | None:
        """The usage of the model that plays tools so far, or None if no model plays a tool."""
        return read_usage(self._environment)

    @property
    def asking(self) -> str:
        """The tool that a language model is playing at the moment, or an empty string."""
        return self._environment.asking if isinstance(self._environment, TracksCalls) else ""

    @property
    def has_unreported_results(self) -> bool:
        """Whether the environment has answered a call that the agent has not reported."""
        return bool(self._results)

    def equip(self, user: Simulator) -> None:
        """Give a simulated user the tools that the environment offers, if the user can use tools."""
        environment = self._environment
        if isinstance(environment, OffersUserTools) and environment.user_tools and isinstance(user, UsesTools):
            user.take_tools(environment)

    def end_conversation(self, error: SimulatedToolError) -> None:
        """End the conversation with an error, also if the agent catches it."""
        self.failure = self.failure or error

    def report_state(self) -> dict[str, Json]:
        """Return the state of the environment. Raises SimulatedToolError if the environment cannot tell."""
        if not isinstance(self._environment, ReportsState):
            return {}
        try:
            return self._environment.report_state()
        except Exception as error:
            raise SimulatedToolError(f"the environment could not report its state: {describe_error(error)}") from error

    def describe(self, name: str, description: str) -> str:
        """Return the description of a tool, which the environment may change."""
        environment = self._environment
        return environment.describe(name, description) if isinstance(environment, DescribesTools) else description

    def add_tools(self, declared: Sequence[dict[str, Json]]) -> Sequence[dict[str, Json]]:
        """Return the declarations of the tools that the environment adds."""
        return self._environment.add_tools(declared) if isinstance(self._environment, AddsTools) else ()

    async def answer(self, call: ToolCall, declared: dict[str, Json], real: Real) -> ToolResult:
        """Answer a call. Raises SimulatedToolError if the environment cannot answer."""
        tool_errors: list[Exception] = []

        async def tool() -> Json:
            try:
                return await real()
            except Exception as error:
                tool_errors.append(error)
                raise

        try:
            result = await self._environment.answer(call, declared, tool)
            msgspec.json.encode(result)
        except Exception as error:
            if error in tool_errors:
                raise
            self.failure = self.failure or _failure(call, error)
            if error is self.failure:
                raise
            raise self.failure from error
        self._results.append(result)
        return result

    def with_injections(self, reported: ToolResult) -> ToolResult:
        """Return a result that the agent reports, with its injections.

        The injections come from the result with the same call id. Without an id, they come from the first unreported
        result of the tool.
        """
        candidates = [result for result in self._results if result.name == reported.name]
        same_call = [result for result in candidates if result.id and result.id == reported.id]
        without_id = [result for result in candidates if not (result.id and reported.id)]
        if not same_call and not without_id:
            return reported
        match = (same_call or without_id)[0]
        self._results.remove(match)
        return replace(reported, injected=(*reported.injected, *match.injected)) if match.injected else reported

    def unreported_injections(self) -> tuple[ToolResult, ...]:
        """Return the injections since the last call of this method that are on no result of the agent.

        For example, the agent was stopped before it reported the result, or it does not report its inner tools.
        """
        results, self._results = self._results, []
        if isinstance(self._environment, TracksCalls):
            results += self._environment.unfinished_calls()
        return tuple(replace(result, response=None) for result in results if result.injected)


def read_usage(player: Simulator | Environment | None) -> ModelUsage | None:
    """Return the usage of language models by a simulator or an environment, or None if it reports none."""
    usage = player.model_usage if isinstance(player, ReportsUsage) else None
    # A class of a user may have an attribute of the same name with another meaning.
    return usage if isinstance(usage, ModelUsage) else None


def _failure(call: ToolCall, error: Exception) -> SimulatedToolError | UsageError | StoreError:
    if isinstance(error, UsageError | StoreError):
        return error
    cause = str(error) if isinstance(error, SimulatedToolError) else describe_error(error)
    return SimulatedToolError(shorten(f"the environment could not answer {call.name}: {cause}", 2000))
