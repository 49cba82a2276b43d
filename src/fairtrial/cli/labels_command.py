"""`fairtrial labels`: the labels that people gave to a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags, trust_flags
from fairtrial.cli.outputs.output_files import FileToWrite
from fairtrial.text.display import count, visible_line

if TYPE_CHECKING:
    from fairtrial.api import Run


@command()
@click.argument("run")
@click.option(
    "--add", "files", multiple=True, type=click.Path(path_type=Path), metavar="FILE", help="Add labels. Repeatable."
)
@click.option(
    "--from",
    "source",
    metavar="SERVICE",
    help="Add the scores that people gave in langfuse, phoenix, langsmith or mlflow, or in a file of OTLP.",
)
@click.option(
    "--criterion",
    "names",
    multiple=True,
    metavar="NAME=CRITERION",
    help="With --from: scores of this name are labels of this criterion. Repeatable.",
)
@click.option("--project", default="", metavar="NAME", help="With --from: the project of the service.")
@click.option("--url", default="", metavar="URL", help="With --from: the address of the service.")
@click.option("--ignore-unknown", is_flag=True, help="Leave out rows that are not of this run, and count them.")
@click.option("-o", "--output", type=FileToWrite(), metavar="FILE", help="Write a .csv file, or .jsonl for JSON lines.")
@click.option(
    "--references",
    type=FileToWrite(),
    metavar="FILE",
    help="Write the repaired eval set of the run: with better references, and with what attempts did that "
    "are no failure.",
)
@trust_flags.json_file
@flags.add_store_option
def labels(
    run: str,
    files: tuple[Path, ...],
    source: str | None,
    names: tuple[str, ...],
    project: str,
    url: str,
    ignore_unknown: bool,
    output: Path | None,
    references: Path | None,
    json_file: Path | None,
    store: str,
) -> None:
    """List the labels that people gave to a run, and how far these people agree.

    RUN is the beginning of the id of a run. Of several labels of a person on one outcome, the last counts. In CSV, a
    text that a spreadsheet would compute begins with an apostrophe.

    \b
    fairtrial labels 20260102
    fairtrial labels 20260102 -o labels.csv
    fairtrial labels 20260102 --add ann.csv --add ben.jsonl
    fairtrial labels 20260102 --references better.evalset.json
    fairtrial labels 20260102 --from langfuse --criterion helpful=final_response_match_v2
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.console import console, reader_may_leave

    stored_run = api.reread(store, run)
    if files:
        unknown = api.add_labels(stored_run, files, ignore_unknown=ignore_unknown)
        if unknown:
            echo(f"rows left out because they are not of this run: {unknown}", err=True)
    if source is not None:
        _pull(stored_run, source, url, project, names)
    if references is not None:
        changes = api.write_references(stored_run, references)
        echo(f"wrote {references} with {count(changes.replaced, 'better reference')}")
        if changes.repaired:
            cases = count(changes.repaired, "case")
            echo(f"{cases} with what an attempt did that people call no failure; read them before you use them")
        return
    if output is not None:
        rows = list(api.labels_as_rows(stored_run))
        api.label_file(rows, output)
        echo(f"wrote {count(len(rows), 'label')} to {output}")
        return
    trust_flags.write(api.list_labels(stored_run.info.id, api.labels_as_rows(stored_run)), json_file)
    if trust_flags.is_stdout(json_file):
        return
    with reader_may_leave():
        if stored_run.labels:
            console().print(api.label_report(stored_run))
        else:
            echo(f"run {stored_run.info.id} has no labels; `fairtrial label {stored_run.info.id}` asks for them")


def _pull(run: Run, source: str, url: str, project: str, names: tuple[str, ...]) -> None:
    """Add the labels that a service holds, and name the scores that are left out."""
    from fairtrial import api

    pairs = dict(name.partition("=")[::2] for name in names)
    if not all(pairs.values()):
        raise click.BadParameter("must be NAME=CRITERION", param_hint="--criterion")
    report = api.pull_labels(run, source, url=url, project=project, names=pairs)
    echo(f"labels added from {source}: {report.added}", err=True)
    if report.unknown_names:
        listed = visible_line(", ".join(report.unknown_names))
        echo(
            f"scores left out because they name no criterion of this run, or no value of its range: {listed}",
            err=True,
        )
