"""The commands `fairtrial judge choose` and `fairtrial judge align`, which find a better judge from labels."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from fairtrial.cli import completion, exit_codes
from fairtrial.cli.headed_command import command, under
from fairtrial.cli.judges.judge_check_command import RECORDED_OPTIONS, join_pairs
from fairtrial.cli.options import flags, trust_flags
from fairtrial.cli.options.judge_flags import call_options, make_judges
from fairtrial.cli.outputs.output_files import FileToWrite
from fairtrial.errors import UsageError

if TYPE_CHECKING:
    from fairtrial.records.judging.judge_choice import JudgeChoice

_SEARCHES = ("model", "panel", "threshold", "examples", "instructions")


def _cost(name: str, text: str) -> Callable[..., Any]:
    kind = click.FloatRange(0, min_open=True)
    return click.option(name, type=kind, default=1.0, show_default=True, metavar="X", help=text)


def _choice_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of both commands."""
    options = under(
        "Claims",
        click.option("--sensitivity", type=click.FloatRange(0, 1), metavar="X", help="The least sensitivity."),
        click.option("--specificity", type=click.FloatRange(0, 1), metavar="X", help="The least specificity."),
        _cost("--false-pass-cost", "What it costs to pass what people fail."),
        _cost("--false-fail-cost", "What it costs to fail what people pass."),
        click.option(
            "--seed", default=1, show_default=True, type=int, help="Another seed splits the labels in another way."
        ),
        click.option("--again", is_flag=True, help="Test with labels that have tested a choice before."),
    )
    return options(flags.add_store_option(trust_flags.json_file(function)))


_run_options = under(
    "Input",
    click.option("--criterion", metavar="NAME", help="The criterion that people have labelled."),
    click.option("--config", metavar="FILE", type=click.Path(path_type=Path), help="The EvalConfig of the first run."),
)
_recorded_options = under(
    "Input",
    *RECORDED_OPTIONS,
    click.option("--current", metavar="NAME", default="", help="The judge of --recorded in use.  [default: the first]"),
)


@command()
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=completion.runs)
@_run_options
@_recorded_options
@_choice_options
def choose(runs: tuple[str, ...], json_file: Path | None, **options: Any) -> int:
    """Choose the judge of a criterion by labels, from replies that are stored. No model is called.

    The first RUN has the labels of people. Further runs scored the same recordings with other models, so that their
    replies are stored. Each model, each panel of three or five of them, and each threshold is measured on one half of
    the labels. The best one is tested on the other half.

    With --sensitivity or --specificity the cheapest judge that reaches them is chosen, else the one with the least
    loss. --recorded chooses among the judges of a table instead, which may have a column cost.

    Exit codes: 0 the chosen judge reaches what is asked for, 1 it is not shown to reach it, 2 usage.

    \b
    fairtrial judge choose 20260102 20260103 --criterion final_response_match_v2 --config test_config.json
    fairtrial judge choose 20260102 --criterion safety_v1 --config test_config.json --specificity 0.95
    fairtrial judge choose --recorded verdicts.csv --current gpt-4o --false-pass-cost 5
    """  # noqa: D301
    from fairtrial import api

    if options["recorded"] is not None:
        if runs or options["criterion"] or options["config"]:
            raise UsageError("--recorded does not go with a run, --criterion and --config", code="options-conflict")
        where = join_pairs(options["where"])
        choice = api.choose_recorded(
            options["recorded"], _terms(options), current=options["current"], columns=options["columns"], where=where
        )
    else:
        aligned = api.AlignOptions(terms=_terms(options), again=options["again"])
        choice = _align(runs, options, aligned)
    _show(choice, json_file)
    return exit_codes.OK if choice.holds_all else exit_codes.FAILED


@command()
@click.argument("runs", nargs=-1, metavar="RUN...", required=True, shell_complete=completion.runs)
@_run_options
@under(
    "Claims",
    click.option(
        "--search",
        metavar="KINDS",
        default="model,panel,threshold",
        show_default=True,
        help=f"What is searched: {', '.join(_SEARCHES)}, or all.",
    ),
    click.option("--model", "models", multiple=True, metavar="NAME", help="Search this model, too. Repeatable."),
    click.option("--writer", default="", metavar="NAME", help="The model that writes instructions."),
)
@under(
    "Reports",
    click.option("-o", "--output", type=FileToWrite(), metavar="FILE", help="Write the EvalConfig of the new judge."),
    click.option("--apply", is_flag=True, help="Replace --config, and keep the old one in FILE.backup."),
)
@_choice_options
@call_options
def align(runs: tuple[str, ...], json_file: Path | None, **options: Any) -> int:
    """Make the judge of a criterion better from labels, and prove it on labels that the search never saw.

    The first RUN has the labels of people. Without --max-calls or --max-cost, only stored replies are used, as in
    `judge choose`. With them, further models are asked, examples are taken from labels on which the judge is wrong, and
    --writer writes instructions from these disagreements and the notes of people.

    The new EvalConfig holds where it comes from. Its criterion has another signature, so that its numbers are not mixed
    with those of the old judge. Calls are kept in --cassette with --cassette-mode auto: after an interruption, the same
    command pays for none of them twice.

    With --sensitivity or --specificity, the cheapest judge that reaches them is wanted, although it may be no better.

    Exit codes: 0 the new judge is better, or is shown to reach what is asked for, 1 it is not shown, and no EvalConfig
    is written, 2 usage, 130 interrupted.

    \b
    fairtrial judge align 20260102 --criterion safety_v1 --config test_config.json -o better.json
    fairtrial judge align 20260102 --criterion safety_v1 --config test_config.json --search all \\
      --writer openai/gpt-4o --max-calls 600 --cassette align.jsonl --cassette-mode auto --apply
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.options.dotenv_files import read_environment

    kinds = _SEARCHES if options["search"] == "all" else tuple(map(str.strip, options["search"].split(",")))
    if unknown := [name for name in kinds if name not in _SEARCHES]:
        raise UsageError(f"--search: must be of {', '.join(_SEARCHES)} or all, got {unknown[0]!r}")
    read_environment(config=options["config"], paths=["."])
    is_paid = any(options[name] is not None for name in ("max_calls", "max_cost", "cassette"))
    aligned = api.AlignOptions(
        search=cast("Any", kinds),
        terms=_terms(options),
        models=options["models"],
        judges=make_judges(options) if is_paid else None,
        writer=options["writer"],
        again=options["again"],
    )
    try:
        choice = _align(runs, options, aligned)
    except KeyboardInterrupt:
        if is_paid:
            click.echo(_describe_kept_replies(options["cassette"]), err=True)
        raise
    _show(choice, json_file)
    # A cheaper judge that reaches the rates is wanted, although it is no better.
    is_wanted = choice.holds_all and bool(choice.changes) if choice.floors else choice.is_better
    if not is_wanted:
        return exit_codes.FAILED
    _write_config(choice, options, quiet=trust_flags.is_stdout(json_file))
    return exit_codes.OK


def _describe_kept_replies(cassette: Path | None) -> str:
    if cassette is None:
        return "no reply was kept; with --cassette FILE --cassette-mode auto, the same command pays for none twice"
    return f"the replies so far are in {cassette}; the same command goes on, and pays for none of them twice"


def _terms(options: dict[str, Any]) -> Any:
    from fairtrial import api

    names = ("false_pass_cost", "false_fail_cost", "sensitivity", "specificity", "seed")
    return api.ChoiceTerms(**{name: options[name] for name in names})


def _align(runs: tuple[str, ...], options: dict[str, Any], aligned: Any) -> JudgeChoice:
    from fairtrial import api
    from fairtrial.cli.progress import Progress

    missing = [f"--{name}" for name in ("criterion", "config") if options[name] is None]
    if not runs or missing:
        raise UsageError(
            f"{' and '.join(missing) or 'RUN'}: give the run with the labels, --criterion and --config",
            code="missing-option",
        )
    with Progress(0, quiet=False, activity="measuring judges", problem="unread") as progress:
        return api.align_judge(
            runs,
            options["criterion"],
            options["config"],
            aligned,
            store=options["store"],
            on_judge=lambda judge: progress.advance(good=not judge.unread),
        )


def _show(choice: JudgeChoice, json_file: Path | None) -> None:
    from fairtrial import api
    from fairtrial.cli.console import console, reader_may_leave

    with reader_may_leave():
        trust_flags.write(choice, json_file)
        if not trust_flags.is_stdout(json_file):
            console().print(api.choice_tables(choice))


def _write_config(choice: JudgeChoice, options: dict[str, Any], *, quiet: bool) -> None:
    """Write the configuration of the new judge, and print what changed in it."""
    from difflib import unified_diff

    from fairtrial import api
    from fairtrial.text.display import visible

    path: Path = options["config"]
    old = path.read_bytes()
    new = api.make_aligned_config(path, choice)
    if not quiet:
        lines = unified_diff(old.decode().splitlines(), new.decode().splitlines(), str(path), "new", lineterm="")
        click.echo(visible("\n".join(lines)))
    if options["output"] is not None:
        options["output"].write_bytes(new)
    if options["apply"]:
        backup = _find_backup(path)
        backup.write_bytes(old)
        path.write_bytes(new)
        click.echo(f"{path} has the new judge; {backup.name} is the old one", err=True)


def _find_backup(path: Path) -> Path:
    """Return the first name for a backup that no file has."""
    names = chain([f"{path.name}.backup"], (f"{path.name}.backup-{number}" for number in count(2)))
    return next(place for name in names if not (place := path.with_name(name)).exists())
