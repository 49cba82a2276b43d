"""Which judge a criterion asks for: its options, and what the command line says for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from fairtrial.config.spelling import spellings
from fairtrial.config.wording import shown
from fairtrial.errors import ConfigError, nearest
from fairtrial.judge.judge import Judge
from fairtrial.judge.service import Service
from fairtrial.llm.model import DEFAULT_MODEL, NamedModel
from fairtrial.llm.model_options import ModelOptions
from fairtrial.llm.model_pool import check_model
from fairtrial.llm.provider import KNOWN_SETTINGS
from fairtrial.llm.vertex_service import NAME as VERTEX
from fairtrial.records.record import Json, Record
from fairtrial.text.pointer import escape


class JudgeOptions(Record, frozen=True):
    """`judge_model_options`: one model or a panel, its settings, and how many votes.

    `parallelism_limit` bounds this criterion's calls in flight. `base_url` is where an OpenAI-compatible server
    listens; `structured_output` False leaves the form of the answer to the prompt, for servers that know no schemas.
    """

    judge_model: str = DEFAULT_MODEL
    judge_models: tuple[str, ...] = ()
    judge_model_config: dict[str, Json] | None = None
    num_samples: Annotated[int, Meta(ge=1)] = 5
    parallelism_limit: Annotated[int, Meta(ge=1)] | None = None
    base_url: str | None = None
    structured_output: bool = True


def judge_options(raw: Json, pointer: str, *, lenient: bool = False) -> tuple[JudgeOptions, list[str]]:
    """Return options in snake_case or camelCase, and warnings; `pointer` is where they stand.

    Raises ConfigError; an unknown option or setting is a warning where `lenient`.
    """
    values, places, unknown = _known(raw, JudgeOptions.__struct_fields__, pointer)
    config = values.get("judge_model_config")
    if config is not None:
        values["judge_model_config"], _, more = _known(config, KNOWN_SETTINGS, places["judge_model_config"])
        unknown += more
    if unknown and not lenient:
        raise ConfigError(*unknown)
    try:
        return msgspec.convert(values, JudgeOptions), unknown
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$.")
        name = path.rstrip("`")
        got = f", got {shown(values[name])}" if name in values and ", got " not in problem else ""
        raise ConfigError(f"{places.get(name, pointer)}: {problem[:1].lower()}{problem[1:]}{got}") from None


def _known(raw: Any, known: Sequence[str], pointer: str) -> tuple[dict[str, Any], dict[str, str], list[str]]:
    """Return the known entries of an object that are not null, under our names; their places; and what is unknown."""
    if not isinstance(raw, dict):
        raise ConfigError(f"{pointer}: must be an object, got {shown(raw)}")
    names = spellings(*known)
    values = {names[key]: value for key, value in raw.items() if key in names and value is not None}
    places = {names[key]: f"{pointer}/{key}" for key in raw if key in names}
    unknown = [
        f"{pointer}/{escape(key)}: is not a known option{nearest(key, names) or '; allowed: ' + ', '.join(known)}"
        for key in raw
        if key not in names
    ]
    return values, places, unknown


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
        """The options that take precedence, for the run's manifest; empty if there are none."""
        options = {"judge_model": self.model, "votes": self.votes, "all_votes": self.all_votes or None}
        return {name: option for name, option in options.items() if option is not None}

    def judge(self, options: JudgeOptions | None = None) -> Judge:
        """Return the judge that options describe; raises `ConfigError` if a run could not call one of its models."""
        effective = self._overridden(options or JudgeOptions())
        names = effective.judge_models or (effective.judge_model,)
        settings = effective.judge_model_config or {}
        panel = tuple(
            NamedModel(name, None, settings, effective.base_url, effective.structured_output) for name in names
        )
        for voter in panel:
            check_model(voter, self.models)
        return Judge(panel, effective.num_samples, self.all_votes, effective.parallelism_limit)

    def service(self, metric: str) -> Service:
        """Return Vertex AI's evaluation service for one of its metrics; raises `ConfigError` if it cannot be called."""
        model = NamedModel(VERTEX)
        check_model(model, self.models)
        return Service(metric, model)

    def _overridden(self, options: JudgeOptions) -> JudgeOptions:
        if self.model is not None:
            names = tuple(name.strip() for name in self.model.split(",") if name.strip())
            if not names:
                raise ConfigError(
                    f"the judge's model must be a name, or several separated by commas, got {self.model!r}"
                )
            options = replace(options, judge_model=names[0], judge_models=names)
        return options if self.votes is None else replace(options, num_samples=self.votes)
