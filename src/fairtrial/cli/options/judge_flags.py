"""Options about judges and models that the commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from fairtrial import api
from fairtrial.cli import completion
from fairtrial.cli.headed_command import under
from fairtrial.errors import UsageError

_STORED_OPTIONS = ("judge_model", "votes", "all_votes", "canaries", "strict_model")


def call_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about calls of models."""
    return under("Limits", _max_cost)(under("Limits", _max_calls, _calls_per_minute, rare=True)(_cassettes(command)))


def judge_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about judges, about calls, and about the reuse of replies."""
    return asking_options(under("Judge", _canaries, _reuse, rare=True)(command))


def asking_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about judges, and the options about calls."""
    rare = under("Judge", _all_votes, _strict_model, _judge_concurrency, _judge_timeout, rare=True)
    return under("Judge", _judge_model, _votes)(rare(call_options(command)))


_cassettes = under(
    "Calls of models",
    click.option(
        "--cassette",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="The file that records the calls of models, or replays them.",
    ),
    click.option(
        "--cassette-mode",
        type=click.Choice(["record", "replay", "auto"]),
        help="replay opens no connection to a model, and fails if a call is missing. auto adds missing calls.",
    ),
    rare=True,
)
_max_cost = click.option(
    "--max-cost", type=click.FloatRange(0), metavar="USD", help="The largest total cost of models."
)
_max_calls = click.option("--max-calls", type=click.IntRange(0), help="The largest number of calls of models.")
_calls_per_minute = click.option(
    "--calls-per-minute",
    type=click.FloatRange(0, min_open=True),
    metavar="N",
    help="The largest number of requests a minute to each model.  [default: what the provider accepts]",
)
_canaries = click.option(
    "--canaries",
    type=click.IntRange(1),
    metavar="N",
    help="Ask each judge about N replies with a certain verdict, before, during and after the run. A judge that is "
    "wrong too often decides nothing, and a run whose judge changes does not pass.",
)
_reuse = click.option(
    "--reuse",
    metavar="RUN",
    shell_complete=completion.runs,
    help="Use the judges' replies of an earlier run again if the question is equal.",
)
_judge_model = click.option(
    "--judge-model",
    metavar="NAME",
    help="The model that judges, instead of the config's. Several, separated by commas, are a panel.",
)
_votes = click.option("--votes", type=click.IntRange(1), metavar="N", help="The number of votes on each question.")
_all_votes = click.option("--all-votes", is_flag=True, help="Request every vote, even when the result is certain.")
_strict_model = click.option(
    "--strict-model", is_flag=True, help="Leave out the answers of another model than the asked one."
)
_judge_concurrency = click.option(
    "--judge-concurrency", type=click.IntRange(1), metavar="N", help="The largest number of calls at once."
)
_judge_timeout = click.option(
    "--judge-timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="A call of a model without a reply is made again after this time.  [default: 120]",
)


def make_judges(options: Mapping[str, Any], earlier: Mapping[str, Any] | None = None) -> api.Judges:
    """Return the judges that the options describe. If a run is resumed, `earlier` holds its options."""
    stored = {name: options[name] for name in _STORED_OPTIONS if options.get(name) not in (None, False)}
    if earlier is not None:
        for name, value in stored.items():
            if earlier.get(name) != value:
                option = f"--{name.replace('_', '-')}"
                raise UsageError(
                    f"--resume: {option} must be {earlier.get(name)!r} as in the run, got {value!r}",
                    code="cannot-resume",
                )
        stored = dict(earlier)
    return api.Judges(
        model=stored.get("judge_model"),
        votes=stored.get("votes"),
        all_votes=bool(stored.get("all_votes")),
        canaries=stored.get("canaries") or 0,
        strict_model=bool(stored.get("strict_model")),
        models=find_models(options),
    )


def find_models(options: Mapping[str, Any]) -> api.ModelOptions:
    """Return how models are called under the options about calls."""
    path, mode = options["cassette"], options["cassette_mode"]
    if (path is None) != (mode is None):
        raise UsageError(
            "--cassette FILE and --cassette-mode record|replay|auto belong together", code="options-conflict"
        )
    return api.ModelOptions(
        budget=api.Budget(options["max_calls"], options["max_cost"]),
        cassette=path,
        cassette_mode=mode,
        concurrency=options.get("judge_concurrency"),
        calls_per_minute=options["calls_per_minute"],
        timeout=options.get("judge_timeout"),
        batch=api.BatchOptions() if options.get("batch_api") else None,
    )
