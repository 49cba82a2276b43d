"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from fairtrial.errors import UsageError

Option = Callable[[Callable[..., Any]], Callable[..., Any]]

reply_timeout = click.option(
    "--reply-timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="The longest wait for a reply.",
)
record = click.option(
    "--record",
    type=click.Choice(["messages", "spans"]),
    help="spans: read the agent's OpenTelemetry spans, too.",
)
only = click.option(
    "--only", multiple=True, metavar="ID", help="Run only cases with this id. * and ? are wildcards. Repeatable."
)


def _read_thresholds(ctx: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """Return the values `NAME=X` of an option as thresholds by the names of criteria."""
    thresholds: dict[str, float] = {}
    for value in values:
        name, _, number = value.rpartition("=")
        try:
            threshold = float(number)
        except ValueError:
            raise click.BadParameter(f"must be NAME=X with a number X, got {value!r}", ctx=ctx, param=option) from None
        if not name or name in thresholds:
            raise click.BadParameter(f"must name a criterion once, got {value!r}", ctx=ctx, param=option)
        thresholds[name] = threshold
    return thresholds


def _read_attempts(ctx: click.Context, option: click.Parameter, values: tuple[str, ...]) -> Any:
    """Return the values of the option as options, or None if there are none."""
    from fairtrial.api import attempt_argument, merge_attempts

    try:
        return merge_attempts(tuple(map(attempt_argument, values))) if values else None
    except UsageError as error:
        raise click.BadParameter(str(error), ctx=ctx, param=option) from None


def _read_columns(ctx: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Return the values `input=question,reply=answer` of an option as columns by the parts of a case.

    A value without `=` is a file of `check --save-map`.
    """
    columns: dict[str, str] = {}
    for text in values:
        for part, column in _pairs(ctx, option, text):
            if part in columns:
                problem = f"must name each part once, such as input=question,reply=answer; got {part} twice"
                raise click.BadParameter(problem, ctx=ctx, param=option)
            columns[part] = column
    return columns


def _pairs(ctx: click.Context, option: click.Parameter, text: str) -> list[tuple[str, str]]:
    """Return the parts and columns in one value of the option."""
    if "=" not in text and Path(text).is_file():
        from fairtrial.api import read_map

        return list(read_map(Path(text)).items())
    pairs = [value.partition("=") for value in text.split(",")]
    if wrong := [part for part, equals, _ in pairs if not equals]:
        problem = f"must be PART=COLUMN, such as input=question,reply=answer, or a file of --save-map; got {wrong[0]!r}"
        raise click.BadParameter(problem, ctx=ctx, param=option)
    return [(part.strip(), column.strip()) for part, _, column in pairs]


columns = click.option(
    "--map",
    "columns",
    multiple=True,
    metavar="PART=COL|FILE",
    callback=_read_columns,
    help="Columns of a table: input=question,reply=answer. Parts: input, expected, expected_calls, reply, "
    "calls, context, id. Others are guessed. For any other JSON, JSONPath of the parts messages, user, calls, reply, "
    "conversation, id: messages=request.messages,reply=response.text. "
    "FILE holds these pairs; check --save-map writes it.",
)
attempts = click.option(
    "--attempts",
    multiple=True,
    metavar="N[,PASS]",
    callback=_read_attempts,
    help="The conversations per case. PASS is when a case passes: all, any, mean, at_least:N or rate:X. SET=N[,PASS] "
    "and SET:CASE=N[,PASS] are about one eval set or case. Repeatable.  [default: 1]",
)
thresholds = click.option(
    "--threshold",
    "thresholds",
    multiple=True,
    metavar="NAME=X",
    callback=_read_thresholds,
    help="The threshold of a criterion. It replaces the configuration's. Repeatable.",
)
concurrency = click.option(
    "--concurrency",
    default=8,
    show_default=True,
    type=click.IntRange(1),
    metavar="N",
    help="The most cases at once.",
)
allow_code = click.option(
    "--allow-code", is_flag=True, help="Run code that stands in a configuration: a custom_function."
)
lenient = click.option("--lenient", is_flag=True, help="Unknown options and misspelt keys become warnings.")


def add_store_option(command: Callable[..., Any], words: str = "Any SQLAlchemy URL.") -> Callable[..., Any]:
    """Add the option that says which store to read. A subcommand takes the store of its group by default."""
    from fairtrial import api
    from fairtrial.cli.options.project_flags import project_store

    def default() -> str:
        group = click.get_current_context().parent
        return str(group.params["store"]) if group is not None and "store" in group.params else project_store()

    option = click.option("--store", default=default, show_default=api.DEFAULT_URL, metavar="URL", help=words)
    return option(command)


def show_command(run_id: str, store: str, arguments: str = "") -> str:
    """Return the command that shows a run again. It names the store without its password."""
    from fairtrial.api import store_option

    return f"fairtrial show {run_id}{arguments}{store_option(store)}"


def with_options(command: Callable[..., Any], *options: Option) -> Callable[..., Any]:
    """Add options to a command. Its help shows them in this order."""
    for option in reversed(options):
        command = option(command)
    return command
