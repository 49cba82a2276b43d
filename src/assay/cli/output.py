"""What do `run` and `score` have in common? Options, progress, reports and exit codes."""

from __future__ import annotations

import errno
import functools
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TextIO

import click
from rich.console import Console

from assay import api
from assay.api import Plan, Run
from assay.cli.files import FileToWrite
from assay.data.outcome import CaseResult, Verdict
from assay.errors import UsageError
from assay.report import json
from assay.report.summary import closing
from assay.report.terminal import print_report
from assay.store import DEFAULT_URL
from assay.text.display import visible

EXIT = {Verdict.PASSED: 0, Verdict.FAILED: 1, Verdict.UNSCORED: 3}
_INTERRUPTED = 130
_WARNINGS = 20
_PIPED_WIDTH = 120
_SILENCE = 10.0
_FILLING = re.compile(r" +(?=\n|$)")


@dataclass(frozen=True)
class Output:
    """Where the results of a run go."""

    json_file: str | None
    junit: Path | None
    adk_results: Path | None
    allow_unscored: bool
    quiet: bool

    def __post_init__(self) -> None:
        """Find out before anything runs that a report could not be written. Raises UsageError."""
        for option, given in (("--json", self.json_file), ("--junit", self.junit)):
            if given and str(given) != "-":
                _make_room(option, Path(given).parent)
                if Path(given).is_dir():
                    raise UsageError(f"{option}: must be a file, got the folder {given}")
        if self.adk_results:
            _make_room("--adk-results", self.adk_results)

    def only_json_on_stdout(self) -> AbstractContextManager[object]:
        """Send to stderr what an agent, a metric or a process of theirs prints, where stdout is for JSON."""
        return stdout_as_stderr() if self.json_file == "-" else nullcontext()

    @property
    def terminal(self) -> Console:
        """The terminal, or what stands in for it; stderr where stdout is taken by JSON."""
        return console(stderr=self.json_file == "-")


@dataclass(frozen=True)
class Common:
    """What `run` and `score` are told alike."""

    config: Path | None
    lenient: bool
    only: tuple[str, ...]
    concurrency: int
    store: str
    output: Output


def common_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that every scoring command takes; the command receives them as `common`."""

    @functools.wraps(command)
    def gathered(
        *args: Any,
        config: Path | None,
        lenient: bool,
        only: tuple[str, ...],
        concurrency: int,
        store: str,
        json_file: str | None,
        junit: Path | None,
        adk_results: Path | None,
        allow_unscored: bool,
        quiet: bool,
        **own: Any,
    ) -> Any:
        output = Output(json_file, junit, adk_results, allow_unscored, quiet)
        return command(*args, common=Common(config, lenient, only, concurrency, store, output), **own)

    options = (
        click.option(
            "--config",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="An EvalConfig for all files. Default: the nearest test_config.json, else ADK's defaults.",
        ),
        click.option("--lenient", is_flag=True, help="Unknown options and misspelt keys are warnings."),
        click.option(
            "--only", multiple=True, metavar="ID", help="Only cases with this id; * and ? are wildcards. Repeatable."
        ),
        click.option(
            "--concurrency", default=8, show_default=True, type=click.IntRange(1), help="How many cases at once."
        ),
        click.option("--json", "json_file", metavar="FILE", help="Write the results as JSON; - is stdout."),
        click.option("--junit", metavar="FILE", type=FileToWrite(), help="Write JUnit XML to a file."),
        click.option(
            "--adk-results",
            metavar="DIR",
            type=click.Path(path_type=Path),
            help="Write ADK's .evalset_result.json, a file for each eval set.",
        ),
        click.option(
            "--store",
            default=DEFAULT_URL,
            show_default=True,
            metavar="URL",
            help="Where the run is kept: any SQLAlchemy URL, or none.",
        ),
        click.option("--allow-unscored", is_flag=True, help="Exit with 0 instead of 3 where something is unscored."),
        click.option("--quiet", "-q", is_flag=True, help="Print the verdict only."),
    )
    made: Callable[..., Any] = gathered
    for option in reversed(options):
        made = option(made)
    return made


@contextmanager
def stdout_as_stderr() -> Iterator[None]:
    """Send what is printed to stderr, also by processes that are started."""
    with redirect_stdout(sys.stderr), ExitStack() as stack:
        with suppress(OSError):  # of a stream that is no file there is nothing that a process could inherit
            own, errors = sys.__stdout__, sys.__stderr__
            if own is not None and errors is not None:
                own.flush()
                kept = os.dup(own.fileno())
                stack.callback(os.close, kept)
                stack.callback(os.dup2, kept, own.fileno())
                os.dup2(errors.fileno(), own.fileno())
        yield


def _make_room(option: str, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{option}: cannot write to the folder {folder}: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{option}: cannot write to the folder {folder}")


class _Console(Console):
    """A console whose reader may leave: that is no reason to forget the verdict."""

    def on_broken_pipe(self) -> None:
        """Leave it to the caller."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def console(*, stderr: bool = False) -> Console:
    """Return a console that is plain text, without spaces at the ends of lines, where nobody watches."""
    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty():
        return _Console(file=stream, highlight=False, emoji=False, markup=False)
    plain: Any = _Trimmed(stream)
    return _Console(file=plain, width=_PIPED_WIDTH, highlight=False, emoji=False, markup=False)


class _Trimmed:
    """A stream that lines reach without the spaces that fill them up to the width."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.encoding = stream.encoding

    def write(self, text: str) -> int:
        """Write whole lines, trimmed."""
        self._stream.write(_FILLING.sub("", text))
        return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()


def go(plan: Plan, store: str, output: Output, *, resumed: bool = False, reuse: str | None = None) -> int:
    """Run a plan with progress, write the reports, and return the exit code."""
    url = None if store == "none" else store
    if url is None and reuse is not None:
        raise UsageError("--reuse needs the store that the run is in, got --store none")
    with _reader_may_leave():
        _announce(plan, output)
    try:
        with output.only_json_on_stdout(), Progress(plan.total, quiet=output.quiet) as progress:

            def heard(result: CaseResult) -> None:
                progress.advance(good=result.verdict in (Verdict.PASSED, Verdict.INFORMATIONAL))

            run = api.execute(plan, store=url, on_result=heard, resumed=resumed, reuse=reuse)
    except KeyboardInterrupt:
        click.echo("\ninterrupted", err=True)
        if url is not None and plan.agent is not None:
            again = "" if url == DEFAULT_URL else " --store URL"  # a URL may hold a password
            click.echo(f"what is finished is kept; go on with: assay run --resume {plan.info.id}{again}", err=True)
        return _INTERRUPTED
    problems = _write_files(run, plan, output)
    with _reader_may_leave():
        _print(run, output, store=url)
    if problems:
        raise UsageError("\n".join(problems))
    code = EXIT[run.verdict]
    if code == EXIT[Verdict.UNSCORED] and output.allow_unscored:
        click.echo("unscored, and allowed to be (--allow-unscored): exit code 0", err=True)
        return 0
    return code


def _announce(plan: Plan, output: Output) -> None:
    warnings = list(dict.fromkeys(plan.warnings))
    for warning in warnings[:_WARNINGS]:
        click.echo(f"warning: {visible(warning)}", err=True)
    if len(warnings) > _WARNINGS:
        click.echo(f"… and {len(warnings) - _WARNINGS} more warnings; `assay check` lists them all", err=True)
    if not output.quiet:
        origins = ", ".join(origin for origin, _ in plan.info.config["criteria"])
        defaults = " (tool_trajectory_avg_score 1.0, response_match_score 0.8)" if origins == "defaults" else ""
        output.terminal.print(visible(f"criteria: {origins}{defaults}"), style="dim")
        for name, signed in plan.info.signatures.items():
            if "backend" in signed:
                output.terminal.print(visible(f"{name}: backend {signed['backend']}"), style="dim")


@contextmanager
def _reader_may_leave() -> Iterator[None]:
    """Go on where nobody reads stdout any more: the verdict is what it is."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write_files(run: Run, plan: Plan, output: Output) -> list[str]:
    """Write them before anything is printed: whoever reads the terminal may stop reading.

    Return what could not be written, and why: the run is no less done.
    """
    problems: list[str] = []
    for option, path, write in _files(run, plan, output):
        try:
            write(path)
        except OSError as error:
            problems.append(f"{option}: cannot write {path}: {error.strerror or error}")
    return problems


def _files(run: Run, plan: Plan, output: Output) -> Iterator[tuple[str, Path, Callable[[Path], object]]]:
    if output.json_file and output.json_file != "-":
        yield "--json", Path(output.json_file), lambda path: _write_json(run, path)
    if output.junit:
        from assay.report.junit import write as write_junit

        allow = output.allow_unscored
        yield (
            "--junit",
            output.junit,
            lambda path: write_junit(path, run.info, run.summary, run.cases, allow_unscored=allow),
        )
    if output.adk_results:
        from assay.report.adk import write as write_adk

        yield (
            "--adk-results",
            output.adk_results,
            lambda path: write_adk(path, run.info, plan.works, run.cases, run.recordings),
        )


def _write_json(run: Run, path: Path) -> None:
    with path.open("wb") as file:
        json.write(file, run.info, run.summary, run.cases)


def _print(run: Run, output: Output, *, store: str | None) -> None:
    elsewhere = "" if store == DEFAULT_URL else " --store URL"  # a URL may hold a password
    show = "" if store is None else f"assay show {run.info.id}{elsewhere}"
    if output.quiet:
        output.terminal.print(closing(run.info, run.summary, show=show))
    else:
        print_report(output.terminal, run.info, run.summary, run.cases, show=show)
    if output.json_file == "-":
        json.write(sys.stdout.buffer, run.info, run.summary, run.cases)
        sys.stdout.buffer.flush()
    if show and not output.quiet:
        output.terminal.print(f"run {run.info.id}; assay show {run.info.id} [CASE]{elsewhere}", style="dim")


class Progress:
    """How far a run is: a bar for people, a line now and then for logs; both on stderr."""

    def __init__(self, total: int, *, quiet: bool, doing: str = "scoring", bad: str = "not passed") -> None:
        self._total = total
        self._quiet = quiet
        self._done = 0
        self._bad = 0
        self._words = (doing, bad)
        self._said = time.monotonic()
        self._bar: Any = None

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._bar.add_task(self._words[0], total=self._total)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, *, good: bool) -> None:
        """Count one."""
        self._done += 1
        self._bad += not good
        doing, bad = self._words
        if self._bar is not None:
            said = f"{doing}, {self._bad} {bad}" if self._bad else doing
            self._bar.update(self._bar.task_ids[0], completed=self._done, description=said)
        elif not self._quiet and time.monotonic() - self._said > _SILENCE:
            self._said = time.monotonic()
            click.echo(f"{self._done} of {self._total}, {self._bad} {bad}", err=True)
