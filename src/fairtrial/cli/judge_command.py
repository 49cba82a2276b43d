"""`fairtrial judge`: is the judge ready, and can it be believed?"""

from __future__ import annotations

import click

from fairtrial.api import DEFAULT_MODEL
from fairtrial.cli import exit_codes, flags
from fairtrial.cli.judge_label_commands import calibrate, sample
from fairtrial.cli.judge_report_card_command import report_card


@click.group()
def judge() -> None:
    """Check the models that judge: do they answer in form, and do they agree with people?

    \b
    fairtrial judge ping --judge-model openai/my-model
    fairtrial judge sample 20260102 --criterion final_response_match_v2 -o labels.csv
    fairtrial judge calibrate 20260102 --labels labels.csv
    fairtrial judge report-card --recorded verdicts.csv
    """  # noqa: D301


judge.add_command(sample)
judge.add_command(calibrate)
judge.add_command(report_card)


@judge.command()
@click.option(
    "--judge-model", metavar="NAME", help=f"The model, or several separated by commas.  [default: {DEFAULT_MODEL}]"
)
@click.option("--config", metavar="FILE", help="Check the models that the criteria of an EvalConfig name.")
@click.option("--run", metavar="RUN", help="Also print the cost of judging this run of the store.")
@flags.stored
def ping(judge_model: str | None, config: str | None, run: str | None, store: str) -> int:
    """Send one question of each kind to the judge, and check the form of its answers.

    Exit codes: 0 every answer has the right form, 1 some answer does not, 2 the judge cannot be called.

    \b
    fairtrial judge ping
    fairtrial judge ping --config test_config.json
    fairtrial judge ping --judge-model openai/my-model --run 20260102
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.dotenv_files import read_environment
    from fairtrial.text.display import visible

    read_environment(config=config, paths=["."])
    results = api.ping(api.Judges(model=judge_model), config)
    for result in results:
        mark = "✗" if result.problem else "✓"
        cost = "" if result.cost is None else f", ${result.cost:.6f}"
        again = ", asked twice" if result.call_count > 1 else ""
        click.echo(f"{mark} {visible(result.model)}: {result.kind} in {result.seconds:.1f} s{cost}{again}")
        if result.problem:
            click.echo(f"    {visible(result.problem)}")
    if run is not None:
        for name in dict.fromkeys(result.model for result in results):
            calls, run_cost = api.cost_of(run, store, name)
            price = "an unknown price" if run_cost is None else f"${run_cost:.4f}"
            click.echo(f"run {run}: {calls} calls, with {visible(name)} {price}")
    return exit_codes.FAILED if any(result.problem for result in results) else exit_codes.OK
