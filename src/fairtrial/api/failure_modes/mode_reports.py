"""Print the failure modes of a run in a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from fairtrial.api.failure_modes.run_modes import failures
from fairtrial.records.failure_mode import Failures, GuardCheck, ModeChanges
from fairtrial.reports.failures.failure_table import (
    changes_report,
    failures_report,
    guard_report,
    largest_report,
    mode_report,
)

if TYPE_CHECKING:
    from fairtrial.api.stored_runs import Run

_MOST_FAILED = 2_000
"""The most failed attempts of a run whose largest modes are shown below it. More take seconds to read."""


def print_failures(console: Console, shown: Failures | ModeChanges, *, mode: int | None = None, show: str = "") -> None:
    """Print the modes of a run, one of its modes, or how modes changed. `show` is the command that lists them."""
    if isinstance(shown, ModeChanges):
        console.print(changes_report(shown))
    elif mode is not None:
        console.print(mode_report(shown, mode))
    else:
        console.print(failures_report(shown, show=show))


def print_guard(console: Console, check: GuardCheck, path: Path) -> None:
    """Print the verdicts of a guard on the attempts of its run."""
    console.print(guard_report(check, str(path)))


def print_largest_modes(console: Console, run: Run, command: str) -> None:
    """Print the three largest failure modes of a run that failed, if it has any. `command` shows all of them."""
    failed = run.summary.cases.get("failed", 0) + run.summary.cases.get("error", 0)
    if 1 < failed <= _MOST_FAILED:
        console.print(largest_report(failures(run), command))
