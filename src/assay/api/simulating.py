"""Who plays the users of scenarios? What the configuration says, or who the caller names."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from assay.data.noun import Json
from assay.data.work import Users, Work
from assay.errors import ConfigError, UsageError
from assay.judge.judges import Judges
from assay.llm.prompts import version
from assay.load import Wanted
from assay.metrics.signature import signature
from assay.simulate.user import SimulatedUsers, user_options


def with_users(
    todo: Sequence[Work], wanted: Sequence[Wanted], users: Users | None, judges: Judges, *, lenient: bool
) -> tuple[list[Work], dict[str, Json], list[str]]:
    """Return the work with somebody who plays the user of each scenario, their signatures, and warnings.

    `users` stand in place of what the configurations say. Raises UsageError for a case with nothing to say, or a
    scenario that cannot be played.
    """
    told = [one.user_simulator for one in wanted for _ in one.eval_set.cases]
    played: list[Work] = []
    signatures: dict[str, Json] = {}
    warnings: list[str] = []
    for work in todo:
        if work.case.conversation is not None:
            played.append(work)
        elif work.case.scenario is None:
            raise UsageError(f"case {work.id!r} has neither a conversation to hold nor a scenario to simulate")
        elif users is not None:
            signatures["user_simulator"] = signature(users)
            played.append(replace(work, users=users))
        else:
            try:
                made, cap, signed, said = _configured(told[work.position] or {}, judges, lenient=lenient)
            except UsageError as error:
                raise UsageError(f"case {work.id!r} is a scenario, and nobody can play its user: {error}") from None
            made.check([work.case])
            signatures["user_simulator"] = signed
            warnings += said
            played.append(replace(work, users=made, cap=cap))
    return played, signatures, list(dict.fromkeys(warnings))


def _configured(
    raw: dict[str, Json], judges: Judges, *, lenient: bool
) -> tuple[SimulatedUsers, int | None, Json, list[str]]:
    options, warnings = user_options(raw, lenient=lenient)
    try:
        model = judges.exchange.model(options.model, options.model_configuration, structured=False)
    except ConfigError as error:
        raise ConfigError(f"/user_simulator_config: {error}") from None
    prompt = "custom" if options.custom_instructions is not None else version("simulated_user")
    signed = {**msgspec.to_builtins(options), "prompt": prompt}
    return SimulatedUsers(model, options), options.cap, signed, warnings
