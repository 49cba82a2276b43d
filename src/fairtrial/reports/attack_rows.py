"""The rates of an attack run for a terminal, for Markdown and for JUnit XML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console

from fairtrial.reports.markdown_text import code_span
from fairtrial.reports.numbers import interval, rate
from fairtrial.reports.rows import INTERVAL, Name, Rows
from fairtrial.reports.small_tables import TableNumber, describe_table, table_sentence
from fairtrial.text.display import DASH, count, visible_line
from fairtrial.text.translated_lines import say_sentence

if TYPE_CHECKING:
    from fairtrial.records.attacks.attack_report import AttackRate, AttackReport

_TITLES = (
    ("utility", "utility unattacked"),
    ("utility_attacked", "utility attacked"),
    ("success", "attack success"),
    ("exposure", "exposure: the text was read"),
    ("reported", "reported to the user"),
    ("over_defence", "over-defence"),
)
_MOST_ROWS = 30
_LONGEST_NAME = 200


def print_attacks(console: Console, report: AttackReport, *, rates_only: bool = False) -> None:
    """Print the rates of an attack run, and the success by attack, goal, place, tool and language."""
    rows = Rows(("", "rate", INTERVAL, "of"))
    for title, cells in _rates(report):
        rows.add(say_sentence(title), *cells)
    console.print(rows, *table_sentence(_numbers(report)))
    for line in _notes(report):
        console.print(visible_line(line), style="dim", markup=False, highlight=False)
    if rates_only:
        return
    table = Rows(("attack success by", "", "rate", INTERVAL, "of"))
    for row in report.rows:
        table.add(say_sentence(row.by), Name(visible_line(row.name)), *_cells(row.success))
    console.print(table)


def attack_markdown(report: AttackReport) -> Iterator[str]:
    """Yield the rates and the success by each property as Markdown."""
    yield f"| | rate | {INTERVAL} | of |"
    yield "|---|---|---|---|"
    yield from (f"| {title} | {' | '.join(cells)} |" for title, cells in _rates(report))
    yield ""
    if sentence := describe_table(_numbers(report)):
        yield from (sentence, "")
    rows = [row for row in report.rows if row.success.hits][:_MOST_ROWS]
    if rows:
        yield f"| successful attacks by | | rate | {INTERVAL} | of |"
        yield "|---|---|---|---|---|"
        for row in rows:
            yield f"| {row.by} | {code_span(row.name, _LONGEST_NAME)} | {' | '.join(_cells(row.success))} |"
        yield ""
    yield from (f"{code_span(line, _LONGEST_NAME)}\n" for line in _notes(report))


def attack_lines(report: AttackReport) -> Iterator[str]:
    """Yield the rates and the success by each property as lines of text."""
    for title, (share, ends, counts) in _rates(report):
        yield f"{title}: {share} ({ends}), {counts}"
    for row in report.rows:
        share, ends, counts = _cells(row.success)
        yield f"attack success by {row.by} {visible_line(row.name)}: {share} ({ends}), {counts}"
    yield from map(visible_line, _notes(report))


def _rates(report: AttackReport) -> Iterator[tuple[str, tuple[str, str, str]]]:
    return ((title, _cells(getattr(report, name))) for name, title in _TITLES)


def _numbers(report: AttackReport) -> Iterator[TableNumber]:
    for name, title in _TITLES:
        own: AttackRate = getattr(report, name)
        text = f'the rate "{title.partition(":")[0]}"'
        yield TableNumber(text, count(own.attempts, "attempt"), own.estimate, is_single=own.attempts == 1)


def _cells(own: AttackRate) -> tuple[str, str, str]:
    ends = interval(own.estimate, percent=True) or DASH
    return rate(own.estimate.value), ends, f"{own.hits:,} of {own.attempts:,}"


def _notes(report: AttackReport) -> Iterator[str]:
    """Yield what the rates do not count, and why one of them is missing."""
    if report.undecided:
        yield f"{report.undecided} attacked conversations could not be decided"
    if not report.utility.attempts:
        yield f"this run does not hold the utility unattacked: see its unattacked run {report.baseline}"
    if not report.success.attempts:
        yield "no attack of this run was decided, so that it has no attack success"
