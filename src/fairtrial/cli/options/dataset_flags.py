"""Options of `fairtrial score` for data sets that are scored into a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from fairtrial import api
from fairtrial.cli.headed_command import under
from fairtrial.errors import UsageError

_OF_QUERIES = ("sample", "seed")
"""A database takes the sample of a query, with --out and without."""
_NAMES = (
    "resume",
    "data_columns",
    "sample",
    "stratify",
    "carry",
    "seed",
    "max_refused",
    "keep_failures",
    "engine",
    "address",
)


def _read_sample(ctx: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """Return `10%`, `0.1` or `1000` as a number: a share below 1, or a number of conversations."""
    if value is None:
        return None
    try:
        return float(value[:-1]) / 100 if value.endswith("%") else float(value)
    except ValueError:
        raise click.BadParameter(
            f"must be a number such as 1000 or a share such as 10%, got {value!r}", ctx, option
        ) from None


def _read_out(ctx: click.Context, option: click.Parameter, value: str | None) -> str | Path | None:
    """Return the URL of a folder in an object store, or the path of a folder."""
    if value is None or api.is_object_folder(value):
        return value
    if "://" in value:
        raise click.BadParameter(f"must be a folder, or begin with s3://, gs://, abfs:// or az://, got {value!r}")
    path: Path = click.Path(file_okay=False, path_type=Path).convert(value, option, ctx)
    return path


def dataset_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about data sets."""
    return _FREQUENT(_RARE(command))


_FREQUENT = under(
    "Data sets",
    click.option(
        "--out",
        callback=_read_out,
        metavar="FOLDER",
        help="Score a data set of any size into a folder. It holds Parquet files, also in an object store. "
        "RECORDED may be globs, folders and URLs such as s3://BUCKET/FOLDER, plain or packed as .gz or .zst.",
    ),
    click.option("--resume", is_flag=True, help="Go on with an interrupted --out folder."),
    click.option(
        "--sample",
        metavar="N|SHARE",
        callback=_read_sample,
        help="Score only a sample, such as 1000 or 10%. It is taken of an --out data set, or of a query.",
    ),
)
_RARE = under(
    "Data sets",
    click.option(
        "--columns",
        "data_columns",
        metavar="NAMES",
        help="The columns of Parquet inputs: conversation=COLUMN, or messages=COLUMN,id=COLUMN. "
        "[default: by their usual names]",
    ),
    click.option(
        "--stratify",
        metavar="FIELD",
        default="",
        help="Sample each value of a field in proportion: a field of JSON lines, a column of Parquet, or `file`.",
    ),
    click.option(
        "--carry",
        metavar="FIELD,...",
        default="",
        help="Carry fields of the input into the results, for example tenant,metadata.route.",
    ),
    click.option("--seed", type=int, default=0, show_default=True, help="Which conversations --sample chooses."),
    click.option(
        "--max-refused",
        type=float,
        default=0.01,
        show_default=True,
        metavar="SHARE",
        help="Stop an --out run if a larger share of its conversations cannot be read.",
    ),
    click.option(
        "--keep-failures",
        type=int,
        default=1000,
        show_default=True,
        metavar="N",
        help="The number of attempts that did not pass and are kept: of each shard in --out, of all in the store.",
    ),
    click.option(
        "--engine",
        type=click.Choice(["processes", "ray"]),
        default="processes",
        show_default=True,
        help="Who scores an --out data set: --jobs processes of this machine, or a cluster of Ray.",
    ),
    click.option(
        "--batch-api",
        is_flag=True,
        help="Ask the judges in batches of their providers: at half the price, with replies within a day.",
    ),
    click.option("--address", metavar="ADDRESS", default="", help="The cluster of --engine ray, such as auto."),
    rare=True,
)


@dataclass(frozen=True)
class DatasetFlags:
    """A data set as the options describe it."""

    options: api.DatasetOptions
    executor: api.Executor
    resume: bool


def read_dataset(options: Mapping[str, Any], jobs: int) -> DatasetFlags:
    """Return a data set as the options describe it. Raises UsageError."""
    if options["address"] and options["engine"] != "ray":
        raise UsageError("--address needs --engine ray: it is the address of a cluster", code="missing-option")
    return DatasetFlags(
        api.DatasetOptions(
            None if options["data_columns"] is None else api.columns_in(options["data_columns"]),
            options["sample"],
            options["seed"],
            options["max_refused"],
            options["keep_failures"],
            options["stratify"],
            tuple(name.strip() for name in options["carry"].split(",") if name.strip()),
        ),
        api.executor_for(options["engine"], jobs, options["address"]),
        options["resume"],
    )


def refuse_without_out(context: click.Context) -> None:
    """Raise UsageError for an option that is only about data sets, if --out is not given."""
    allowed = _OF_QUERIES if context.params.get("sql") is not None else ()
    for name in _NAMES:
        if name not in allowed and _is_given(context, name):
            raise UsageError(
                f"--{name.removeprefix('data_').replace('_', '-')} needs --out, the folder of a scored data set",
                code="missing-option",
            )


_ONLY_RUNS = (
    "only",
    "concurrency",
    "failed_from",
    "exitfirst",
    "reuse",
    "github",
    "baseline",
    "push",
)


def refuse_with_out(context: click.Context) -> None:
    """Raise UsageError for an option that a data set does not take: its folder and `fairtrial show` are its reports."""
    for parameter in context.command.params:
        name = parameter.name or ""
        if (name.endswith("_report") or name in _ONLY_RUNS) and _is_given(context, name):
            advice = "the folder holds all results, and `fairtrial show` reports them"
            raise UsageError(f"{parameter.opts[0]}: does not go with --out; {advice}", code="options-conflict")


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
