"""`fairtrial report`: a run, or two runs side by side, as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairtrial.cli import completion
from fairtrial.cli.options import flags
from fairtrial.cli.options.page_options import Traces, page_options
from fairtrial.cli.output_files import FileToWrite, inputs_of, refuse_overwriting, store_file
from fairtrial.text.display import visible_line

if TYPE_CHECKING:
    from fairtrial.api import Run


@click.command()
@click.argument("run", nargs=-1, required=True, shell_complete=completion.runs)
@click.option("-o", "--output", metavar="FILE", type=FileToWrite(), required=True, help="The HTML file to write.")
@page_options
@click.option("--redact", type=click.Choice(["people"]), help="Remove personal data, too, and not only secrets.")
@flags.stored
def report(
    run: tuple[str, ...],
    output: Path,
    traces: Traces | None,
    language: str | None,
    redact: str | None,
    store: str,
) -> None:
    """Write one HTML page about a run, or about two runs side by side.

    RUN is the beginning of the id of a run in the store. Of two runs the first is the base. The page needs no network,
    and opens from disk, from mail and from the artefacts of a CI server.

    \b
    fairtrial report 20261121 -o report.html
    fairtrial report 20261120 20261121 -o compared.html --lang ko
    """  # noqa: D301
    from fairtrial import api

    runs: list[Run] = [api.reread(store, run_id) for run_id in run]
    for opened in runs:
        refuse_overwriting("--output", output, [*inputs_of(opened.info.config), *store_file(store)])
    people = redact == "people"
    for warning in api.write_html(output, *runs, store=store, traces=traces, language=language or "", people=people):
        click.echo(f"warning: {visible_line(warning)}", err=True)
    click.echo(str(output))
