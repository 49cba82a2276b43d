"""Options, reports and exit codes that `run` and `score` share."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, redirect_stdout, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairtrial import api
from fairtrial.cli import exit_codes
from fairtrial.cli.console import Terminated, console, echo, interrupted_by_sigterm, reader_may_leave
from fairtrial.cli.headed_command import under
from fairtrial.cli.options import flags
from fairtrial.cli.options.pushing_flags import push_options, push_run
from fairtrial.cli.outputs.alarm_posts import AlarmPosts
from fairtrial.cli.outputs.github import is_github, step_summary, without_commands, write_annotations
from fairtrial.cli.outputs.output_files import collect_inputs, store_file
from fairtrial.cli.outputs.report_files import ReportFiles, report_options
from fairtrial.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from fairtrial.records.gate import Claim
    from fairtrial.records.result import CaseResult, Verdict

_EXIT = {
    "passed": exit_codes.OK,
    "failed": exit_codes.FAILED,
    "unscored": exit_codes.UNSCORED,
    "informational": exit_codes.OK,
}
_DECISION_EXITS = {"passed": exit_codes.OK, "failed": exit_codes.FAILED, "undecided": exit_codes.UNSCORED}
"""The exit codes of claims. They replace the verdict of the run."""
WATCH_URL = "FAIRTRIAL_WATCH_URL"
"""The environment variable that names a service of alarms."""
_SHOWN_WARNINGS = 20


@dataclass(frozen=True)
class Output:
    """The outputs of a run: its reports and the terminal."""

    reports: ReportFiles
    quiet: bool
    verbose: bool = False
    full: bool = False
    github: bool = False
    push: str | None = None
    yes: bool = False

    def only_report_on_stdout(self) -> AbstractContextManager[object]:
        """Send the prints of agents, metrics and their processes to stderr, if stdout is for a report."""
        return stdout_as_stderr() if self.reports.on_stdout is not None else nullcontext()

    @property
    def terminal(self) -> Console:
        """The console for people. It is stderr if stdout is for a report."""
        return console(stderr=self.reports.on_stdout is not None)


@dataclass(frozen=True)
class RunLabels:
    """The name and the tags of a run, and the options that leave out cases and attempts."""

    name: str
    tags: tuple[str, ...]
    failed_from: str | None
    exit_first: bool


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
    labels: RunLabels

    def read_options(self, columns: Mapping[str, str], **more: Any) -> api.ReadOptions:
        """Return the options about reading, with the columns of tables and `more` options."""
        return api.ReadOptions(self.only, self.lenient, columns, self.allow_code, self.thresholds, **more)

    def run_arguments(
        self, evalset: tuple[str, ...], agent: str | None, columns: dict[str, str], reply_timeout: float | None
    ) -> dict[str, Any]:
        """Return the arguments that a run of an agent stores, by their names. Those that are left out are None."""
        return {
            "paths": list(evalset) or None,
            "agent": agent,
            "config": str(self.config) if self.config else None,
            "only": list(self.only) or None,
            "thresholds": self.thresholds or None,
            "lenient": self.lenient or None,
            "columns": columns or None,
            "allow_code": self.allow_code or None,
            "reply_timeout": reply_timeout,
        }

    def choose(self, plan: api.Plan) -> api.Plan:
        """Return a plan with the name and the tags of the run, and only with the cases that it is to have."""
        url = api.DEFAULT_URL if self.store == "none" else self.store
        labels = self.labels
        labelled_plan = api.with_labels(plan, name=labels.name, tags=labels.tags, exit_first=labels.exit_first)
        return labelled_plan if labels.failed_from is None else api.only_failed(labelled_plan, labels.failed_from, url)


_CONFIG = click.option(
    "--config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="An EvalConfig for all files. Default: the nearest test_config.json, else ADK's defaults.",
)
_FAILED_FROM = click.option("--failed-from", metavar="RUN", help="Only cases that did not pass in an earlier run.")
_STORE = click.option(
    "--store",
    default=api.DEFAULT_URL,
    show_default=True,
    metavar="URL",
    help="The store of the run. Any SQLAlchemy URL, or none.",
)
_TERMINAL = (
    click.option("--quiet", "-q", is_flag=True, help="Print the verdict only."),
    click.option("--verbose", "-v", is_flag=True, help="Open the cases that passed, too."),
)
_RARE_TERMINAL = (
    click.option("--full", is_flag=True, help="Fold no text of a conversation."),
    click.option(
        "--github/--no-github",
        default=None,
        help="Write annotations and a step summary for GitHub Actions.  [default: if GITHUB_ACTIONS is true]",
    ),
)
_LABELS = (
    click.option("--name", metavar="TEXT", help="A name for the run; `fairtrial runs --name` finds it."),
    click.option("--tag", "tags", multiple=True, metavar="TEXT", help="A tag for the run. Repeatable."),
)
_EXITFIRST = click.option("--exitfirst", "-x", is_flag=True, help="Stop at the first attempt that does not pass.")
_OPTIONS = (
    under("Criteria", _CONFIG, flags.thresholds),
    under("Criteria", flags.lenient, flags.allow_code, rare=True),
    under("Input", flags.only),
    under("Input", _FAILED_FROM, rare=True),
    under("Limits", flags.concurrency),
    under("Limits", _EXITFIRST, rare=True),
    report_options,
    push_options,
    under("Reports", *_TERMINAL),
    under("Reports", *_RARE_TERMINAL, rare=True),
    under("Store", _STORE),
    under("Store", *_LABELS, rare=True),
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
        verbose: bool,
        full: bool,
        github: bool | None,
        name: str | None,
        tags: tuple[str, ...],
        failed_from: str | None,
        exitfirst: bool,
        push: str | None,
        yes: bool,
        **other_options: Any,
    ) -> Any:
        in_github = is_github() if github is None else github
        output_reports = with_step_summary(reports) if in_github else reports
        output = Output(output_reports, quiet, verbose, full, in_github, push, yes)
        labels = RunLabels(name or "", tags, failed_from, exitfirst)
        common = Common(config, lenient, allow_code, only, thresholds, concurrency, store, output, labels)
        return command(*args, common=common, **other_options)

    return flags.with_options(call_with_common, *_OPTIONS)


def with_step_summary(reports: ReportFiles) -> ReportFiles:
    """Return the files with the step summary of GitHub, unless Markdown goes to another file."""
    path = step_summary()
    if path is None or "markdown" in reports.paths:
        return reports
    return replace(reports, paths={**reports.paths, "markdown": path})


@dataclass(frozen=True)
class RunGate:
    """The claims that decide the exit code of a run after its last attempt."""

    claims: tuple[Claim, ...]
    against: str | None
    even_so: bool

    def decide(self, run: api.Run, store: str, output: Output) -> int:
        """Print the decision, and return its exit code."""
        decision = api.gate(run, self.claims, against=self.against, even_so=self.even_so, store=store)
        with reader_may_leave():
            api.print_gate(output.terminal, decision, below_table=not output.quiet)
        return _DECISION_EXITS[decision.verdict]


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
    plan: api.Plan,
    store: str,
    output: Output,
    *,
    environment_files: Sequence[Path],
    resumed: bool = False,
    reuse: str | None = None,
    gate: RunGate | None = None,
) -> int:
    """Run a plan with progress, write the reports, and return the exit code.

    `environment_files` are the `.env` files that were read. No report overwrites them.
    """
    from fairtrial.cli.progress import Progress

    url = None if store == "none" else store
    if url is None and reuse is not None:
        raise UsageError("--reuse needs the store of the earlier run, got --store none", code="missing-option")
    cassette = plan.judges.models.cassette
    inputs = [
        *collect_inputs(plan.info.config),
        *environment_files,
        *store_file(url),
        *([cassette] if cassette else []),
    ]
    output.reports.refuse_inputs(inputs)
    output.reports.check_store(url)
    with reader_may_leave():
        announce(plan, output)
    try:
        activity = "scoring" if plan.agent is None else "talking to the agent"
        with (
            interrupted_by_sigterm(),
            output.only_report_on_stdout(),
            Progress(plan.total, quiet=output.quiet, activity=activity) as progress,
        ):

            def on_result(result: CaseResult, verdict: Verdict) -> None:
                progress.advance(good=_EXIT.get(verdict) == exit_codes.OK, name=result.title)

            run = api.execute(
                plan,
                store=url,
                on_result=on_result,
                on_recording=lambda _: progress.record(),
                on_batch=progress.show,
                on_wait=progress.show,
                resumed=resumed,
                reuse=reuse,
            )
    except KeyboardInterrupt as interrupt:
        echo("\ninterrupted", err=True)
        if url is not None and plan.agent is not None:
            command = api.resume_command(plan.info, url)
            echo(f"finished attempts are stored; continue with: {command}", err=True)
        if plan.judges.models.batch is not None:
            echo("batches stay at their provider, and the same command waits for the same batches", err=True)
        return exit_codes.TERMINATED if isinstance(interrupt, Terminated) else exit_codes.INTERRUPTED
    code = report_run(run, url, output)
    return code if gate is None else gate.decide(run, url or api.DEFAULT_URL, output)


def open_posts(store: str | None) -> AlarmPosts | None:
    """Return what posts the alarms of a run, or None if it has no store, or if no URL is configured."""
    address = os.environ.get(WATCH_URL)
    return AlarmPosts(store, address) if store is not None and address else None


def report_run(run: api.Run, url: str | None, output: Output, posts: AlarmPosts | None = None) -> int:
    """Write the reports of a run, and return the exit code. `url` is its store, or None without a store.

    `posts` has posted alarms of the run before.
    """
    show = "" if url is None else flags.show_command(run.info.id, url)
    options = output.reports.options(run, url, show)
    problems = output.reports.write(run, options)
    with reader_may_leave():
        stream = sys.stderr if output.reports.on_stdout is not None else sys.stdout
        with without_commands(stream) if output.github else nullcontext():
            _print(run, output, options)
        if output.github:
            write_annotations(stream, run)
    if problems:
        raise UsageError("\n".join(problems), code="unwritable-file")
    if output.push is not None:
        push_run(run, output.push, yes=output.yes)
    if posts := posts or open_posts(url):
        posts.look(run.info)
    return choose_exit_code(run, allow_unscored=options.allow_unscored)


def choose_exit_code(run: api.Run, *, allow_unscored: bool) -> int:
    """Return the exit code of a run that ended."""
    decision = run.summary.decision
    code = _EXIT[run.verdict] if decision is None else _DECISION_EXITS[decision.verdict]
    if decision is None and code == exit_codes.UNSCORED and allow_unscored:
        echo("unscored, which --allow-unscored allows: exit code 0", err=True)
        return exit_codes.OK
    return code


def announce(plan: api.Plan, output: Output) -> None:
    """Print the warnings of a plan, and the origin of its criteria."""
    from fairtrial.text.display import visible_line

    warnings = list(dict.fromkeys(plan.warnings))
    for warning in warnings[:_SHOWN_WARNINGS]:
        echo(f"warning: {visible_line(warning)}", err=True)
    if len(warnings) > _SHOWN_WARNINGS:
        echo(f"… and {len(warnings) - _SHOWN_WARNINGS} more warnings; `fairtrial check` lists them all", err=True)
    if not output.quiet:
        for note in plan.notes:
            echo(f"note: {visible_line(note)}", err=True)
        origins = ", ".join(origin for origin, _ in plan.info.config["criteria"])
        signatures = plan.info.signatures.items()
        gates = [(name, value.get("threshold")) for name, value in signatures if isinstance(value, dict)]
        thresholds = ", ".join(f"{name} {threshold}" for name, threshold in gates if threshold is not None)
        defaults = f" ({thresholds})" if origins == "defaults" else ""
        output.terminal.print(visible_line(f"criteria: {origins}{defaults}"), style="dim")
        for name, signature in plan.info.signatures.items():
            if "backend" in signature:
                output.terminal.print(visible_line(f"{name}: backend {signature['backend']}"), style="dim")


def _print(run: api.Run, output: Output, options: api.ReportOptions) -> None:
    if output.quiet:
        api.print_verdict(output.terminal, run, show=options.show)
    else:
        api.print_run(output.terminal, run, verbose=output.verbose, full=output.full, show=options.show)
    output.reports.print(run, options)
    if options.show and not output.quiet:
        output.terminal.print(f"run {run.info.id}; {options.show} [CASE]", style="dim")
