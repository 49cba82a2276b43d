"""The options of a project file, made from the options of `fairtrial run`, and their use as defaults."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import click

from fairtrial import api
from fairtrial.cli.headed_command import find_heading, under
from fairtrial.errors import ConfigError, FormatError

_META, _UNREADABLE = "fairtrial.project", "fairtrial.unreadable_project"
_TABLES = {"Judge": "judge", "Calls of models": "judge", "Limits": "limits", "Reports": "reports", "Claims": "gate"}
"""The tables of the file by the headings of options. Other options stand at its top."""
_NAMES = {"evalset": "eval_sets"}
_ON_COMMAND_LINE = frozenset(
    (
        *("resume", "failed_from", "reuse", "allow_code", "push", "yes", "quiet", "verbose", "full", "github"),
        *("gates", "at_least", "claim_texts", "not_worse_by", "better_by", "measure", "alpha", "shared_cases"),
    )
)
"""Decisions about one run, and claims, which are a list in the file."""
_HEADINGS = {
    "score": ("columns", "Criteria", "Judge", "Calls of models", "Limits", "Store"),
    "check": ("columns", "lenient"),
    "gate": ("Store", "Claims"),
}
"""The options that a command takes from the file: headings, or names of parameters. Other commands take all."""
_OF_RUNS = ("Limits", "Reports", "Store", "Claims")
"""The headings that count for a run that is resumed. The store holds the rest."""
_PATHS = ("FILE", "DIR")
_FILES = ("evalset", "columns")
"""Parameters whose values are files, beside those whose metavar says so."""


def project_keys() -> tuple[api.ProjectKey, ...]:
    """Return the options that a project file may hold."""
    return collect_keys(_run_command())


@cache
def collect_keys(run: click.Command) -> tuple[api.ProjectKey, ...]:
    """Return the options of `fairtrial run` that a project file may hold."""
    keys = [_key(param) for param in run.params if param.expose_value and param.name not in _ON_COMMAND_LINE]
    return tuple(sorted(keys, key=lambda key: key.table))


def project_options(command: Any) -> Any:
    """Add the option of a profile. The options that the command line leaves out come from the project file."""
    return under("Input", _PROFILE)(command)


def project_claims() -> tuple[Any, ...]:
    """Return the claims of the project file."""
    project = click.get_current_context().meta.get(_META)
    return () if project is None else project.claims


def unreadable_project() -> Path | None:
    """Return the project file if its options cannot be read. Only `check` goes on then, and names the problems."""
    path: Path | None = click.get_current_context().meta.get(_UNREADABLE)
    return path


def project_store() -> str:
    """Return the store of the project file, or the default."""
    path = api.find_project(Path.cwd())
    values = {} if path is None else api.read_project(path, project_keys()).values
    return str(values.get("store", api.DEFAULT_URL))


def _read_project(ctx: click.Context, option: click.Parameter, profile: str | None) -> None:
    """Make the options of the project file the defaults of a command."""
    if ctx.resilient_parsing:
        return
    path = api.find_project(Path.cwd())
    if path is None:
        if profile is not None:
            problem = "needs a project file: fairtrial.toml, or tool.fairtrial in pyproject.toml"
            raise click.BadParameter(problem, ctx, option)
        return
    try:
        project = api.read_project(path, project_keys(), profile)
    except (ConfigError, FormatError):
        if ctx.info_name != "check":
            raise
        # Its problems are among those that `check` reports.
        ctx.meta[_UNREADABLE] = path
        return
    ctx.meta[_META] = project
    headings = _HEADINGS.get(ctx.info_name or "")
    if isinstance(ctx.params.get("resume"), str):
        headings = _OF_RUNS
    heading_of_option = _headings()
    ctx.default_map = {
        name: value
        for name, value in project.values.items()
        if headings is None or name in headings or heading_of_option[name] in headings
    }


_PROFILE = click.option(
    "--profile",
    metavar="NAME",
    is_eager=True,
    expose_value=False,
    callback=_read_project,
    help="The options of [profile.NAME] in the project file.",
)


def _headings() -> dict[str, str]:
    return {str(param.name): find_heading(param) for param in _run_command().params}


def _run_command() -> click.Command:
    """Return the command `run` of the program that runs."""
    root = click.get_current_context().find_root()
    run = root.command.get_command(root, "run") if isinstance(root.command, click.Group) else None
    return run or root.command


def _key(param: click.Parameter) -> api.ProjectKey:
    """Return a parameter of the command line as an option of a file."""
    from msgspec import Meta

    name = str(param.name)
    table = _TABLES.get(find_heading(param), "")
    longest = max(param.opts, key=len).removeprefix("--").replace("-", "_")
    spelling = _NAMES.get(name, longest.removeprefix(f"{table}_") if table else longest)
    text = (getattr(param, "help", None) or "The eval sets: files or folders.").partition("  [")[0]
    annotation: Any = Annotated[_kind(param), Meta(description=text.replace(" Repeatable.", ""))]
    metavar = param.metavar or ""
    return api.ProjectKey(table, api.Option(spelling, annotation, None), name, metavar in _PATHS or name in _FILES)


def _kind(param: click.Parameter) -> Any:
    """Return the type of a value in a file."""
    from msgspec import Meta

    kind = param.type
    if isinstance(kind, click.Choice):
        return Literal[tuple(kind.choices)]
    if isinstance(kind, click.IntRange | click.FloatRange):
        number = int if isinstance(kind, click.IntRange) else float
        low, high = ("gt" if kind.min_open else "ge"), ("lt" if kind.max_open else "le")
        bounds: dict[str, Any] = {low: kind.min, high: kind.max}
        return Annotated[number, Meta(**{name: bound for name, bound in bounds.items() if bound is not None})]
    if isinstance(kind, click.types.BoolParamType):
        return bool
    if getattr(param, "multiple", False) or param.nargs == -1:
        return _kind_of_several(param)
    return str


def _kind_of_several(param: click.Parameter) -> Any:
    metavar = param.metavar or ""
    if metavar == "NAME=X":
        return dict[str, float]
    if "=" in metavar:
        return dict[str, str] | str if "|FILE" in metavar else dict[str, str]
    return Annotated[tuple[str, ...], api.Prepared(_as_texts, "one of them alone")]


def _as_texts(value: Any) -> Any:
    """Return a text or a number alone as an array of texts."""
    alone = isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))
    return [str(value)] if alone else value
