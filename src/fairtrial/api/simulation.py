"""Choose the user simulators and tool environments of a run: a configured model, or the caller's objects."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from fairtrial.agents.user_parts import find_problem
from fairtrial.errors import ConfigError, UsageError, collecting
from fairtrial.llm.endpoint_options import EndpointOptions
from fairtrial.llm.model import NamedModel
from fairtrial.llm.model_pool import check_model
from fairtrial.loading import TOOL_MODEL, Criteria, LoadedSet
from fairtrial.metrics.signature import add_signature, signature
from fairtrial.protocols import Agent, RefusesEnvironment, TakesParts
from fairtrial.records.record import Json, without_defaults
from fairtrial.simulate.environment_options import KEY as TOOLS
from fairtrial.simulate.environment_options import EnvironmentOptions, environment_options
from fairtrial.simulate.user_options import KEY as USERS
from fairtrial.simulate.user_options import NO_SPEECH, UserOptions

if TYPE_CHECKING:
    from fairtrial.llm.model_options import ModelOptions
    from fairtrial.planned_case import Environments, PlannedCase, Users
    from fairtrial.simulate.environment import SimulatedEnvironments
    from fairtrial.simulate.user import SimulatedUsers


def with_users(
    cases: Sequence[PlannedCase], loaded_sets: Sequence[LoadedSet], users: Users | None, models: ModelOptions
) -> tuple[list[PlannedCase], dict[str, Json]]:
    """Return the cases with simulated users for the scenarios, and the signatures of the users.

    `users` replace the users of the configurations. Raises UsageError if a case has neither a conversation nor a
    scenario, or if nobody can play the user of a scenario.
    """
    sets = [index for index, loaded_set in enumerate(loaded_sets) for _ in loaded_set.eval_set.cases]
    signatures: dict[str, Json] = {}

    @cache
    def make_users(index: int) -> SimulatedUsers:
        simulated, users_signature = _configure_users(loaded_sets[index], models)
        add_signature(signatures, "user_simulator", users_signature, eval_set_id=loaded_sets[index].eval_set.id)
        return simulated

    ready: list[PlannedCase] = []
    for planned_case in cases:
        if planned_case.case.conversation is not None:
            ready.append(planned_case)
        elif planned_case.case.scenario is None:
            raise UsageError(
                f"case {planned_case.name!r} has neither a conversation to hold nor a scenario to simulate",
                code="too-little-data",
            )
        elif users is not None:
            signatures["user_simulator"] = signature(users)
            options = loaded_sets[sets[planned_case.position]].user_simulator or UserOptions()
            ready.append(replace(planned_case, users=users, cap=options.cap))
        else:
            try:
                simulated = make_users(sets[planned_case.position])
            except UsageError as error:
                problem = f"case {planned_case.name!r} is a scenario, and nobody can play its user: {error}"
                raise UsageError(problem) from None
            simulated.check([planned_case.case])
            ready.append(replace(planned_case, users=simulated, cap=simulated.options.cap))
    return ready, signatures


def _configure_users(configured: LoadedSet, models: ModelOptions) -> tuple[SimulatedUsers, Json]:
    """Return the users of a configuration, and their signature."""
    from fairtrial.simulate.user import TEMPLATES, SimulatedUsers  # few sets have scenarios

    options = configured.user_simulator or UserOptions()
    if options.type == "llm_audio":
        raise ConfigError(f"/{USERS}/type: {NO_SPEECH}")
    with _with_pointer(configured.model_pointers.users):
        model = NamedModel(
            options.model, None, options.model_configuration, options.endpoint(options.model), structured=False
        )
        check_model(model, models)
    prompt = "custom" if options.custom_instructions is not None else TEMPLATES.version("simulated_user")
    return SimulatedUsers(model, options), {**_without_endpoint(without_defaults(options)), "prompt": prompt}


def with_environments(
    cases: Sequence[PlannedCase],
    loaded_sets: Sequence[LoadedSet],
    environment: Environments | Mapping[str, Any] | None,
    models: ModelOptions,
    *,
    lenient: bool,
) -> tuple[list[PlannedCase], dict[str, Json], list[str]]:
    """Return the cases with the environments that answer tool calls, the environments' signatures, and warnings.

    `environment` replaces the environments of the configurations. An environment of a case alone replaces both for this
    case. Raises UsageError if it cannot be used.
    """
    ready, signatures, warnings = _with_common_environments(cases, loaded_sets, environment, models, lenient=lenient)
    for index, planned_case in enumerate(ready):
        raw = planned_case.case.environment
        if raw is None:
            continue
        try:
            options, problems = environment_options(raw, pointer="/environment", lenient=lenient)
            own, _ = _configure_environments(options, f"/environment/{TOOL_MODEL.rpartition('/')[2]}", models)
        except ConfigError as error:
            raise ConfigError(*(f"case {planned_case.name!r}: {problem}" for problem in error.problems)) from None
        warnings += [f"case {planned_case.name!r}: {problem}" for problem in problems]
        # The digest of the case holds the options, so that they need no signature of their own.
        ready[index] = replace(planned_case, environments=own)
    return ready, signatures, warnings


def _with_common_environments(
    cases: Sequence[PlannedCase],
    loaded_sets: Sequence[LoadedSet],
    environment: Environments | Mapping[str, Any] | None,
    models: ModelOptions,
    *,
    lenient: bool,
) -> tuple[list[PlannedCase], dict[str, Json], list[str]]:
    """Return the cases with the environments that the caller or a configuration gives to all of them."""
    if callable(environment):
        ready = [replace(planned_case, environments=environment) for planned_case in cases]
        return ready, {"environment": signature(environment)}, []
    own, warnings = (None, []) if environment is None else environment_options(_as_file(environment), lenient=lenient)
    sets = [index for index, loaded_set in enumerate(loaded_sets) for _ in loaded_set.eval_set.cases]
    signatures: dict[str, Json] = {}

    @cache
    def make_environments(index: int) -> SimulatedEnvironments | None:
        options = own or loaded_sets[index].environment
        if options is None:
            return None
        pointer = TOOL_MODEL if own else loaded_sets[index].model_pointers.tools
        environments, environments_signature = _configure_environments(options, pointer, models)
        add_signature(signatures, "environment", environments_signature, eval_set_id=loaded_sets[index].eval_set.id)
        return environments

    ready = [
        replace(planned_case, environments=make_environments(sets[planned_case.position])) for planned_case in cases
    ]
    return ready, signatures, warnings


def _as_file(environment: Any) -> dict[str, Json]:
    """Return the caller's options as a file would give them."""
    if not isinstance(environment, Mapping):
        raise UsageError(
            "environment must be a mapping, or a function of a case and an attempt that returns an environment, "
            f"got {type(environment).__name__}"
        )
    try:
        text = json.dumps(dict(environment), allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"/{TOOLS}: must hold JSON only: {error}") from error
    options: dict[str, Json] = msgspec.json.decode(text)
    return options


def _configure_environments(
    options: EnvironmentOptions, pointer: str, models: ModelOptions
) -> tuple[SimulatedEnvironments, Json]:
    """Return the environments of a configuration, and their signature."""
    from fairtrial.simulate.environment import SimulatedEnvironments  # most runs simulate nothing
    from fairtrial.simulate.played import TEMPLATE, TEMPLATES
    from fairtrial.simulate.tau2_domain import open_domain

    options_signature = _without_endpoint(without_defaults(options))
    if options.tau2_domain is not None:
        with _with_pointer(f"/{TOOLS}/tau2_domain"):
            open_domain(options.tau2_domain)
    if not options.plays:
        return SimulatedEnvironments(options), options_signature
    settings = options.simulation_model_configuration
    with _with_pointer(pointer):
        model = NamedModel(
            options.simulation_model, None, settings, options.endpoint(options.simulation_model), structured=False
        )
        check_model(model, models)
    return SimulatedEnvironments(options, model), {**options_signature, "prompt": TEMPLATES.version(TEMPLATE)}


def _without_endpoint(options: dict[str, Json]) -> dict[str, Json]:
    """Return options without those of the endpoint, which may be secret, and on which no number depends."""
    return {name: value for name, value in options.items() if name not in EndpointOptions.__struct_fields__}


def check_names(configured: LoadedSet | Criteria, models: ModelOptions) -> None:
    """Raise ConfigError if the model of simulated users or tools is unknown, even if no case needs it."""
    problems: list[str] = []
    models = dataclasses.replace(models, budget=None)  # a model that is never called needs no price
    users, tools, pointers = configured.user_simulator, configured.environment, configured.model_pointers
    with collecting(problems), _with_pointer(pointers.users):
        if users is not None:
            check_model(NamedModel(users.model, None, users.model_configuration, users.endpoint(users.model)), models)
    with collecting(problems), _with_pointer(pointers.tools):
        if tools is not None and tools.plays:
            settings = tools.simulation_model_configuration
            check_model(
                NamedModel(tools.simulation_model, None, settings, tools.endpoint(tools.simulation_model)), models
            )
    if problems:
        raise ConfigError(*problems)


@contextmanager
def _with_pointer(pointer: str) -> Iterator[None]:
    """Add the pointer of the option that names a model to the errors about the model."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{pointer}: {error}") from None


def check_parts(cases: Sequence[PlannedCase], agent: object) -> None:
    """Raise UsageError if a message of a user has pictures or files that the agent cannot take."""
    for planned_case in cases:
        for number, invocation in enumerate(planned_case.case.conversation or (), 1):
            parts = invocation.user.parts
            if not parts:
                continue
            problem = find_problem(parts)
            if not problem:
                problem = agent.refuses_parts(parts) if isinstance(agent, TakesParts) else "the agent takes only text"
            if problem:
                kinds = ", ".join(dict.fromkeys(part.mime_type or "a file" for part in parts))
                raise UsageError(
                    f"case {planned_case.name!r}, message {number} holds {kinds}, and cannot be sent: {problem}",
                    code="other-content",
                )


def check_reachable(cases: Sequence[PlannedCase], agent: Agent) -> None:
    """Raise UsageError if there is an environment, but the agent's tool calls cannot be intercepted."""
    reason = agent.refuses_environment if isinstance(agent, RefusesEnvironment) else ""
    if reason and any(planned_case.environments is not None for planned_case in cases):
        raise UsageError(
            f"a simulated environment (environment_simulation_config) cannot be used here: {reason}",
            code="not-supported",
        )
