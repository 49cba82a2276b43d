"""`assay record`: an agent on eval sets, to be scored later."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from assay import api
from assay.cli import exit_codes, options
from assay.cli.environment import read_environment
from assay.cli.files import FileToWrite
from assay.cli.judging import call_options, exchange_of
from assay.cli.progress import Progress
from assay.data.recording import Recording
from assay.judge.judges import Judges
from assay.text.display import shortened, visible

_SHOWN = 10


@click.command()
@click.argument("evalset", nargs=-1, required=True)
@click.option("--agent", metavar="TARGET", required=True, help="The agent; see `assay run --help`.")
@click.option("-o", "--output", metavar="FILE", required=True, type=FileToWrite(), help="JSON lines.")
@click.option(
    "--attempts", type=click.IntRange(1), default=1, show_default=True, help="How many conversations for each case."
)
@options.reply_timeout
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="An EvalConfig, for its users and environments. Default: the nearest test_config.json.",
)
@options.lenient
@options.only
@options.concurrency
@call_options
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
def record(
    evalset: tuple[str, ...],
    agent: str,
    output: Path,
    attempts: int,
    reply_timeout: float | None,
    config: Path | None,
    lenient: bool,
    only: tuple[str, ...],
    concurrency: int,
    quiet: bool,
    **calls: Any,
) -> None:
    """Run an agent on eval sets, and write what it does; nothing is scored.

    \b
    assay record shop.evalset.json --agent shop.agent:reply -o shop.jsonl
    assay score shop.jsonl --against shop.evalset.json

    Exit codes: 0 all conversations ended, 1 some broke (they are written too), 2 wrong input or usage, 130 interrupted.
    """  # noqa: D301
    read_environment(agent=agent, config=config, paths=evalset)
    plan = api.plan_run(
        list(evalset),
        agent,
        config,
        attempts=attempts,
        concurrency=concurrency,
        reply_timeout=reply_timeout,
        only=list(only),
        lenient=lenient,
        judges=Judges(exchange_of(calls)),
    )
    for warning in plan.warnings:
        click.echo(f"warning: {visible(warning)}", err=True)
    broken = 0
    shown: list[str] = []
    said: list[str] = []
    try:
        with Progress(plan.total, quiet=quiet, doing="recording", bad="broken") as progress:

            def on_recording(recording: Recording, warnings: Sequence[str]) -> None:
                nonlocal broken
                for warning in warnings:
                    if warning not in said:
                        said.append(warning)
                        click.echo(f"warning: {visible(warning)}", err=True)
                if recording.failure is not None:
                    broken += 1
                    if len(shown) < _SHOWN:
                        cause = shortened(recording.failure.cause, 200)
                        shown.append(f"{recording.case_id}, attempt {recording.attempt}: {cause}")
                progress.advance(good=recording.failure is None)

            count = api.write_recordings(plan, output, on_recording=on_recording)
    except KeyboardInterrupt:
        click.echo(f"\ninterrupted; what is finished is in {output}", err=True)
        sys.exit(exit_codes.INTERRUPTED)
    if not quiet:
        click.echo(f"{count} of {plan.total} conversations recorded in {output}, {broken} broken")
    for one in shown:
        click.echo(visible(one), err=True)
    sys.exit(exit_codes.FAILED if broken else exit_codes.OK)
