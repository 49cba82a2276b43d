"""Which options, reports and exit codes do `run` and `score` share?"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from fairtrial import api
from fairtrial.api import DEFAULT_URL, Plan, ReportOptions, Run
from fairtrial.cli import exit_codes, flags
from fairtrial.cli.console import console, reader_may_leave
from fairtrial.cli.output_files import inputs_of, store_file
from fairtrial.cli.progress import Progress
from fairtrial.cli.report_files import ReportFiles, report_options
from fairtrial.errors import UsageError
from fairtrial.records.result import CaseResult, Verdict
from fairtrial.text.display import visible_line

_EXIT = {
    Verdict.PASSED: exit_codes.OK,
    Verdict.FAILED: exit_codes.FAILED,
    Verdict.UNSCORED: exit_codes.UNSCORED,
    Verdict.INFORMATIONAL: exit_codes.OK,
}
_DECIDED = {"passed": exit_codes.OK, "failed": exit_codes.FAILED, "undecided": exit_codes.UNSCORED}
"""The exit codes of claims. With --until-decided they replace the verdict of the run."""
_SHOWN_WARNINGS = 20


@dataclass(frozen=True)
class Output:
    """The outputs of a run: its reports and the terminal."""

    reports: ReportFiles
    quiet: bool

    def only_report_on_stdout(self) -> AbstractContextManager[object]:
        """Send the prints of agents, metrics and their processes to stderr, if stdout is for a report."""
        return stdout_as_stderr() if self.reports.on_stdout is not None else nullcontext()

    @property
    def terminal(self) -> Console:
        """The console for people. It is stderr if stdout is for a report."""
        return console(stderr=self.reports.on_stdout is not None)


@dataclass(frozen=True)
class Common:
    """The options that `run` and `score` share."""

    config: Path | None
    lenient: bool
    allow_code: bool
    only: tuple[str, ...]
    thresholds: dict[str, float]
    concurrency: int
    store: str
    output: Output


_OPTIONS = (
    click.option(
        "--config",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="An EvalConfig for all files. Default: the nearest test_config.json, else ADK's defaults.",
    ),
    flags.thresholds,
    flags.lenient,
    flags.allow_code,
    flags.only,
    flags.concurrency,
    report_options,
    click.option(
        "--store",
        default=DEFAULT_URL,
        show_default=True,
        metavar="URL",
        help="The store of the run: any SQLAlchemy URL, or none.",
    ),
    click.option("--quiet", "-q", is_flag=True, help="Print the verdict only."),
)


def common_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that every scoring command takes. The command receives them as `common`."""

    @functools.wraps(command)
    def call_with_common(
        *args: Any,
        config: Path | None,
        lenient: bool,
        allow_code: bool,
        only: tuple[str, ...],
        thresholds: dict[str, float],
        concurrency: int,
        store: str,
        reports: ReportFiles,
        quiet: bool,
        **other_options: Any,
    ) -> Any:
        output = Output(reports, quiet)
        common = Common(config, lenient, allow_code, only, thresholds, concurrency, store, output)
        return command(*args, common=common, **other_options)

    return flags.with_options(call_with_common, *_OPTIONS)


@contextmanager
def stdout_as_stderr() -> Iterator[None]:
    """Send everything that is printed to stderr, also by processes that are started."""
    with redirect_stdout(sys.stderr), ExitStack() as stack:
        with suppress(OSError):  # a stream that is not a file cannot be inherited by a process
            stdout, stderr = sys.__stdout__, sys.__stderr__
            if stdout is not None and stderr is not None:
                stdout.flush()
                original = os.dup(stdout.fileno())
                stack.callback(os.close, original)
                stack.callback(os.dup2, original, stdout.fileno())
                os.dup2(stderr.fileno(), stdout.fileno())
        yield


def run_and_report(
    plan: Plan,
    store: str,
    output: Output,
    *,
    environment_files: Sequence[Path],
    resumed: bool = False,
    reuse: str | None = None,
) -> int:
    """Run a plan with progress, write the reports, and return the exit code.

    `environment_files` are the `.env` files that were read. No report overwrites them.
    """
    url = None if store == "none" else store
    if url is None and reuse is not None:
        raise UsageError("--reuse needs the store of the earlier run, got --store none")
    cassette = plan.judges.models.cassette
    inputs = [*inputs_of(plan.info.config), *environment_files, *store_file(url), *([cassette] if cassette else [])]
    output.reports.refuse_inputs(inputs)
    output.reports.check_baseline(url or DEFAULT_URL)
    with reader_may_leave():
        _announce(plan, output)
    try:
        with output.only_report_on_stdout(), Progress(plan.total, quiet=output.quiet) as progress:

            def on_result(result: CaseResult) -> None:
                progress.advance(good=result.verdict in (Verdict.PASSED, Verdict.INFORMATIONAL))

            run = api.execute(plan, store=url, on_result=on_result, resumed=resumed, reuse=reuse)
    except KeyboardInterrupt:
        click.echo("\ninterrupted", err=True)
        if url is not None and plan.agent is not None:
            command = api.resume_command(plan.info, url)
            click.echo(f"finished attempts are stored; continue with: {command}", err=True)
        return exit_codes.INTERRUPTED
    show = "" if url is None else flags.show_command(run.info.id, url)
    options = output.reports.options(run, url or DEFAULT_URL, show)
    problems = output.reports.write(run, options)
    with reader_may_leave():
        _print(run, output, options)
    if problems:
        raise UsageError("\n".join(problems))
    decision = run.summary.decision
    code = _EXIT[run.verdict] if decision is None else _DECIDED[decision.verdict]
    if decision is None and code == exit_codes.UNSCORED and options.allow_unscored:
        click.echo("unscored, which --allow-unscored allows: exit code 0", err=True)
        return exit_codes.OK
    return code


def _announce(plan: Plan, output: Output) -> None:
    warnings = list(dict.fromkeys(plan.warnings))
    for warning in warnings[:_SHOWN_WARNINGS]:
        click.echo(f"warning: {visible_line(warning)}", err=True)
    if len(warnings) > _SHOWN_WARNINGS:
        click.echo(f"… and {len(warnings) - _SHOWN_WARNINGS} more warnings; `fairtrial check` lists them all", err=True)
    if not output.quiet:
        origins = ", ".join(origin for origin, _ in plan.info.config["criteria"])
        defaults = " (tool_trajectory_avg_score 1.0, response_match_score 0.8)" if origins == "defaults" else ""
        output.terminal.print(visible_line(f"criteria: {origins}{defaults}"), style="dim")
        for name, signature in plan.info.signatures.items():
            if "backend" in signature:
                output.terminal.print(visible_line(f"{name}: backend {signature['backend']}"), style="dim")


def _print(run: Run, output: Output, options: ReportOptions) -> None:
    if output.quiet:
        api.print_verdict(output.terminal, run, show=options.show)
    else:
        api.print_run(output.terminal, run, show=options.show)
    output.reports.print(run, options)
    if options.show and not output.quiet:
        output.terminal.print(f"run {run.info.id}; {options.show} [CASE]", style="dim")
