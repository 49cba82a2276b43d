"""How many attempts of a run are finished?"""

from __future__ import annotations

import sys
import time
from typing import Any, Self

import click
from rich.console import Console

_LOG_INTERVAL = 10.0
"""The shortest time in seconds between two lines of a log."""


class Progress:
    """The progress of a run on stderr: a bar in a terminal, a line every 10 seconds in a log."""

    def __init__(self, total: int, *, quiet: bool, activity: str = "scoring", problem: str = "not passed") -> None:
        self._total = total
        self._quiet = quiet
        self._finished_count = 0
        self._problem_count = 0
        self._activity = activity
        self._problem = problem
        self._last_line = time.monotonic()
        self._bar: Any = None

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._bar.add_task(self._activity, total=self._total)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, *, good: bool) -> None:
        """Count one finished attempt."""
        self._finished_count += 1
        self._problem_count += not good
        if self._bar is not None:
            problems = f", {self._problem_count} {self._problem}" if self._problem_count else ""
            description = f"{self._activity}{problems}"
            self._bar.update(self._bar.task_ids[0], completed=self._finished_count, description=description)
        elif not self._quiet and time.monotonic() - self._last_line > _LOG_INTERVAL:
            self._last_line = time.monotonic()
            counts = f"{self._finished_count} of {self._total}, {self._problem_count} {self._problem}"
            click.echo(counts, err=True)
