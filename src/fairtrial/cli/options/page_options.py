"""Options of all commands that write an HTML report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import click

from fairtrial.cli.headed_command import under

Traces = Literal["all", "failed", "none"]

_OPTIONS = (
    click.option(
        "--traces",
        type=click.Choice(["all", "failed", "none"]),
        help="The conversations in the HTML report. Default: all up to 50 MB, else those that did not pass.",
    ),
    click.option(
        "--lang",
        "language",
        type=click.Choice(["en", "ko", "ja", "zh-TW", "zh-CN"]),
        help="The language of the HTML report. Default: the language of the browser.",
    ),
)


def page_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of HTML reports."""
    return under("Reports", *_OPTIONS, rare=True)(command)
