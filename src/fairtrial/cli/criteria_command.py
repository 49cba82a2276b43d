"""`fairtrial criteria` lists the criteria, explains each, and prints a config to start from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairtrial import api
from fairtrial.api import CATALOG, QUESTIONS, RECIPES, CatalogEntry, Option, find_entry, threshold_option
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags, trust_flags
from fairtrial.text.display import count
from fairtrial.text.languages import say
from fairtrial.text.translated_lines import say_sentence

if TYPE_CHECKING:
    from rich.table import Table


@command()
@click.argument("name", required=False)
@click.option("--for", "situation", type=click.Choice(list(RECIPES)), help="Print the config for a situation.")
@click.option(
    "--from",
    "sources",
    metavar="RECORDINGS",
    multiple=True,
    help="Print a config with rules that all passing conversations keep, and that failing ones break: of a file, a "
    "folder, or a run in the store. Repeatable.",
)
@trust_flags.json_file
@flags.add_store_option
def criteria(
    name: str | None, situation: str | None, sources: tuple[str, ...], json_file: Path | None, store: str
) -> None:
    """Show the criteria, explain one, or print a config for a situation.

    \b
    fairtrial criteria
    fairtrial criteria tool_trajectory_avg_score
    fairtrial criteria safety_v1 --json -
    fairtrial criteria --for ci > test_config.json
    fairtrial criteria --from 20260102 > rules.json
    """  # noqa: D301
    if sum(map(bool, (name, situation, sources))) > 1:
        raise click.UsageError("takes a NAME, --for or --from, and only one of them")
    if json_file is not None and (situation or sources):
        raise click.UsageError("--json lists criteria; --for and --from print a config, which is JSON already")
    if sources:
        _propose(sources, store)
        return
    if situation:
        sample = {"criteria": {criterion: CATALOG[criterion].sample for criterion in RECIPES[situation]}}
        click.echo(json.dumps(sample, indent=2, ensure_ascii=False))
        return
    entries = [find_entry(name)] if name else list(CATALOG.values())
    trust_flags.write(api.list_criteria(entries), json_file)
    if trust_flags.is_stdout(json_file):
        return
    if name:
        _explain(entries[0])
    else:
        _overview()


def _propose(sources: Sequence[str], store: str) -> None:
    rules = api.propose_rules(sources, store)
    click.echo(json.dumps(api.rules_config(rules), indent=2, ensure_ascii=False))
    advice = f"{count(len(rules), 'rule')}; read each, and remove those that hold by chance"
    echo(advice if rules else "no rule holds in all passing conversations and breaks in a failing one", err=True)


_TITLES = ("criterion", "needs", "unit judged", "range, better", "simulated user")
_NARROW = 110
"""The table needs this many cells. In a narrower terminal each criterion is a paragraph."""


def _overview() -> None:
    from rich.cells import cell_len
    from rich.padding import Padding

    from fairtrial.cli.console import console

    out = console()
    rows = [
        (entry.name, _say_needs(entry), *map(say_sentence, (entry.unit, entry.range_words, entry.simulated_user)))
        for entry in CATALOG.values()
    ]
    if out.width >= _NARROW:
        out.print(_table(rows))
    else:
        for name, *cells in rows:
            properties = "; ".join(f"{say(title)}: {cell}" for title, cell in zip(_TITLES[1:], cells, strict=True))
            out.print(name, style="bold")
            out.print(Padding(properties, (0, 0, 0, 4)))
    out.print(f"\n{say('Which one?')}")
    for question, name, situation in QUESTIONS:
        own = say(question)
        out.print(f"  {own}{' ' * (58 - cell_len(own))} {name}  (--for {situation})", soft_wrap=True)


def _say_needs(entry: CatalogEntry) -> str:
    """Return the needs of a criterion. A reference reply has another word than the reference of a measurement."""
    return say("reference{reply}", reply="") if entry.needs == "reference" else say_sentence(entry.needs)


def _table(rows: Sequence[tuple[str, ...]]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    for title in _TITLES:
        table.add_column(say(title), no_wrap=title == "criterion")
    for row in rows:
        table.add_row(*row)
    return table


def _explain(entry: CatalogEntry) -> None:
    echo(f"{entry.name}\n{entry.summary}\n\nWhen to use it: {entry.when}")
    echo(
        f"Needs: {entry.needs}. Unit judged: {entry.unit}. Range: {entry.range_words}. "
        f"Simulated user: {entry.simulated_user}."
    )
    echo("\nOptions:")
    for option in (threshold_option(entry.range), *entry.options):
        _explain_option(option, indent="  ")
    click.echo(f"\n{json.dumps({'criteria': {entry.name: entry.sample}}, indent=2, ensure_ascii=False)}")


def _explain_option(option: Option, *, indent: str) -> None:
    """Print an option, and below it the options inside it."""
    default = "required" if option.required else f"default {option.default_json}"
    echo(f"{indent}{option.name}: {option.allowed}; {default}")
    below = f"{indent}    "
    echo(click.wrap_text(option.description, width=100, initial_indent=below, subsequent_indent=below))
    for inner in option.inner:
        _explain_option(inner, indent=f"{indent}    ")
