"""The command `fairtrial mutate`, which measures how many planted changes an evaluation detects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairtrial import api
from fairtrial.cli import exit_codes
from fairtrial.cli.console import console, echo, reader_may_leave
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags
from fairtrial.cli.options.dotenv_files import read_environment
from fairtrial.cli.options.holding_flags import unordered_holding_options
from fairtrial.cli.options.judge_flags import judge_options, make_judges
from fairtrial.cli.options.resumption import earlier_run, read_arguments
from fairtrial.cli.outputs.mutation_outputs import write_mutation_files
from fairtrial.cli.outputs.output_files import FileToWrite
from fairtrial.cli.progress import Progress
from fairtrial.errors import UsageError
from fairtrial.text.display import visible_line

if TYPE_CHECKING:
    from fairtrial.records.mutation import MutationReport
    from fairtrial.records.result import CaseResult

_STDOUT = Path("-")


@command()
@click.argument("evalset", nargs=-1)
@click.option("--from-run", metavar="RUN", help="Mutate the conversations of a stored run that passed.")
@click.option(
    "--agent",
    metavar="TARGET",
    help="Run this agent degraded instead: its tools fail, or their results get worse.",
)
@flags.reply_timeout
@unordered_holding_options
@click.option("--resume", metavar="RUN", help="Continue an interrupted run with its own arguments.")
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="An EvalConfig for all files. Default: the nearest test_config.json, else ADK's defaults.",
)
@click.option("--operator", multiple=True, metavar="NAME", help="Use only this operator. Repeatable.")
@click.option("--language", multiple=True, metavar="LANG", help="Change only replies in en, ko, ja or zh. Repeatable.")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Score only N mutants, of all operators alike.")
@click.option("--seed", type=int, metavar="N", help="Another seed changes other places.  [default: 0]")
@click.option("--list", "list_operators", is_flag=True, help="Show all operators with an example.")
@click.option(
    "--fail-under", type=click.FloatRange(0, 1), metavar="X", help="Exit with 1 if calls, facts or form are below X."
)
@click.option(
    "--max-false-alarms", type=click.FloatRange(0, 1), metavar="Y", help="Exit with 1 if more false alarms are raised."
)
@judge_options
@flags.thresholds
@flags.lenient
@flags.allow_code
@flags.only
@flags.concurrency
@click.option("--json", "json_file", metavar="FILE", type=click.Path(path_type=Path), help="Write JSON; - is stdout.")
@click.option("--markdown", metavar="FILE", type=FileToWrite(), help="Write Markdown to a file.")
@click.option("--html", metavar="FILE", type=FileToWrite(), help="Write one HTML file that opens anywhere.")
@click.option("--junit", metavar="FILE", type=FileToWrite(), help="Write JUnit XML to a file.")
@partial(flags.add_store_option, words="Any SQLAlchemy URL, or none.")
@click.option("--quiet", "-q", is_flag=True, help="Print the scores only.")
def mutate(
    evalset: tuple[str, ...],
    from_run: str | None,
    agent: str | None,
    reply_timeout: float | None,
    holding: api.Holding,
    resume: str | None,
    config: Path | None,
    operator: tuple[str, ...],
    language: tuple[str, ...],
    sample: int | None,
    seed: int | None,
    list_operators: bool,
    fail_under: float | None,
    max_false_alarms: float | None,
    thresholds: dict[str, float],
    lenient: bool,
    allow_code: bool,
    only: tuple[str, ...],
    concurrency: int,
    json_file: Path | None,
    markdown: Path | None,
    html: Path | None,
    junit: Path | None,
    store: str,
    quiet: bool,
    **judge: Any,
) -> int:
    """Plant changes in conversations that pass, and report which changes the criteria catch.

    EVALSET is a file or a folder of eval sets, whose reference conversations are changed. Harmful changes, such as
    another number or a negated sentence, should fail. Harmless changes, such as other white space, should pass.

    \b
    fairtrial mutate examples/shop.evalset.json
    fairtrial mutate --from-run 20261120 --fail-under 0.8
    fairtrial mutate evals/ --operator negated --language ko
    fairtrial mutate evals/ --agent shop.agent:reply
    """  # noqa: D301
    if list_operators:
        _list()
        return exit_codes.OK
    earlier = earlier_run(store, resume, "mutate") if resume else None
    arguments: dict[str, Any] = {
        "paths": list(evalset) or None,
        "from_run": from_run,
        "agent": agent,
        "config": str(config) if config else None,
        "named_operators": list(operator) or None,
        "languages": list(language) or None,
        "seed": seed if earlier or seed is not None else 0,
        "sample": sample,
        "only": list(only) or None,
        "thresholds": thresholds or None,
        "lenient": lenient or None,
        "allow_code": allow_code or None,
        "reply_timeout": reply_timeout,
        "holding": holding.arguments or None,
    }
    if earlier:
        arguments = read_arguments(earlier, arguments)
    config_file = None if arguments["config"] is None else Path(arguments["config"])
    paths = arguments["paths"] or []
    environment_files = read_environment(agent=arguments["agent"], config=config_file, paths=paths)
    chosen = {"json": json_file, "markdown": markdown, "html": html, "junit": junit}
    files = {name: path for name, path in chosen.items() if path is not None}
    _refuse_inputs(
        files.values(),
        [*map(Path, paths), *environment_files, *([config_file] if config_file else [])],
    )
    judges = make_judges(judge, earlier.config.get("judge") or {} if earlier else None)
    url = None if store == "none" else store
    if url is None and (arguments["from_run"] or judge["reuse"]):
        raise UsageError(
            "--from-run and --reuse need the store of the earlier run, got --store none", code="missing-option"
        )
    plan = _plan(arguments, config_file, judges, concurrency, url)
    if earlier:
        plan = api.resume_mutation(plan, earlier)
    for warning in plan.plan.warnings:
        echo(f"warning: {visible_line(warning)}", err=True)
    if plan.judged:
        echo(plan.bill, err=True)
    with Progress(plan.size, quiet=quiet) as progress:

        def on_result(result: CaseResult) -> None:  # noqa: ARG001
            progress.advance(good=True)

        try:
            report = api.execute_mutation(
                plan, store=url, on_result=on_result, reuse=judge["reuse"], resumed=earlier is not None
            ).report
        except KeyboardInterrupt:
            echo("\ninterrupted", err=True)
            if url is not None:
                command = api.resume_command(plan.plan.info, url)
                echo(f"finished mutants are stored; continue with: {command}", err=True)
            return exit_codes.INTERRUPTED
    write_mutation_files(report, files)
    with reader_may_leave():
        api.print_mutation(console(stderr=json_file == _STDOUT), report, quiet=quiet)
    return _exit_code(report, fail_under, max_false_alarms)


def _plan(
    arguments: dict[str, Any], config: Path | None, judges: api.Judges, concurrency: int, store: str | None
) -> api.MutationPlan | api.DegradationPlan:
    """Read and check everything that the arguments name. Raises UsageError."""
    paths, agent, operators = arguments["paths"], arguments["agent"], arguments["named_operators"] or ()
    options = api.MutationOptions(
        arguments["from_run"],
        operators,
        arguments["languages"] or (),
        arguments["seed"],
        arguments["sample"],
        store or api.DEFAULT_URL,
    )
    reading = api.ReadOptions(
        arguments["only"] or (),
        bool(arguments["lenient"]),
        allow_code=bool(arguments["allow_code"]),
        thresholds=arguments["thresholds"] or {},
    )
    run = api.RunOptions(
        concurrency=concurrency,
        reply_timeout=arguments["reply_timeout"],
        judges=judges,
        holding=api.Holding(**(arguments["holding"] or {})),
    )
    if paths and api.is_skill_run(paths, agent):
        raise UsageError(
            f"{paths[0]}: is a skill; leave its parts out: fairtrial run SKILL --agent {agent} --drop sections",
            code="options-conflict",
        )
    if agent is not None:
        if arguments["from_run"] is not None or arguments["languages"] or not paths:
            raise UsageError(
                "--agent needs at least one EVALSET, and takes neither --from-run nor --language",
                code="options-conflict",
            )
        return api.plan_degradation(paths, agent, config, options, reading, run)
    if arguments["reply_timeout"] is not None:
        raise UsageError("--reply-timeout limits an agent, and needs --agent TARGET", code="missing-option")
    if arguments["holding"]:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in arguments["holding"])
        raise UsageError(f"{names}: is about an agent, and needs --agent TARGET", code="missing-option")
    return api.plan_mutation(paths or None, config, options, reading, run)


def _refuse_inputs(outputs: Iterable[Path], inputs: Sequence[Path]) -> None:
    for output in outputs:
        if output != _STDOUT and output.resolve() in {path.resolve() for path in inputs}:
            raise UsageError(
                f"{output}: is read by the run, and would be overwritten; choose another file", code="would-overwrite"
            )


def _exit_code(report: MutationReport, fail_under: float | None, max_false_alarms: float | None) -> int:
    score, alarms = report.score.rate, report.false_alarm_rate.rate
    if score is None and alarms is None:
        echo("nothing could be scored", err=True)
        return exit_codes.UNSCORED
    problems = []
    if fail_under is not None:
        low = [rate for rate in report.families if rate.rate is None or rate.rate < fail_under]
        problems += [f"--fail-under: {r.name} must be at least {fail_under:g}, got {_share(r.rate)}" for r in low]
    if max_false_alarms is not None and alarms is not None and alarms > max_false_alarms:
        problems.append(f"--max-false-alarms: the rate must be at most {max_false_alarms:g}, got {alarms:.4g}")
    for problem in problems:
        echo(problem, err=True)
    return exit_codes.FAILED if problems else exit_codes.OK


def _share(rate: float | None) -> str:
    return "no scored mutant" if rate is None else f"{rate:.4g}"


def _list() -> None:
    width = max(map(len, api.OPERATORS))
    for operator in api.OPERATORS.values():
        before, after = operator.example
        languages = f" [{' '.join(operator.languages)}]" if operator.languages else ""
        echo(visible_line(f"{operator.name:{width}}  {operator.direction:8}  {before} → {after}{languages}"))
        echo(f"{'':{width}}  {operator.family}: {operator.defect}")
    before, after = api.PARAPHRASED.example
    echo(visible_line(f"{api.PARAPHRASED.name:{width}}  harmless  {before} → {after} [--judge-model]"))
    echo(f"{'':{width}}  {api.PARAPHRASED.family}: {api.PARAPHRASED.defect}")
    examples = {name: degradation.example for name, degradation in api.DEGRADATIONS.items()}
    for name, (before, after) in examples.items():
        echo(visible_line(f"{name:{width}}  harmful   {before} → {after} [--agent]"))
