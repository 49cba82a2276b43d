"""Which files does a report of a run become? The same files at the end of a run and from the store."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairtrial.api import REPORTS
from fairtrial.cli import flags
from fairtrial.cli.output_files import FileToWrite, refuse_overwriting
from fairtrial.errors import UsageError

if TYPE_CHECKING:
    from fairtrial.api import Report, Run

_STDOUT = Path("-")


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option of each report. The command receives `reports`, the paths by the names of the reports."""

    @functools.wraps(command)
    def call_with_reports(*args: Any, **options: Any) -> Any:
        paths = {report.name: options.pop(_parameter(report)) for report in REPORTS}
        return command(*args, reports={name: path for name, path in paths.items() if path is not None}, **options)

    return flags.with_options(call_with_reports, *map(_option, REPORTS))


def _option(report: Report) -> flags.Option:
    kind = click.Path(path_type=Path) if report.is_folder or report.on_stdout else FileToWrite()
    metavar = "DIR" if report.is_folder else "FILE"
    return click.option(report.option, _parameter(report), metavar=metavar, type=kind, help=report.help)


def _parameter(report: Report) -> str:
    return f"{report.name.replace('-', '_')}_report"


@dataclass(frozen=True)
class ReportFiles:
    """The files that a user asks for, by the names of their reports.

    With `allow_unscored`, JUnit XML skips a case without a verdict instead of calling it an error.
    """

    paths: Mapping[str, Path]
    allow_unscored: bool

    def __post_init__(self) -> None:
        """Find out before anything runs that a file cannot be written. Raises UsageError."""
        for report in self._of_files:
            path = self.paths[report.name]
            _make_room(report.option, path if report.is_folder else path.parent)
            if path.is_dir() and not report.is_folder:
                raise UsageError(f"{report.option}: must be a file, got the folder {path}")

    @property
    def _of_files(self) -> list[Report]:
        return [report for report in REPORTS if self.paths.get(report.name, _STDOUT) != _STDOUT]

    @property
    def on_stdout(self) -> Report | None:
        """The report that goes to stdout, if there is one."""
        return next((report for report in REPORTS if self.paths.get(report.name) == _STDOUT), None)

    def refuse_inputs(self, inputs: Sequence[Path]) -> None:
        """Raise UsageError if a file to write is a file that the run reads."""
        for report in self._of_files:
            refuse_overwriting(report.option, self.paths[report.name], inputs)

    def write(self, run: Run) -> list[str]:
        """Write the files, and return the problems of files that could not be written.

        The files are written before anything is printed, since the reader of a terminal may leave.
        """
        problems: list[str] = []
        for report in self._of_files:
            path = self.paths[report.name]
            try:
                report.write(path, run, allow_unscored=self.allow_unscored)
            except OSError as error:
                problems.append(f"{report.option}: cannot write {path}: {error.strerror or error}")
        return problems

    def print(self, run: Run) -> None:
        """Print the report that goes to stdout, if there is one."""
        if self.on_stdout is not None:
            self.on_stdout.write_to(sys.stdout.buffer, run, allow_unscored=self.allow_unscored)
            sys.stdout.buffer.flush()


def _make_room(option: str, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{option}: cannot write to the folder {folder}: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{option}: cannot write to the folder {folder}")
