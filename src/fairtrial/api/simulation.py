"""Who plays the users of scenarios and the tools of agents? What the configuration says, or who the caller names."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import msgspec
from msgspec.structs import replace

from fairtrial.errors import ConfigError, UsageError, collecting
from fairtrial.llm.model import NamedModel
from fairtrial.llm.model_options import ModelOptions
from fairtrial.llm.model_pool import check_model
from fairtrial.llm.prompts import version
from fairtrial.loading import Criteria, LoadedSet
from fairtrial.metrics.signature import add_signature, signature
from fairtrial.planned_case import Environments, PlannedCase, Users
from fairtrial.protocols import Agent, RefusesEnvironment
from fairtrial.records.record import Json
from fairtrial.simulate.environment import SimulatedEnvironments
from fairtrial.simulate.environment_options import KEY as TOOLS
from fairtrial.simulate.environment_options import EnvironmentOptions, environment_options
from fairtrial.simulate.played import TEMPLATE
from fairtrial.simulate.user import SimulatedUsers
from fairtrial.simulate.user_options import KEY as USERS
from fairtrial.simulate.user_options import NO_SPEECH, UserOptions


def with_users(
    todo: Sequence[PlannedCase], wanted: Sequence[LoadedSet], users: Users | None, models: ModelOptions
) -> tuple[list[PlannedCase], dict[str, Json]]:
    """Return the work with somebody who plays the user of each scenario, and their signatures.

    `users` stand in place of what the configurations say. Raises UsageError for a case with nothing to say, or a
    scenario that cannot be played.
    """
    sets = [place for place, one in enumerate(wanted) for _ in one.eval_set.cases]
    signatures: dict[str, Json] = {}

    @cache
    def players(place: int) -> SimulatedUsers:
        made, signed = _configured(wanted[place].user_simulator or UserOptions(), models)
        add_signature(signatures, "user_simulator", signed, eval_set_id=wanted[place].eval_set.id)
        return made

    played: list[PlannedCase] = []
    for work in todo:
        if work.case.conversation is not None:
            played.append(work)
        elif work.case.scenario is None:
            raise UsageError(f"case {work.name!r} has neither a conversation to hold nor a scenario to simulate")
        elif users is not None:
            signatures["user_simulator"] = signature(users)
            played.append(replace(work, users=users))
        else:
            try:
                made = players(sets[work.position])
            except UsageError as error:
                raise UsageError(f"case {work.name!r} is a scenario, and nobody can play its user: {error}") from None
            made.check([work.case])
            played.append(replace(work, users=made, cap=made.options.cap))
    return played, signatures


def _configured(options: UserOptions, models: ModelOptions) -> tuple[SimulatedUsers, Json]:
    if options.type == "llm_audio":
        raise ConfigError(f"/{USERS}/type: {NO_SPEECH}")
    with _below(USERS):
        model = NamedModel(options.model, None, options.model_configuration, structured=False)
        check_model(model, models)
    prompt = "custom" if options.custom_instructions is not None else version("simulated_user")
    signed = {**msgspec.to_builtins(options), "prompt": prompt}
    return SimulatedUsers(model, options), signed


def with_environments(
    todo: Sequence[PlannedCase],
    wanted: Sequence[LoadedSet],
    given: Environments | Mapping[str, Any] | None,
    models: ModelOptions,
    *,
    lenient: bool,
) -> tuple[list[PlannedCase], dict[str, Json], list[str]]:
    """Return the work with the environments that answer its tool calls, their signatures, and warnings.

    `given` stands in place of what the configurations say. Raises UsageError for what cannot be used.
    """
    if callable(given):
        return [replace(work, environments=given) for work in todo], {"environment": signature(given)}, []
    own, warnings = (None, []) if given is None else environment_options(_as_file(given), lenient=lenient)
    sets = [place for place, one in enumerate(wanted) for _ in one.eval_set.cases]
    signatures: dict[str, Json] = {}

    @cache
    def around(place: int) -> SimulatedEnvironments | None:
        options = own or wanted[place].environment
        if options is None:
            return None
        environments, signed = _environments(options, models)
        add_signature(signatures, "environment", signed, eval_set_id=wanted[place].eval_set.id)
        return environments

    surrounded = [replace(work, environments=around(sets[work.position])) for work in todo]
    return surrounded, signatures, warnings


def _as_file(given: Any) -> dict[str, Json]:
    """A mapping that was made in Python as a file would give it."""
    if not isinstance(given, Mapping):
        raise UsageError(
            "environment must be a mapping, or a function of a case and an attempt that returns an environment, "
            f"got {type(given).__name__}"
        )
    try:
        text = json.dumps(dict(given), allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"/{TOOLS}: must hold JSON only: {error}") from error
    found: dict[str, Json] = msgspec.json.decode(text)
    return found


def _environments(options: EnvironmentOptions, models: ModelOptions) -> tuple[SimulatedEnvironments, Json]:
    signed = msgspec.json.decode(msgspec.json.encode(options))  # as the store will give it back
    if not options.plays:
        return SimulatedEnvironments(options), signed
    settings = options.simulation_model_configuration
    with _below(TOOLS):
        model = NamedModel(options.simulation_model, None, settings, structured=False)
        check_model(model, models)
    return SimulatedEnvironments(options, model), {**signed, "prompt": version(TEMPLATE)}


def check_names(said: LoadedSet | Criteria, models: ModelOptions) -> None:
    """Raise ConfigError where a configuration has a model play users or tools that nobody knows, needed or not."""
    problems: list[str] = []
    models = dataclasses.replace(models, budget=None)  # a model that is never called needs no price
    users, tools = said.user_simulator, said.environment
    with collecting(problems), _below(USERS):
        if users is not None:
            check_model(NamedModel(users.model, None, users.model_configuration), models)
    with collecting(problems), _below(TOOLS):
        if tools is not None and tools.plays:
            check_model(NamedModel(tools.simulation_model, None, tools.simulation_model_configuration), models)
    if problems:
        raise ConfigError(*problems)


@contextmanager
def _below(key: str) -> Iterator[None]:
    """Say of a model that cannot be had which part of a configuration names it."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"/{key}: {error}") from None


def check_reachable(todo: Sequence[PlannedCase], agent: Agent) -> None:
    """Raise UsageError where there is an environment that cannot stand between the agent and its tools."""
    refused = agent.refuses_environment if isinstance(agent, RefusesEnvironment) else ""
    if refused and any(work.environments is not None for work in todo):
        raise UsageError(f"a simulated environment (environment_simulation_config) cannot be used here: {refused}")
