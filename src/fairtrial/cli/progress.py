"""How far is a run?"""

from __future__ import annotations

import sys
import time
from typing import Any, Self

import click
from rich.console import Console

_SILENCE = 10.0
"""Seconds between two lines of a log."""


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
