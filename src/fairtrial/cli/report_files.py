"""Which files does a report of a run become? The same files at the end of a run and from the store."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairtrial.cli import flags
from fairtrial.cli.output_files import FileToWrite
from fairtrial.errors import UsageError

if TYPE_CHECKING:
    from fairtrial.api import Run

_OPTIONS: tuple[flags.Option, ...] = (
    click.option("--json", "json_file", metavar="FILE", help="Write the results as JSON; - is stdout."),
    click.option("--junit", metavar="FILE", type=FileToWrite(), help="Write JUnit XML to a file."),
    click.option(
        "--adk-results",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="Write ADK's .evalset_result.json, a file for each eval set.",
    ),
)


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for files; the command receives them as `json_file`, `junit` and `adk_results`."""
    return flags.with_options(command, *_OPTIONS)


@dataclass(frozen=True)
class ReportFiles:
    """The files that a user asks for. With `allow_unscored`, JUnit XML skips an unscored case instead of an error."""

    json_file: str | None
    junit: Path | None
    adk_results: Path | None
    allow_unscored: bool

    def __post_init__(self) -> None:
        """Find out before anything runs that a file cannot be written. Raises UsageError."""
        for option, given in (("--json", self.json_file), ("--junit", self.junit)):
            if given and str(given) != "-":
                _make_room(option, Path(given).parent)
                if Path(given).is_dir():
                    raise UsageError(f"{option}: must be a file, got the folder {given}")
        if self.adk_results:
            _make_room("--adk-results", self.adk_results)

    def write(self, run: Run) -> list[str]:
        """Write the files; return the problems of those that could not be written.

        The files are written before anything is printed, since the reader of a terminal may leave.
        """
        problems: list[str] = []
        for option, path, write in self._writers(run):
            try:
                write(path)
            except OSError as error:
                problems.append(f"{option}: cannot write {path}: {error.strerror or error}")
        return problems

    def print_json(self, run: Run) -> None:
        """Print the JSON report if it is for stdout."""
        if self.json_file == "-":
            from fairtrial.reports import json_report

            json_report.write(sys.stdout.buffer, run.info, run.summary, run.cases)
            sys.stdout.buffer.flush()

    def _writers(self, run: Run) -> Iterator[tuple[str, Path, Callable[[Path], object]]]:
        if self.json_file and self.json_file != "-":
            yield "--json", Path(self.json_file), lambda path: _write_json(run, path)
        if self.junit:
            from fairtrial.reports.junit import write as write_junit

            yield (
                "--junit",
                self.junit,
                lambda path: write_junit(path, run.info, run.summary, run.cases, allow_unscored=self.allow_unscored),
            )
        if self.adk_results:
            from fairtrial.reports.adk_results import write as write_adk

            yield (
                "--adk-results",
                self.adk_results,
                lambda path: write_adk(path, run.info, list(run.expected), run.cases, run.recordings),
            )


def _write_json(run: Run, path: Path) -> None:
    from fairtrial.reports import json_report

    with path.open("wb") as file:
        json_report.write(file, run.info, run.summary, run.cases)


def _make_room(option: str, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{option}: cannot write to the folder {folder}: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{option}: cannot write to the folder {folder}")
