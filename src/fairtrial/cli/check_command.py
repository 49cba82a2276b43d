"""`fairtrial check`: the format of files, and their problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from fairtrial import api
from fairtrial.cli import exit_codes
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags, trust_flags
from fairtrial.cli.options.project_flags import project_keys, project_options, unreadable_project
from fairtrial.cli.options.query_flags import query_options
from fairtrial.cli.outputs.output_files import FileToWrite, refuse_overwriting
from fairtrial.errors import FairtrialError, UsageError
from fairtrial.text.display import shorten, visible_line

_WIDEST_PLACE, _WIDEST_TEXT = 60, 60
"""The columns of an explanation."""


@command()
@click.argument("file", nargs=-1)
@flags.lenient
@flags.columns
@click.option("--save-map", metavar="FILE", type=FileToWrite(), help="Write the map of a table, or --map, to a file.")
@click.option("--explain", is_flag=True, help="Say of each leaf of a JSON FILE how it is read.")
@click.option("--html", "html_file", metavar="FILE", type=FileToWrite(), help="Write what --explain says as a page.")
@trust_flags.json_file
@project_options
@query_options("file")
def check(
    file: tuple[str, ...],
    lenient: bool,
    columns: dict[str, str],
    save_map: Path | None,
    explain: bool,
    html_file: Path | None,
    json_file: Path | None,
) -> int:
    """Name the format of each file, the number of its cases, and every problem in it.

    FILE is a file, a folder (all its JSON), or - for standard input. Without FILE, the project file is checked, and the
    eval sets and the config that it names. Its options map and lenient count. The exit code is 0 if every file can be
    used, otherwise 2.

    \b
    fairtrial check
    fairtrial check evals/ test_config.json
    fairtrial check questions.csv --map input=question,expected=answer
    fairtrial check questions.csv --save-map map.toml
    fairtrial check trace.json --explain --html trace.html
    fairtrial check evals/ --json -
    fairtrial check --sql "SELECT * FROM otel_traces LIMIT 100" --from clickhouse://localhost/otel
    """  # noqa: D301
    outputs = {"--save-map": save_map, "--html": html_file}
    for option, path in outputs.items():
        if path is not None:
            refuse_overwriting(option, path, map(Path, file))
    checks: list[api.Checked] = []
    explanations: list[api.Explanation] = []
    for checked in _checks(file, lenient=lenient, columns=columns):
        checks.append(checked)
        if not trust_flags.is_stdout(json_file):
            _echo_check(checked)
        if explain or html_file is not None:
            explanations += _explain(checked, columns, lenient=lenient, in_terminal=explain)
    if html_file is not None:
        page = api.explanation_html(explanations)
        html_file.write_text(page, encoding="utf-8", errors="backslashreplace")
    if save_map is not None:
        _save_map(save_map, [checked.columns for checked in checks if checked.columns])
    trust_flags.write(_document(checks), json_file)
    return exit_codes.USAGE if any(checked.problems for checked in checks) else exit_codes.OK


def _document(checks: Sequence[api.Checked]) -> api.CheckedFiles:
    files = tuple(
        api.CheckedFile(
            own.path, own.content, not own.problems, own.problems, own.warnings, own.notes, dict(own.columns)
        )
        for own in checks
    )
    return api.CheckedFiles(all(file.is_usable for file in files), files)


def _echo_check(checked: api.Checked) -> None:
    echo(f"{'✗' if checked.problems else '✓'} {visible_line(f'{checked.path}: {checked.content}')}")
    for problem in checked.problems:
        echo(f"    error: {visible_line(problem)}")
    for warning in checked.warnings:
        echo(f"    warning: {visible_line(warning)}")
    for note in checked.notes:
        echo(f"    {visible_line(note)}")


def _explain(
    checked: api.Checked, columns: dict[str, str], *, lenient: bool, in_terminal: bool
) -> Iterator[api.Explanation]:
    """Yield how a file without problems is read, and print it if it is for the terminal, too."""
    if checked.problems or not Path(checked.path).is_file():
        return
    try:
        explanation = api.explain(checked.path, columns, lenient=lenient)
    except FairtrialError as error:
        echo(f"    {visible_line(str(error))}")
        return
    if in_terminal:
        _echo_explanation(explanation)
    yield explanation


def _save_map(path: Path, maps: Sequence[Mapping[str, str]]) -> None:
    """Write the map that the files share. Raises UsageError if there is none."""
    if not maps or any(columns != maps[0] for columns in maps):
        problem = "the files have different maps; give one FILE" if maps else "no file is a table, or read with --map"
        raise UsageError(f"--save-map: {problem}", code="options-conflict")
    api.save_map(path, maps[0])
    echo(f"{path}: the map, for --map {path}")


def _echo_explanation(explanation: api.Explanation) -> None:
    """Print the leaves of a file with the mark of their reading, and their numbers."""
    width = min(_WIDEST_PLACE, max((len(leaf.place) for leaf in explanation.leaves), default=0))
    for leaf in explanation.leaves:
        place, text = visible_line(leaf.place), shorten(visible_line(leaf.text), _WIDEST_TEXT)
        echo(f"    {leaf.mark:<7} {place:<{width}}  {text}")
    echo(f"    {explanation.summary}")


def _checks(files: tuple[str, ...], *, lenient: bool, columns: dict[str, str]) -> Iterator[api.Checked]:
    """Yield the check of each file. Project files come first."""
    named = list(files) or _project_inputs()
    unreadable = unreadable_project()
    if unreadable is not None and str(unreadable) not in named:
        named.insert(0, str(unreadable))
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
