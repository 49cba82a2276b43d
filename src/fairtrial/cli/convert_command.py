"""`fairtrial convert`: an eval set in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags
from fairtrial.cli.output_files import FileToWrite, refuse_overwriting
from fairtrial.errors import UsageError
from fairtrial.text.display import visible_line


@command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", metavar="OUT", required=True, type=FileToWrite(), help="The file to write.")
@click.option(
    "--to", type=click.Choice(["adk", "agents-cli"]), help="The format of OUT.  [default: the one that FILE is not in]"
)
@flags.lenient
@flags.columns
def convert(
    file: Path, output: Path, to: Literal["adk", "agents-cli"] | None, lenient: bool, columns: dict[str, str]
) -> None:
    """Write an eval set of ADK as a dataset of Google's agents-cli, or a dataset or a table as an eval set.

    Tasks of tau2-bench become an eval set too. FILE may be - for standard input. Everything that OUT has no place for
    is named. The command exits with 0, or with 2 if FILE cannot be read.

    \b
    fairtrial convert tests/eval/evalsets/basic.evalset.json -o tests/eval/datasets/basic-dataset.json
    fairtrial convert basic-dataset.json -o basic.evalset.json --to adk
    fairtrial convert tasks.json -o airline.evalset.json
    fairtrial convert questions.csv -o questions.evalset.json --map input=question,expected=answer
    """  # noqa: D301
    from fairtrial import api

    refuse_overwriting("--output", output, [file])
    converted = api.convert(file, to=to, lenient=lenient, columns=columns)
    try:
        output.write_bytes(converted.content + b"\n")
    except OSError as error:
        raise UsageError(f"--output: cannot write {output}: {error.strerror or error}") from None
    for warning in converted.warnings:
        click.echo(f"warning: {visible_line(warning)}", err=True)
    for note in converted.notes:
        click.echo(f"note: {visible_line(note)}", err=True)
    for loss in converted.losses:
        click.echo(f"lost: {visible_line(loss)}", err=True)
    click.echo(f"{output}: {converted.format}")
