"""The command `fairtrial judge check`, which examines a judge apart from any run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairtrial.cli import exit_codes
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command, under
from fairtrial.cli.options import flags, trust_flags
from fairtrial.cli.options.judge_flags import asking_options, make_judges

if TYPE_CHECKING:
    from fairtrial.api import Judges
    from fairtrial.records.judging.judge_check import CheckResult
    from fairtrial.records.judging.report_card import ReportCard


class Pairs(click.ParamType):  # type: ignore[type-arg]  # in click 8.3 it takes no parameter
    """The type of an option such as NAME=VALUE,NAME=VALUE."""

    name = "pairs"

    def convert(
        self, value: str | dict[str, str], param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, str]:
        """Return the pairs."""
        if isinstance(value, dict):
            return value
        pairs: dict[str, str] = {}
        for part in value.split(","):
            name, equals, text = part.partition("=")
            if not equals or not name.strip():
                self.fail(f"must be NAME=VALUE, several separated by commas, got {part!r}", param, ctx)
            pairs[name.strip()] = text.strip()
        return pairs


RECORDED_OPTIONS = (
    click.option("--recorded", metavar="FILE", type=click.Path(path_type=Path), help="Recorded verdicts and labels."),
    click.option("--columns", type=Pairs(), metavar="OUR=THEIRS,...", help="The names of the columns of --recorded."),
    click.option(
        "--where", type=Pairs(), multiple=True, metavar="COLUMN=VALUE", help="Choose rows of --recorded. Repeatable."
    ),
)
"""The options about a table of recorded verdicts."""


def join_pairs(groups: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the pairs of an option that was given several times."""
    return {name: value for pairs in groups for name, value in pairs.items()}


_exam_options = under(
    "Claims",
    click.option("--quick", is_flag=True, help="Ask twelve easy questions. Each of them must be answered rightly."),
    click.option(
        "--prompt",
        multiple=True,
        metavar="NAME|FILE",
        help="Only the questions of this prompt, perhaps with a template of your own. Repeatable.",
    ),
    click.option(
        "--fail-under",
        type=click.FloatRange(0, 1),
        metavar="SHARE",
        help="Fail if fewer of the answers, or of the verdicts on your items, are right.",
    ),
    click.option("--run", metavar="RUN", help="Also print the cost of judging this run of the store."),
)
_item_options = under(
    "Input",
    click.option("--gold", metavar="FILE", type=click.Path(path_type=Path), help="JSON lines: items with labels."),
    *RECORDED_OPTIONS,
    click.option(
        "--criterion",
        "criteria",
        multiple=True,
        metavar="NAME",
        help="Ask about all canaries of a criterion, with its options in --config. Repeatable.",
    ),
    click.option("--no-probes", is_flag=True, help="Leave out the changes of replies that must not matter."),
)


@command("check")
@click.option("--config", metavar="FILE", help="Check the judges that the criteria of an EvalConfig name.")
@_exam_options
@_item_options
@flags.add_store_option
@trust_flags.json_file
@asking_options
def check_judge(json_file: Path | None, **options: Any) -> int:
    """Ask the judge more than 800 questions with known answers, and print how often it is right by each rule.

    Sensitivity is the share of right answers if the property holds, and specificity if it does not hold. The questions
    of all prompts alternate, so --max-calls 50 gives some of each.

    A judge is refused if it is shown to be wrong about more than 5 % of the questions, about half of a kind or of a
    language, or if it passes forged verdicts or invents quotes. A judge that is right about 95 % is refused in fewer
    than 2 of 100 checks.

    --prompt FILE asks the questions of a prompt with your own template, whose name begins with the name of the prompt,
    such as safety-strict.jinja. --prompt final_response_match/3 asks with version 3 of the built-in one.

    --gold asks about your own items instead, --criterion about all canaries of a criterion, and --recorded reads
    verdicts that exist already. With --gold and --criterion, the judge of each criterion is asked with its options in
    --config, and probes change replies in a way that must not matter.

    Exit codes: 0 no judge is refused, 1 a judge is refused, right about less than --fail-under, or not shown to be
    better than guessing about your items, 2 the judge cannot be called, 3 some questions have no answer, 130
    interrupted.

    \b
    fairtrial judge check --quick
    fairtrial judge check --judge-model openai/gpt-4o-mini --max-cost 1
    fairtrial judge check --judge-model ollama/qwen3 --prompt safety --prompt hallucinations --fail-under 0.9
    fairtrial judge check --judge-model openai/gpt-4o-mini --prompt final_response_match/3
    fairtrial judge check --criterion final_response_match_v2 --config test_config.json
    fairtrial judge check --gold items.jsonl --judge-model openai/my-model
    fairtrial judge check --recorded verdicts.csv --columns verdict=winner,verdict_swapped=winner_swapped
    """  # noqa: D301
    from fairtrial.cli.options.dotenv_files import read_environment

    _refuse_useless(options)
    if options["recorded"] is None:
        read_environment(config=options["config"], paths=["."])
        card, is_whole = _ask(options, make_judges(options), to_stdout=trust_flags.is_stdout(json_file))
    else:
        card, is_whole = _read(options), True
    _write(card, options, json_file)
    if not is_whole:
        echo("interrupted; the answers so far are shown", err=True)
        return exit_codes.INTERRUPTED
    return _exit_code(card, options)


def _refuse_useless(options: dict[str, Any]) -> None:
    """Raise a usage error if an option is given that would have no effect."""
    useless: tuple[str, ...]
    if options["recorded"] is not None:
        useless = ("quick", "prompt", "run", "gold", "criteria", "config", "no_probes")
        place = "--recorded"
    elif options["gold"] is not None or options["criteria"]:
        useless, place = ("quick", "prompt", "run", "columns", "where"), "--gold and --criterion"
    else:
        useless, place = ("columns", "where", "no_probes"), "a check without --recorded, --gold or --criterion"
    for name in useless:
        if options[name] not in (None, False, ()):
            option = {"criteria": "criterion"}.get(name, name)
            raise click.UsageError(f"--{option.replace('_', '-')} does not go with {place}")
    if options["quick"] and options["prompt"]:
        raise click.UsageError("--quick has questions of its own, so that it does not go with --prompt")


def _read(options: dict[str, Any]) -> ReportCard:
    """Return the report on recorded verdicts."""
    from fairtrial import api

    where = join_pairs(options["where"])
    return api.report_card(recorded=options["recorded"], columns=options["columns"], where=where)


def _ask(options: dict[str, Any], judges: Judges, *, to_stdout: bool) -> tuple[ReportCard, bool]:
    """Ask the questions of a check, and return the report, and whether the user has not interrupted it."""
    from fairtrial import api

    config, criteria = options["config"], options["criteria"]
    if options["gold"] is not None or criteria:
        probes = not options["no_probes"]
        check = api.plan_item_check(judges, config, gold=options["gold"], criteria=criteria, probes=probes)
    else:
        prompts = ("ping",) if options["quick"] else options["prompt"]
        check = api.plan_judge_check(judges, config, prompts=prompts, votes=options["votes"] or 1)
    if options["quick"] and not to_stdout:
        _print_connections(judges, config)
    cost = "an unknown price" if check.cost is None else f"about ${check.cost:.2f}"
    echo(f"{check.question_count} questions, about {check.tokens:,} tokens, {cost}", err=True)
    results: list[CheckResult] = []
    is_whole = _collect(check, results)
    return check.report(results), is_whole


def _collect(check: Any, results: list[CheckResult]) -> bool:
    """Ask the questions, add each result, and return whether the user has not interrupted the check."""
    from fairtrial.cli.progress import Progress

    with Progress(check.question_count, quiet=False, activity="checking", problem="not right") as progress:

        def add(result: CheckResult) -> None:
            results.append(result)
            progress.advance(good=result.is_right)

        try:
            check.run(add)
        except KeyboardInterrupt:
            return False
    return True


def _write(card: ReportCard, options: dict[str, Any], json_file: Path | None) -> None:
    """Write the report as JSON, and print it for people."""
    from fairtrial import api
    from fairtrial.cli.console import console, reader_may_leave

    with reader_may_leave():
        trust_flags.write(api.report_card_document(card), json_file)
        if trust_flags.is_stdout(json_file):
            return
        console().print(api.report_card_tables(card, each=options["quick"]))
        if options["run"] is not None:
            _print_cost(card, options["run"], options["store"])


def _exit_code(card: ReportCard, options: dict[str, Any]) -> int:
    share = 1.0 if options["quick"] else options["fail_under"]
    is_below = share is not None and card.is_below(share)
    if card.is_bad or is_below or (options["quick"] and card.unanswered):
        return exit_codes.FAILED
    return exit_codes.UNSCORED if card.unanswered else exit_codes.OK


def _print_connections(judges: Judges, config: str | None) -> None:
    from fairtrial import api
    from fairtrial.text.display import visible

    for name, description in api.connections(judges, config).items():
        echo(visible(f"{name} speaks {description}"))


def _print_cost(card: ReportCard, run: str, store: str) -> None:
    from fairtrial import api
    from fairtrial.text.display import visible

    for name in dict.fromkeys(result.model for result in card.results):
        calls, run_cost = api.estimate_cost(run, store, name)
        price = "an unknown price" if run_cost is None else f"${run_cost:.4f}"
        echo(f"run {run}: {calls} calls, with {visible(name)} {price}")
