"""`fairtrial export`: write the recordings of a run for other tools."""

from __future__ import annotations

from contextlib import closing

import click

from fairtrial import api
from fairtrial.cli import completion
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags


@command()
@click.argument("run", shell_complete=completion.runs)
@click.option(
    "--as",
    "form",
    type=click.Choice(["otlp", "openinference", "messages"]),
    required=True,
    help="Spans in OpenTelemetry's GenAI conventions, spans of OpenInference, or OpenAI chat messages.",
)
@click.option("-o", "--output", default="-", show_default=True, type=click.Path(dir_okay=False), help="The file.")
@click.option(
    "--redact",
    "redacted",
    type=click.Choice(["secrets", "people"]),
    help="Remove secrets and e-mail addresses, or these and other personal data.",
)
@flags.add_store_option
def export(run: str, form: api.ExportForm, output: str, redacted: api.Redacted | None, store: str) -> None:
    """Write the recordings of a run for other tools, a line each.

    RUN is the beginning of the id of a run. `fairtrial score` reads every form again.

    \b
    fairtrial export 20260102 --as otlp -o spans.jsonl
    fairtrial export 20260102 --as messages --redact people | jq .messages
    """  # noqa: D301

    def warn(note: str) -> None:
        click.echo(f"warning: {note}", err=True)

    lines = api.export_recordings(api.reread(store, run), form, redacted=redacted, note=warn)
    # If the reader leaves, the lines must be closed before Python ends: they hold a connection of the store.
    with closing(lines), click.open_file(output, "wb") as stream:
        stream.writelines(lines)
