"""`fairtrial record`: run an agent on eval sets, and score its conversations later."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairtrial import api
from fairtrial.cli import exit_codes
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags, trust_flags
from fairtrial.cli.options.dotenv_files import read_environment
from fairtrial.cli.options.holding_flags import holding_options
from fairtrial.cli.options.judge_flags import call_options, find_models
from fairtrial.cli.options.project_flags import project_options
from fairtrial.cli.outputs.output_files import FileToWrite, collect_inputs, refuse_overwriting
from fairtrial.cli.progress import Progress
from fairtrial.text.display import shorten, visible_line

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording

_SHOWN_FAILURES = 10


@command()
@click.argument("evalset", nargs=-1, required=True)
@click.option("--agent", metavar="TARGET", required=True, help="The agent; see `fairtrial run --help`.")
@click.option("-o", "--output", metavar="FILE", required=True, type=FileToWrite(), help="The JSON lines to write.")
@project_options
@flags.attempts
@flags.reply_timeout
@flags.record
@holding_options
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="An EvalConfig, for its users and environments. Default: the nearest test_config.json.",
)
@flags.lenient
@flags.columns
@flags.only
@flags.concurrency
@call_options
@trust_flags.json_file
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
def record(
    evalset: tuple[str, ...],
    agent: str,
    output: Path,
    attempts: api.AttemptOptions | None,
    reply_timeout: float | None,
    record: api.RecordSource | None,
    holding: api.Holding,
    config: Path | None,
    lenient: bool,
    columns: dict[str, str],
    only: tuple[str, ...],
    concurrency: int,
    json_file: Path | None,
    quiet: bool,
    **calls: Any,
) -> int:
    """Run an agent on eval sets, and write its conversations to a file. Nothing is scored.

    \b
    fairtrial record shop.evalset.json --agent shop.agent:reply -o shop.jsonl
    fairtrial score shop.jsonl --against shop.evalset.json

    Exit codes: 0 all conversations ended, 1 the agent broke some (they are written too), 2 wrong input or usage,
    3 only other causes broke some, for example an outage, 130 interrupted.
    """  # noqa: D301
    environment_files = read_environment(agent=agent, config=config, paths=evalset)
    models = find_models(calls)
    plan = api.plan_run(
        list(evalset),
        agent,
        config,
        api.ReadOptions(list(only), lenient, columns),
        api.RunOptions(
            attempts,
            concurrency,
            1,
            reply_timeout,
            api.Judges(models=models),
            is_scored=False,
            record=record or "messages",
            holding=holding,
        ),
    )
    cassette = models.cassette
    inputs = [*collect_inputs(plan.info.config), *environment_files, *([cassette] if cassette else [])]
    refuse_overwriting("--output", output, inputs)
    _announce(plan, quiet=quiet)
    broken_count, agent_broke = 0, False
    notes: list[str] = []
    failures: list[str] = []
    printed_warnings: set[str] = set()
    try:
        with Progress(plan.total, quiet=quiet, activity="recording", problem="broken") as progress:

            def on_recording(recording: Recording, warnings: Sequence[str]) -> None:
                nonlocal broken_count, agent_broke
                for warning in warnings:
                    if warning not in printed_warnings:
                        printed_warnings.add(warning)
                        echo(f"warning: {visible_line(warning)}", err=True)
                if recording.failure is not None:
                    broken_count += 1
                    agent_broke = agent_broke or recording.failure.side == "agent"
                    if len(failures) < _SHOWN_FAILURES:
                        cause = shorten(recording.failure.cause, 200)
                        failures.append(f"{recording.case_id}, attempt {recording.attempt}: {cause}")
                progress.advance(good=recording.failure is None)

            count = api.write_recordings(
                plan, output, on_recording=on_recording, note=notes.append, on_wait=progress.show
            )
    except KeyboardInterrupt:
        echo(f"\ninterrupted; finished conversations are in {output}", err=True)
        return exit_codes.INTERRUPTED
    if not quiet:
        echo(
            f"{count} of {plan.total} conversations recorded in {output}, {broken_count} broken",
            err=trust_flags.is_stdout(json_file),
        )
    for remark in (*failures, *(f"note: {note}" for note in notes)):
        echo(visible_line(remark), err=True)
    counts = {"recordings": count, "planned": plan.total, "broken": broken_count}
    trust_flags.report(json_file, "record", files=(str(output),), counts=counts, notes=(*failures, *notes))
    return _exit_code(broken_count, agent_broke=agent_broke)


def _announce(plan: api.Plan, *, quiet: bool) -> None:
    for warning in plan.warnings:
        echo(f"warning: {visible_line(warning)}", err=True)
    for note in () if quiet else plan.notes:
        echo(f"note: {visible_line(note)}", err=True)


def _exit_code(broken_count: int, *, agent_broke: bool) -> int:
    if not broken_count:
        return exit_codes.OK
    return exit_codes.FAILED if agent_broke else exit_codes.UNSCORED
