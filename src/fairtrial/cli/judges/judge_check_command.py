"""The command `fairtrial judge check`, which asks a judge questions with known answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fairtrial.api import DEFAULT_MODEL
from fairtrial.cli import exit_codes
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import judge_flags, trust_flags
from fairtrial.records.judge_check import CheckResult


@command("check")
@click.option("--model", metavar="NAME", help=f"The model, or several separated by commas.  [default: {DEFAULT_MODEL}]")
@click.option("--config", metavar="FILE", help="Check the models that the criteria of an EvalConfig name.")
@click.option("--prompt", multiple=True, metavar="NAME", help="Only the questions of this prompt. Repeatable.")
@click.option("--votes", default=1, show_default=True, type=click.IntRange(1), help="The votes on each question.")
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Fail if fewer of the answers are right, such as 0.9.",
)
@judge_flags.call_options
@trust_flags.json_file
def check_judge(
    model: str | None,
    config: str | None,
    prompt: tuple[str, ...],
    votes: int,
    fail_under: float | None,
    json_file: Path | None,
    **calls: Any,
) -> int:
    """Ask the judge more than 800 questions with known answers, and print how often it is right by each rule.

    Sensitivity is the share of right answers if the property holds, and specificity if it does not hold. The questions
    of all prompts alternate, so --max-calls 50 gives some of each.

    A judge is refused if it is shown to be wrong about more than 5 % of the questions, about half of a kind or of a
    language, or if it passes forged verdicts or invents quotes. A judge that is right about 95 % is refused in fewer
    than 2 of 100 checks.

    Exit codes: 0 no judge is refused, 1 a judge is refused or right about less than --fail-under, 2 the judge cannot be
    called, 3 some questions have no answer, 130 interrupted.

    \b
    fairtrial judge check --model openai/gpt-4o-mini
    fairtrial judge check --model ollama/qwen3 --prompt safety --prompt hallucinations
    fairtrial judge check --model openai/gpt-4o-mini --max-calls 50 --fail-under 0.9 --json check.json
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.console import console
    from fairtrial.cli.options.dotenv_files import read_environment
    from fairtrial.cli.progress import Progress

    read_environment(config=config, paths=["."])
    judges = api.Judges(model=model, models=judge_flags.find_models(calls))
    check = api.plan_judge_check(judges, config, prompts=prompt, votes=votes)
    cost = "an unknown price" if check.cost is None else f"about ${check.cost:.2f}"
    click.echo(f"{check.question_count} questions, about {check.tokens:,} tokens, {cost}", err=True)
    results: list[CheckResult] = []
    interrupted = False
    with Progress(check.question_count, quiet=False, activity="checking", problem="not right") as progress:

        def add(result: CheckResult) -> None:
            results.append(result)
            progress.advance(good=result.is_right)

        try:
            check.run(add)
        except KeyboardInterrupt:
            interrupted = True
    report = check.report(results)
    trust_flags.write(report, json_file)
    if not trust_flags.is_stdout(json_file):
        api.print_judge_check(console(), report)
    if interrupted:
        click.echo("interrupted; the answers so far are shown", err=True)
        return exit_codes.INTERRUPTED
    if any(report.refusals.values()) or (fail_under is not None and report.is_below(fail_under)):
        return exit_codes.FAILED
    has_all = len(report.results) == report.question_count and all(result.outcome for result in report.results)
    return exit_codes.OK if has_all else exit_codes.UNSCORED
