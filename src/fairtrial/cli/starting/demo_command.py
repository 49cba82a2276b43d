"""`fairtrial demo`: run the example that is part of the package."""

from __future__ import annotations

import os
import shlex
from contextlib import chdir

import click

from fairtrial.cli import exit_codes
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command

_COMMANDS = (
    ("run", "examples", "--agent", "examples/agent.py:reply", "--store", "none"),
    ("value", "examples/traces.jsonl"),
)


@command()
@click.pass_context
def demo(ctx: click.Context, /) -> int:
    """Run the example that is part of the package, and show its reports.

    An agent without a language model answers three questions, and one case fails. Nothing is written. `fairtrial init`
    writes files of your own to start from.

    \b
    fairtrial demo
    """  # noqa: D301
    from fairtrial import api

    program = ctx.find_root().command
    codes = []
    with chdir(api.EXAMPLES.parent):
        for arguments in _COMMANDS:
            click.echo(f"$ fairtrial {shlex.join(arguments)}")
            # The command has the width of this terminal and its own exit code.
            with program.make_context("fairtrial", list(arguments)) as context:
                codes.append(int(program.invoke(context) or exit_codes.OK))
            click.echo()
    echo(f"The files are in {os.path.relpath(api.EXAMPLES)}. Start with files of your own: fairtrial init")
    # One case of the example fails, so that there is something to see.
    return exit_codes.OK if codes == [exit_codes.FAILED, exit_codes.OK] else exit_codes.FAILED
