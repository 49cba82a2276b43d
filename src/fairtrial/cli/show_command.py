"""`fairtrial show`: a run of the store, one of its cases, or its reports as files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairtrial.cli import flags
from fairtrial.cli.report_files import ReportFiles, report_options
from fairtrial.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from fairtrial.api import Run


@click.command()
@click.argument("run")
@click.argument("case", required=False)
@click.option("--all", "everything", is_flag=True, help="List every attempt, in a pager if this is a terminal.")
@report_options
@click.option("--allow-unscored", is_flag=True, help="Skip unscored cases in JUnit XML.")
@flags.stored
def show(
    run: str,
    case: str | None,
    everything: bool,
    json_file: str | None,
    junit: Path | None,
    adk_results: Path | None,
    allow_unscored: bool,
    store: str,
) -> None:
    """Show a run of the store, everything about one of its cases, or write its reports again.

    RUN is the beginning of the id of a run. CASE is the id of a case; * and ? are wildcards. Of a run with more than
    200 attempts, the first 50 that did not pass are listed. The files are equal to those that the run itself wrote.

    \b
    fairtrial show 20260102
    fairtrial show 20260102 --all
    fairtrial show 20260102 order_status
    fairtrial show 20260102 --json results.json --junit results.xml --adk-results results/
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.console import console

    found = api.reread(store, run)
    if json_file or junit or adk_results:
        if case is not None:
            raise UsageError(f"--json, --junit and --adk-results write a whole run, got the case {case!r} too")
        files = ReportFiles(json_file, junit, adk_results, allow_unscored)
        problems = files.write(found)
        files.print_json(found)
        if problems:
            raise UsageError("\n".join(problems))
    elif case is not None:
        _print_case(console(), found, case)
    elif everything and sys.stdout.isatty():
        terminal = console()
        with terminal.capture() as captured:
            _print_all(terminal, found)
        click.echo_via_pager(captured.get(), color=True)
    elif everything:
        _print_all(console(), found)
    else:
        _print_summary(console(), found, store)


def _print_case(terminal: Console, run: Run, pattern: str) -> None:
    from fairtrial.reports.attempts import attempts
    from fairtrial.reports.ballots import ballots
    from fairtrial.reports.terminal import case as case_report

    shown = 0
    for result, several in attempts(run.results_of(pattern)):
        shown += 1
        terminal.print(case_report(result, several=several, everything=True))
        terminal.print(ballots(result.outcomes, run.ballots))
    if not shown:
        raise UsageError(f"run {run.info.id} has no case {pattern!r}")


def _print_summary(terminal: Console, run: Run, store: str) -> None:
    from fairtrial.cli.output import print_run, show_command
    from fairtrial.reports.terminal import DETAILED, invalid

    print_run(terminal, run, show=show_command(run, store))
    hidden = max(0, sum(run.summary.invalid.values()) - DETAILED)
    for line in invalid(run.invalid(limit=DETAILED), repeated=run.repeated, hidden=hidden):
        terminal.print(line)


def _print_all(terminal: Console, run: Run) -> None:
    from fairtrial.cli.output import print_run
    from fairtrial.reports.terminal import invalid

    print_run(terminal, run, everything=True)
    for line in invalid(run.invalid(), repeated=run.repeated):
        terminal.print(line)
