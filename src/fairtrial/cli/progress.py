"""The progress bar of a run's attempts."""

from __future__ import annotations

import sys
import time
from typing import Any, Self

from fairtrial.cli.console import echo
from fairtrial.text.display import shorten, visible_line

_NAME_WIDTH = 30
_LOG_INTERVAL = 10.0
"""The shortest time in seconds between two lines of a log."""


class Progress:
    """The progress of a run on stderr: a bar in a terminal, a line every 10 seconds in a log.

    It says which step is under way, for example "talking to the agent, 3 conversations in scoring".
    """

    def __init__(self, total: int, *, quiet: bool, activity: str = "scoring", problem: str = "not passed") -> None:
        self._total = total
        self._quiet = quiet
        self._recorded_count = 0
        self._finished_count = 0
        self._problem_count = 0
        self._latest = ""
        self._activity = activity
        self._problem = problem
        self._last_line = time.monotonic()
        self._bar: Any = None

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            text = TextColumn("{task.description}", markup=False)
            columns = (text, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True, force_jupyter=False), transient=True)
            self._bar.start()
            self._bar.add_task(self._description, total=self._total)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def record(self) -> None:
        """Count one conversation that has ended and is not scored yet."""
        self._recorded_count += 1
        self._show()

    def advance(self, *, good: bool, name: str = "") -> None:
        """Count one finished attempt, and show its name."""
        self._finished_count += 1
        self._problem_count += not good
        self._latest = name
        self._show()

    def show(self, text: str) -> None:
        """Show a message."""
        if self._bar is not None:
            self._bar.console.print(visible_line(text))
        elif not self._quiet:
            echo(visible_line(text), err=True)

    @property
    def _description(self) -> str:
        waiting = self._recorded_count - self._finished_count
        parts = [self._activity]
        if waiting > 0:
            parts.append(f"{waiting} in scoring")
        if self._problem_count:
            parts.append(f"{self._problem_count} {self._problem}")
        if self._latest:
            parts.append(f"last: {shorten(visible_line(self._latest), _NAME_WIDTH)}")
        return ", ".join(parts)

    def _show(self) -> None:
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._finished_count, description=self._description)
        elif not self._quiet and time.monotonic() - self._last_line > _LOG_INTERVAL:
            self._last_line = time.monotonic()
            echo(f"{self._finished_count} of {self._total}: {self._description}", err=True)
