"""`fairtrial check`: what files are, and what is wrong with them."""

from __future__ import annotations

import sys

import click

from fairtrial import api
from fairtrial.cli import exit_codes, flags
from fairtrial.text.display import visible_line


@click.command()
@click.argument("file", nargs=-1, required=True)
@flags.lenient
def check(file: tuple[str, ...], lenient: bool) -> None:
    """Say what each file is, how much it holds, and every problem in it.

    FILE is a file or a folder (all its JSON). Exits with 0 where everything can be used, else with 2.

    \b
    fairtrial check evals/ test_config.json
    """  # noqa: D301
    usable = True
    for checked in api.check(file, lenient=lenient):
        usable = usable and not checked.problems
        click.echo(f"{'✗' if checked.problems else '✓'} {visible_line(f'{checked.path}: {checked.what}')}")
        for problem in checked.problems:
            click.echo(f"    error: {visible_line(problem)}")
        for warning in checked.warnings:
            click.echo(f"    warning: {visible_line(warning)}")
    sys.exit(exit_codes.OK if usable else exit_codes.USAGE)
