"""`fairtrial value fit`: can the verdicts of runs teach a value?"""

from __future__ import annotations

from pathlib import Path

import click

from fairtrial.cli import completion
from fairtrial.cli.options import flags
from fairtrial.cli.output_files import FileToWrite
from fairtrial.text.display import visible_line


@click.command("fit")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", shell_complete=completion.runs)
@click.option("--output", "-o", type=FileToWrite(), required=True, help="Write the model as JSON.")
@flags.stored
def fit(runs: tuple[str, ...], output: Path, store: str) -> None:
    """Fit a model of the value to the verdicts of stored runs, and say how well it predicts other tasks.

    RUN is the beginning of an id in the store. `fairtrial value --model` then scores traces with the model. No model is
    written if it does not beat the base rate.

    \b
    fairtrial value fit 20260102 20260109 -o model.json
    fairtrial value traces.jsonl --model model.json
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.console import console

    api.print_fit(console(), api.fit_value(runs, store=store, output=output))
    click.echo(f"written to {visible_line(str(output))}", err=True)
