"""Options for the rows of a query, which a command reads as it reads a file."""

from __future__ import annotations

import dataclasses
import functools
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import click

from fairtrial import api
from fairtrial.cli.console import add_source, echo, name_sources
from fairtrial.cli.headed_command import under
from fairtrial.errors import UsageError

_CONDITIONS = ("where", "always", "key")
_INPUTS = "inputs"
"""The folder in --out with the rows, so that --resume and every result find the same rows."""

_SOURCE = under(
    "Input",
    click.option(
        "--sql",
        metavar="QUERY",
        help="Read the rows of a query in --from, or of a table. For example "
        '--sql "SELECT * FROM otel_traces WHERE Timestamp > now() - INTERVAL 1 DAY".',
    ),
    click.option(
        "--from",
        "from_url",
        metavar="URL",
        envvar="FAIRTRIAL_FROM",
        help="The database of --sql, for example duckdb:///a.db. Others are clickhouse://HOST/otel, "
        "bigquery://PROJECT/DATASET, adbc+DRIVER://..., and URLs of SQLAlchemy. It is only read.",
    ),
)
_CONDITION_OPTIONS = under(
    "Input",
    click.option(
        "--where",
        metavar="CONDITION",
        default="",
        help="Read only conversations of which a row meets a condition of SQL. For example "
        "--where \"StatusCode = 'Error'\".",
    ),
    click.option(
        "--key",
        metavar="COLUMN",
        default="",
        help="The column with the id of the conversation, for --where and --sample. [default: by its usual names, "
        "such as TraceId]",
    ),
    rare=True,
)
_ALWAYS = under(
    "Input",
    click.option(
        "--always",
        metavar="CONDITION",
        default="",
        help="Sample every conversation of which a row meets a condition of SQL. Weights correct the numbers. For "
        "example --sample 1% --always \"StatusCode = 'Error'\".",
    ),
    rare=True,
)


def query_options(argument: str, *, samples: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the options of a query to a command.

    The rows are one more file among the values of an argument. With `samples`, the database takes the --sample.
    """

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def run(**options: Any) -> Any:
            sql, url = options.pop("sql"), options.pop("from_url")
            conditions = {name: options.pop(name, "") for name in _CONDITIONS}
            files = tuple(options[argument])
            if sql is not None:
                files += (_fetch(sql, url, conditions, options, samples=samples),)
            else:
                _refuse_without_sql(conditions)
            return command(**{**options, argument: files})

        with_conditions = _ALWAYS(_CONDITION_OPTIONS(run)) if samples else _CONDITION_OPTIONS(run)
        return _SOURCE(with_conditions)

    return add


def needs_files(files: tuple[str, ...], name: str) -> None:
    """Raise UsageError if a command has neither files nor a query."""
    if not files:
        raise click.UsageError(f"needs {name}, or --sql with --from")


def name_rows(plan: api.Plan) -> api.Plan:
    """Return a plan that names the query's database, and not the temporary file with its rows."""
    from msgspec.structs import replace

    info = replace(plan.info, config=name_sources(plan.info.config))
    return dataclasses.replace(plan, info=info, warnings=name_sources(plan.warnings), notes=name_sources(plan.notes))


def _refuse_without_sql(conditions: dict[str, str]) -> None:
    context = click.get_current_context()
    given = [name for name in conditions if conditions[name]]
    if context.get_parameter_source("from_url") is click.core.ParameterSource.COMMANDLINE:
        given.append("from")
    if given:
        raise UsageError(f"--{given[0]} needs --sql, the query whose rows are read", code="missing-option")


def _fetch(sql: str, url: str | None, conditions: dict[str, str], options: dict[str, Any], *, samples: bool) -> str:
    """Return the file with the rows of a query."""
    if not url:
        raise UsageError(
            "--sql needs --from, the URL of a database, or FAIRTRIAL_FROM in the environment", code="missing-option"
        )
    sample = None
    if samples and not options.get("stratify"):
        sample, options["sample"] = options["sample"], None
    if conditions["always"] and sample is None:
        raise UsageError("--always needs --sample, the other conversations that are read", code="missing-option")
    query = api.Query(sql, sample=sample, seed=options.get("seed", 0), **conditions)
    folder = _folder(options)
    # Without --resume, the plan refuses a folder with an unfinished run, whose rows must stay.
    resume = bool(options.get("resume")) or any(folder.parent.glob("progress.jsonl"))
    path = api.fetch_query(url, query, folder, resume=resume)
    rows, population = api.count_fetched(path)
    from fairtrial.text.display import count

    if "out" not in options or options["out"] is None:
        add_source(str(path), api.without_credentials(url))
    of_population = f", a sample of {population:,} conversations" if population else ""
    echo(f"{count(rows, 'row')} of {api.without_credentials(url)}{of_population}", err=True)
    return str(path)


def _folder(options: dict[str, Any]) -> Path:
    """Return the folder for the rows: in --out, beside --output, or a temporary one."""
    out, output = options.get("out"), options.get("output")
    if out is not None:
        if api.is_object_folder(out):
            raise UsageError(
                f"--sql: keeps its rows on a disk; give --out a folder there, and copy it to {out}",
                code="options-conflict",
            )
        return Path(out) / _INPUTS
    context = click.get_current_context()
    if "resume" in options and output is not None:
        folder = Path(f"{output}.rows")
        context.call_on_close(functools.partial(_remove_finished, context, folder))
        return folder
    folder = Path(mkdtemp(prefix="fairtrial-query-"))
    context.call_on_close(lambda: shutil.rmtree(folder, ignore_errors=True))
    return folder


def _remove_finished(context: click.Context, folder: Path) -> None:
    if context.meta.get(__name__):
        shutil.rmtree(folder, ignore_errors=True)


def forget_rows() -> None:
    """Let the rows beside an --output go when the command ends, because it is finished."""
    click.get_current_context().meta[__name__] = True
