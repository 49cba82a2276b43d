"""The commands `fairtrial judge sample` and `fairtrial judge calibrate`, which compare a judge with people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fairtrial.cli import completion
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags, trust_flags
from fairtrial.cli.outputs.output_files import FileToWrite
from fairtrial.errors import UsageError


@command()
@click.argument("run", shell_complete=completion.runs)
@click.option("--criterion", required=True, metavar="NAME", help="The criterion whose outcomes people should label.")
@click.option("--n", "number", default=100, show_default=True, type=click.IntRange(1), help="The number of outcomes.")
@click.option("--balance", is_flag=True, help="Draw half of the outcomes from each verdict, and note their weights.")
@click.option("--seed", default=1, show_default=True, type=int, help="Another seed draws another sample.")
@click.option(
    "-o", "--output", required=True, type=FileToWrite(), metavar="FILE", help="A .csv file, or .jsonl for JSON lines."
)
@trust_flags.json_file
@flags.add_store_option
def sample(run: str, json_file: Path | None, store: str, **options: Any) -> None:
    """Draw outcomes of a run at random, and write them to a file for people to label.

    RUN is the beginning of the id of a run. The file does not contain the judge's verdict. Fill in the column label:
    pass or fail, a number of the range for a graded criterion, or ? if you cannot tell. Several people can label the
    same outcome in rows of their own, with their name in the column labeler.

    \b
    fairtrial judge sample 20260102 --criterion final_response_match_v2 -o labels.csv
    fairtrial judge sample 20260102 --criterion safety_v1 --n 60 --balance -o labels.jsonl
    fairtrial judge calibrate 20260102 --labels labels.csv
    """  # noqa: D301
    from fairtrial import api

    output: Path = options.pop("output")
    if output.exists():
        raise UsageError(f"--output: {output} exists and may hold labels; choose another file", code="would-overwrite")
    rows = api.sample_outcomes(run, store=store, **options)
    api.sample_file(rows, output)
    trust_flags.report(json_file, "judge sample", files=(str(output),), counts={"outcomes": len(rows)})
    if trust_flags.is_stdout(json_file):
        return
    echo(f"wrote {len(rows)} outcomes to {output}; fill in the column label")
    elsewhere = "" if store == api.DEFAULT_URL else " --store URL"  # a URL may hold a password
    echo(f"then: fairtrial judge calibrate {run} --labels {output}{elsewhere}")


@command()
@click.argument("run", shell_complete=completion.runs)
@click.option(
    "--labels", "files", multiple=True, type=click.Path(path_type=Path), metavar="FILE", help="Labels. Repeatable."
)
@click.option("--ignore-unknown", is_flag=True, help="Leave out rows that are not of this run, and count them.")
@trust_flags.json_file
@flags.add_store_option
def calibrate(run: str, files: tuple[Path, ...], ignore_unknown: bool, json_file: Path | None, store: str) -> None:
    """Compare the judges of a run with the labels of people, and correct its numbers.

    RUN is the beginning of the id of a run. The labels are kept in the store, so that `fairtrial show` and later runs
    with the same outcomes use them, too. Without --labels the labels of the store are used. Exit code: 0.

    \b
    fairtrial judge calibrate 20260102 --labels labels.csv
    fairtrial judge calibrate 20260102 --labels ann.csv --labels ben.csv --json calibration.json
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.console import console, reader_may_leave

    stored_run = api.reread(store, run)
    if files:
        unknown = api.add_labels(stored_run, files, ignore_unknown=ignore_unknown)
        if unknown:
            echo(f"rows left out because they are not of this run: {unknown}", err=True)
    with reader_may_leave():
        document = api.calibration_document(stored_run.info.id, stored_run.calibrations)
        trust_flags.write(document, json_file)
        if trust_flags.is_stdout(json_file):
            return
        if not stored_run.calibrations:
            echo("no criterion of this run is judged or labelled")
            return
        console().print(api.calibration_tables(stored_run.info.id, stored_run.calibrations))
