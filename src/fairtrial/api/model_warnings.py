"""Warnings about the models of a plan, before it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from fairtrial.errors import spell
from fairtrial.llm.address import address
from fairtrial.llm.model import NamedModel
from fairtrial.llm.model_pool import HasModel, HasPanel, find_models
from fairtrial.llm.unsent_settings import unsent_settings
from fairtrial.llm.vertex_service import NAME as VERTEX

if TYPE_CHECKING:
    from fairtrial.judge.judges import Judges
    from fairtrial.llm.model_options import ModelOptions
    from fairtrial.loading import LoadedSet
    from fairtrial.planned_case import PlannedCase


def model_warnings(
    loaded_sets: Iterable[LoadedSet], options: Judges, cases: Iterable[PlannedCase] = ()
) -> tuple[str, ...]:
    """Return a warning for each setting that has no effect, and for votes that are one vote.

    `cases` are asked for the models of their users and environments. Cassettes are replayed without settings.
    """
    judges = [judge for loaded in loaded_sets for criterion in loaded.criteria for judge in _judges(criterion.metric)]
    unused = [] if judges else list(_find_unused(options))
    if options.models.replays:
        return tuple(unused)
    models = [voter for judge in judges for voter in judge.panel]
    factories: list[object] = list({id(one): one for case in cases for one in (case.users, case.environments)}.values())
    simulated = [part.model for part in factories if isinstance(part, HasModel)]
    models += [model for model in simulated if isinstance(model, NamedModel)]
    warnings = [warning for model in models for warning in _unsent(model, options.models)]
    return tuple(dict.fromkeys([*unused, *warnings, *(warning for judge in judges for warning in _same_votes(judge))]))


def _find_unused(options: Judges) -> Iterator[str]:
    """Yield a warning for each option about judges that nobody asks."""
    flags = {spell("judge_model"): options.model, spell("votes"): options.votes, spell("all_votes"): options.all_votes}
    for flag, value in {**flags, spell("canaries"): options.canaries}.items():
        if value:
            yield (
                f"{flag} has no effect, because no criterion asks a judge; add a criterion that does, for example "
                "final_response_match_v2"
            )


def _judges(metric: object) -> Iterator[HasPanel]:
    return (field for field in find_models(metric).values() if isinstance(field, HasPanel))


def _unsent(model: NamedModel, options: ModelOptions) -> Iterator[str]:
    if model.model is not None or model.name in options.custom_models or model.name == VERTEX:
        return
    at = address(model.name, model.endpoint)
    for name in unsent_settings(at, model.settings):
        yield f"model {model.name!r}: {name} has no effect, because {at.provider} does not take it; remove the setting"


def _same_votes(judge: HasPanel) -> Iterator[str]:
    if judge.votes <= len(judge.panel):
        return
    for voter in judge.panel:
        if voter.settings.get("temperature") == 0:
            yield (
                f"model {voter.name!r}: temperature 0 gives {judge.votes} votes that are one vote, because they are "
                f"nearly equal; set num_samples ({spell('votes')}) to 1, or a temperature such as 0.7"
            )
