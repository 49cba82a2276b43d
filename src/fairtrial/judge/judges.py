"""The judges of a run: the options of each criterion, and the options of the command line for all criteria."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta
from msgspec.structs import replace

from fairtrial.config.reader import check_options
from fairtrial.errors import ConfigError
from fairtrial.judge.judge_options import JudgeOptions, PanelMember
from fairtrial.llm.address import find_provider
from fairtrial.llm.model import NamedModel
from fairtrial.llm.model_options import ModelOptions
from fairtrial.llm.model_pool import check_model
from fairtrial.llm.vertex_service import NAME as VERTEX

if TYPE_CHECKING:
    from fairtrial.judge.judge import Judge
    from fairtrial.judge.service import Service
    from fairtrial.llm.endpoint import Endpoint
    from fairtrial.records.record import Json


@dataclass(frozen=True, kw_only=True)
class Judges:
    """Which models judge, and how. The options are frozen: every run makes its own judges and ballots from them.

    `model`, `votes` and `all_votes` take precedence over the options of a criterion. Several models, separated by
    commas, are a panel: `Judges(model="gemini-2.5-flash,openai/gpt-4o")`. A name that states its provider is called
    there, with the user's key. Any other name is called at the `base_url` of the criterion. `models` says how models
    are called. With `canaries` each judge is asked about so many replies whose right verdict is certain, before the
    run, during it and after it. If it is wrong about too many of them before the run, its criterion is unscored. If it
    changes, the run does not pass. With `strict_model`, an answer of another model is an abstention.
    """

    model: Annotated[str | None, Meta(description="the model of the judges, or a panel")] = None
    votes: Annotated[Annotated[int, Meta(ge=1)] | None, Meta(description="how many votes on each question")] = None
    all_votes: Annotated[bool, Meta(description="requests every vote")] = False
    canaries: Annotated[int, Meta(ge=0, description="how many replies with a certain verdict check each judge")] = 0
    strict_model: Annotated[bool, Meta(description="leaves out answers of other models than the asked ones")] = False
    models: ModelOptions = field(default_factory=ModelOptions)

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def arguments(self) -> dict[str, Json]:
        """The options that take precedence, for the run's manifest. It is empty if there are none."""
        options = {
            "judge_model": self.model,
            "votes": self.votes,
            "all_votes": self.all_votes or None,
            "canaries": self.canaries or None,
            "strict_model": self.strict_model or None,
        }
        return {name: option for name, option in options.items() if option is not None}

    def judge(self, options: JudgeOptions | None = None) -> Judge:
        """Return the judge that options describe. Raises `ConfigError` if a model cannot be called."""
        from fairtrial.judge.judge import Judge  # a run without judges enters no module of theirs

        effective = self._with_precedence(options or JudgeOptions())
        members = effective.judge_models or (effective.judge_model,)
        panel = tuple(_panel_model(member, effective) for member in members)
        for voter in panel:
            check_model(voter, self.models)
        return Judge(
            panel, effective.num_samples, self.all_votes, effective.parallelism_limit, strict_model=self.strict_model
        )

    def service(self, metric: str) -> Service:
        """Return Vertex AI's evaluation service for a metric. Raises `ConfigError` if it cannot be called."""
        from fairtrial.judge.service import Service

        model = NamedModel(VERTEX)
        check_model(model, self.models)
        return Service(metric, model)

    def _with_precedence(self, options: JudgeOptions) -> JudgeOptions:
        if self.model is not None:
            names = tuple(name.strip() for name in self.model.split(",") if name.strip())
            if not names:
                raise ConfigError(
                    f"the judge's model must be a name, or several separated by commas, got {self.model!r}"
                )
            members = tuple(PanelMember(name) if find_provider(name) else name for name in names)
            options = replace(options, judge_model=names[0], judge_models=members)
        return options if self.votes is None else replace(options, num_samples=self.votes)


def _panel_model(member: str | PanelMember, options: JudgeOptions) -> NamedModel:
    """Return a model of the panel at its own endpoint, or at the endpoint of the options.

    In a panel, `base_url` is for the models that speak OpenAI's protocol. For example, a Gemini model beside a local
    model is called at Google.
    """
    settings = options.judge_model_config or {}
    if isinstance(member, PanelMember):
        structured = options.structured_output if member.structured_output is None else member.structured_output
        own = {**settings, **(member.settings or {})}
        return NamedModel(member.model, None, own, _member_endpoint(member, options), structured, options.judge_timeout)
    is_elsewhere = bool(options.judge_models) and find_provider(member) not in {"", "openai"}
    endpoint = options.endpoint(member, usual=is_elsewhere)
    return NamedModel(member, None, settings, endpoint, options.structured_output, options.judge_timeout)


def _member_endpoint(member: PanelMember, options: JudgeOptions) -> Endpoint:
    """Return the endpoint of a member, with the price that it states itself, or else the price of the options."""
    endpoint = member.endpoint(member.model)
    return endpoint if endpoint.price else dataclasses.replace(endpoint, price=options.endpoint(member.model).price)
