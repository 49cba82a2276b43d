"""The command `fairtrial select`, which selects the best traces of a set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fairtrial.cli import exit_codes
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command
from fairtrial.cli.options.query_flags import needs_files, query_options
from fairtrial.cli.outputs.output_files import FileToWrite
from fairtrial.text.display import visible_line

_EXAMPLES = 20


@command()
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option("--budget", required=True, type=click.IntRange(min=1), metavar="N", help="Select N traces.")
@click.option(
    "--by",
    type=click.Choice(["verdict", "coverage", "value"]),
    default="verdict",
    show_default=True,
    help="Cover the set with traces that passed (verdict) or with any (coverage), or take the highest values (value).",
)
@click.option(
    "--per", type=click.Choice(["tool", "language", "domain"]), help="Give each group an equal quota of the budget."
)
@click.option("--output", "-o", type=FileToWrite(), help="Write the selected traces as JSON lines, without secrets.")
@click.option(
    "--redact", type=click.Choice(["people"]), help="With --output: remove personal data, too, and not only secrets."
)
@click.option("--json", "as_json", is_flag=True, help="Write the selection with its reasons to standard output.")
@click.option(
    "--embedder",
    help="none, minilm, multilingual, or a folder. Default: minilm if it is installed.",
)
@click.option(
    "--novelty-of",
    default="contents",
    help="Embed the objective and the contents of the steps (contents), or everything (trace).",
)
@click.option("--confidence", type=float, help="The agent's confidence, 0 to 1, for traces that do not contain it.")
@click.option("--success/--no-success", default=None, help="The success of traces that do not contain it.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes to use. Default: one for each core.")
@query_options("files")
def select(files: tuple[str, ...], as_json: bool, **options: Any) -> int:
    """Select the best traces of a set, and say how far any other selection can be ahead.

    FILE holds ReasoningTraces, or any traces that fairtrial reads: a file, a folder, a glob or a URL, as in
    `fairtrial value`. Each selected trace comes with its reasons: its value, and the traces that it covers.

    \b
    fairtrial select traces.jsonl --budget 100 -o best.jsonl
    fairtrial select traces/ --budget 100 --by coverage --per tool --json
    """  # noqa: D301
    from fairtrial import api

    needs_files(files, "FILE")
    output: Path | None = options["output"]
    report = api.select_files(files, **options)
    for problem in report.refused[:_EXAMPLES]:
        echo(f"refused: {visible_line(problem)}", err=True)
    if len(report.refused) > _EXAMPLES:
        echo(f"refused: {len(report.refused) - _EXAMPLES:,} more", err=True)
    if as_json:
        click.echo(api.selection_document(report.selection))
    else:
        from fairtrial.cli.console import console

        api.print_traces(console(), report.selection)
    if output is not None:
        echo(f"written to {visible_line(str(output))}", err=True)
    return exit_codes.OK
