"""`assay score`: what was recorded elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from assay import api
from assay.cli.environment import read_environment
from assay.cli.judging import judge_options, judges_of
from assay.cli.output import Output, common_options, go
from assay.load import Match


@click.command()
@click.argument("recorded", nargs=-1, required=True)
@click.option("--against", multiple=True, metavar="EVALSET", help="Where the expectation is. Repeatable.")
@click.option(
    "--match",
    type=click.Choice(["id", "session", "order"]),
    default="id",
    show_default=True,
    help="What says which recording belongs to which case.",
)
@judge_options
@common_options
def score(
    recorded: tuple[str, ...],
    against: tuple[str, ...],
    match: Match,
    config: Path | None,
    lenient: bool,
    only: tuple[str, ...],
    concurrency: int,
    json_file: str | None,
    junit: Path | None,
    adk_results: Path | None,
    store: str,
    allow_unscored: bool,
    quiet: bool,
    **judge: Any,
) -> None:
    """Score what was recorded elsewhere.

    RECORDED is a file or a folder: ADK's .evalset_result.json and session files, eval sets that were recorded, OpenAI
    chat messages (JSON, JSON lines), tau-bench results. Where one file holds both what happened and what was expected,
    --against is not needed.

    \b
    assay score app_shop_1760000000.evalset_result.json
    assay score sessions/ --against shop.evalset.json --match session
    assay score dialogues.jsonl --config efficiency.json --json - | jq .summary
    """  # noqa: D301
    read_environment(config=config, paths=[*against, *recorded])
    output = Output(json_file, junit, adk_results, allow_unscored, quiet)
    with output.only_json_on_stdout():
        plan = api.plan_score(
            list(recorded),
            list(against) or None,
            config,
            match=match,
            concurrency=concurrency,
            only=only,
            lenient=lenient,
            judges=judges_of(judge),
        )
    sys.exit(go(plan, store, output, reuse=judge["reuse"]))
