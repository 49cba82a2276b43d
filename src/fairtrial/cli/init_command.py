"""`fairtrial init`: write the files that an evaluation starts from."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from fairtrial.cli.headed_command import command


@command()
@click.argument("folder", required=False, default="evals", type=click.Path(path_type=Path))
def init(folder: Path) -> None:
    """Write an eval set, a config and an agent to start from.

    FOLDER is `evals` by default. Files that exist are never overwritten.

    \b
    fairtrial init
    fairtrial init my-evals
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.text.display import visible

    for file in api.write_starter(folder):
        click.echo(visible(f"wrote {file}"))
    target = f"{folder / 'agent.py'}:reply"
    click.echo(visible(f"next: fairtrial run {shlex.quote(str(folder))} --agent {shlex.quote(target)}"))
