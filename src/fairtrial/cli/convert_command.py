"""`fairtrial convert`: an eval set in another format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags, trust_flags
from fairtrial.cli.outputs.output_files import FileToWrite, refuse_overwriting
from fairtrial.errors import UsageError
from fairtrial.text.display import count, visible_line

if TYPE_CHECKING:
    from fairtrial.api.eval_sets.converting import Format


@command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", metavar="OUT", required=True, type=FileToWrite(), help="The file to write.")
@click.option(
    "--to",
    type=click.Choice(["adk", "agents-cli", "agent-skills", "trigger-queries", "waza", "skilljack", "recordings"]),
    help="The format of OUT.  [default: adk for a dataset or a table, agent-skills for evals of a skill in another "
    "format, recordings for a log, else agents-cli]",
)
@trust_flags.json_file
@flags.lenient
@flags.columns
def convert(
    file: Path,
    output: Path,
    to: Format | None,
    json_file: Path | None,
    lenient: bool,
    columns: dict[str, str],
) -> None:
    """Write an eval set in another format: of ADK, of Google's agents-cli, or of the evals of a skill.

    A table and tasks of tau2-bench become an eval set too. agent-skills is evals.json, skilljack is tasks.yaml, and
    waza is eval.yaml with a file for each task in tasks/. FILE may be - for standard input. Everything that OUT has no
    place for is named. The command exits with 0, or with 2 if FILE cannot be read.

    \b
    fairtrial convert tests/eval/evalsets/basic.evalset.json -o tests/eval/datasets/basic-dataset.json
    fairtrial convert basic-dataset.json -o basic.evalset.json --to adk
    fairtrial convert tasks.json -o airline.evalset.json
    fairtrial convert questions.csv -o questions.evalset.json --map input=question,expected=answer
    fairtrial convert eval.yaml -o my-skill/evals/evals.json
    fairtrial convert my-skill/evals/evals.json -o waza/eval.yaml --to waza
    """  # noqa: D301
    from fairtrial import api

    refuse_overwriting("--output", output, [file])
    converted = api.convert(file, to=to, lenient=lenient, columns=columns)
    files = {output: converted.content, **{output.parent / name: own for name, own in converted.files.items()}}
    for path in list(files)[1:]:
        if path.exists():
            raise UsageError(f"--output: {path} exists, and would be overwritten", code="would-overwrite")
    try:
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content + b"\n")
    except OSError as error:
        raise UsageError(
            f"--output: cannot write {output}: {error.strerror or error}", code="unwritable-file"
        ) from None
    for warning in converted.warnings:
        echo(f"warning: {visible_line(warning)}", err=True)
    for note in converted.notes:
        echo(f"note: {visible_line(note)}", err=True)
    for loss in converted.losses:
        echo(f"lost: {visible_line(loss)}", err=True)
    more = f", and {count(len(converted.files), 'file')} beside it" if converted.files else ""
    echo(f"{output}: {converted.format}{more}", err=trust_flags.is_stdout(json_file))
    remarks = (*converted.warnings, *converted.notes, *converted.losses)
    trust_flags.report(json_file, "convert", files=tuple(map(str, files)), notes=remarks)
