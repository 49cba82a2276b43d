"""`fairtrial show`: a run of the store, one of its cases, or its reports as files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal

import click

from fairtrial import api
from fairtrial.cli import completion
from fairtrial.cli.console import console
from fairtrial.cli.headed_command import command, under
from fairtrial.cli.options import flags, trust_flags
from fairtrial.cli.outputs.mutation_outputs import check_formats, write_mutation_files
from fairtrial.cli.outputs.output_files import collect_inputs, store_file
from fairtrial.cli.outputs.report_files import ReportFiles, report_options
from fairtrial.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from fairtrial.api import Run


_REDACT = click.option(
    "--redact", type=click.Choice(["people"]), help="With --html: remove personal data, too, and not only secrets."
)


@command()
@click.argument("run", shell_complete=completion.runs)
@click.argument("case", required=False, shell_complete=completion.cases)
@click.option("--all", "everything", is_flag=True, help="List every attempt, in a pager if this is a terminal.")
@click.option("--failed", is_flag=True, help="Only attempts that did not pass.")
@click.option("--criterion", metavar="NAME", default="", help="Only this criterion; with --failed, if it failed.")
@click.option(
    "--case", "case_pattern", metavar="ID", default="", help="Only cases with this id. * and ? are wildcards."
)
@trust_flags.by
@click.option("--sort", type=click.Choice(["file", "value"]), default="file", help="value: the worst value first.")
@click.option("--page", type=click.IntRange(1), help="The page of 50 attempts to show.")
@click.option("--verbose", "-v", is_flag=True, help="Open the cases that passed, too.")
@click.option("--quiet", "-q", is_flag=True, help="Print the verdict only.")
@click.option("--full", is_flag=True, help="Fold no text.")
@click.option("--ballots", is_flag=True, help="Also show the prompts and raw replies of judges. Needs CASE.")
@report_options
@under("Reports", _REDACT, rare=True)
@flags.add_store_option
def show(
    run: str,
    case: str | None,
    everything: bool,
    failed: bool,
    criterion: str,
    case_pattern: str,
    by: str | None,
    sort: Literal["file", "value"],
    page: int | None,
    verbose: bool,
    quiet: bool,
    full: bool,
    ballots: bool,
    reports: ReportFiles,
    redact: str | None,
    store: str,
) -> None:
    """Show a run of the store, everything about one of its cases, or write its reports again.

    RUN is the beginning of the id of a run. CASE is the id of a case; * and ? are wildcards. If a run has more than 200
    attempts, the first 50 that did not pass are listed. The files are equal to those that the run itself wrote.
    Long texts of a conversation are folded; --full shows them.

    \b
    fairtrial show 20260102
    fairtrial show 20260102 --all
    fairtrial show 20260102 --by language
    fairtrial show 20260102 order_status
    fairtrial show 20260102 order_status --ballots
    fairtrial show 20260102 --failed --criterion response_match_score --sort value --page 2
    fairtrial show 20260102 --json results.json --junit results.xml --adk-results results/
    fairtrial show 20260102 --markdown comment.md --baseline 20260101
    fairtrial show 20260102 --html compared.html --baseline 20260101 --lang ko
    fairtrial show 20260102 --html report.html --history
    """  # noqa: D301
    reports = reports.redacted(redact)
    _check_by(by, is_alone=case is None and not everything and not quiet and not reports.paths)
    if ballots and case is None:
        raise UsageError("--ballots shows the votes on one case, so it needs CASE", code="missing-option")
    stored_run = api.reread(store, run)
    attempt_filter = api.AttemptFilter(failed, criterion, case_pattern, sort, page or 1)
    is_filtered = page is not None or attempt_filter != api.AttemptFilter()
    if is_filtered and (case is not None or everything or reports.paths):
        options = "--failed, --criterion, --case, --sort and --page"
        raise UsageError(f"{options} list attempts of RUN; leave out CASE, --all and files", code="options-conflict")
    show_again = flags.show_command(stored_run.info.id, store)
    if quiet and (case is not None or everything or is_filtered or verbose):
        raise UsageError(
            "--quiet prints the verdict of RUN only; leave out CASE, --all, --verbose and filters",
            code="options-conflict",
        )
    if stored_run.info.kind == "mutate" and case is None:
        _show_mutation(stored_run.info.id, reports, store, quiet=quiet)
    elif reports.paths:
        _write_files(reports, stored_run, case, store)
        # If stdout is for a report, people read stderr.
        terminal = console(stderr=reports.on_stdout is not None)
        _print_short(terminal, stored_run, quiet=quiet, verbose=verbose, full=full, show=show_again)
    elif case is not None:
        if not api.print_cases(console(), stored_run, case, whole_ballots=ballots, full=full):
            raise UsageError(f"run {stored_run.info.id} has no case {case!r}", code="unknown-name")
    elif is_filtered:
        api.print_selection(console(), stored_run, stored_run.select(attempt_filter), full=full, show=show_again)
    elif everything:
        _print_all(stored_run, verbose=verbose, full=full)
    else:
        _print_short(console(), stored_run, quiet=quiet, verbose=verbose, full=full, show=show_again, by=by)


def _check_by(by: str | None, *, is_alone: bool) -> None:
    if by is not None and not is_alone:
        raise UsageError("--by divides the cases of RUN; leave out CASE, --all and files", code="options-conflict")


def _print_short(
    terminal: Console, run: Run, *, quiet: bool, verbose: bool, full: bool, show: str, by: str | None = None
) -> None:
    """Print a run as the command did that made it, with `quiet` its verdict only, or divided by a property."""
    if by is not None:
        api.print_slices(terminal, run, by)
        return
    if quiet:
        api.print_verdict(terminal, run, show=show)
    else:
        api.print_run(terminal, run, verbose=verbose, full=full, show=show)
        api.print_invalid(terminal, run)
        api.print_largest_modes(terminal, run, show.replace("fairtrial show", "fairtrial failures", 1))
    if run.attacks is not None:
        api.print_attacks(terminal, run.attacks, rates_only=quiet)


def _write_files(reports: ReportFiles, run: Run, case: str | None, store: str) -> None:
    if case is not None:
        options = ", ".join(report.option for report in api.REPORTS)
        raise UsageError(f"{options} write a whole run, got the case {case!r} too", code="options-conflict")
    reports.refuse_inputs([*collect_inputs(run.info.config), *store_file(store)])
    reports.check_store(store)
    choices = reports.options(run, store, flags.show_command(run.info.id, store))
    problems = reports.write(run, choices)
    reports.print(run, choices)
    if problems:
        raise UsageError("\n".join(problems), code="unwritable-file")


def _print_all(run: Run, *, verbose: bool, full: bool) -> None:
    """Print every attempt, in a pager if stdout is a terminal."""
    terminal = console()
    if not sys.stdout.isatty():
        _print_whole(terminal, run, verbose=verbose, full=full)
        return
    with terminal.capture() as captured:
        _print_whole(terminal, run, verbose=verbose, full=full)
    click.echo_via_pager(captured.get(), color=True)


def _print_whole(terminal: Console, run: Run, *, verbose: bool, full: bool) -> None:
    api.print_run(terminal, run, everything=True, verbose=verbose, full=full)
    api.print_invalid(terminal, run, everything=True)


def _show_mutation(run_id: str, reports: ReportFiles, store: str, *, quiet: bool) -> None:
    """Write the files of mutation testing, or print its report if no file is asked for."""
    check_formats(reports.paths)
    report = api.mutation_report(run_id, store)
    if reports.paths:
        write_mutation_files(report, reports.paths)
    else:
        api.print_mutation(console(), report, quiet=quiet)
