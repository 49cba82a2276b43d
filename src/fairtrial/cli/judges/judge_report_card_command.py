"""The command `fairtrial judge report-card`, which measures a judge apart from any run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fairtrial.cli import exit_codes
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import trust_flags
from fairtrial.cli.options.judge_flags import asking_options, make_judges


class Pairs(click.ParamType[Any]):
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


@command("report-card")
@click.option("--recorded", metavar="FILE", type=click.Path(path_type=Path), help="Recorded verdicts beside labels.")
@click.option("--columns", type=Pairs(), metavar="OUR=THEIRS,...", help="The names of the columns of --recorded.")
@click.option(
    "--where", type=Pairs(), multiple=True, metavar="COLUMN=VALUE", help="Choose rows of --recorded. Repeatable."
)
@click.option("--gold", metavar="FILE", type=click.Path(path_type=Path), help="JSON lines: items with their labels.")
@click.option("--criterion", "criteria", multiple=True, metavar="NAME", help="A criterion to check. Repeatable.")
@click.option("--config", metavar="FILE", type=click.Path(path_type=Path), help="An EvalConfig with judges to check.")
@click.option("--no-probes", is_flag=True, help="Leave out the changes of replies that must not matter.")
@trust_flags.json_file
@asking_options
def report_card(
    recorded: Path | None,
    columns: dict[str, str] | None,
    where: tuple[dict[str, str], ...],
    gold: Path | None,
    criteria: tuple[str, ...],
    config: Path | None,
    no_probes: bool,
    json_file: Path | None,
    **judging: Any,
) -> int:
    """Measure how good a judge is, apart from any run.

    --recorded reads verdicts that exist already and calls no model. The file is CSV or JSON lines with the columns
    item, label and verdict, and perhaps verdict_swapped (after the replies changed places), judge and group.

    --criterion, --config and --gold ask the judge. Canaries are built in: replies in four languages whose right verdict
    is certain. Probes change replies in a way that must not matter, for example by padding. --gold adds your own items,
    one JSON object per line: id, criterion, question, reply, label, and perhaps reference, context, rubric, group.

    Exit codes: 0, or 1 if a judge is not shown to be better than guessing, is wrong about a fifth of its canaries
    or half of a kind, or passes a forged verdict.

    \b
    fairtrial judge report-card --recorded verdicts.csv
    fairtrial judge report-card --recorded judgements.csv --columns verdict=winner,verdict_swapped=winner_swapped \\
        --where judge=GPT-4 --where subset=natural
    fairtrial judge report-card --criterion final_response_match_v2 --judge-model openai/my-model --votes 1
    fairtrial judge report-card --gold items.jsonl --config test_config.json
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.console import console, reader_may_leave
    from fairtrial.cli.options.dotenv_files import read_environment

    if recorded is None:
        read_environment(config=None if config is None else str(config), paths=["."])
    card = api.report_card(
        recorded=recorded,
        columns=columns,
        where={name: value for pairs in where for name, value in pairs.items()},
        gold=gold,
        criteria=criteria,
        config=config,
        judges=make_judges(judging),
        probes=not no_probes,
    )
    with reader_may_leave():
        trust_flags.write(api.report_card_document(card), json_file)
        if not trust_flags.is_stdout(json_file):
            console().print(api.report_card_tables(card))
    return exit_codes.FAILED if card.is_bad else exit_codes.OK
