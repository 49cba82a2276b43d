"""Show why a command refused its input: the message, the code of the error, and both as JSON for a program."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from fairtrial.errors import FairtrialError, StoreError
from fairtrial.text.display import shorten, visible

_CLICK_CODES = (
    (click.NoSuchOption, "unknown-name"),
    (click.MissingParameter, "missing-option"),
    (click.BadParameter, "unusable-input"),
    (click.UsageError, "options-conflict"),
    (click.FileError, "unreadable-file"),
)
"""The codes of what click refuses, from narrow to wide."""
_UNKNOWN_COMMAND = "No such command"
_NEEDS = "needs "
_NO_VALUE = "requires an argument."
_NO_FILE = "does not exist."
_FILE_SYSTEM = "file-system"
_INSTALLATION_CODES = ("missing-key", "missing-package", "no-such-store")
_INSTALLATION = ("pip install", "_API_KEY", "HF_TOKEN", "is on PATH", "does not start", "the entry point")
"""The words of a refusal that is about the installation and not about the input: an area that `doctor` examines."""


def describe(error: FairtrialError | OSError) -> tuple[str, str]:
    """Return the message and the code of an error."""
    if isinstance(error, FairtrialError):
        return visible(str(error)), error.code
    return f"{visible(shorten(str(error.filename or 'cannot write'), 200))}: {error.strerror}", _FILE_SYSTEM


def describe_usage(error: click.ClickException) -> tuple[str, str]:
    """Return the message and the code of what click refuses."""
    message = error.format_message()
    if message.startswith(_UNKNOWN_COMMAND):
        return message, "unknown-name"
    if message.startswith(_NEEDS) or message.endswith(_NO_VALUE):
        return message, "missing-option"
    if isinstance(error, click.BadParameter) and message.endswith(_NO_FILE):
        return message, "no-such-file"
    return message, next((code for kind, code in _CLICK_CODES if isinstance(error, kind)), "unusable-input")


def concerns_installation(error: FairtrialError) -> bool:
    """Return whether `fairtrial doctor` shows what is missing."""
    return (
        isinstance(error, StoreError)
        or error.code in _INSTALLATION_CODES
        or any(words in str(error) for words in _INSTALLATION)
    )


def print_json(args: Sequence[str], group: click.Group, message: str, code: str) -> None:
    """Print an error as JSON to stdout, if the command would have printed its JSON there."""
    if _prints_json(list(args), group):
        click.echo(json.dumps({"error": {"code": code, "message": message}}, ensure_ascii=False))


def _prints_json(args: list[str], group: click.Group) -> bool:
    """Return whether `--json` is a flag of the command that the arguments name, or is given the file `-`."""
    if "--json=-" in args:
        return True
    if "--json" not in args:
        return False
    after = args[args.index("--json") + 1 :]
    return after[:1] == ["-"] or _is_flag(args, group)


def _is_flag(args: list[str], group: click.Group) -> bool:
    command: click.Command | None = group
    for word in args:
        if not isinstance(command, click.Group):
            break
        command = command.get_command(click.Context(command), word)
    options = command.params if command is not None else ()
    return any("--json" in option.opts and getattr(option, "is_flag", False) for option in options)
