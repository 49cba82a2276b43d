"""The command `fairtrial flaky`, which finds cases that pass only in some attempts."""

from __future__ import annotations

from pathlib import Path

import click

from fairtrial.cli import completion
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags, trust_flags


@command()
@click.argument("run", shell_complete=completion.runs)
@trust_flags.json_file
@flags.add_store_option
def flaky(run: str, json_file: Path | None, store: str) -> None:
    """List the cases that pass in some attempts and fail in others, the most uncertain first.

    RUN is the beginning of an id in the store, or a file that --json or `fairtrial runs export` wrote. The cause is the
    judge if equal traces got different verdicts or the votes were split, otherwise the agent. A file without traces
    does not show the cause.

    \b
    fairtrial run evals/ --agent shop.agent:reply --attempts 4
    fairtrial flaky 20261121
    fairtrial flaky results.json --json flaky.json
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.console import console

    flakiness = api.flaky(run, store=store)
    trust_flags.write(flakiness, json_file)
    if not trust_flags.is_stdout(json_file):
        api.print_flaky(console(), flakiness)
