"""What does a simulated environment answer? Injected faults and played tools, the same in every run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from assay.data.case import EvalCase
from assay.data.noun import Json
from assay.data.seams import Real
from assay.data.spent import Spent
from assay.data.trace import Injected, ToolCall, ToolResult, Trace
from assay.errors import SimulatedToolError, nearest
from assay.llm.model import Model
from assay.simulate.effects import CHANGES, chance, holds
from assay.simulate.environment_options import (
    Chaos,
    EnvironmentOptions,
    InjectionConfig,
    Strategy,
    examples_of,
)
from assay.simulate.examples import Examples
from assay.simulate.played import Answered, Player
from assay.text.display import call as shown_call
from assay.text.display import compact, shortened
from assay.text.globs import fits

Place = tuple[Json, ...]
"""Where a call is made: case, attempt, tool, arguments, and which time."""
Source = Callable[[list[Injected]], Awaitable[Json]]
"""Gives an answer before chaos, and says what it injects to have it, before it does."""

_SHOWN = 200
_LISTED = 10
TIMED_OUT = {"error_code": 504, "error_message": "the tool did not answer in time"}
"""What an agent hears of a call that timed out."""


@dataclass(frozen=True)
class SimulatedEnvironments:
    """The environments of a run, one for each conversation; `model` plays the tools that are to be played."""

    options: EnvironmentOptions
    model: Model | None = None

    def __call__(self, case: EvalCase, attempt: int) -> SimulatedEnvironment:
        """Return the environment of one conversation."""
        return SimulatedEnvironment(self.options, self.model, self._examples, case.id, attempt)

    @cached_property
    def _examples(self) -> Examples:
        """Recorded answers, read once for all conversations."""
        recorded = any(one.mock_strategy_type is Strategy.RECORDED for one in self.options.tool_simulation_configs)
        return examples_of(self.options) if recorded else {}

    def undeclared(self, trace: Trace) -> list[str]:
        """Return a warning for each tool of the configuration that none of a conversation's agents declares.

        Of agents that do not tell their tools nothing can be said.
        """
        declared = {name for agent in trace.agents for name in agent.tool_names}
        unknown = [name for name in self.options.tool_names if name not in declared] if declared else []
        return [
            f"the environment is to answer {name!r}, a tool that no agent of the conversation declares"
            f"{nearest(name, declared)}"
            for name in unknown
        ]


class SimulatedEnvironment:
    """The environment of one conversation: what its tools answered, and how often each call was made.

    A call is answered by the first injection of its tool that hits, else by whoever plays the tool, else by the tool
    itself; then the chaos effects that hit happen to the answer, in their order. What hits depends on the seed, the
    case, the attempt, the call and how often it was made, and on nothing else. `asking` is the tool that a language
    model was asked to play and has not yet, empty where there is none.
    """

    def __init__(
        self, options: EnvironmentOptions, model: Model | None, examples: Examples, case_id: str, attempt: int
    ) -> None:
        self._options = options
        self._tools = {one.tool_name: one for one in options.tool_simulation_configs}
        self._player = None if model is None else Player(model, options.environment_data, options.tracing)
        self._examples = examples
        self._conversation = (case_id, attempt)
        self._times: Counter[str] = Counter()
        self._told: Counter[str] = Counter()
        self._answered: list[Answered] = []
        self._begun: list[tuple[ToolCall, list[Injected]]] = []
        self._playing = asyncio.Lock()
        self.asking = ""
        self._played = 0

    @property
    def spent(self) -> Spent | None:
        """What playing tools took so far; None where no language model plays one."""
        return None if self._player is None else self._player.spent

    def begun(self) -> list[ToolResult]:
        """Hand over the calls that are not answered, or never were, with what was injected into them so far."""
        begun, self._begun = self._begun, []
        return [_result(call, None, injected) for call, injected in begun]

    async def answer(self, call: ToolCall, declared: dict[str, Json], real: Real) -> ToolResult:
        """Answer a call; raises SimulatedToolError where that cannot be done."""
        injected: list[Injected] = []
        self._begun.append((call, injected))
        response = await self._response(call, declared, real, injected)
        self._begun = [one for one in self._begun if one[1] is not injected]
        return _result(call, response, injected)

    async def _response(self, call: ToolCall, declared: dict[str, Json], real: Real, injected: list[Injected]) -> Json:
        """What a call is answered; each thing is `injected` as it is begun."""
        self._times[_key(call)] += 1
        place = (*self._conversation, call.name, call.args, self._times[_key(call)])
        effects = list(self._effects(call, place))
        for one, _ in effects:
            if one.effect == "timeout":
                injected.append(Injected("timeout", f"after {one.seconds:g} s", one.invalidates))
                await asyncio.sleep(one.seconds)
                return TIMED_OUT
        earlier = [one.response for one in self._answered if _key(one.call) == _key(call)]
        ask = self._source(call, declared, real, place)
        response = await ask(injected)
        for one, _ in effects:
            if one.effect == "duplicated":
                twice = "the call was made twice"
                injected[:] = [Injected("duplicated", twice, one.invalidates)]  # nobody hears the first answer
                response = await ask(injected)
        for one, where in effects:
            before = response
            if one.effect == "stale":
                response = earlier[-1] if earlier else response
            elif one.effect in CHANGES:
                response = CHANGES[one.effect](response, where)
            if compact(before) != compact(response):
                was = f"was {shortened(compact(before), _SHOWN)}"
                injected.append(Injected(one.effect, was, one.invalidates))
        return response

    def _effects(self, call: ToolCall, place: Place) -> Iterator[tuple[Chaos, float]]:
        """The chaos effects that happen to the answer of a call, with where in the answer."""
        for i, one in enumerate(self._options.chaos_effects):
            if fits(call.name, one.tool_name) and holds(call.args, one.match_args):
                seed = self._seed(one.random_seed)
                if chance("chaos", seed, i, *place) < one.probability:
                    yield one, chance("where", seed, i, *place)

    def _seed(self, own: int | None) -> int:
        return self._options.random_seed if own is None else own

    def _source(self, call: ToolCall, declared: dict[str, Json], real: Real, place: Place) -> Source:
        """Who answers a call: the first injection that hits, whoever plays the tool, or the tool itself."""
        tool = self._tools.get(call.name)
        for i, one in enumerate(tool.injection_configs if tool else ()):
            drawn = chance("injection", self._seed(one.random_seed), i, *place)
            if holds(call.args, one.match_args) and drawn < one.injection_probability:
                return lambda injected: self._injected(one, call, injected)
        strategy = tool.mock_strategy_type if tool else Strategy.REAL
        if strategy is Strategy.PLAYED and self._player is not None:
            player = self._player
            return lambda injected: self._by_player(player, call, declared, injected)
        if strategy is Strategy.RECORDED:
            return lambda injected: self._as_recorded(call, injected)
        return lambda _: self._by_tool(call, real)

    async def _injected(self, one: InjectionConfig, call: ToolCall, injected: list[Injected]) -> Json:
        if one.injected_latency_seconds:
            injected.append(Injected("latency", f"{one.injected_latency_seconds:g} s", one.invalidates))
            await asyncio.sleep(one.injected_latency_seconds)
        error = one.injected_error
        if error is not None:
            told = f"{error.injected_http_error_code}: {error.error_message}"
            injected.append(Injected("error", told, one.invalidates))
            return self._kept(call, error.response)
        told = shortened(compact(one.injected_response), _SHOWN)
        injected.append(Injected("response", told, one.invalidates))
        return self._kept(call, one.injected_response)

    async def _by_player(
        self, player: Player, call: ToolCall, declared: dict[str, Json], injected: list[Injected]
    ) -> Json:
        """One call after the other, so that each knows what was answered before it."""
        injected.append(Injected("played", f"by {self._options.simulation_model}"))
        async with self._playing:
            self._played += 1
            draw = compact([*self._conversation, self._played])
            self.asking = call.name
            response = self._kept(call, await player.answer(call, declared, self._answered, draw=draw))
            self.asking = ""
            return response

    async def _as_recorded(self, call: ToolCall, injected: list[Injected]) -> Json:
        """The recorded answers to the same call, one after the other; the last goes on."""
        answers = self._examples.get(call.name, {}).get(compact(call.args))
        if not answers:
            known = ", ".join(list(self._examples.get(call.name, {}))[:_LISTED])
            asked = shown_call(call.name, call.args, limit=_SHOWN)
            raise SimulatedToolError(f"no recorded answer to {asked}; recorded arguments: {known}")
        place = min(self._told[_key(call)], len(answers) - 1)
        self._told[_key(call)] += 1
        injected.append(Injected("recorded", f"answer {place + 1} of {len(answers)}"))
        return self._kept(call, answers[place])

    async def _by_tool(self, call: ToolCall, real: Real) -> Json:
        return self._kept(call, await real())

    def _kept(self, call: ToolCall, response: Json) -> Json:
        """Remember an answer."""
        self._answered.append(Answered(call, response))
        return response


def _key(call: ToolCall) -> str:
    return compact([call.name, call.args])


def _result(call: ToolCall, response: Json, injected: list[Injected]) -> ToolResult:
    return ToolResult(call.name, response, call.id, injected=tuple(injected))
