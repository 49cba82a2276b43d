"""`fairtrial init`: write the files that an evaluation starts from."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command


@command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--skill", is_flag=True, help="FOLDER holds SKILL.md: write its prompts and trigger queries.")
def init(folder: Path | None, skill: bool) -> None:
    """Write a project file, an eval set, a config and an agent to start from.

    FOLDER is `evals` by default. The project file fairtrial.toml is in the current folder, unless there is one already.
    With --skill, it is the folder of the skill. Files that exist are never overwritten.

    \b
    fairtrial init
    fairtrial init my-evals
    fairtrial init my-skill --skill
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.text.display import visible

    if skill:
        folder = folder or Path()
        for file in api.write_skill_evals(folder):
            echo(visible(f"wrote {file}"))
        echo(visible(f"next: replace each TODO, then fairtrial run {shlex.quote(str(folder))} --agent claude"))
        return
    folder = folder or Path("evals")
    for file in api.write_starter(folder):
        echo(visible(f"wrote {file}"))
    if (project := api.write_project(folder)) is not None:
        echo(f"wrote {project}\nnext: fairtrial run")
        return
    target = f"{folder / 'agent.py'}:reply"
    echo(visible(f"next: fairtrial run {shlex.quote(str(folder))} --agent {shlex.quote(target)}"))
