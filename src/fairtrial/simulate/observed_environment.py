"""What did the environment of a conversation do, and did it fail? Known beside the agent, who may tell of neither."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from fairtrial.errors import SimulatedToolError, UsageError
from fairtrial.protocols import Environment, Real, ReportsUsage, Simulator, TracksCalls
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.record import Json
from fairtrial.records.trace import ToolCall, ToolResult
from fairtrial.text.display import described, shortened


class ObservedEnvironment:
    """An environment that passes every call on to another, and remembers what came of it.

    `failure` is the first failure of the environment itself: an agent may have caught it, and gone on as if its tool
    had failed. A UsageError (a cassette without the call, say) is kept as it is: no other conversation would fare
    better. What the real tool raises is the agent's own affair.
    """

    def __init__(self, environment: Environment) -> None:
        self.failure: SimulatedToolError | UsageError | None = None
        self._environment = environment
        self._results: list[ToolResult] = []

    @property
    def spent(self) -> ModelUsage | None:
        """What playing tools took so far; None where no language model plays one."""
        return usage_of(self._environment)

    @property
    def asking(self) -> str:
        """The tool that a language model was asked to play and has not yet; empty where there is none."""
        return self._environment.asking if isinstance(self._environment, TracksCalls) else ""

    async def answer(self, call: ToolCall, declared: dict[str, Json], real: Real) -> ToolResult:
        """Answer a call; raises SimulatedToolError where the environment cannot."""
        raised: list[Exception] = []

        async def tool() -> Json:
            try:
                return await real()
            except Exception as error:
                raised.append(error)
                raise

        try:
            result = await self._environment.answer(call, declared, tool)
            msgspec.json.encode(result)
        except Exception as error:
            if error in raised:
                raise
            self.failure = self.failure or _failure(call, error)
            if error is self.failure:
                raise
            raise self.failure from error
        self._results.append(result)
        return result

    def marked(self, told: ToolResult) -> ToolResult:
        """Return a result that the agent tells of with what was injected into it.

        It is that of the same call by its id, else the first of the tool that was not told of yet.
        """
        named = [one for one in self._results if one.name == told.name]
        same = [one for one in named if one.id and one.id == told.id]
        nameless = [one for one in named if not (one.id and told.id)]
        if not same and not nameless:
            return told
        found = (same or nameless)[0]
        self._results.remove(found)
        return replace(told, injected=(*told.injected, *found.injected)) if found.injected else told

    def unreported_injections(self) -> tuple[ToolResult, ...]:
        """Hand over what was injected since it was last asked and stands on no result that the agent told of.

        It may have been cut off before it told of one, or before it was answered; or keep what its own tools do inside.
        """
        results, self._results = self._results, []
        if isinstance(self._environment, TracksCalls):
            results += self._environment.unfinished_calls()
        return tuple(replace(one, response=None) for one in results if one.injected)


def usage_of(player: Simulator | Environment | None) -> ModelUsage | None:
    """Return the usage of language models by a simulator or an environment; None if it does not report any."""
    spent = player.spent if isinstance(player, ReportsUsage) else None
    return spent if isinstance(spent, ModelUsage) else None  # a user's class may mean something else by the name


def _failure(call: ToolCall, error: Exception) -> SimulatedToolError | UsageError:
    if isinstance(error, UsageError):
        return error
    cause = str(error) if isinstance(error, SimulatedToolError) else described(error)
    return SimulatedToolError(shortened(f"the environment could not answer {call.name}: {cause}", 2000))
