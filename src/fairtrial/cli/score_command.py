"""`fairtrial score`: score recordings of an agent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from fairtrial import api
from fairtrial.cli.headed_command import command, under
from fairtrial.cli.options import flags
from fairtrial.cli.options.dataset_flags import dataset_options, read_dataset, refuse_with_out, refuse_without_out
from fairtrial.cli.options.dotenv_files import read_environment
from fairtrial.cli.options.judge_flags import judge_options, make_judges
from fairtrial.cli.options.project_flags import project_options
from fairtrial.cli.options.query_flags import name_rows, needs_files, query_options
from fairtrial.cli.options.trace_flags import collect_traces, trace_options
from fairtrial.cli.output import Common, common_options, run_and_report, stdout_as_stderr

_AGAINST = click.option(
    "--against", multiple=True, metavar="EVALSET", help="An eval set with the expectations. Repeatable."
)
_MATCH = click.option(
    "--match",
    type=click.Choice(["id", "session", "query", "order"]),
    default="id",
    show_default=True,
    metavar="PROPERTY",
    help="id, session, query or order: the property that a recording shares with its case.",
)
_JOBS = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="The number of processes that score. Criteria that ask a model need 1, or --out.",
)
_MAX_INCOMPLETE = click.option(
    "--max-incomplete",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Refuse the recordings if a larger share of them was not read in full: 0.01.",
)


@command()
@click.argument("recorded", nargs=-1)
@project_options
@under("Input", _AGAINST, _MATCH, flags.columns)
@under("Limits", _JOBS)
@under("Limits", _MAX_INCOMPLETE, rare=True)
@trace_options
@dataset_options
@judge_options
@common_options
@query_options("recorded", samples=True)
def score(
    recorded: tuple[str, ...],
    against: tuple[str, ...],
    match: api.Match,
    jobs: int,
    max_incomplete: float | None,
    columns: dict[str, str],
    out: str | Path | None,
    common: Common,
    **options: Any,
) -> int:
    """Score recordings of an agent.

    RECORDED is a file, a folder, or - for standard input. If a file holds both conversations and expectations,
    --against is not needed.

    \b
    fairtrial score sessions/ --against shop.evalset.json --match session
    fairtrial score dialogues.jsonl --config efficiency.json --json - | jq .summary
    fairtrial score answers.csv --map input=question,reply=answer,expected=truth
    fairtrial score traffic/ --config judged.json --out scored/ --jobs 8 --max-cost 200
    fairtrial score --sql otel_traces --from clickhouse://localhost/otel --config efficiency.json
    \f
    RECORDED is ADK's .evalset_result.json and session files, eval sets that were recorded, message lists of OpenAI,
    Anthropic, Gemini, Bedrock, LangChain, Pydantic AI and the Vercel AI SDK (JSON, JSON lines), spans of OpenTelemetry
    (OTLP as JSON or protobuf, console output, flat lists), and tau-bench results. Tables of CSV, JSON lines or Parquet
    with a column of replies. Several files of spans and log records are one body of data.

    \b
    fairtrial score app_shop_1760000000.evalset_result.json
    fairtrial score spans.jsonl logs.jsonl --against shop.evalset.json --match query
    fairtrial score a_million.jsonl --config efficiency.json --jobs 8
    fairtrial score 's3://traffic/2026-11-*/*.jsonl.gz' --config config.json --out scored/ --jobs 8
    fairtrial score traffic/ --config judged.json --out scored/ --jobs 8 --max-cost 200 --calls-per-minute 3000
    fairtrial score traffic/ --config judged.json --out scored/ --batch-api
    fairtrial score --sql "SELECT * FROM chats" --from duckdb:///traffic.db --sample 10% --config config.json
    """  # noqa: D301
    needs_files(recorded, "RECORDED")
    context = click.get_current_context()
    if out is not None:
        refuse_with_out(context)
        options["max_incomplete"] = max_incomplete
        return _score_dataset(recorded, against, match, jobs, out, common, options)
    refuse_without_out(context)
    environment_files = read_environment(config=common.config, paths=[*against, *recorded])
    with common.output.only_report_on_stdout():
        plan = api.plan_score(
            list(recorded),
            list(against) or None,
            common.config,
            common.read_options(columns, match=match, traces=collect_traces(options), max_incomplete=max_incomplete),
            api.RunOptions(concurrency=common.concurrency, jobs=jobs, judges=make_judges(options)),
        )
    plan = common.choose(name_rows(plan))
    return run_and_report(
        plan, common.store, common.output, environment_files=environment_files, reuse=options["reuse"]
    )


def _score_dataset(
    recorded: tuple[str, ...],
    against: tuple[str, ...],
    match: api.Match,
    jobs: int,
    out: str | Path,
    common: Common,
    options: Mapping[str, Any],
) -> int:
    from fairtrial.cli.dataset_output import score_dataset

    flags = read_dataset(options, jobs)
    read_environment(config=common.config, paths=against)
    with stdout_as_stderr():
        plan = api.plan_dataset(
            recorded,
            out,
            list(against) or None,
            common.config,
            flags.options,
            reading=common.read_options(
                {}, match=match, traces=collect_traces(options), max_incomplete=options["max_incomplete"]
            ),
            executor=flags.executor,
            judges=make_judges(options),
            name=common.labels.name,
            tags=common.labels.tags,
        )
    return score_dataset(plan, common, resume=flags.resume)
