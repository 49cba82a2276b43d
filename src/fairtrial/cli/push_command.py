"""`fairtrial push`: send the scores of a run to the service that keeps its traces."""

from __future__ import annotations

from pathlib import Path

import click

from fairtrial.cli import completion
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags, trust_flags
from fairtrial.cli.options.pushing_flags import TARGETS, push_run


@command()
@click.argument("run", shell_complete=completion.runs)
@click.argument("target", type=click.Choice(TARGETS))
@click.option("--project", default="", metavar="NAME", help="The project of the service.")
@click.option("--url", default="", metavar="URL", help="The address of the service.  [default: from the environment]")
@click.option("--yes", is_flag=True, help="Do not ask before the scores are sent.")
@trust_flags.json_file
@flags.add_store_option
def push(run: str, target: str, project: str, url: str, yes: bool, json_file: Path | None, store: str) -> None:
    """Send the scores of a run, and the labels of people, to the service that keeps its traces.

    RUN is the beginning of the id of a run whose recordings were made from spans. Each score goes to the trace of its
    invocation. A second push changes nothing. Keys are read from the variables of the service.

    \b
    fairtrial push 20260102 langfuse
    fairtrial push 20260102 phoenix --url http://localhost:6006 --yes
    fairtrial push 20260102 otlp --url http://collector:4318
    """  # noqa: D301
    from fairtrial import api

    stored_run = api.reread(store, run)
    number = push_run(stored_run, target, url=url, project=project, yes=yes)
    trust_flags.report(json_file, "push", ids=(stored_run.info.id,), counts={"scores": number})
