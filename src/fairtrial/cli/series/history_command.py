"""The command `fairtrial history`, which looks along the runs of a store."""

from __future__ import annotations

from pathlib import Path

import click

from fairtrial.cli import completion
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags, series_flags, trust_flags
from fairtrial.cli.outputs.output_files import FileToWrite


@command()
@click.argument("run", required=False, default="", shell_complete=completion.runs)
@click.option("--case", metavar="ID", help="Show the attempts at this case, and since when it is broken or flaky.")
@click.option(
    "--failures",
    "with_failures",
    is_flag=True,
    help="Show the failure modes: in which run each was seen first and last, and where it came back.",
)
@click.option(
    "--measure",
    metavar="NAME",
    default="cases",
    show_default=True,
    help="The measure: cases, cases:pass, a criterion, or CRITERION:pass.",
)
@series_flags.series
@click.option(
    "--last", type=click.IntRange(1), default=50, show_default=True, metavar="N", help="Show the last N runs."
)
@click.option(
    "--order",
    type=click.Choice(["time", "commit"]),
    default="time",
    show_default=True,
    help="Order the runs by their start, or by the author dates of their commits.",
)
@series_flags.false_every(1000.0, "At most one run in N shows a step although nothing changed.")
@click.option(
    "--html", "html_file", metavar="FILE", type=FileToWrite(), help="Write a page: the line, the steps, and the cases."
)
@trust_flags.json_file
@flags.add_store_option
def history(
    run: str,
    case: str | None,
    with_failures: bool,
    measure: str,
    series: str,
    last: int,
    order: str,
    false_every: float,
    html_file: Path | None,
    json_file: Path | None,
    store: str,
) -> None:
    """Show the runs of a series, and since when a number is better or worse.

    RUN is the beginning of the id of a run of the series, by default of the newest run. A step is a change of the same
    cases that holds. If a criterion, its threshold or its judge changed, a new segment begins, and no step is found
    there.

    \b
    fairtrial history
    fairtrial history 20261121 --measure final_response_match_v2 --last 100
    fairtrial history --case refund --json refund.json
    fairtrial history --failures
    fairtrial history --html history.html
    fairtrial history --series agent,tags
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.console import console
    from fairtrial.records.run_history import RunHistory

    if with_failures and case is not None:
        raise click.UsageError("--failures shows all cases; leave out --case")
    if html_file is not None and (with_failures or case is not None):
        raise click.UsageError("--html writes the runs and all cases; leave out --case and --failures")
    fields = series_flags.split_fields(series)
    found = (
        api.history(run, measure=measure, series=fields, last=last, order=order, false_every=false_every, store=store)
        if case is None
        else api.case_history(case, run, series=fields, last=last, order=order, store=store)
    )
    shown = api.mode_history(found, store=store) if with_failures and isinstance(found, RunHistory) else found
    if html_file is not None and isinstance(found, RunHistory):
        html_file.write_text(api.history_html(found), encoding="utf-8", errors="backslashreplace")
    trust_flags.write(shown, json_file)
    if not trust_flags.is_stdout(json_file):
        api.print_history(console(), shown)
