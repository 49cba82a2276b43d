"""`fairtrial export`: write the recordings of a run for other tools."""

from __future__ import annotations

from contextlib import closing

import click

from fairtrial.api import ExportForm
from fairtrial.cli import completion, flags


@click.command()
@click.argument("run", shell_complete=completion.runs)
@click.option(
    "--as",
    "form",
    type=click.Choice(["otlp", "openinference", "messages"]),
    required=True,
    help="Spans in OpenTelemetry's GenAI conventions, spans of OpenInference, or OpenAI chat messages.",
)
@click.option("-o", "--output", default="-", show_default=True, type=click.Path(dir_okay=False), help="The file.")
@flags.stored
def export(run: str, form: ExportForm, output: str, store: str) -> None:
    """Write the recordings of a run for other tools, a line each.

    RUN is the beginning of the id of a run. `fairtrial score` reads every form again.

    \b
    fairtrial export 20260102 --as otlp -o spans.jsonl
    fairtrial export 20260102 --as messages | jq .messages
    """  # noqa: D301
    from fairtrial import api

    lines = api.export_recordings(api.reread(store, run), form)
    # If the reader leaves, the lines must be closed before Python ends: they hold a connection of the store.
    with closing(lines), click.open_file(output, "wb") as stream:
        stream.writelines(lines)
