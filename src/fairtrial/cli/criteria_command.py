"""`fairtrial criteria`: which criteria there are, what each is for, and a config to start from."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from fairtrial.llm.model import DEFAULT_MODEL
from fairtrial.metrics.entries import CATALOG, QUESTIONS, RECIPES, CatalogEntry
from fairtrial.metrics.option_fields import allowed, documented, hints

if TYPE_CHECKING:
    from rich.table import Table


@click.command()
@click.argument("name", required=False)
@click.option("--for", "situation", type=click.Choice(list(RECIPES)), help="Print the config for a situation.")
def criteria(name: str | None, situation: str | None) -> None:
    """Show the criteria, explain one, or print a config for a situation.

    \b
    fairtrial criteria
    fairtrial criteria tool_trajectory_avg_score
    fairtrial criteria --for ci > test_config.json
    """  # noqa: D301
    if name and situation:
        raise click.UsageError("takes a NAME or --for, not both")
    if situation:
        sample = {"criteria": {one: CATALOG[one].sample for one in RECIPES[situation]}}
        click.echo(json.dumps(sample, indent=2, ensure_ascii=False))
    elif name:
        from fairtrial.metrics.catalog import entry

        _explain(entry(name))
    else:
        _overview()


def _range(entry: CatalogEntry) -> str:
    low, high = entry.range.low, entry.range.high
    end = "" if high is None else f"{high:g}"
    return f"{low:g}..{end} {'down' if entry.lower_is_better else 'up'}"


_TITLES = ("criterion", "needs", "unit judged", "range, better", "simulated user")
_NARROW = 110
"""In fewer cells the columns of the table would be too narrow to be read."""


def _overview() -> None:
    from rich.padding import Padding

    from fairtrial.cli.console import console

    out = console()
    rows = [(one.name, one.needs, one.unit, _range(one), one.simulated_user) for one in CATALOG.values()]
    if out.width >= _NARROW:
        out.print(_table(rows))
    else:
        for name, *cells in rows:
            told = "; ".join(f"{title}: {cell}" for title, cell in zip(_TITLES[1:], cells, strict=True))
            out.print(name, style="bold")
            out.print(Padding(told, (0, 0, 0, 4)))
    out.print("\nWhich one?")
    for question, name, situation in QUESTIONS:
        out.print(f"  {question:<58} {name}  (--for {situation})", soft_wrap=True)


def _table(rows: Sequence[tuple[str, ...]]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    for title in _TITLES:
        table.add_column(title, no_wrap=title == "criterion")
    for row in rows:
        table.add_row(*row)
    return table


def _explain(one: CatalogEntry) -> None:
    click.echo(f"{one.name}\n{one.summary}\n\nWhen to use it: {one.when}")
    click.echo(
        f"Needs: {one.needs}. Judged is: {one.unit}. Range: {_range(one)}. Simulated user: {one.simulated_user}."
    )
    click.echo("\nOptions:\n  threshold: a number; without it the criterion only informs")
    types = hints(one.metric)
    if one.judged:
        click.echo(_JUDGE_OPTIONS)
    if one.vertex is not None:
        click.echo(_BACKENDS)
    for field in documented(one.metric):
        click.echo(f"  {field.name}: {allowed(types[field.name])}; default {_default(field)}")
        click.echo(f"      {field.metadata['doc']}")
    click.echo(f"\n{json.dumps({'criteria': {one.name: one.sample}}, indent=2, ensure_ascii=False)}")


_JUDGE_OPTIONS = f"""\
  judge_model_options: an object, all of it optional
      judge_model: the model; default "{DEFAULT_MODEL}". openai/..., anthropic/..., ollama/..., or any with base_url
      judge_models: a panel of several; vote i goes to model i mod m
      judge_model_config: temperature, top_p, top_k, seed, max_output_tokens, thinking_budget, ...
      num_samples: how many votes; default 5
      parallelism_limit: the most calls of this criterion at once; default: one pace for the whole run
      base_url: where an OpenAI-compatible server listens; default OPENAI_BASE_URL
      structured_output: false for servers that know no JSON schemas; default true"""

_BACKENDS = """\
  backend: one of judge, vertex. vertex is Vertex AI's evaluation service, through the extra 'vertex'; default: vertex
      where GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION are both set and the extra is installed, else judge"""


def _default(field: dataclasses.Field[Any]) -> str:
    return json.dumps(field.default, ensure_ascii=False)
