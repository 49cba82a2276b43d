"""`fairtrial pull`: fetch traces from a service as recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fairtrial import api
from fairtrial.cli import exit_codes
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import trust_flags
from fairtrial.cli.options.trace_flags import collect_traces, trace_options
from fairtrial.cli.outputs.output_files import FileToWrite
from fairtrial.text.display import count, visible_line


@command()
@click.argument("source")
@click.option("-o", "--output", metavar="FILE", required=True, type=FileToWrite(), help="The recordings to write.")
@click.option("--since", default="", metavar="TIME", help="Only traces after a time: 24h, 7d or 2026-01-02T15:04.")
@click.option("--until", default="", metavar="TIME", help="Only traces before a time.")
@click.option("--session", default="", metavar="ID", help="Only this conversation.")
@click.option("--filter", "filter_text", default="", metavar="TEXT", help="A filter in the language of the service.")
@click.option("--project", default="", metavar="NAME", help="The project, or the experiment of MLflow.")
@click.option("--url", default="", metavar="URL", help="The address of the service.  [default: from the environment]")
@click.option("--redact", type=click.Choice(["people"]), help="Remove secrets and personal data from the recordings.")
@trust_flags.json_file
@trace_options
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
def pull(
    source: str,
    output: Path,
    since: str,
    until: str,
    session: str,
    filter_text: str,
    project: str,
    url: str,
    redact: str | None,
    json_file: Path | None,
    quiet: bool,
    **options: Any,
) -> int:
    """Fetch traces from a service, and write them as recordings. Nothing is changed in the service.

    SOURCE is langfuse, phoenix, langsmith, mlflow, or the URL of a trace in Tempo or Jaeger. Keys are read from the
    variables of the service, for example LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY. If the command is interrupted,
    the same command goes on after the last page that it has.

    \b
    fairtrial pull langfuse --since 24h -o traces.jsonl
    fairtrial pull langsmith --project shop --filter 'eq(name, "agent")' -o traces.jsonl
    fairtrial pull phoenix --url http://localhost:6006 --session s-1 -o traces.jsonl
    fairtrial pull http://tempo:3200/api/traces/5b8efff798038103d269b633813fc60c -o trace.jsonl
    fairtrial score traces.jsonl --against shop.evalset.json --match query
    """  # noqa: D301

    def show_progress(count: int) -> None:
        if not quiet:
            echo(f"{count} documents", err=True)

    try:
        report = api.pull(
            source,
            output,
            since=since,
            until=until,
            session=session,
            filter_text=filter_text,
            url=url,
            project=project,
            traces=collect_traces(options),
            redact=redact,
            on_page=show_progress,
        )
    except KeyboardInterrupt:
        echo("\ninterrupted; the same command goes on after the last page", err=True)
        return exit_codes.INTERRUPTED
    for warning in report.warnings:
        echo(f"warning: {visible_line(warning)}", err=True)
    if not quiet:
        echo(f"{count(report.recordings, 'recording')} in {output}", err=trust_flags.is_stdout(json_file))
    counts = {"recordings": report.recordings}
    trust_flags.report(json_file, "pull", files=(str(output),), counts=counts, notes=tuple(report.warnings))
    return exit_codes.OK
