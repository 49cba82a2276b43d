"""Score a data set into a folder, with progress and a resumable end."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console

from fairtrial import api
from fairtrial.cli import exit_codes
from fairtrial.cli.console import console, echo, reader_may_leave
from fairtrial.cli.options import flags
from fairtrial.cli.output import Common, choose_exit_code
from fairtrial.text.display import visible_line

if TYPE_CHECKING:
    from fairtrial.api import DatasetPlan, Shard, ShardReport

_LOG_INTERVAL = 10.0
"""The shortest time in seconds between two lines of a log."""


def score_dataset(plan: DatasetPlan, common: Common, *, resume: bool) -> int:
    """Score a data set with progress, print its numbers, and return the exit code."""
    for warning in dict.fromkeys(plan.warnings):
        echo(f"warning: {visible_line(warning)}", err=True)
    if not common.output.quiet and (estimate := plan.estimate):
        echo(visible_line(estimate), err=True)
    url = None if common.store == "none" else common.store
    try:
        with DatasetProgress(plan.size, quiet=common.output.quiet) as progress:
            run = plan.run(store=url, resume=resume, on_shard=progress.advance, on_batch=progress.show_batch)
    except KeyboardInterrupt:
        echo("\ninterrupted", err=True)
        echo("finished shards are in the folder; continue with the same command and --resume", err=True)
        if plan.judges.models.batch is not None:
            echo("batches stay at their provider, and --resume waits for the same batches", err=True)
        return exit_codes.INTERRUPTED
    with reader_may_leave():
        terminal = console(stderr=False)
        if common.output.quiet:
            api.print_verdict(terminal, run, show="")
        else:
            show = "" if url is None else flags.show_command(run.info.id, url)
            api.print_run(terminal, run, verbose=common.output.verbose, full=common.output.full, show=show)
            terminal.print(f"all results: {plan.location}; run {run.info.id}", style="dim", soft_wrap=True)
    return choose_exit_code(run, allow_unscored=common.output.reports.allow_unscored)


class DatasetProgress:
    """The progress of a data set on stderr, by bytes: a bar in a terminal, a line every 10 seconds in a log."""

    def __init__(self, size: int, *, quiet: bool) -> None:
        self._size = size
        self._quiet = quiet
        self._bytes = self._conversations = self._refused = 0
        self._started = self._last_line = time.monotonic()
        self._bar: Any = None

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True, force_jupyter=False), transient=True)
            self._bar.start()
            self._bar.add_task("scoring", total=self._size)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, shard: Shard, report: ShardReport) -> None:
        """Count a finished shard."""
        self._bytes += shard.size
        self._conversations += report.conversations
        self._refused += report.refused
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._bytes, description=self._description)
        elif not self._quiet and time.monotonic() - self._last_line > _LOG_INTERVAL:
            self._last_line = time.monotonic()
            share = self._bytes / self._size if self._size else 1.0
            remaining = (time.monotonic() - self._started) * (1 / share - 1) if share else 0.0
            echo(f"{share:.0%}: {self._description}, {remaining:,.0f} s left", err=True)

    def show_batch(self, text: str) -> None:
        """Show what happens to a batch at a provider."""
        if self._bar is not None:
            self._bar.console.print(visible_line(text))
        elif not self._quiet:
            echo(visible_line(text), err=True)

    @property
    def _description(self) -> str:
        rate = self._conversations / max(1e-9, time.monotonic() - self._started)
        refused = f", {self._refused:,} refused" if self._refused else ""
        return f"{self._conversations:,} conversations, {rate:,.0f}/s{refused}"
