"""Write the report files of a run, the same at the end of a run and from the store."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairtrial import api
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import Decorator, language_option, under
from fairtrial.cli.outputs.output_files import FileToWrite, refuse_overwriting
from fairtrial.errors import UsageError

if TYPE_CHECKING:
    from fairtrial.api import Report, Run

from typing import Literal

Traces = Literal["all", "failed", "none"]

_OPTIONS = (
    click.option(
        "--traces",
        type=click.Choice(["all", "failed", "none"]),
        help="The conversations in the HTML report. Default: all up to 50 MB, else those that did not pass.",
    ),
    language_option(
        "The language of the terminal and of the HTML report. Default: FAIRTRIAL_LANG, or the locale, and the "
        "language of the browser."
    ),
)


def page_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of HTML reports."""
    return under("Reports", *_OPTIONS, rare=True)(command)


_STDOUT = Path("-")
_HISTORY = click.option(
    "--history", "with_history", is_flag=True, help="With --html: add the series of the run, as `fairtrial history`."
)


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option of each report and the options about reports. The command receives `reports`."""

    @functools.wraps(command)
    def call_with_reports(
        *args: Any,
        baseline: str | None,
        allow_unscored: bool,
        traces: Traces | None,
        language: str | None,
        with_history: bool,
        **options: Any,
    ) -> Any:
        paths = {report.name: options.pop(_parameter(report)) for report in api.REPORTS}
        chosen = {name: path for name, path in paths.items() if path is not None}
        files = ReportFiles(chosen, allow_unscored, baseline, traces, language or "", with_history=with_history)
        return command(*args, reports=files, **options)

    frequent = [report for report in api.REPORTS if report.name in _FREQUENT]
    rare_reports = [report for report in api.REPORTS if report.name not in _FREQUENT]
    rare = under("Reports", *map(_option, rare_reports), _HISTORY, page_options, rare=True)
    return under("Reports", *map(_option, frequent), _baseline, _allow_unscored)(rare(call_with_reports))


_FREQUENT = ("json", "html", "junit", "markdown")


_baseline = click.option(
    "--baseline",
    metavar="RUN",
    help="Show the change since a run in --markdown and --html. RUN is an id of the store, or a file.",
)
_allow_unscored = click.option(
    "--allow-unscored",
    is_flag=True,
    help="Exit with 0 instead of 3 if a case is unscored. JUnit XML skips unscored cases.",
)


def _option(report: Report) -> Decorator:
    kind = click.Path(path_type=Path) if report.is_folder or report.on_stdout else FileToWrite()
    metavar = "DIR" if report.is_folder else "FILE"
    return click.option(report.option, _parameter(report), metavar=metavar, type=kind, help=report.help)


def _parameter(report: Report) -> str:
    return f"{report.name.replace('-', '_')}_report"


@dataclass(frozen=True)
class ReportFiles:
    """The files that a user asks for, by the names of their reports.

    With `allow_unscored`, JUnit XML skips a case without a verdict instead of calling it an error. `baseline` is the
    run with which reports compare. `traces`, `language`, `people` and `with_history` are about the HTML report.
    """

    paths: Mapping[str, Path]
    allow_unscored: bool = False
    baseline: str | None = None
    traces: Traces | None = None
    language: str = ""
    people: bool = False
    with_history: bool = False

    def __post_init__(self) -> None:
        """Find out before anything runs that a file cannot be written. Raises UsageError."""
        on_stdout = [report.option for report in api.REPORTS if self.paths.get(report.name) == _STDOUT]
        if len(on_stdout) > 1:
            raise UsageError(
                f"{' and '.join(on_stdout)}: only one report can go to standard output", code="options-conflict"
            )
        if self.baseline is not None and not self._is_compared:
            options = " or ".join(report.option for report in api.REPORTS if report.compares)
            raise UsageError(f"--baseline needs a report that shows it: {options}", code="missing-option")
        if self.with_history and "html" not in self.paths:
            raise UsageError("--history needs --html FILE, which shows the series of the run", code="missing-option")
        for report in self._file_reports:
            report.check_installed()
            path = self.paths[report.name]
            _make_room(report.option, path if report.is_folder else path.parent)
            if path.is_dir() and not report.is_folder:
                raise UsageError(f"{report.option}: must be a file, got the folder {path}")

    @property
    def _file_reports(self) -> list[Report]:
        return [report for report in api.REPORTS if self.paths.get(report.name, _STDOUT) != _STDOUT]

    @property
    def on_stdout(self) -> Report | None:
        """The report that goes to stdout, if there is one."""
        return next((report for report in api.REPORTS if self.paths.get(report.name) == _STDOUT), None)

    @property
    def _is_compared(self) -> bool:
        return any(report.compares for report in api.REPORTS if report.name in self.paths)

    def refuse_inputs(self, inputs: Sequence[Path]) -> None:
        """Raise UsageError if a file to write is a file that the run reads."""
        own = [Path(self.baseline)] if self.baseline is not None else []
        for report in self._file_reports:
            refuse_overwriting(report.option, self.paths[report.name], [*inputs, *own])

    def redacted(self, redact: str | None) -> ReportFiles:
        """Return the HTML report without personal data for `people`. Raises UsageError if it is not the only report."""
        if redact is None:
            return self
        from fairtrial.text.redaction.redact import make_finders

        if set(self.paths) != {"html"}:
            raise UsageError(
                "--redact people needs --html FILE, and no other report: only HTML is redacted", code="missing-option"
            )
        if self.with_history:
            raise UsageError(
                "--redact people leaves names of cases in a history; leave out --history", code="options-conflict"
            )
        make_finders(people=True)  # raises if the library is missing
        return replace(self, people=True)

    def check_store(self, store: str | None) -> None:
        """Raise UsageError if the run to compare with cannot be read, or if no store holds the series of the run."""
        if self.with_history and store is None:
            raise UsageError("--history needs a store, which holds the earlier runs", code="missing-option")
        if self.baseline is not None:
            api.check_baseline(self.baseline, store or api.DEFAULT_URL)

    def options(self, run: Run, store: str | None, show: str = "") -> api.ReportOptions:
        """Return what the reports need beside the run. `show` is the command that shows the run again."""
        url = store or api.DEFAULT_URL
        baseline = None if self.baseline is None else api.compare_with_baseline(self.baseline, run, url)
        base_run = None if self.baseline is None else api.find_base_run(self.baseline, url)
        history = api.history(run.info.id, store=url) if self.with_history else None
        return api.ReportOptions(
            self.allow_unscored, baseline, show, self.traces, self.language, _warn, base_run, self.people, history
        )

    def write(self, run: Run, options: api.ReportOptions) -> list[str]:
        """Write the files, and return the problems of files that could not be written.

        The files are written before anything is printed, since the reader of a terminal may leave.
        """
        problems: list[str] = []
        for report in self._file_reports:
            path = self.paths[report.name]
            try:
                report.write(path, run, options)
            except OSError as error:
                problems.append(f"{report.option}: cannot write {path}: {error.strerror or error}")
        return problems

    def print(self, run: Run, options: api.ReportOptions) -> None:
        """Print the report that goes to stdout, if there is one."""
        if self.on_stdout is not None:
            self.on_stdout.write_to(sys.stdout.buffer, run, options)
            sys.stdout.buffer.flush()


def _warn(text: str) -> None:
    from fairtrial.text.display import visible_line

    echo(f"warning: {visible_line(text)}", err=True)


def _make_room(option: str, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{option}: cannot write to the folder {folder}: {error.strerror}", code="unwritable-file"
        ) from None
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{option}: cannot write to the folder {folder}", code="unwritable-file")
