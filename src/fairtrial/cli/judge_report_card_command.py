"""`fairtrial judge report-card`: how good is a judge, apart from any run?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fairtrial.cli import exit_codes, trust_flags


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


@click.command("report-card")
@click.option("--recorded", metavar="FILE", type=click.Path(path_type=Path), help="Recorded verdicts beside labels.")
@click.option("--columns", type=Pairs(), metavar="OUR=THEIRS,...", help="The names of the file's columns.")
@click.option("--where", type=Pairs(), multiple=True, metavar="COLUMN=VALUE", help="Choose rows. Repeatable.")
@trust_flags.json_file
def report_card(
    recorded: Path | None, columns: dict[str, str] | None, where: tuple[dict[str, str], ...], json_file: Path | None
) -> int:
    """Measure how good a judge is, apart from any run.

    --recorded reads verdicts that exist already and calls no model. The file is CSV or JSON lines with the columns
    item, label and verdict, and perhaps verdict_swapped (after the replies changed places), judge and group. Exit
    codes: 0, or 1 if a judge is not shown to be better than guessing.

    \b
    fairtrial judge report-card --recorded verdicts.csv
    fairtrial judge report-card --recorded judgements.csv --columns verdict=winner,verdict_swapped=winner_swapped \\
        --where judge=GPT-4 --where subset=natural
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.console import console, reader_may_leave

    conditions = {name: value for pairs in where for name, value in pairs.items()}
    card = api.report_card(recorded=recorded, columns=columns, where=conditions)
    with reader_may_leave():
        trust_flags.write(api.report_card_document(card), json_file)
        if not trust_flags.is_stdout(json_file):
            console().print(api.report_card_tables(card))
    return exit_codes.FAILED if card.is_bad else exit_codes.OK
