"""Options for the conversion of foreign traces into conversations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from fairtrial import api
from fairtrial.cli.headed_command import under


def _read_tool_names(ctx: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Return the values `TOOL=PATH` of an option as paths of arguments by the names of tools."""
    paths: dict[str, str] = {}
    for value in values:
        name, _, path = value.partition("=")
        if not name or not path:
            raise click.BadParameter(f"must be TOOL=ARGUMENT, such as exec=command.0, got {value!r}", ctx, option)
        paths[name] = path
    return paths


def trace_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about traces of other tools."""
    return under(
        "Traces",
        click.option(
            "--join",
            type=click.Choice(["history", "id", "none"]),
            default="history",
            show_default=True,
            help="Which traces are one conversation: those with the same id or that go on with each other, those with "
            "the same id, or each trace alone.",
        ),
        click.option("--conversation", metavar="ATTRIBUTE", default="", help="The attribute with the conversation id."),
        click.option(
            "--nested", is_flag=True, help="Count the calls of an agent that answers as a tool as calls of its caller."
        ),
        click.option(
            "--branches",
            type=click.Choice(["last", "all"]),
            default="last",
            show_default=True,
            help="Which branches of a session of Claude Code are recordings.",
        ),
        click.option(
            "--tool-name",
            "tool_names",
            multiple=True,
            metavar="TOOL=ARGUMENT",
            callback=_read_tool_names,
            help="The argument with the name of the real tool, for example exec=command.0. Repeatable.",
        ),
        rare=True,
    )(command)


def collect_traces(options: Mapping[str, Any]) -> api.TraceOptions:
    """Return the values of the options."""
    return api.TraceOptions(**{name: options[name] for name in api.TraceOptions.__struct_fields__})
