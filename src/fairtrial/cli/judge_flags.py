"""What the command line says of judges and of models, for every command that may ask one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from fairtrial.api import Budget, Judges, ModelOptions
from fairtrial.cli.flags import with_options
from fairtrial.errors import UsageError

_OF_THE_RUN = ("judge_model", "votes", "all_votes")


def call_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about calls of models."""
    return with_options(
        command,
        click.option(
            "--cassette",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Record what models answer, or replay it.",
        ),
        click.option(
            "--cassette-mode",
            type=click.Choice(["record", "replay"]),
            help="replay opens no connection to a model, and fails where a call is missing.",
        ),
        click.option("--max-cost", type=click.FloatRange(0), metavar="USD", help="The most that models may cost."),
        click.option("--max-calls", type=click.IntRange(0), help="The most calls to models."),
    )


def judge_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about judges, and those about calls."""
    return with_options(
        call_options(command),
        click.option(
            "--judge-model",
            metavar="NAME",
            help="The model that judges, in place of what the config says; several, separated by commas, are a panel.",
        ),
        click.option("--votes", type=click.IntRange(1), help="How many votes on each question."),
        click.option("--all-votes", is_flag=True, help="Ask for every vote, also when the result is certain."),
        click.option("--judge-concurrency", type=click.IntRange(1), help="The most calls to a model at once."),
        click.option(
            "--reuse", metavar="RUN", help="Take the judges' replies of an earlier run where the question is equal."
        ),
    )


def judges_of(given: Mapping[str, Any], earlier: Mapping[str, Any] | None = None) -> Judges:
    """Return the judges that the options ask for; of a run that is resumed, `earlier` is what it was told."""
    said = {name: given[name] for name in _OF_THE_RUN if given[name] not in (None, False)}
    if earlier is not None:
        for name, value in said.items():
            if earlier.get(name) != value:
                raise UsageError(f"--resume: {name} must be that of the run, {earlier.get(name)!r}, got {value!r}")
        said = dict(earlier)
    return Judges(
        model=said.get("judge_model"),
        votes=said.get("votes"),
        all_votes=bool(said.get("all_votes")),
        models=models_of(given),
    )


def models_of(given: Mapping[str, Any]) -> ModelOptions:
    """Return how models are called under the options about calls."""
    path, mode = given["cassette"], given["cassette_mode"]
    if (path is None) != (mode is None):
        raise UsageError("--cassette FILE and --cassette-mode record|replay belong together")
    return ModelOptions(
        budget=Budget(given["max_calls"], given["max_cost"]),
        cassette=path,
        cassette_mode=mode,
        concurrency=given.get("judge_concurrency"),
    )
