"""`fairtrial record`: an agent on eval sets, to be scored later."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fairtrial import api
from fairtrial.cli import exit_codes, flags
from fairtrial.cli.dotenv_files import read_environment
from fairtrial.cli.judge_flags import call_options, models_of
from fairtrial.cli.output_files import FileToWrite
from fairtrial.cli.progress import Progress
from fairtrial.records.attempt import Recording
from fairtrial.text.display import shortened, visible

_SHOWN = 10


@click.command()
@click.argument("evalset", nargs=-1, required=True)
@click.option("--agent", metavar="TARGET", required=True, help="The agent; see `fairtrial run --help`.")
@click.option("-o", "--output", metavar="FILE", required=True, type=FileToWrite(), help="JSON lines.")
@click.option(
    "--attempts", type=click.IntRange(1), default=1, show_default=True, help="How many conversations for each case."
)
@flags.reply_timeout
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="An EvalConfig, for its users and environments. Default: the nearest test_config.json.",
)
@flags.lenient
@flags.only
@flags.concurrency
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
    fairtrial record shop.evalset.json --agent shop.agent:reply -o shop.jsonl
    fairtrial score shop.jsonl --against shop.evalset.json

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
        judges=api.Judges(models=models_of(calls)),
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
