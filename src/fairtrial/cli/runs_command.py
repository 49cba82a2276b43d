"""`fairtrial runs`: list the runs of a store, remove them, export and import them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from fairtrial.cli import completion
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import HeadedGroup
from fairtrial.cli.options import flags, trust_flags
from fairtrial.records.result import Verdict

if TYPE_CHECKING:
    from fairtrial.records.run import RunInfo

_TITLES = ("run", "verdict", "time", "pass rate", "commit", "model", "what")
_VERDICTS = ("passed", "failed", "unscored", "informational", "unfinished")


@click.group(cls=HeadedGroup, invoke_without_command=True)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="List the N newest of the runs that fit.")
@click.option(
    "--verdict",
    "verdicts",
    type=click.Choice(_VERDICTS),
    multiple=True,
    help="Only runs with this verdict. Repeatable.",
)
@click.option("--kind", type=click.Choice(["run", "score"]), help="Only runs of this command.")
@click.option("--agent", metavar="TARGET", help="Only runs of this agent. * and ? are wildcards.")
@click.option("--eval-set", metavar="PATH", help="Only runs of this file or folder. * and ? are wildcards.")
@click.option(
    "--since",
    type=click.DateTime(("%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S")),
    metavar="DATE",
    help="Only runs that started at this local time or later, for example 2026-01-02 or 2026-01-02T15:04.",
)
@click.option("--name", metavar="TEXT", help="Only runs with this name. * and ? are wildcards.")
@click.option("--tag", "tags", multiple=True, metavar="TEXT", help="Only runs with this tag. Repeatable.")
@click.option("--quiet", "-q", is_flag=True, help="Print the ids only, one a line.")
@trust_flags.json_file
@flags.add_store_option
@click.pass_context
def runs(
    ctx: click.Context,
    /,
    limit: int | None,
    verdicts: tuple[str, ...],
    kind: str | None,
    agent: str | None,
    eval_set: str | None,
    since: datetime | None,
    name: str | None,
    tags: tuple[str, ...],
    quiet: bool,
    json_file: Path | None,
    store: str,
) -> None:
    """List the runs in the store, the newest first.

    \b
    fairtrial runs
    fairtrial runs --limit 10 --verdict failed --verdict unscored
    fairtrial runs --agent 'shop.*' --eval-set 'evals/*' --since 2026-01-02
    fairtrial show $(fairtrial runs --limit 1 --quiet)
    fairtrial runs --limit 1 --json -
    fairtrial runs --store postgresql+pg8000://localhost/fairtrial
    """  # noqa: D301
    if ctx.invoked_subcommand is not None:
        return
    from fairtrial import api

    run_filter = api.RunFilter(
        tuple(None if verdict == "unfinished" else Verdict(verdict) for verdict in verdicts),
        kind,
        agent,
        eval_set,
        None if since is None else _in_local_time(since),
        name,
        tags,
    )
    runs_that_fit = api.runs(store, run_filter, limit=limit)
    trust_flags.write(api.list_runs(runs_that_fit), json_file)
    if trust_flags.is_stdout(json_file):
        return
    if quiet:
        for run in runs_that_fit:
            click.echo(run.id)
    else:
        _print_table(runs_that_fit)


def _in_local_time(moment: datetime) -> datetime:
    try:
        return moment.astimezone()
    except (ValueError, OverflowError):  # the calendar ends there, and no run is as old or as new
        return moment.replace(tzinfo=UTC)


def _print_table(listed_runs: Sequence[RunInfo]) -> None:
    from rich import box
    from rich.table import Table

    from fairtrial.cli.console import console
    from fairtrial.text.languages import say

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    rows = [_row(run) for run in listed_runs]
    # A column that is empty for every run is left out.
    titles = [title for title in _TITLES if title == "run" or any(row[title] for row in rows)]
    for title in titles:
        table.add_column(say(title), overflow="fold", no_wrap=title not in ("what", "model"))
    for row in rows:
        table.add_row(*(row[title] for title in titles))
    console().print(table)


def _row(run: RunInfo) -> dict[str, str]:
    from fairtrial import api
    from fairtrial.text.display import shorten_commit, visible_line
    from fairtrial.text.languages import say

    paths = " ".join(map(str, run.config.get("paths", [])))
    agent = f" --agent {run.config['agent']}" if run.config.get("agent") else ""
    labels = "".join(f" [{label}]" for label in (run.name, *run.tags) if label)
    cells = (
        run.id,
        say(run.verdict or "not finished"),
        "" if run.seconds is None else f"{run.seconds:.1f} s",
        "" if run.pass_rate is None else api.rate(run.pass_rate),
        shorten_commit(str(run.git.get("commit", "")), dirty=bool(run.git.get("dirty"))),
        visible_line(", ".join(run.models)),
        visible_line(f"{run.kind} {paths}{agent}{labels}"),
    )
    return dict(zip(_TITLES, cells, strict=True))


@runs.command()
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True, shell_complete=completion.runs)
@trust_flags.json_file
@flags.add_store_option
def rm(run_ids: tuple[str, ...], json_file: Path | None, store: str) -> None:
    """Remove runs with everything that belongs to them, labels included.

    RUN is the beginning of the id of a run. If it fits several runs, nothing is removed.

    \b
    fairtrial runs rm 20260102-030405-a1b2c3
    fairtrial runs rm 20260102-03 20260102-04
    """  # noqa: D301
    from fairtrial import api

    removed = api.remove_runs(store, run_ids)
    for run in removed:
        echo(f"removed {run.id}", err=trust_flags.is_stdout(json_file))
    trust_flags.report(json_file, "runs rm", ids=tuple(run.id for run in removed))


@runs.command("export")
@click.argument("run_id", metavar="RUN", shell_complete=completion.runs)
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@flags.add_store_option
def export_(run_id: str, file: str, store: str) -> None:
    """Write a run to a file, with its cases, recordings, results, judge calls and labels.

    FILE is a file of JSON lines, or - for stdout. `fairtrial runs import` reads it, for example on another
    machine.

    \b
    fairtrial runs export 20260102 run.jsonl
    fairtrial runs export 20260102 - | gzip > run.jsonl.gz
    """  # noqa: D301
    from fairtrial import api

    # If the reader leaves, the lines must be closed before Python ends: they hold a connection of the store.
    with closing(api.export_run(store, run_id)) as lines, click.open_file(file, "wb") as stream:
        stream.writelines(lines)


@runs.command("import")
@click.argument("file", type=click.File("rb"))
@trust_flags.json_file
@flags.add_store_option
def import_(file: BinaryIO, json_file: Path | None, store: str) -> None:
    """Add a run that was exported to the store.

    FILE is a file that `fairtrial runs export` wrote, or - for stdin. The run keeps its id.

    \b
    fairtrial runs import run.jsonl
    fairtrial runs import run.jsonl --store postgresql+pg8000://localhost/fairtrial
    """  # noqa: D301
    from fairtrial import api

    run = api.import_run(store, file, file.name)
    echo(f"imported {run.id}", err=trust_flags.is_stdout(json_file))
    trust_flags.report(json_file, "runs import", ids=(run.id,))
