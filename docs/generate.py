"""Writes the pages that are made from the program: the command line and the public names. `make docs` runs it."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click

import fairtrial
from fairtrial import cli

REFERENCE = Path(__file__).parent / "reference"
_MADE = "<!-- `make docs` writes this page. -->"


def command_line() -> str:
    """The page of all commands, from their help."""
    return "\n\n".join([_MADE, "# Command line", *_commands(cli.fairtrial, "fairtrial")]) + "\n"


def _commands(command: click.Command, name: str) -> Iterator[str]:
    """The sections of a command and of its subcommands."""
    context = click.Context(command, info_name=name)
    if name != "fairtrial":
        yield f"## {name}"
        yield f"```text\n{name} {' '.join(command.collect_usage_pieces(context))}\n```"
    yield from _paragraphs(inspect.cleandoc(command.help or ""))
    options = [option for option in command.get_params(context) if isinstance(option, click.Option)]
    rows = [_row(option, context) for option in options if not {"--help", "--version"} & {*option.opts}]
    if rows:
        yield "\n".join(["| option | |", "|---|---|", *rows])
    if isinstance(command, click.Group):
        for subcommand in command.list_commands(context):
            found = command.get_command(context, subcommand)
            if found is not None:
                yield from _commands(found, f"{name} {subcommand}")


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a help text; examples, which click must not wrap, become blocks of code."""
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("\b"):
            lines = paragraph.removeprefix("\b").strip("\n")
            yield f"```text\n{inspect.cleandoc(lines)}\n```"
        else:
            yield _escaped(" ".join(paragraph.split()))


def _row(option: click.Option, context: click.Context) -> str:
    """The row of an option: its names, its value, its help, and its default and range as click shows them."""
    names, text = option.get_help_record(context) or ("", "")
    return f"| `{names.replace('|', chr(92) + '|')}` | {_escaped(text)} |"


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([|*<\[])", r"\\\1", text)


def public_names() -> str:
    """The page of all names of `import fairtrial`, with the first sentence of each docstring."""
    rows = [f"| `{name}` | {_escaped(_summary(name))} |" for name in fairtrial.__all__]
    return "\n".join([_MADE, "", "# Public names", "", "| name | |", "|---|---|", *rows]) + "\n"


def _summary(name: str) -> str:
    """The first paragraph of the docstring of a public name in one line."""
    documented = getattr(fairtrial, name)
    text = inspect.getdoc(documented) if inspect.isclass(documented) or inspect.isfunction(documented) else None
    return " ".join((text or _alias_docstring(name)).partition("\n\n")[0].split())


def _alias_docstring(name: str) -> str:
    """The string below the assignment of an alias: Python does not keep it, so it is read from the source."""
    home = importlib.import_module(fairtrial._HOMES[name])  # noqa: SLF001
    statements = ast.parse(inspect.getsource(home)).body
    for statement, below in itertools.pairwise(statements):
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name:
            return str(ast.literal_eval(below.value)) if isinstance(below, ast.Expr) else ""
    return ""


PAGES: dict[Path, Callable[[], str]] = {
    REFERENCE / "command-line.md": command_line,
    REFERENCE / "public-names.md": public_names,
}

if __name__ == "__main__":
    for path, page in PAGES.items():
        path.write_text(page(), encoding="utf-8")
