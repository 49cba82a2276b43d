"""The command `fairtrial bisect`, which finds the commit that changed an agent."""

from __future__ import annotations

from pathlib import Path

import click

from fairtrial.cli import completion, exit_codes
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags, trust_flags


@command()
@click.option(
    "--good", required=True, metavar="COMMIT", shell_complete=completion.runs, help="A commit, or a run, before it."
)
@click.option(
    "--bad", required=True, metavar="COMMIT", shell_complete=completion.runs, help="A commit, or a run, with it."
)
@click.option("--command", "text", required=True, metavar="COMMAND", help="Evaluates the agent in a work tree.")
@click.option(
    "--setup", default="", metavar="COMMAND", help="Prepares the work tree after each checkout, for example an install."
)
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 1, max_open=True),
    default=0.95,
    show_default=True,
    metavar="P",
    help="Stop when a commit has this probability.",
)
@click.option(
    "--max-attempts",
    type=click.IntRange(1),
    default=2000,
    show_default=True,
    metavar="N",
    help="Stop after N attempts at cases.",
)
@trust_flags.json_file
@flags.add_store_option
def bisect(
    good: str,
    bad: str,
    text: str,
    setup: str,
    confidence: float,
    max_attempts: int,
    json_file: Path | None,
    store: str,
) -> int:
    """Find the commit that changed the outcomes of cases, although each evaluation may be wrong.

    COMMAND runs in a work tree of its own, which is removed at the end. If it is `fairtrial run`, the cases that tell
    most are run. Of another command, exit code 0 is a pass, 125 says that the commit cannot be tested, and another code
    below 128 is a failure. A search that was interrupted goes on where it was.

    Exit codes: 0 found, 3 not found, 2 wrong input, 130 interrupt.

    \b
    fairtrial bisect --good v1.2 --bad HEAD --command "fairtrial run evals/ --agent shop.agent:reply"
    fairtrial bisect --good 20261120 --bad 20261121 --command "fairtrial run evals/ --agent shop.agent:reply"
    fairtrial bisect --good v1.2 --bad HEAD --setup "pip install -e ." --command "python check.py"
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.console import Terminated, console, echo, interrupted_by_sigterm

    def note(line: str) -> None:
        echo(line, err=True)

    options = api.BisectOptions(setup, confidence, max_attempts, store)
    try:
        with interrupted_by_sigterm():
            bisection = api.bisect(good, bad, text, options, note)
    except Terminated:
        echo("interrupted", err=True)
        return exit_codes.TERMINATED
    trust_flags.write(bisection, json_file)
    if not trust_flags.is_stdout(json_file):
        api.print_bisection(console(), bisection)
    return exit_codes.OK if bisection.found else exit_codes.UNSCORED
