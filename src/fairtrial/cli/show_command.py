"""`fairtrial show`: a run of the store, one of its cases, or its reports as files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from fairtrial.cli import completion, flags
from fairtrial.cli.output_files import inputs_of, store_file
from fairtrial.cli.report_files import ReportFiles, report_options
from fairtrial.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from fairtrial.api import Run


@click.command()
@click.argument("run", shell_complete=completion.runs)
@click.argument("case", required=False, shell_complete=completion.cases)
@click.option("--all", "everything", is_flag=True, help="List every attempt, in a pager if this is a terminal.")
@click.option("--ballots", is_flag=True, help="Also show the prompts and raw replies of judges. Needs CASE.")
@report_options
@flags.stored
def show(
    run: str,
    case: str | None,
    everything: bool,
    ballots: bool,
    reports: ReportFiles,
    store: str,
) -> None:
    """Show a run of the store, everything about one of its cases, or write its reports again.

    RUN is the beginning of the id of a run. CASE is the id of a case; * and ? are wildcards. If a run has more than 200
    attempts, the first 50 that did not pass are listed. The files are equal to those that the run itself wrote.

    \b
    fairtrial show 20260102
    fairtrial show 20260102 --all
    fairtrial show 20260102 order_status
    fairtrial show 20260102 order_status --ballots
    fairtrial show 20260102 --json results.json --junit results.xml --adk-results results/
    fairtrial show 20260102 --markdown comment.md --baseline 20260101
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.console import console

    if ballots and case is None:
        raise UsageError("--ballots shows the votes on one case, so it needs CASE")
    stored_run = api.reread(store, run)
    if stored_run.info.kind == "mutate" and case is None:
        _show_mutation(stored_run.info.id, reports, store)
    elif reports.paths:
        if case is not None:
            options = ", ".join(report.option for report in api.REPORTS)
            raise UsageError(f"{options} write a whole run, got the case {case!r} too")
        reports.refuse_inputs([*inputs_of(stored_run.info.config), *store_file(store)])
        reports.check_baseline(store)
        choices = reports.options(stored_run, store, flags.show_command(stored_run.info.id, store))
        problems = reports.write(stored_run, choices)
        reports.print(stored_run, choices)
        if problems:
            raise UsageError("\n".join(problems))
    elif case is not None:
        if not api.print_cases(console(), stored_run, case, whole_ballots=ballots):
            raise UsageError(f"run {stored_run.info.id} has no case {case!r}")
    elif everything and sys.stdout.isatty():
        terminal = console()
        with terminal.capture() as captured:
            _print_all(terminal, stored_run)
        click.echo_via_pager(captured.get(), color=True)
    elif everything:
        _print_all(console(), stored_run)
    else:
        api.print_run(console(), stored_run, show=flags.show_command(stored_run.info.id, store))
        api.print_invalid(console(), stored_run)
    flags.print_skipped(stored_run.skipped)


def _print_all(terminal: Console, run: Run) -> None:
    from fairtrial import api

    api.print_run(terminal, run, everything=True)
    api.print_invalid(terminal, run, everything=True)


def _show_mutation(run_id: str, reports: ReportFiles, store: str) -> None:
    """Write the files of mutation testing, or print its report if no file is asked for."""
    from fairtrial import api
    from fairtrial.cli.console import console
    from fairtrial.cli.mutation_outputs import check_formats, write_mutation_files

    check_formats(reports.paths)
    report = api.mutation_report(run_id, store)
    if reports.paths:
        write_mutation_files(report, reports.paths)
    else:
        api.print_mutation(console(), report)
