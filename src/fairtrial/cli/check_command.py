"""`fairtrial check`: the format of files, and their problems."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from fairtrial import api
from fairtrial.cli import exit_codes
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags
from fairtrial.cli.options.project_flags import project_keys
from fairtrial.cli.options.query_flags import query_options
from fairtrial.errors import FairtrialError
from fairtrial.text.display import shorten, visible_line

_WIDEST_PLACE, _WIDEST_TEXT = 60, 60
"""The columns of an explanation."""


@command()
@click.argument("file", nargs=-1)
@flags.lenient
@flags.columns
@click.option("--explain", is_flag=True, help="Say of each leaf of a JSON FILE how it is read.")
@query_options("file")
def check(file: tuple[str, ...], lenient: bool, columns: dict[str, str], explain: bool) -> int:
    """Name the format of each file, the number of its cases, and every problem in it.

    FILE is a file, a folder (all its JSON), or - for standard input. Without FILE, the project file is checked, and the
    eval sets and the config that it names. The exit code is 0 if every file can be used,
    otherwise 2.

    \b
    fairtrial check
    fairtrial check evals/ test_config.json
    fairtrial check questions.csv --map input=question,expected=answer
    fairtrial check trace.json --explain
    fairtrial check --sql "SELECT * FROM otel_traces LIMIT 100" --from clickhouse://localhost/otel
    """  # noqa: D301
    usable = True
    for checked in _checks(file, lenient=lenient, columns=columns):
        usable = usable and not checked.problems
        echo(f"{'✗' if checked.problems else '✓'} {visible_line(f'{checked.path}: {checked.content}')}")
        for problem in checked.problems:
            echo(f"    error: {visible_line(problem)}")
        for warning in checked.warnings:
            echo(f"    warning: {visible_line(warning)}")
        for note in checked.notes:
            echo(f"    {visible_line(note)}")
        if explain and not checked.problems and Path(checked.path).is_file():
            _echo_explanation(checked.path, columns)
    return exit_codes.OK if usable else exit_codes.USAGE


def _echo_explanation(path: str, columns: dict[str, str]) -> None:
    """Print the leaves of a file with the mark of their reading, and their numbers."""
    try:
        explanation = api.explain(path, columns)
    except FairtrialError as error:
        echo(f"    {visible_line(str(error))}")
        return
    width = min(_WIDEST_PLACE, max((len(leaf.place) for leaf in explanation.leaves), default=0))
    for leaf in explanation.leaves:
        mark = "unread" if leaf.has_content else leaf.status
        place, text = visible_line(leaf.place), shorten(visible_line(leaf.text), _WIDEST_TEXT)
        echo(f"    {mark:<7} {place:<{width}}  {text}")
    echo(f"    {explanation.summary}")


def _checks(files: tuple[str, ...], *, lenient: bool, columns: dict[str, str]) -> Iterator[api.Checked]:
    """Yield the check of each file. Project files come first."""
    named = list(files) or _project_inputs()
    for file in filter(api.is_project_name, named):
        yield from api.check_project(Path(file), project_keys())
    others = [file for file in named if not api.is_project_name(file)]
    yield from api.check(others, lenient=lenient, columns=columns)


def _project_inputs() -> list[str]:
    """Return the project file, and the eval sets and the config that it names if it can be read."""
    path = api.find_project(Path.cwd())
    if path is None:
        raise click.UsageError("needs a FILE, or a project file: fairtrial.toml, or tool.fairtrial in pyproject.toml")
    try:
        values = api.read_project(path, project_keys()).values
    except FairtrialError:
        return [str(path)]
    config = [values["config"]] if "config" in values and not api.is_project_name(values["config"]) else []
    return [str(path), *values.get("evalset", ()), *config]
