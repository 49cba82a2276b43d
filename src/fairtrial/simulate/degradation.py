"""Degraded environments. One degradation changes the answers of one tool, in every call."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.errors import UsageError, nearest
from fairtrial.simulate.answer_changes import CHANGES
from fairtrial.simulate.environment import SimulatedEnvironments
from fairtrial.simulate.environment_options import (
    Chaos,
    Effect,
    EnvironmentOptions,
    InjectedError,
    InjectionConfig,
    SimulatedTool,
)

if TYPE_CHECKING:
    from fairtrial.planned_case import Environments
    from fairtrial.records.record import Json

Degrade = Callable[[EnvironmentOptions | None, str, int], EnvironmentOptions]
"""Returns the options of an environment in which one tool is degraded. The seed chooses places in answers.

The options of the configured environment stay. They are None if the tools themselves answer."""


@dataclass(frozen=True)
class Degradation:
    """A degradation with a name and an example (before, after). `weight` orders survivors, the most harmful first.

    `effect` is the effect that changes answers, if it leaves some answers as they are.
    """

    name: str
    degrade: Degrade
    example: tuple[str, str]
    weight: int
    effect: Effect | None = None

    def changes(self, answers: Iterable[Json]) -> bool:
        """Return whether any of some answers of a tool would change."""
        return self.effect is None or any(CHANGES[self.effect](answer, 0.5) != answer for answer in answers)

    def environments(self, configured: Environments | None, tool: str, seed: int) -> SimulatedEnvironments:
        """Return the environments of a case in which one tool is degraded. The configured simulation stays."""
        if isinstance(configured, SimulatedEnvironments):
            return dataclasses.replace(configured, options=self.degrade(configured.options, tool, seed))
        return SimulatedEnvironments(self.degrade(None, tool, seed))


def _error(code: int, message: str) -> Degrade:
    """Return a degradation in which every call of a tool gets an error. `{tool}` in the message is its name."""

    def degrade(options: EnvironmentOptions | None, tool: str, seed: int) -> EnvironmentOptions:  # noqa: ARG001
        injection = InjectionConfig(injected_error=InjectedError(code, message.format(tool=tool)))
        degraded = SimulatedTool(tool, (injection,))
        if options is None:
            return EnvironmentOptions((degraded,))
        tools = {config.tool_name: config for config in options.tool_simulation_configs}
        if tool in tools:
            # The first injection that hits answers the call, so that this one stands before the configured ones.
            degraded = replace(tools[tool], injection_configs=(injection, *tools[tool].injection_configs))
        return replace(options, tool_simulation_configs=tuple((tools | {tool: degraded}).values()))

    return degrade


def _effect(effect: Effect) -> Degrade:
    """Return a degradation in which a chaos effect changes every answer of a tool."""

    def degrade(options: EnvironmentOptions | None, tool: str, seed: int) -> EnvironmentOptions:
        chaos = Chaos(effect, tool_name=tool, random_seed=seed)
        if options is None:
            return EnvironmentOptions(chaos_effects=(chaos,))
        return replace(options, chaos_effects=(*options.chaos_effects, chaos))

    return degrade


DEGRADATIONS: dict[str, Degradation] = {
    degradation.name: degradation
    for degradation in (
        Degradation(
            "tool_removed", _error(404, "the tool {tool} does not exist"), ("find", "find: error 404 in every call"), 8
        ),
        Degradation("tool_fails", _error(500, "the tool {tool} failed"), ("find", "find: error 500 in every call"), 10),
        Degradation("results_stale", _effect("stale"), ("find, book, find", "the second find answers as the first"), 7),
        Degradation("results_wrong", _effect("wrong"), ('{"price": 20}', '{"price": 30}'), 9, "wrong"),
        Degradation(
            "documents_dropped", _effect("thinned"), ("find → 4 documents", "find → 2 documents"), 8, "thinned"
        ),
        Degradation(
            "documents_exchanged",
            _effect("exchanged"),
            ("fees: …, pets: …", "fees: text of pets, pets: …"),
            8,
            "exchanged",
        ),
        Degradation("results_truncated", _effect("truncated"), ('{"day": 3, "seats": 2}', '{"day": 3, "se'), 7),
    )
}


def degradations_named(names: Sequence[str]) -> tuple[Degradation, ...]:
    """Return the degradations of tools among these names, or all. Raises UsageError for an unknown name."""
    for name in names:
        if name not in DEGRADATIONS:
            hint = nearest(name, DEGRADATIONS) or f"; allowed: {', '.join(DEGRADATIONS)}"
            raise UsageError(f"{name!r} is not a degradation of an agent{hint}", code="unknown-name")
    return tuple(DEGRADATIONS[name] for name in dict.fromkeys(names or DEGRADATIONS))
