"""`fairtrial init`: write the files that an evaluation starts from."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from fairtrial.cli.headed_command import command


@command()
@click.argument("folder", required=False, default="evals", type=click.Path(path_type=Path))
def init(folder: Path) -> None:
    """Write a project file, an eval set, a config and an agent to start from.

    FOLDER is `evals` by default. The project file fairtrial.toml is in the current folder, unless there is one already.
    Files that exist are never overwritten.

    \b
    fairtrial init
    fairtrial init my-evals
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.text.display import visible

    for file in api.write_starter(folder):
        click.echo(visible(f"wrote {file}"))
    if (project := api.write_project(folder)) is not None:
        click.echo(f"wrote {project}\nnext: fairtrial run")
        return
    target = f"{folder / 'agent.py'}:reply"
    click.echo(visible(f"next: fairtrial run {shlex.quote(str(folder))} --agent {shlex.quote(target)}"))
