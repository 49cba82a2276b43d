"""`fairtrial attack`: plant attacks in the cases that an agent passes, and count those that succeed."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import click

from fairtrial import api
from fairtrial.cli import exit_codes
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command, under
from fairtrial.cli.options import flags
from fairtrial.cli.options.dotenv_files import read_environment
from fairtrial.cli.options.holding_flags import unordered_holding_options
from fairtrial.cli.options.judge_flags import judge_options, make_judges
from fairtrial.cli.options.project_flags import project_options
from fairtrial.cli.options.resumption import earlier_run, read_arguments
from fairtrial.cli.output import Common, common_options, run_and_report
from fairtrial.errors import UsageError
from fairtrial.text.display import visible_line

_CHOICES = (
    click.option("--attack", "templates", multiple=True, metavar="NAME", help="Use only this attack. Repeatable."),
    click.option(
        "--goal",
        "kinds",
        multiple=True,
        metavar="KIND",
        help="Only goals of this kind: call, exfiltrate, redirect, suppress, misinform or exhaust. Repeatable.",
    ),
    click.option(
        "--place",
        "places",
        multiple=True,
        metavar="PLACE",
        help="Plant only in this place: result, document, agent, attachment, user or declaration. Repeatable.",
    ),
    click.option(
        "--language",
        "languages",
        multiple=True,
        metavar="LANG",
        help="Texts in en, ko, ja or zh. Repeatable. Default: English, and the language of the user.",
    ),
    click.option(
        "--goals", "goals_file", metavar="FILE", type=click.Path(path_type=Path), help="Your own goals, JSON."
    ),
    click.option(
        "--adapt",
        "adapt_run",
        metavar="RUN",
        help="A model writes the failed attacks of RUN again.",
    ),
    click.option("--attacker", metavar="MODEL", help="The model that writes them, such as gemini-2.5-flash."),
    click.option("--list", "list_attacks", is_flag=True, help="Show the attacks with their sources, and stop."),
)
_LIMITS = (
    click.option(
        "--sample", type=click.IntRange(1), default=100, show_default=True, metavar="N", help="Make N attacks."
    ),
    click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Another seed makes others."),
    click.option("--dry-run", is_flag=True, help="Print the number of conversations, and start none."),
)


@command()
@click.argument("evalset", nargs=-1)
@project_options
@under("Agent", click.option("--agent", metavar="TARGET", help="The agent, as in `fairtrial run`."), flags.attempts)
@under("Agent", flags.reply_timeout, rare=True)
@unordered_holding_options
@under("Input", flags.columns)
@under("Input", click.option("--from-run", metavar="RUN", help="An unattacked run of the same cases in the store."))
@under("Attacks", *_CHOICES)
@under("Limits", *_LIMITS)
@under("Store", click.option("--resume", metavar="RUN", help="Continue an interrupted run with its own arguments."))
@judge_options
@common_options
@click.pass_context
def attack(
    ctx: click.Context,
    /,
    evalset: tuple[str, ...],
    agent: str | None,
    attempts: api.AttemptOptions | None,
    reply_timeout: float | None,
    holding: api.Holding,
    columns: dict[str, str],
    from_run: str | None,
    goals_file: Path | None,
    list_attacks: bool,
    adapt_run: str | None,
    attacker: str | None,
    dry_run: bool,
    resume: str | None,
    common: Common,
    **options: Any,
) -> int:
    """Plant attacks in the cases that an agent passes, and count those that succeed.

    First every case runs unattacked. Then texts that ask for something else stand in the results of the tools that
    these cases call. No model decides: the call, the value or the secret of the goal is there, or it is not. Calls that
    belong to a goal are answered without their tool.

    \b
    fairtrial attack evals/ --agent shop.agent:reply
    fairtrial attack evals/ --agent shop.agent:reply --sample 300 --sarif attacks.sarif
    fairtrial attack evals/ --agent shop.agent:reply --from-run 20260102 --goal exfiltrate
    fairtrial gate RUN --claim "attack_success<=0.05"
    """  # noqa: D301
    if list_attacks:
        for name, source in api.attack_sources().items():
            echo(f"{name:<20}{source}")
        return exit_codes.OK
    choice = _choice(options, goals_file)
    arguments = common.run_arguments(evalset, agent, columns, reply_timeout)
    arguments |= {"holding": holding.arguments or None}
    earlier = earlier_run(common.store, resume, "attack") if resume else None
    if earlier:
        arguments = read_arguments(earlier, arguments)
        from_run, choice = str(earlier.config["baseline"]), api.attack_choice_in(earlier.config)
        adapt_run = attacker = None
    failed = _run_to_adapt(common, adapt_run, attacker)
    from_run = _find_baseline(failed, from_run)
    if not arguments["paths"] or not arguments["agent"]:
        raise click.UsageError("needs at least one EVALSET and --agent TARGET", ctx)
    if common.store == "none":
        raise UsageError("an attack needs the store of the unattacked run, got --store none", code="missing-option")
    files = read_environment(agent=arguments["agent"], config=arguments["config"], paths=arguments["paths"])
    judges = make_judges(options, earlier.config.get("judge") or {} if earlier else None)
    option_names = ("only", "lenient", "allow_code", "thresholds")
    reading_options = {name: arguments[name] for name in option_names if arguments[name] is not None}
    reading = api.ReadOptions(columns=arguments["columns"] or {}, **reading_options)
    running = api.RunOptions(
        attempts or api.AttemptOptions(),
        common.concurrency,
        reply_timeout=arguments["reply_timeout"],
        judges=judges,
        holding=api.Holding(**(arguments["holding"] or {})),
    )
    with common.output.only_report_on_stdout():
        plan = common.choose(
            api.plan_run(arguments["paths"], arguments["agent"], arguments["config"], reading, running)
        )
    if failed is not None:
        adapted = _adapt(failed, str(attacker), common, plan, choice, dry_run=dry_run)
        if adapted is None:
            return exit_codes.OK
        choice = adapted
    attacked = _plan_attacks(plan, choice, common, from_run, is_asked=not earlier, dry_run=dry_run)
    if attacked is None:
        return exit_codes.OK
    attacked = api.resume(attacked, earlier) if earlier else attacked
    code = run_and_report(attacked, common.store, common.output, environment_files=files, resumed=earlier is not None)
    run = api.reread(common.store, attacked.info.id)
    if run.attacks is not None and common.output.reports.on_stdout is None:
        api.print_attacks(common.output.terminal, run.attacks, rates_only=common.output.quiet)
    return code


def _choice(options: dict[str, Any], goals_file: Path | None) -> api.AttackChoice:
    option_names = ("templates", "kinds", "languages", "places", "sample", "seed")
    goals = () if goals_file is None else api.read_goals(goals_file)
    return api.AttackChoice(goals=goals, **{name: options.pop(name) for name in option_names})


def _plan_attacks(
    plan: api.Plan,
    choice: api.AttackChoice,
    common: Common,
    from_run: str | None,
    *,
    is_asked: bool,
    dry_run: bool,
) -> api.Plan | None:
    """Print the price, ask if somebody can answer, run the cases unattacked if no run did, and return the attacks.

    Returns None for a dry run, which starts no conversation.
    """
    price = api.price_attacks(plan, choice, has_baseline=from_run is not None)
    attack_plan = None if from_run is None else api.plan_attacks(plan, api.reread(common.store, from_run), choice)
    echo(visible_line(price if attack_plan is None else attack_plan.bill), err=True)
    if dry_run:
        return None
    if is_asked:
        _ask(common)
    if attack_plan is None:
        attack_plan = api.plan_attacks(plan, _run_unattacked(plan, common), choice)
        echo(visible_line(attack_plan.bill), err=True)
    return attack_plan.plan


def _run_to_adapt(common: Common, adapt_run: str | None, attacker: str | None) -> api.Run | None:
    if attacker is None and adapt_run is not None:
        raise UsageError(
            "--adapt RUN needs --attacker MODEL, which writes its failed attacks again", code="missing-option"
        )
    if attacker is not None and adapt_run is None:
        raise UsageError(
            "--attacker MODEL needs --adapt RUN, whose failed attacks it writes again", code="missing-option"
        )
    return None if adapt_run is None else api.reread(common.store, adapt_run)


def _find_baseline(failed: api.Run | None, from_run: str | None) -> str | None:
    """Return the unattacked run: by default that of the run whose attacks are written again."""
    return from_run if failed is None or from_run else str(failed.info.config.get("baseline", failed.info.id))


def _adapt(
    failed: api.Run, attacker: str, common: Common, plan: api.Plan, choice: api.AttackChoice, *, dry_run: bool
) -> api.AttackChoice | None:
    """Print the price, ask if somebody can answer, and return the attacks that a model wrote. None for a dry run."""
    click.echo(visible_line(f"at most {choice.sample:,} calls of {attacker} write the attacks"), err=True)
    if dry_run:
        return None
    _ask(common)
    adapted = api.adapt_attacks(failed, attacker, plan.judges, sample=choice.sample)
    return dataclasses.replace(choice, adapted=adapted)


def _ask(common: Common) -> None:
    """Ask whether the command may start, if somebody can answer."""
    if not common.output.yes and sys.stdin.isatty():
        click.confirm("Start?", abort=True, err=True)


def _run_unattacked(plan: api.Plan, common: Common) -> api.Run:
    """Run the cases without attacks. Their reports are not written: `fairtrial show` shows them."""
    from fairtrial.cli.progress import Progress

    with Progress(plan.total, quiet=common.output.quiet, activity="talking to the agent, unattacked") as progress:
        run = api.execute(
            dataclasses.replace(plan, exit_first=False),
            store=common.store,
            on_result=lambda result, verdict: progress.advance(good=verdict == "passed", name=result.title),
            on_recording=lambda _: progress.record(),
        )
    echo(f"unattacked: {run.info.id}, {run.verdict}", err=True)
    return api.reread(common.store, run.info.id)
