"""`fairtrial judge`: is the judge ready?"""

from __future__ import annotations

import sys

import click

from fairtrial.api import DEFAULT_MODEL
from fairtrial.cli import exit_codes, flags


@click.group()
def judge() -> None:
    """Look after the models that judge.

    \b
    fairtrial judge ping --judge-model openai/my-model
    """  # noqa: D301


@judge.command()
@click.option(
    "--judge-model", metavar="NAME", help=f"The model, or several separated by commas.  [default: {DEFAULT_MODEL}]"
)
@click.option("--config", metavar="FILE", help="Ask the models that the criteria of an EvalConfig name.")
@click.option("--run", metavar="RUN", help="Also say what judging this run of the store would cost.")
@flags.stored
def ping(judge_model: str | None, config: str | None, run: str | None, store: str) -> None:
    """Send one question of each kind to the judge, and say whether it answers in form.

    Exits with 0 if it does, with 1 if some kind was not answered in form, with 2 if it cannot be called.

    \b
    fairtrial judge ping
    fairtrial judge ping --config test_config.json
    fairtrial judge ping --judge-model openai/my-model --run 20260102
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.dotenv_files import read_environment
    from fairtrial.text.display import visible

    read_environment(config=config, paths=["."])
    answers = api.ping(api.Judges(model=judge_model), config)
    for one in answers:
        mark = "✗" if one.problem else "✓"
        cost = "" if one.cost is None else f", ${one.cost:.6f}"
        again = ", asked twice" if one.asked > 1 else ""
        click.echo(f"{mark} {visible(one.model)}: {one.kind} in {one.seconds:.1f} s{cost}{again}")
        if one.problem:
            click.echo(f"    {visible(one.problem)}")
    if run is not None:
        for name in dict.fromkeys(one.model for one in answers):
            calls, cost_then = api.cost_of(run, store, name)
            said = "an unknown price" if cost_then is None else f"${cost_then:.4f}"
            click.echo(f"run {run}: {calls} calls, with {visible(name)} {said}")
    sys.exit(exit_codes.FAILED if any(one.problem for one in answers) else exit_codes.OK)
