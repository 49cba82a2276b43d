"""The command group `fairtrial judge`, which checks and calibrates judges, and its command `ping`."""

from __future__ import annotations

import click

from fairtrial.api import DEFAULT_MODEL
from fairtrial.cli import exit_codes
from fairtrial.cli.headed_command import HeadedGroup
from fairtrial.cli.judges.judge_check_command import check_judge
from fairtrial.cli.judges.judge_label_commands import calibrate, sample
from fairtrial.cli.judges.judge_report_card_command import report_card
from fairtrial.cli.options import flags


@click.group(cls=HeadedGroup)
def judge() -> None:
    """Check the models that judge: do they answer in form, and do they agree with people?

    \b
    fairtrial judge ping --judge-model openai/my-model
    fairtrial judge check --model openai/my-model
    fairtrial judge sample 20260102 --criterion final_response_match_v2 -o labels.csv
    fairtrial judge calibrate 20260102 --labels labels.csv
    fairtrial judge report-card --recorded verdicts.csv
    """  # noqa: D301


judge.add_command(check_judge)
judge.add_command(sample)
judge.add_command(calibrate)
judge.add_command(report_card)


@judge.command()
@click.option(
    "--judge-model", metavar="NAME", help=f"The model, or several separated by commas.  [default: {DEFAULT_MODEL}]"
)
@click.option("--config", metavar="FILE", help="Check the models that the criteria of an EvalConfig name.")
@click.option("--run", metavar="RUN", help="Also print the cost of judging this run of the store.")
@flags.add_store_option
def ping(judge_model: str | None, config: str | None, run: str | None, store: str) -> int:
    """Send twelve questions with known answers to the judge, in four languages.

    The first line says which protocol, endpoint and key the model uses.

    Exit codes: 0 every answer is right, 1 some answer is wrong or cannot be read, 2 the judge cannot be called.

    \b
    fairtrial judge ping
    fairtrial judge ping --config test_config.json
    fairtrial judge ping --judge-model openai/my-model --run 20260102
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.options.dotenv_files import read_environment
    from fairtrial.text.display import visible

    read_environment(config=config, paths=["."])
    judges = api.Judges(model=judge_model)
    for name, description in api.connections(judges, config).items():
        click.echo(visible(f"{name} speaks {description}"))
    report = api.ping(judges, config)
    for model in dict.fromkeys(result.model for result in report.results):
        own = [result for result in report.results if result.model == model]
        for result in own:
            if result.is_right:
                cost = "" if result.cost is None else f", ${result.cost:.6f}"
                again = ", asked twice" if result.calls > 1 else ""
                click.echo(f"✓ {result.prompt} ({result.language}) in {result.seconds:.1f} s{cost}{again}")
            else:
                click.echo(api.describe_miss(result))
        click.echo(f"{visible(model)}: {sum(result.is_right for result in own)} of {len(own)} right")
    if run is not None:
        for name in dict.fromkeys(result.model for result in report.results):
            calls, run_cost = api.estimate_cost(run, store, name)
            price = "an unknown price" if run_cost is None else f"${run_cost:.4f}"
            click.echo(f"run {run}: {calls} calls, with {visible(name)} {price}")
    return exit_codes.OK if all(result.is_right for result in report.results) else exit_codes.FAILED
