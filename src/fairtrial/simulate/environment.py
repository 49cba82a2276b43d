"""A simulated environment: injected faults and played tools, which are the same in every run."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import structs

from fairtrial.errors import SimulatedToolError, nearest
from fairtrial.llm.model import NamedModel
from fairtrial.records.equality import equal_json
from fairtrial.records.record import Json
from fairtrial.records.trace import Injection, ToolCall, ToolResult, Trace
from fairtrial.simulate.answer_changes import CHANGES
from fairtrial.simulate.environment_options import (
    Chaos,
    EnvironmentOptions,
    InjectionConfig,
    SimulatedTool,
    Strategy,
)
from fairtrial.simulate.examples import Examples, examples_in
from fairtrial.simulate.planted import plant
from fairtrial.simulate.played import PlayedCall, Player
from fairtrial.simulate.tau2_domain import Tau2Domain, Tau2World, open_domain
from fairtrial.text.display import call as shown_call
from fairtrial.text.display import compact, shorten
from fairtrial.text.globs import fits

if TYPE_CHECKING:
    from fairtrial.llm.model_pool import ModelPool
    from fairtrial.protocols import Model, Real
    from fairtrial.records.case import EvalCase
    from fairtrial.records.model_usage import ModelUsage


def chance(*place: Json) -> float:
    """Return a number in [0, 1) that depends only on a place: seed, case, attempt, tool, arguments, occurrence.

    It is the first 53 bits of the SHA-256 of the place as canonical JSON, so the order of arrival cannot change it.
    """
    digest = hashlib.sha256(compact(list(place)).encode("utf-8", "replace")).digest()
    return (int.from_bytes(digest[:8]) >> 11) / 2**53


def holds(args: Json, subset: Json) -> bool:
    """Return whether arguments contain a subset with equal values. For example, 1.0 equals 1, but true does not."""
    return all(key in args and equal_json(args[key], value) for key, value in subset.items())


Place = tuple[Json, ...]
"""The place of a call: case, attempt, tool, arguments, and its occurrence."""
Source = Callable[[], Awaitable[Json]]
"""Returns the answer before chaos effects. It adds each injection to the call before the injection happens."""

_EXCERPT = 200
_LISTED = 10
TIMED_OUT = {"error_code": 504, "error_message": "the tool did not answer in time"}
"""The answer that an agent gets for a call that timed out."""


@dataclass(frozen=True)
class SimulatedEnvironments:
    """The environments of a run, one for each conversation. `model` plays the tools that the options assign to it."""

    options: EnvironmentOptions
    model: Model | None = None

    def connect_models(self, pool: ModelPool) -> SimulatedEnvironments:
        """Return the environments with the model of a run behind them, and with their own examples."""
        model = pool.connected(self.model) if isinstance(self.model, NamedModel) else self.model
        return replace(self, model=model)

    def __call__(self, case: EvalCase, attempt: int) -> SimulatedEnvironment:
        """Return the environment of one conversation."""
        environment = SimulatedEnvironment(self.options, self.model, self._examples, case.id, attempt)
        environment.world = None if self._domain is None else self._domain.open(case.id)
        return environment

    def without_injections(self) -> SimulatedEnvironments | None:
        """Return environments that play the same tools and inject nothing, or None if they play none."""
        played = tuple(
            structs.replace(tool, injection_configs=())
            for tool in self.options.tool_simulation_configs
            if tool.mock_strategy_type is not Strategy.REAL
        )
        if not played and self.options.tau2_domain is None:
            return None
        return replace(self, options=structs.replace(self.options, tool_simulation_configs=played, chaos_effects=()))

    @cached_property
    def _examples(self) -> Examples:
        """The recorded answers, which are read once for all conversations."""
        return examples_in(self.options.tracing) if self.options.replayed else {}

    @cached_property
    def _domain(self) -> Tau2Domain | None:
        """The domain whose tools answer in place of the real tools."""
        return None if self.options.tau2_domain is None else open_domain(self.options.tau2_domain)

    def undeclared(self, trace: Trace) -> list[str]:
        """Return a warning for each configured tool that no agent of the conversation declares.

        If the agents do not report their tools, there are no warnings.
        """
        declared = {name for agent in trace.agents for name in agent.tool_names}
        unknown = [name for name in self.options.tool_names if name not in declared] if declared else []
        return [
            f"the environment answers {name!r}, a tool that no agent of the conversation declares"
            f"{nearest(name, declared)}"
            for name in unknown
        ]


@dataclass(eq=False)
class _CallRecord:
    """A call of an agent with its place, and its injections and answers so far."""

    call: ToolCall
    declared: dict[str, Json]
    real: Real
    place: Place
    injected: list[Injection] = field(default_factory=list)
    answers: list[Json] = field(default_factory=list)
    by_model: bool = False


class SimulatedEnvironment:
    """The environment of one conversation, with the calls in their order and their answers.

    The first injection of the tool that hits answers a call. If no injection hits, the strategy of the tool decides
    who answers: a model, a recording or the tool itself. The chaos effects that hit then change the answer, in their
    order. A hit depends only on the seed, the case, the attempt, the call and its occurrence. `asking` is the tool
    that a language model is playing at the moment, and empty if there is none.
    """

    def __init__(
        self, options: EnvironmentOptions, model: Model | None, examples: Examples, case_id: str, attempt: int
    ) -> None:
        self._options = options
        self._tools = {tool.tool_name: tool for tool in options.tool_simulation_configs}
        self._player = None if model is None else Player(model, options.environment_data, options.tracing)
        self._examples = examples
        self._conversation = (case_id, attempt)
        self._occurrences: Counter[str] = Counter()
        self._replays: Counter[str] = Counter()
        self._calls: list[_CallRecord] = []
        self._unfinished: list[_CallRecord] = []
        self._playing = asyncio.Lock()
        self.asking = ""
        self.world: Tau2World | None = None
        self._played_calls = 0

    @property
    def model_usage(self) -> ModelUsage | None:
        """The usage of the model that plays tools so far, or None if no model plays a tool."""
        return None if self._player is None else self._player.model_usage

    @property
    def user_tools(self) -> list[dict[str, Json]]:
        """The declarations of the tools that the domain offers the user."""
        return [] if self.world is None else self.world.user_tools

    def answer_user(self, call: ToolCall) -> Json:
        """Answer a call of the user. Raises SimulatedToolError if there is no domain."""
        if self.world is None:
            raise SimulatedToolError("the environment has no tools of the user")
        return self.world.answer_user(call)

    def report_state(self) -> dict[str, Json]:
        """Return how the state of the domain compares with the expected state, or nothing without a domain."""
        return {} if self.world is None else self.world.report_state()

    def unfinished_calls(self) -> list[ToolResult]:
        """Return the calls without an answer, with their injections so far, and forget them."""
        unfinished, self._unfinished = self._unfinished, []
        return [_result(record, None) for record in unfinished]

    async def answer(self, call: ToolCall, declared: dict[str, Json], real: Real) -> ToolResult:
        """Answer a call. Raises SimulatedToolError if the environment cannot answer."""
        self._occurrences[_key(call)] += 1
        record = _CallRecord(
            call, declared, real, (*self._conversation, call.name, call.args, self._occurrences[_key(call)])
        )
        self._calls.append(record)
        self._unfinished.append(record)
        response = await self._response(record)
        self._unfinished = [pending for pending in self._unfinished if pending is not record]
        return _result(record, response)

    async def _response(self, record: _CallRecord) -> Json:
        """Return the answer of a call, and list each injection as soon as it starts."""
        call, injected = record.call, record.injected
        effects = list(self._effects(record))
        for chaos, _ in effects:
            if chaos.effect == "timeout":
                injected.append(Injection("timeout", f"after {chaos.seconds:g} s", chaos.invalidates))
                await asyncio.sleep(chaos.seconds)
                return TIMED_OUT
        earlier = [answer for past in self._calls if _key(past.call) == _key(call) for answer in past.answers]
        ask = self._source(record)
        response = await ask()
        for chaos, _ in effects:
            if chaos.effect == "duplicated":
                detail = "the call was made twice"
                # The agent never gets the first answer, so its injections do not count.
                injected[:] = [Injection("duplicated", detail, chaos.invalidates)]
                response = await ask()
        for chaos, position in effects:
            before = response
            if chaos.effect == "stale":
                response = earlier[-1] if earlier else response
            elif chaos.effect in CHANGES:
                response = CHANGES[chaos.effect](response, position)
            if compact(before) != compact(response):
                detail = f"was {shorten(compact(before), _EXCERPT)}"
                injected.append(Injection(chaos.effect, detail, chaos.invalidates))
        return response

    def _effects(self, record: _CallRecord) -> Iterator[tuple[Chaos, float]]:
        """Yield the chaos effects that change the answer of a call, each with its position in the answer."""
        for i, chaos in enumerate(self._options.chaos_effects):
            if fits(record.call.name, chaos.tool_name) and holds(record.call.args, chaos.match_args):
                seed = self._seed(chaos.random_seed)
                if chance("chaos", seed, i, *record.place) < chaos.probability:
                    yield chaos, chance("where", seed, i, *record.place)

    def _seed(self, own: int | None) -> int:
        return self._options.random_seed if own is None else own

    def _source(self, record: _CallRecord) -> Source:
        """Return the source of the answer: the first injection that hits, a model, a recording, or the tool itself."""
        tool = self._tools.get(record.call.name)
        for i, injection in enumerate(tool.injection_configs if tool else ()):
            draw = chance("injection", self._seed(injection.random_seed), i, *record.place)
            if holds(record.call.args, injection.match_args) and draw < injection.injection_probability:
                return lambda: self._inject(injection, record)
        return self._usual_source(tool, record)

    def _usual_source(self, tool: SimulatedTool | None, record: _CallRecord) -> Source:
        """Return the source of an answer without an injection."""
        strategy = tool.mock_strategy_type if tool else Strategy.REAL
        if strategy is Strategy.PLAYED and self._player is not None:
            player, with_answers = self._player, [past for past in self._calls if past.answers]
            record.by_model = True
            return lambda: self._play(player, record, with_answers)
        if strategy is Strategy.RECORDED:
            return lambda: self._replay(record)
        return lambda: self._call_tool(record)

    async def _inject(self, config: InjectionConfig, record: _CallRecord) -> Json:
        if config.injected_latency_seconds:
            detail = f"{config.injected_latency_seconds:g} s"
            record.injected.append(Injection("latency", detail, config.invalidates))
            await asyncio.sleep(config.injected_latency_seconds)
        error = config.injected_error
        if error is not None:
            detail = f"{error.injected_http_error_code}: {error.error_message}"
            record.injected.append(Injection("error", detail, config.invalidates))
            return _add_answer(record, error.response)
        if config.planted is not None:
            response = await self._usual_source(self._tools.get(record.call.name), record)()
            planted, count = plant(response, config.planted.at, config.planted.value)
            if count:
                record.injected.append(Injection("planted", f"{count} at {config.planted.at}", config.invalidates))
                record.answers[-1:] = [planted]
            return planted
        detail = shorten(compact(config.injected_response), _EXCERPT)
        record.injected.append(Injection("response", detail, config.invalidates))
        return _add_answer(record, config.injected_response)

    async def _play(self, player: Player, record: _CallRecord, with_answers: list[_CallRecord]) -> Json:
        """Let a model answer the calls one after the other, so that each prompt holds the earlier answers.

        If calls run in parallel, a prompt holds only the calls that the model played before. The duration of the other
        calls must not change the prompt.
        """
        record.injected.append(Injection("played", f"by {self._options.simulation_model}"))
        async with self._playing:
            self._played_calls += 1
            draw = compact([*self._conversation, self._played_calls])
            context = [past for past in self._calls if past.by_model or past in with_answers]
            earlier = [PlayedCall(past.call, answer) for past in context for answer in past.answers]
            self.asking = record.call.name
            response = _add_answer(record, await player.answer(record.call, record.declared, earlier, draw=draw))
            self.asking = ""
            return response

    async def _replay(self, record: _CallRecord) -> Json:
        """Return the recorded answers to the same call one after the other. The last answer repeats."""
        call = record.call
        answers = self._examples.get(call.name, {}).get(compact(call.args))
        if not answers:
            available = ", ".join(list(self._examples.get(call.name, {}))[:_LISTED])
            text = shown_call(call.name, call.args, limit=_EXCERPT)
            raise SimulatedToolError(f"no recorded answer to {text}; recorded arguments: {available}")
        place = min(self._replays[_key(call)], len(answers) - 1)
        self._replays[_key(call)] += 1
        record.injected.append(Injection("recorded", f"answer {place + 1} of {len(answers)}"))
        return _add_answer(record, answers[place])

    async def _call_tool(self, record: _CallRecord) -> Json:
        if self.world is not None and self.world.has_tool(record.call.name):
            return _add_answer(record, self.world.answer(record.call))
        return _add_answer(record, await record.real())


def _add_answer(record: _CallRecord, response: Json) -> Json:
    """Add an answer to a call, and return it."""
    record.answers.append(response)
    return response


def _key(call: ToolCall) -> str:
    return compact([call.name, call.args])


def _result(record: _CallRecord, response: Json) -> ToolResult:
    return ToolResult(record.call.name, response, record.call.id, injected=tuple(record.injected))
