"""What does a simulated environment answer? Injected faults and played tools, the same in every run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from fairtrial.errors import SimulatedToolError, nearest
from fairtrial.llm.model import NamedModel
from fairtrial.llm.model_pool import ModelPool
from fairtrial.protocols import Model, Real
from fairtrial.records.case import EvalCase
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.record import Json
from fairtrial.records.trace import Injection, ToolCall, ToolResult, Trace
from fairtrial.simulate.effects import CHANGES, chance, holds
from fairtrial.simulate.environment_options import (
    Chaos,
    EnvironmentOptions,
    InjectionConfig,
    Strategy,
)
from fairtrial.simulate.examples import Examples, examples_in
from fairtrial.simulate.played import PlayedCall, Player
from fairtrial.text.display import call as shown_call
from fairtrial.text.display import compact, shortened
from fairtrial.text.globs import fits

Place = tuple[Json, ...]
"""Where a call is made: case, attempt, tool, arguments, and which time."""
Source = Callable[[], Awaitable[Json]]
"""Gives an answer before chaos, and notes what it injects to have it, before it does."""

_SHOWN = 200
_LISTED = 10
TIMED_OUT = {"error_code": 504, "error_message": "the tool did not answer in time"}
"""What an agent hears of a call that timed out."""


@dataclass(frozen=True)
class SimulatedEnvironments:
    """The environments of a run, one for each conversation; `model` plays the tools that are to be played."""

    options: EnvironmentOptions
    model: Model | None = None

    def connect_models(self, pool: ModelPool) -> SimulatedEnvironments:
        """Return the environments with the model of a run behind them, and with examples of their own."""
        model = pool.connected(self.model) if isinstance(self.model, NamedModel) else self.model
        return SimulatedEnvironments(self.options, model)

    def __call__(self, case: EvalCase, attempt: int) -> SimulatedEnvironment:
        """Return the environment of one conversation."""
        return SimulatedEnvironment(self.options, self.model, self._examples, case.id, attempt)

    @cached_property
    def _examples(self) -> Examples:
        """Recorded answers, read once for all conversations."""
        return examples_in(self.options.tracing) if self.options.replayed else {}

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


@dataclass(eq=False)
class _Made:
    """A call that an agent made, with its place, and what came of it so far: what was injected, and each answer."""

    call: ToolCall
    declared: dict[str, Json]
    real: Real
    place: Place
    injected: list[Injection] = field(default_factory=list)
    answers: list[Json] = field(default_factory=list)
    played: bool = False


class SimulatedEnvironment:
    """The environment of one conversation: the calls that were made, in their order, and what each was answered.

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
        self._made: list[_Made] = []
        self._begun: list[_Made] = []
        self._playing = asyncio.Lock()
        self.asking = ""
        self._played = 0

    @property
    def spent(self) -> ModelUsage | None:
        """What playing tools took so far; None where no language model plays one."""
        return None if self._player is None else self._player.spent

    def unfinished_calls(self) -> list[ToolResult]:
        """Hand over the calls that are not answered, or never were, with what was injected into them so far."""
        begun, self._begun = self._begun, []
        return [_result(one, None) for one in begun]

    async def answer(self, call: ToolCall, declared: dict[str, Json], real: Real) -> ToolResult:
        """Answer a call; raises SimulatedToolError where that cannot be done."""
        self._times[_key(call)] += 1
        made = _Made(call, declared, real, (*self._conversation, call.name, call.args, self._times[_key(call)]))
        self._made.append(made)
        self._begun.append(made)
        response = await self._response(made)
        self._begun = [one for one in self._begun if one is not made]
        return _result(made, response)

    async def _response(self, made: _Made) -> Json:
        """What a call is answered; each thing is `injected` as it is begun."""
        call, injected = made.call, made.injected
        effects = list(self._effects(made))
        for one, _ in effects:
            if one.effect == "timeout":
                injected.append(Injection("timeout", f"after {one.seconds:g} s", one.invalidates))
                await asyncio.sleep(one.seconds)
                return TIMED_OUT
        earlier = [answer for one in self._made if _key(one.call) == _key(call) for answer in one.answers]
        ask = self._source(made)
        response = await ask()
        for one, _ in effects:
            if one.effect == "duplicated":
                twice = "the call was made twice"
                injected[:] = [Injection("duplicated", twice, one.invalidates)]  # nobody hears the first answer
                response = await ask()
        for one, where in effects:
            before = response
            if one.effect == "stale":
                response = earlier[-1] if earlier else response
            elif one.effect in CHANGES:
                response = CHANGES[one.effect](response, where)
            if compact(before) != compact(response):
                was = f"was {shortened(compact(before), _SHOWN)}"
                injected.append(Injection(one.effect, was, one.invalidates))
        return response

    def _effects(self, made: _Made) -> Iterator[tuple[Chaos, float]]:
        """The chaos effects that happen to the answer of a call, with where in the answer."""
        for i, one in enumerate(self._options.chaos_effects):
            if fits(made.call.name, one.tool_name) and holds(made.call.args, one.match_args):
                seed = self._seed(one.random_seed)
                if chance("chaos", seed, i, *made.place) < one.probability:
                    yield one, chance("where", seed, i, *made.place)

    def _seed(self, own: int | None) -> int:
        return self._options.random_seed if own is None else own

    def _source(self, made: _Made) -> Source:
        """Who answers a call: the first injection that hits, whoever plays the tool, or the tool itself."""
        tool = self._tools.get(made.call.name)
        for i, one in enumerate(tool.injection_configs if tool else ()):
            drawn = chance("injection", self._seed(one.random_seed), i, *made.place)
            if holds(made.call.args, one.match_args) and drawn < one.injection_probability:
                return lambda: self._injected(one, made)
        strategy = tool.mock_strategy_type if tool else Strategy.REAL
        if strategy is Strategy.PLAYED and self._player is not None:
            player, known = self._player, [one for one in self._made if one.answers]
            made.played = True
            return lambda: self._by_player(player, made, known)
        if strategy is Strategy.RECORDED:
            return lambda: self._as_recorded(made)
        return lambda: self._by_tool(made)

    async def _injected(self, one: InjectionConfig, made: _Made) -> Json:
        if one.injected_latency_seconds:
            made.injected.append(Injection("latency", f"{one.injected_latency_seconds:g} s", one.invalidates))
            await asyncio.sleep(one.injected_latency_seconds)
        error = one.injected_error
        if error is not None:
            told = f"{error.injected_http_error_code}: {error.error_message}"
            made.injected.append(Injection("error", told, one.invalidates))
            return _kept(made, error.response)
        told = shortened(compact(one.injected_response), _SHOWN)
        made.injected.append(Injection("response", told, one.invalidates))
        return _kept(made, one.injected_response)

    async def _by_player(self, player: Player, made: _Made, known: list[_Made]) -> Json:
        """One call after the other, so that each knows what was answered before it.

        Of calls side by side it knows those that were played before it: how long the others take is no matter of the
        conversation, and must not change what the model is asked.
        """
        made.injected.append(Injection("played", f"by {self._options.simulation_model}"))
        async with self._playing:
            self._played += 1
            draw = compact([*self._conversation, self._played])
            shown = [one for one in self._made if one.played or one in known]
            earlier = [PlayedCall(one.call, answer) for one in shown for answer in one.answers]
            self.asking = made.call.name
            response = _kept(made, await player.answer(made.call, made.declared, earlier, draw=draw))
            self.asking = ""
            return response

    async def _as_recorded(self, made: _Made) -> Json:
        """The recorded answers to the same call, one after the other; the last goes on."""
        call = made.call
        answers = self._examples.get(call.name, {}).get(compact(call.args))
        if not answers:
            known = ", ".join(list(self._examples.get(call.name, {}))[:_LISTED])
            asked = shown_call(call.name, call.args, limit=_SHOWN)
            raise SimulatedToolError(f"no recorded answer to {asked}; recorded arguments: {known}")
        place = min(self._told[_key(call)], len(answers) - 1)
        self._told[_key(call)] += 1
        made.injected.append(Injection("recorded", f"answer {place + 1} of {len(answers)}"))
        return _kept(made, answers[place])

    async def _by_tool(self, made: _Made) -> Json:
        return _kept(made, await made.real())


def _kept(made: _Made, response: Json) -> Json:
    """Remember an answer."""
    made.answers.append(response)
    return response


def _key(call: ToolCall) -> str:
    return compact([call.name, call.args])


def _result(made: _Made, response: Json) -> ToolResult:
    return ToolResult(made.call.name, response, made.call.id, injected=tuple(made.injected))
