"""Which judge a criterion asks for: its options, and what the command line says for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from assay.data.noun import Json, Noun
from assay.errors import ConfigError, nearest
from assay.judge.ballot import Ballot
from assay.judge.judge import Judge
from assay.judge.service import Service
from assay.llm.exchange import Exchange
from assay.llm.model import Named
from assay.llm.pacing import Limited

DEFAULT_MODEL = "gemini-2.5-flash"


class JudgeOptions(Noun, frozen=True):
    """`judge_model_options`: one model or a panel, its settings, and how many votes.

    `parallelism_limit` bounds this criterion's calls in flight. `base_url` is where an OpenAI-compatible server
    listens; `structured_output` False leaves the form of the answer to the prompt, for servers that know no schemas.
    """

    judge_model: str = DEFAULT_MODEL
    judge_models: tuple[str, ...] = ()
    judge_model_config: dict[str, Json] | None = None
    num_samples: int = 5
    parallelism_limit: int | None = None
    base_url: str | None = None
    structured_output: bool = True


def judge_options(raw: Any) -> JudgeOptions:
    """Read options in snake_case or camelCase; raises ValueError saying what is allowed."""
    if not isinstance(raw, dict):
        raise ValueError("must be an object")  # noqa: TRY004 - a value of a file, not of a caller
    known = JudgeOptions.__struct_fields__
    values = {_snake(name): value for name, value in raw.items() if value is not None}
    for name in values:
        if name not in known:
            allowed = f"; allowed: {', '.join(known)}"
            raise ValueError(f"{name!r} is not an option of a judge{nearest(name, known) or allowed}")
    config = values.get("judge_model_config")
    if isinstance(config, dict):
        values["judge_model_config"] = {_snake(name): value for name, value in config.items()}
    try:
        options = msgspec.convert(values, JudgeOptions)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    if options.num_samples < 1:
        raise ValueError("num_samples must be at least 1")
    if options.parallelism_limit is not None and options.parallelism_limit < 1:
        raise ValueError("parallelism_limit must be at least 1")
    return options


def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)


@dataclass
class Judges:
    """Makes the judges of a run, and keeps their ballots in the mapping that it is handed.

    `model`, `votes` and `all_votes` are the command line's, and stand above what a criterion says; several models,
    separated by commas, are a panel.
    """

    exchange: Exchange = field(default_factory=Exchange)
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

    def _voter(self, name: str, options: JudgeOptions, places: asyncio.Semaphore | None) -> Named:
        settings: Mapping[str, Json] = options.judge_model_config or {}
        named = self.exchange.model(name, settings, base_url=options.base_url, structured=options.structured_output)
        return named if places is None else named.through(lambda model: Limited(model, places))

    def _keep(self, ballot: Ballot) -> None:
        self.ballots[ballot.id] = ballot
