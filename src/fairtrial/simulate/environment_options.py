"""What does an `environment_simulation_config` ask for? Faults to inject, and who plays which tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta

from fairtrial.config.wording import shown
from fairtrial.errors import ConfigError, nearest
from fairtrial.formats.reading import Place, pointer
from fairtrial.llm.model import DEFAULT_MODEL
from fairtrial.records.record import Json, Record
from fairtrial.simulate.examples import Examples, examples_in
from fairtrial.simulate.option_reading import Inner, Options, settings

KEY = "environment_simulation_config"
_AT: Place = ((), KEY)
Probability = Annotated[float, Meta(ge=0, le=1)]
Seconds = Annotated[float, Meta(ge=0, le=120)]
Effect = Literal["timeout", "truncated", "corrupted", "empty", "stale", "duplicated"]


class Strategy(StrEnum):
    """Who answers where nothing was injected; the value is ADK's name."""

    REAL = "MOCK_STRATEGY_UNSPECIFIED"
    PLAYED = "MOCK_STRATEGY_TOOL_SPEC"
    RECORDED = "MOCK_STRATEGY_TRACING"


class InjectedError(Record, frozen=True):
    """An answer that says what went wrong."""

    injected_http_error_code: int
    error_message: str

    @property
    def response(self) -> dict[str, Json]:
        """The answer as ADK gives it."""
        return {"error_code": self.injected_http_error_code, "error_message": self.error_message}


class InjectionConfig(Record, frozen=True):
    """An answer in place of the tool's, for calls that have these arguments among theirs."""

    injection_probability: Probability = 1.0
    match_args: dict[str, Json] = {}
    injected_latency_seconds: Seconds = 0.0
    random_seed: int | None = None
    injected_error: InjectedError | None = None
    injected_response: dict[str, Json] | None = None
    invalidates: bool = False


class SimulatedTool(Record, frozen=True):
    """One tool: what is injected, and else who answers."""

    tool_name: str
    injection_configs: tuple[InjectionConfig, ...] = ()
    mock_strategy_type: Strategy = Strategy.REAL


class Chaos(Record, frozen=True):
    """Something that happens to the answers of tools, whoever gave them; `tool_name` is a glob.

    `seconds` is how long a timeout takes.
    """

    effect: Effect
    probability: Probability = 1.0
    tool_name: str = "*"
    match_args: dict[str, Json] = {}
    random_seed: int | None = None
    seconds: Seconds = 0.0
    invalidates: bool = False


class EnvironmentOptions(Record, frozen=True):
    """`environment_simulation_config`. `random_seed` is that of the entries that have none of their own.

    `environment_data` and `tracing` are texts, or JSON.
    """

    tool_simulation_configs: tuple[SimulatedTool, ...] = ()
    simulation_model: str = DEFAULT_MODEL
    simulation_model_configuration: dict[str, Json] = {}
    environment_data: Json = None
    tracing: Json = None
    chaos_effects: tuple[Chaos, ...] = ()
    random_seed: int = 0

    @property
    def plays(self) -> bool:
        """Whether a language model plays a tool."""
        return any(one.mock_strategy_type is Strategy.PLAYED for one in self.tool_simulation_configs)

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The tools that are named, without those that are globs."""
        named = [one.tool_name for one in self.tool_simulation_configs]
        named += [one.tool_name for one in self.chaos_effects if not set("*?") & set(one.tool_name)]
        return tuple(dict.fromkeys(named))


def environment_options(raw: Mapping[str, Json], *, lenient: bool = False) -> tuple[EnvironmentOptions, list[str]]:
    """Return the options in an `environment_simulation_config`, in snake_case or camelCase, and warnings.

    Raises ConfigError that lists every problem; an unknown key is a warning where `lenient`.
    """
    reading = Options(_INNER, lenient=lenient)
    return reading.read_whole(raw, EnvironmentOptions, _AT, _check), reading.warnings


def examples_of(options: EnvironmentOptions) -> Examples:
    """Return the recorded answers in `tracing`; raises ConfigError where it holds none."""
    try:
        return examples_in(options.tracing)
    except ValueError as error:
        raise ConfigError(f"{pointer((_AT, 'tracing'))}: {error}") from None


def _strategy(reading: Options, raw: Any, at: Place) -> Any:
    """ADK writes the number of a strategy; its name is read as well."""
    strategies = [one.value for one in Strategy]
    if type(raw) is int and 0 <= raw < len(strategies):
        return strategies[raw]
    return _one_of(strategies, reading, raw, at, besides=f", or 0 to {len(strategies) - 1}")


def _one_of(allowed: Sequence[str], reading: Options, raw: Any, at: Place, *, besides: str = "") -> Any:
    if raw not in allowed:
        hint = nearest(raw, allowed) if isinstance(raw, str) else ""
        reading.wrong(at, f"must be one of {', '.join(allowed)}{besides}, got {shown(raw)}{hint}")
    return raw


def _injections(reading: Options, raw: Any, at: Place) -> list[InjectionConfig | None]:
    found = reading.all_of(raw, InjectionConfig, at)
    for i, one in enumerate(found):
        if one is not None and (one.injected_error is None) == (one.injected_response is None):
            reading.wrong((at, i), "must have exactly one of injected_error and injected_response")
    return found


_INNER: Inner = {
    "tool_simulation_configs": lambda reading, raw, at: reading.all_of(raw, SimulatedTool, at),
    "chaos_effects": lambda reading, raw, at: reading.all_of(raw, Chaos, at),
    "injection_configs": _injections,
    "injected_error": lambda reading, raw, at: reading.read(raw, InjectedError, at),
    "mock_strategy_type": _strategy,
    "simulation_model_configuration": settings,
    "effect": lambda reading, raw, at: _one_of(get_args(Effect), reading, raw, at),
}
"""The fields that hold more than one value, or one of few, with what reads them."""


def _check(options: EnvironmentOptions, reading: Options) -> None:
    """Note what the single fields cannot tell."""
    at = (_AT, "tool_simulation_configs")
    if not options.tool_simulation_configs and not options.chaos_effects:
        reading.wrong(at, "must hold at least one tool, or there must be chaos_effects")
    seen: set[str] = set()
    for i, tool in enumerate(options.tool_simulation_configs):
        if tool.tool_name in seen:
            reading.wrong(((at, i), "tool_name"), f"names {tool.tool_name!r} a second time")
        seen.add(tool.tool_name)
        if not tool.injection_configs and tool.mock_strategy_type is Strategy.REAL:
            reading.wrong((at, i), "must have injection_configs or a mock_strategy_type")
    recorded = [one.tool_name for one in options.tool_simulation_configs if one.mock_strategy_type is Strategy.RECORDED]
    if not recorded:
        return
    try:
        examples = examples_of(options)
    except ConfigError as error:
        reading.problems.append(str(error))
        return
    for name in recorded:
        if name not in examples:
            hint = nearest(name, examples)
            reading.wrong((_AT, "tracing"), f"holds no answer of {name!r}, which is to answer from it{hint}")
