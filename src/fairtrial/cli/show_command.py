"""`fairtrial show`: a run of the store, or one of its cases."""

from __future__ import annotations

import click

from fairtrial.cli import flags


@click.command()
@click.argument("run")
@click.argument("case", required=False)
@flags.stored
@click.option("--json", "as_json", is_flag=True, help="Print the run as JSON.")
def show(run: str, case: str | None, store: str, as_json: bool) -> None:
    """Show a run of the store with what spoiled its invalid attempts, or everything about one of its cases.

    RUN is the beginning of its id; CASE an id, * and ? are wildcards.

    \b
    fairtrial show 20260102
    fairtrial show 20260102 order_status
    """  # noqa: D301
    import sys

    from fairtrial import api
    from fairtrial.cli.console import console
    from fairtrial.errors import UsageError
    from fairtrial.reports import json_report
    from fairtrial.reports.attempts import attempts
    from fairtrial.reports.ballots import ballots
    from fairtrial.reports.terminal import case as one_case
    from fairtrial.reports.terminal import invalid, print_report
    from fairtrial.text.globs import fits

    found = api.reread(store, run)
    if as_json:
        json_report.write(sys.stdout.buffer, found.info, found.summary, found.cases)
        return
    out = console()
    if case is None:
        print_report(out, found.info, found.summary, found.cases, everything=True)
        for spoiled in invalid(found.cases):
            out.print(spoiled)
        return
    shown = 0
    for result, several in attempts(found.cases):
        if fits(result.case_id, case) or fits(result.title, case):
            shown += 1
            out.print(one_case(result, several=several, everything=True))
            out.print(ballots(result.outcomes, found.ballots))
    if not shown:
        raise UsageError(f"run {found.info.id} has no case {case!r}")
