"""The judges of a run: the options of each criterion, and the options of the command line for all criteria."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from fairtrial.errors import ConfigError
from fairtrial.judge.judge import Judge
from fairtrial.judge.judge_options import JudgeOptions
from fairtrial.judge.service import Service
from fairtrial.llm.model import NamedModel
from fairtrial.llm.model_options import ModelOptions
from fairtrial.llm.model_pool import check_model
from fairtrial.llm.vertex_service import NAME as VERTEX
from fairtrial.records.record import Json


@dataclass(frozen=True, kw_only=True)
class Judges:
    """Which models judge, and how. The options are frozen: every run makes its own judges and ballots from them.

    `model`, `votes` and `all_votes` take precedence over the options of a criterion. Several models, separated by
    commas, are a panel: `Judges(model="gemini-2.5-flash,openai/gpt-4o")`. `models` says how models are called.
    """

    model: str | None = None
    votes: int | None = None
    all_votes: bool = False
    models: ModelOptions = field(default_factory=ModelOptions)

    @property
    def arguments(self) -> dict[str, Json]:
        """The options that take precedence, for the run's manifest. It is empty if there are none."""
        options = {"judge_model": self.model, "votes": self.votes, "all_votes": self.all_votes or None}
        return {name: option for name, option in options.items() if option is not None}

    def judge(self, options: JudgeOptions | None = None) -> Judge:
        """Return the judge that options describe. Raises `ConfigError` if a model cannot be called."""
        effective = self._with_precedence(options or JudgeOptions())
        names = effective.judge_models or (effective.judge_model,)
        settings = effective.judge_model_config or {}
        panel = tuple(
            NamedModel(name, None, settings, effective.base_url, effective.structured_output) for name in names
        )
        for voter in panel:
            check_model(voter, self.models)
        return Judge(panel, effective.num_samples, self.all_votes, effective.parallelism_limit)

    def service(self, metric: str) -> Service:
        """Return Vertex AI's evaluation service for a metric. Raises `ConfigError` if it cannot be called."""
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
            options = replace(options, judge_model=names[0], judge_models=names)
        return options if self.votes is None else replace(options, num_samples=self.votes)
