"""`fairtrial check`: the format of files, and their problems."""

from __future__ import annotations

import click

from fairtrial import api
from fairtrial.cli import exit_codes
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags
from fairtrial.text.display import visible_line


@command()
@click.argument("file", nargs=-1, required=True)
@flags.lenient
@flags.columns
def check(file: tuple[str, ...], lenient: bool, columns: dict[str, str]) -> int:
    """Name the format of each file, the number of its cases, and every problem in it.

    FILE is a file, a folder (all its JSON), or - for standard input. The exit code is 0 if every file can be used,
    otherwise 2.

    \b
    fairtrial check evals/ test_config.json
    fairtrial check questions.csv --map input=question,expected=answer
    """  # noqa: D301
    usable = True
    for checked in api.check(file, lenient=lenient, columns=columns):
        usable = usable and not checked.problems
        click.echo(f"{'✗' if checked.problems else '✓'} {visible_line(f'{checked.path}: {checked.content}')}")
        for problem in checked.problems:
            click.echo(f"    error: {visible_line(problem)}")
        for warning in checked.warnings:
            click.echo(f"    warning: {visible_line(warning)}")
        for note in checked.notes:
            click.echo(f"    {visible_line(note)}")
    return exit_codes.OK if usable else exit_codes.USAGE
