"""The options in `environment_simulation_config`: injected faults, and simulated tools."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, Literal

from msgspec import Meta

from fairtrial.config.option import Keys, Prepared
from fairtrial.config.reader import OptionReader, OptionRecord, Problem
from fairtrial.errors import nearest
from fairtrial.llm.endpoint_options import EndpointOptions
from fairtrial.llm.model import DEFAULT_MODEL
from fairtrial.llm.model_settings import ModelSettings
from fairtrial.records.record import Json
from fairtrial.simulate.examples import examples_in
from fairtrial.simulate.planted import find_pointer_problem

KEY = "environment_simulation_config"
Effect = Literal["timeout", "truncated", "corrupted", "empty", "stale", "duplicated", "wrong", "thinned", "exchanged"]


class Strategy(StrEnum):
    """Who answers a call if nothing was injected. The values are ADK's names."""

    REAL = "MOCK_STRATEGY_UNSPECIFIED"
    PLAYED = "MOCK_STRATEGY_TOOL_SPEC"
    RECORDED = "MOCK_STRATEGY_TRACING"


def _strategy(raw: Any) -> Any:
    """ADK writes the number of a strategy."""
    strategies = list(Strategy)
    return strategies[raw] if type(raw) is int and 0 <= raw < len(strategies) else raw


class InjectedError(OptionRecord, frozen=True):
    """An answer that reports an error."""

    injected_http_error_code: Annotated[int, Meta(description="the code of the error, such as 500")]
    error_message: Annotated[str, Meta(description="the message of the error")]

    @property
    def response(self) -> dict[str, Json]:
        """The answer as ADK gives it."""
        return {"error_code": self.injected_http_error_code, "error_message": self.error_message}


class Planted(OptionRecord, frozen=True):
    """A change inside the answer of the real tool, for example a text of an attacker in a bill."""

    at: Annotated[
        str,
        Meta(
            description="a JSON pointer into the answer, such as `/bills/0/subject`. A part `*` is every key or item, "
            "and `**` is any number of levels. The empty pointer is the whole answer"
        ),
    ]
    value: Annotated[
        Json, Meta(description="the value that stands there instead. In a text, `{original}` is the earlier value")
    ]

    def conflicts(self) -> Iterator[Problem]:
        """Yield the problem of the pointer."""
        if problem := find_pointer_problem(self.at):
            yield "at", problem


class InjectionConfig(OptionRecord, frozen=True):
    """An answer in place of the tool's, for calls that have these arguments among theirs."""

    injection_probability: Annotated[
        float, Meta(ge=0, le=1, description="how probable the injection is in each call that matches")
    ] = 1.0
    match_args: Annotated[
        dict[str, Json], Meta(description="arguments that a call must have. An empty object matches every call")
    ] = {}
    injected_latency_seconds: Annotated[float, Meta(ge=0, le=120, description="how long the answer is delayed")] = 0.0
    random_seed: Annotated[
        int | None, Meta(description="the seed of the probability. Null is the `random_seed` of the environment")
    ] = None
    injected_error: Annotated[InjectedError | None, Meta(description="the error that the call returns")] = None
    injected_response: Annotated[dict[str, Json] | None, Meta(description="the answer that the call returns")] = None
    planted: Annotated[
        Planted | None, Meta(description="a change inside the answer that the call would return without this entry")
    ] = None
    invalidates: Annotated[
        bool, Meta(description="whether an attempt with this injection counts against the environment, not the agent")
    ] = False

    def conflicts(self) -> Iterator[Problem]:
        """Yield a problem unless there is exactly one answer."""
        answers = (self.injected_error, self.injected_response, self.planted)
        if sum(answer is not None for answer in answers) != 1:
            yield "", "must have exactly one of injected_error, injected_response and planted"


class SimulatedTool(OptionRecord, frozen=True):
    """One tool: its injections, and who answers the other calls."""

    tool_name: Annotated[str, Meta(description="the name of the tool")]
    injection_configs: Annotated[
        tuple[InjectionConfig, ...], Meta(description="answers in place of the tool's. The first that matches counts")
    ] = ()
    mock_strategy_type: Annotated[
        Strategy,
        Prepared(_strategy, besides="0 to 2"),
        Meta(
            description="who answers the other calls: the real tool, a language model (`..._TOOL_SPEC`), or the "
            "recorded answers in `tracing` (`..._TRACING`)"
        ),
    ] = Strategy.REAL

    def conflicts(self) -> Iterator[Problem]:
        """Yield a problem if nothing of the tool is simulated."""
        if not self.injection_configs and self.mock_strategy_type is Strategy.REAL:
            yield "", "must have injection_configs or a mock_strategy_type"


class Chaos(OptionRecord, frozen=True):
    """A change of the answers of tools, whoever gave them."""

    effect: Annotated[Effect, Meta(description="what happens to the answer")]
    probability: Annotated[
        float, Meta(ge=0, le=1, description="how probable the effect is in each call that matches")
    ] = 1.0
    tool_name: Annotated[str, Meta(description="the tools, as a glob such as `get_*`")] = "*"
    match_args: Annotated[
        dict[str, Json], Meta(description="arguments that a call must have. An empty object matches every call")
    ] = {}
    random_seed: Annotated[
        int | None, Meta(description="the seed of the probability. Null is the `random_seed` of the environment")
    ] = None
    seconds: Annotated[float, Meta(ge=0, le=120, description="how long a timeout takes")] = 0.0
    invalidates: Annotated[
        bool, Meta(description="whether an attempt with this effect counts against the environment, not the agent")
    ] = False


class EnvironmentOptions(EndpointOptions, frozen=True):
    """`environment_simulation_config`: who answers the tool calls, and which faults are injected."""

    tool_simulation_configs: Annotated[
        tuple[SimulatedTool, ...], Meta(description="the tools that are simulated. Other tools are called normally")
    ] = ()
    simulation_model: Annotated[str, Meta(description="the model that plays tools")] = DEFAULT_MODEL
    simulation_model_configuration: Annotated[
        dict[str, Json], Keys(ModelSettings), Meta(description="the settings of the model")
    ] = {}
    environment_data: Annotated[
        Json, Meta(description="what the model that plays tools knows of the world: a text, or JSON")
    ] = None
    tracing: Annotated[
        Json,
        Meta(
            description="recorded answers: a recording of any format, or `[{tool_name, args, response}]`, as JSON or "
            "its text"
        ),
    ] = None
    tau2_domain: Annotated[
        str | None,
        Meta(
            description="a domain of tau2-bench, for example `airline`. Its own tools answer the calls that the "
            "environment leaves to real tools. It needs tau2-bench"
        ),
    ] = None
    chaos_effects: Annotated[
        tuple[Chaos, ...], Meta(description="changes of the answers of tools, whoever gave them")
    ] = ()
    random_seed: Annotated[int, Meta(description="the seed of the entries that have no seed of their own")] = 0

    @property
    def plays(self) -> bool:
        """Whether a language model plays a tool."""
        return any(tool.mock_strategy_type is Strategy.PLAYED for tool in self.tool_simulation_configs)

    @property
    def replayed(self) -> tuple[str, ...]:
        """The tools whose calls get recorded answers."""
        tools = self.tool_simulation_configs
        return tuple(tool.tool_name for tool in tools if tool.mock_strategy_type is Strategy.RECORDED)

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The names of tools in the configuration, without globs."""
        names = [tool.tool_name for tool in self.tool_simulation_configs]
        names += [chaos.tool_name for chaos in self.chaos_effects if not set("*?") & set(chaos.tool_name)]
        return tuple(dict.fromkeys(names))

    def conflicts(self) -> Iterator[Problem]:
        """Yield the problems of the endpoint, of the tools together, and of the recorded answers."""
        yield from super().conflicts()
        if not (self.tool_simulation_configs or self.chaos_effects or self.tau2_domain):
            yield (
                "tool_simulation_configs",
                "must hold at least one tool, or there must be chaos_effects or a tau2_domain",
            )
        names = [tool.tool_name for tool in self.tool_simulation_configs]
        for i, name in enumerate(names):
            if name in names[:i]:
                yield f"tool_simulation_configs/{i}/tool_name", f"names {name!r} a second time"
            if set("*?") & set(name):
                yield f"tool_simulation_configs/{i}/tool_name", f"is the name of one tool, not a glob; got {name!r}"
        if not self.replayed:
            return
        try:
            examples = examples_in(self.tracing)
        except ValueError as error:
            yield "tracing", str(error)
            return
        for name in self.replayed:
            if name not in examples:
                yield "tracing", f"holds no recorded answer of {name!r}{nearest(name, examples)}"


def environment_options(
    raw: Json, *, pointer: str = f"/{KEY}", lenient: bool = False
) -> tuple[EnvironmentOptions, list[str]]:
    """Return the options in an `environment_simulation_config`, and warnings.

    Raises ConfigError that lists every problem.
    """
    reader = OptionReader(lenient=lenient)
    return reader.read_whole(raw, EnvironmentOptions, pointer), reader.warnings
