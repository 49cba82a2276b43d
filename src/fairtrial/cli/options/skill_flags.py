"""The options of a run that tests a skill."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from fairtrial import api
from fairtrial.cli.headed_command import under
from fairtrial.cli.options import flags

_VERSUS = click.option(
    "--versus", metavar="SKILL", help="Compare a skill with another version, a folder or a revision of git."
)
_TRIGGER = click.option("--trigger", is_flag=True, help="Ask whether a skill fires when it should, and only then.")
_DESCRIPTIONS = click.option(
    "--description",
    "descriptions",
    multiple=True,
    metavar="FILE",
    help="Try another description of the skill. Repeatable.",
)
_CREDENTIALS = click.option(
    "--credentials",
    multiple=True,
    metavar="NAME",
    help="A variable, or a file such as ~/.codex/auth.json, that a command-line agent may see. Repeatable.",
)
_SANDBOX = click.option(
    "--sandbox",
    metavar="KIND",
    help="What keeps a command-line agent in its workspace: bwrap, docker:IMAGE or none.  "
    "[default: bwrap if it is there]",
)
_DROP = click.option(
    "--drop",
    type=click.Choice(["sections", "sentences"]),
    help="Compare a skill with itself without each of its sections or sentences.",
)


def skill_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of skills. The command receives them as `skill`."""

    @functools.wraps(command)
    def call_with_skill(
        *args: Any,
        versus: str | None,
        trigger: bool,
        descriptions: tuple[str, ...],
        credentials: tuple[str, ...],
        sandbox: str | None,
        drop: api.Drop | None,
        **more_options: Any,
    ) -> Any:
        skill = api.SkillOptions(versus, trigger, descriptions, credentials, sandbox, drop)
        return command(*args, skill=skill, **more_options)

    return flags.with_options(
        call_with_skill,
        under("Agent", _VERSUS, _TRIGGER, _CREDENTIALS, _DESCRIPTIONS, _SANDBOX, _DROP, rare=True),
    )
