"""`fairtrial export`: write the recordings of a run for other tools."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Literal

import click

from fairtrial import api
from fairtrial.cli import completion
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags
from fairtrial.errors import UsageError
from fairtrial.text.display import visible_line


@command()
@click.argument("run", shell_complete=completion.runs)
@click.option(
    "--as",
    "form",
    type=click.Choice(["otlp", "openinference", "messages", "agent-skills"]),
    required=True,
    help="Spans in OpenTelemetry's GenAI conventions, spans of OpenInference, OpenAI chat messages, or the results of "
    "a skill in the layout of agentskills.io.",
)
@click.option(
    "-o", "--output", default="-", show_default=True, type=click.Path(), help="The file, or the folder of results."
)
@click.option(
    "--redact",
    "redacted",
    type=click.Choice(["secrets", "people"]),
    help="Remove secrets and e-mail addresses, or these and other personal data.",
)
@flags.add_store_option
def export(
    run: str, form: api.ExportForm | Literal["agent-skills"], output: str, redacted: api.Redacted | None, store: str
) -> None:
    """Write the recordings of a run for other tools, a line each.

    RUN is the beginning of the id of a run. `fairtrial score` reads every form of recordings again. The results of a
    skill are files: grading.json and timing.json of each attempt, and benchmark.json.

    \b
    fairtrial export 20260102 --as otlp -o spans.jsonl
    fairtrial export 20260102 --as messages --redact people | jq .messages
    fairtrial export 20260102 --as agent-skills -o my-skill-workspace/iteration-1
    """  # noqa: D301
    if form == "agent-skills":
        if output == "-" or redacted is not None:
            raise UsageError(
                "--as agent-skills needs a folder, --output FOLDER, and takes no --redact", code="options-conflict"
            )
        files = api.write_benchmark(api.reread(store, run), Path(output))
        echo(visible_line(f"wrote {len(files)} files into {output}"))
        return
    if Path(output).is_dir():
        raise UsageError(f"--output: {output} is a folder", code="unwritable-file")

    def warn(note: str) -> None:
        echo(f"warning: {note}", err=True)

    lines = api.export_recordings(api.reread(store, run), form, redacted=redacted, note=warn)
    # If the reader leaves, the lines must be closed before Python ends: they hold a connection of the store.
    with closing(lines), click.open_file(output, "wb") as stream:
        stream.writelines(lines)
