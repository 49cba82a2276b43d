"""`fairtrial runs`: what the store holds."""

from __future__ import annotations

import click

from fairtrial.cli import flags


@click.command()
@flags.stored
def runs(store: str) -> None:
    """List the runs in the store, the newest first.

    \b
    fairtrial runs
    fairtrial runs --store postgresql+pg8000://localhost/fairtrial
    """  # noqa: D301
    from rich import box
    from rich.table import Table

    from fairtrial import api
    from fairtrial.cli.console import console
    from fairtrial.text.display import visible

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    for title in ("run", "verdict", "seconds", "what"):
        table.add_column(title, overflow="fold", no_wrap=title != "what")
    for one in api.runs(store):
        paths = " ".join(map(str, one.config.get("paths", [])))
        agent = f" --agent {one.config['agent']}" if one.config.get("agent") else ""
        seconds = "" if one.seconds is None else f"{one.seconds:.1f}"
        table.add_row(one.id, one.verdict or "not finished", seconds, visible(f"{one.kind} {paths}{agent}"))
    console().print(table)
