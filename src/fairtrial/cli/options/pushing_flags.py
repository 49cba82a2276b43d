"""The option that pushes scores to a service when a run ends, and the question that confirms it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from fairtrial import api
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import under
from fairtrial.errors import UsageError

TARGETS = ("otlp", "langfuse", "phoenix", "langsmith", "mlflow")


def push_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that send the scores at the end of a command. The command receives `push` and `yes`."""
    return under(
        "Reports",
        click.option("--push", type=click.Choice(TARGETS), help="Send the scores to a service at the end."),
        click.option("--yes", is_flag=True, help="Do not ask before --push sends scores, or before attacks start."),
        rare=True,
    )(command)


def push_run(run: api.Run, target: str, *, url: str = "", project: str = "", yes: bool) -> int:
    """Send the scores of a run, and return their number. Asks first unless `yes`."""
    scores = api.scores_to_push(run)
    traces = len({score.trace_id for score in scores})
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError(
                f"push: nobody can be asked here; add --yes to send {len(scores)} scores to {target}",
                code="options-conflict",
            )
        click.confirm(f"Send {len(scores)} scores about {traces} traces to {target}?", abort=True, err=True)
    api.push(scores, target, url=url, project=project)
    echo(f"{len(scores)} scores about {traces} traces are in {target}", err=True)
    return len(scores)
