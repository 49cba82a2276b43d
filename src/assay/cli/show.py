"""`assay show`: a run of the store, or one of its cases."""

from __future__ import annotations

import click

from assay.cli import options


@click.command()
@click.argument("run")
@click.argument("case", required=False)
@options.stored
@click.option("--json", "as_json", is_flag=True, help="Print the run as JSON.")
def show(run: str, case: str | None, store: str, as_json: bool) -> None:
    """Show a run of the store with what spoiled its invalid attempts, or everything about one of its cases.

    RUN is the beginning of its id; CASE an id, * and ? are wildcards.

    \b
    assay show 20260102
    assay show 20260102 order_status
    """  # noqa: D301
    import sys

    from assay import api
    from assay.cli.console import console
    from assay.errors import UsageError
    from assay.report import json
    from assay.report.attempts import attempts
    from assay.report.ballots import ballots
    from assay.report.terminal import case as one_case
    from assay.report.terminal import invalid, print_report
    from assay.text.globs import fits

    found = api.reread(store, run)
    if as_json:
        json.write(sys.stdout.buffer, found.info, found.summary, found.cases)
        return
    out = console()
    if case is None:
        print_report(out, found.info, found.summary, found.cases, everything=True)
        for spoiled in invalid(found.cases):
            out.print(spoiled)
        return
    shown = 0
    for result, several in attempts(found.cases):
        if fits(result.case_id, case):
            shown += 1
            out.print(one_case(result, several=several, everything=True))
            out.print(ballots(result.outcomes, found.ballots))
    if not shown:
        raise UsageError(f"run {found.info.id} has no case {case!r}")
