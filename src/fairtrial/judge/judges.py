"""Which judge a criterion asks for: its options, and what the command line says for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, MutableMapping, Sequence
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
from fairtrial.llm.model_pool import ModelPool
from fairtrial.llm.pacing import Limited
from fairtrial.llm.provider import KNOWN_SETTINGS
from fairtrial.records.ballot import Ballot
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


@dataclass
class Judges:
    """Makes the judges of a run, and keeps their ballots in the mapping that it is handed.

    `model`, `votes` and `all_votes` are the command line's, and stand above what a criterion says; several models,
    separated by commas, are a panel.
    """

    exchange: ModelPool = field(default_factory=ModelPool)
    model: str | None = None
    votes: int | None = None
    all_votes: bool = False
    ballots: MutableMapping[str, Ballot] = field(default_factory=dict)
    made: list[Judge | Service] = field(default_factory=list)

    @property
    def arguments(self) -> dict[str, Json]:
        """What was said on the command line, for the run's manifest; empty where nothing was."""
        said = {"judge_model": self.model, "votes": self.votes, "all_votes": self.all_votes or None}
        return {name: value for name, value in said.items() if value is not None}

    def judge(self, options: JudgeOptions | None = None) -> Judge:
        """Return the judge that options ask for."""
        asked = self._overridden(options or JudgeOptions())
        places = None if asked.parallelism_limit is None else asyncio.Semaphore(asked.parallelism_limit)
        names = asked.judge_models or (asked.judge_model,)
        panel = tuple(self._voter(name, asked, places) for name in names)
        judge = Judge(panel, asked.num_samples, self.all_votes, self._keep)
        self.made.append(judge)
        return judge

    def service(self, metric: str) -> Service:
        """Return Vertex AI's evaluation service, asked for one of its metrics."""
        service = Service(metric, self.exchange.vertex(metric), self._keep)
        self.made.append(service)
        return service

    def _overridden(self, options: JudgeOptions) -> JudgeOptions:
        if self.model is not None:
            names = tuple(name.strip() for name in self.model.split(",") if name.strip())
            if not names:
                raise ConfigError(
                    f"the judge's model must be a name, or several separated by commas, got {self.model!r}"
                )
            options = replace(options, judge_model=names[0], judge_models=names)
        return options if self.votes is None else replace(options, num_samples=self.votes)

    def _voter(self, name: str, options: JudgeOptions, places: asyncio.Semaphore | None) -> NamedModel:
        settings: Mapping[str, Json] = options.judge_model_config or {}
        named = self.exchange.model(name, settings, base_url=options.base_url, structured=options.structured_output)
        return named if places is None else named.through(lambda model: Limited(model, places))

    def _keep(self, ballot: Ballot) -> None:
        self.ballots[ballot.id] = ballot
