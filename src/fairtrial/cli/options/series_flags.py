"""Options of the commands that follow the runs of a series."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

series = click.option(
    "--series",
    metavar="FIELDS",
    default="agent,eval_set,branch",
    show_default=True,
    help="What the runs share, divided by commas: agent, eval_set, branch, name, tags, kind.",
)


def false_every(default: float, text: str) -> Callable[..., Any]:
    """Return the option that states the rate of false alarms."""
    kind = click.FloatRange(1, min_open=True)
    return click.option("--false-every", type=kind, default=default, show_default=True, metavar="N", help=text)


def split_fields(text: str) -> list[str]:
    """Return the fields that commas divide."""
    return [field.strip() for field in text.split(",") if field.strip()]
