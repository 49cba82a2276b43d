"""A series of runs as one HTML page: the line of a measure with its steps, the runs, and the cases run by run.

The page holds no script. The map of the cases is a table, so that a screen reader reads what the colours show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote

from fairtrial.reports.decisions.history_report import (
    describe_rates,
    false_rate_line,
    history_rows,
    left_out_line,
    no_step_line,
    row_sentences,
)
from fairtrial.reports.numbers import number, rate
from fairtrial.reports.page_shell import Theme, scriptless_page
from fairtrial.reports.rows import name_series
from fairtrial.text.display import visible_line
from fairtrial.text.languages import chosen_language, say
from fairtrial.text.redaction.redact import without_secrets
from fairtrial.text.translated_lines import say_sentence

if TYPE_CHECKING:
    from fairtrial.records.run_history import CaseLine, HistoryRow, RunHistory

MOST_CASES = 500
"""The most cases that the map shows."""
MOST_CELLS = 50_000
"""The most cells of the map. It shows as many of the last runs as fit."""

_WIDTH, _HEIGHT = 1000, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 985, 24, 228
_SIGNS = {0.0: "✗", 1.0: "✓"}
"""The signs of pass rates. Any rate between them is written as a percentage."""
_SINCE = {"broken": "broken since {n}", "flaky": "flaky since {n}", "passing": "passing since {n}"}
_STEP, _SEGMENT = "▲", "┆"


def history_html(history: RunHistory, viewer: str = "", theme: Theme = "system") -> str:
    """Return the history as a page. With the address of a viewer, each run is a link to its page there."""
    title = say("History of {measure}", measure=history.measure)
    return scriptless_page(_text(title), "".join(_parts(history, viewer)), chosen_language(), theme)


def history_section(history: RunHistory) -> str:
    """Return the history as a part of another page, below its own headings."""
    title = _text(say("History of {measure}", measure=history.measure))
    body = "".join(_body(history, "")).replace("<h2>", "<h3>").replace("</h2>", "</h3>")
    heading = f'<h2 id="history-title">{title}</h2>\n'
    return f'<section id="history" class="mutation" aria-labelledby="history-title">\n{heading}{body}</section>'


def _parts(history: RunHistory, viewer: str) -> Iterator[str]:
    if viewer:
        yield f'<nav><a href="{escape(viewer)}#page=runs">← {_text(say("Runs"))}</a></nav>\n'
    yield f"<h1>{_text(say('History of {measure}', measure=history.measure))}</h1>\n"
    yield from _body(history, viewer)


def _body(history: RunHistory, viewer: str) -> Iterator[str]:
    yield f'<p class="note">{_text(name_series(history.series))}</p>\n{_paragraph(left_out_line(history))}'
    yield _chart(history)
    yield _paragraph(
        "The band is the 95 % interval. A solid vertical line is a step, and a dashed one begins a new segment."
    )
    sentences = [sentence for row in history.rows for sentence in row_sentences(row, history)]
    sentences += [*filter(None, [no_step_line(history)]), false_rate_line(history), *history.notes]
    yield f"<ul>{''.join(f'<li>{_text(say_sentence(sentence))}</li>' for sentence in sentences)}</ul>\n"
    if history.cases:
        yield _case_map(history)
    yield _runs(history, viewer)


def _paragraph(sentence: str) -> str:
    return f'<p class="note">{_text(say_sentence(sentence))}</p>\n' if sentence else ""


def _chart(history: RunHistory) -> str:
    """Return the measure as a line with its band. The table of the runs holds the same numbers."""
    rows = history.rows
    ends = [end for row in rows for end in (row.value.value, row.value.low, row.value.high) if end is not None]
    if not ends:
        return ""
    low, high = (0.0, 1.0) if history.is_rate else (min(ends), max(ends))
    show = rate if history.is_rate else number

    def x(place: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * (place / (len(rows) - 1) if len(rows) > 1 else 0.5)

    def y(value: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * ((value - low) / (high - low) if high > low else 0.5)

    shapes = []
    for value in (low, (low + high) / 2, high) if high > low else (low,):
        shapes.append(f'<line class="rule" x1="{_LEFT}" x2="{_RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>')
        shapes.append(f'<text class="end" x="{_LEFT - 8}" y="{y(value) + 5:.1f}">{escape(show(value))}</text>')
    shapes += [_band([(x(place), rows[place]) for place in places], y) for places in _segments(rows)]
    for place, row in enumerate(rows):
        middle = x(max(0.0, place - 0.5))
        for kind in ("step",) * (row.step is not None) + ("segment",) * bool(row.new_segment):
            hint = escape(_clean(" ".join(map(say_sentence, row_sentences(row, history)))))
            line = f'<line class="{kind}" x1="{middle:.1f}" x2="{middle:.1f}" y1="{_TOP}" y2="{_BOTTOM}"/>'
            sign = f'<text class="middle" x="{middle:.1f}" y="{_TOP - 8}">{_STEP if kind == "step" else ""}</text>'
            shapes.append(f"<g><title>{hint}</title>{line}{sign}</g>")
        if row.value.value is not None:
            hint = _text(f"{row.id}: {show(row.value.value)}")
            dot = f'cx="{x(place):.1f}" cy="{y(row.value.value):.1f}" r="{3 if len(rows) <= 200 else 1.5}"'
            shapes.append(f"<circle {dot}><title>{hint}</title></circle>")
    dates = (("start", _LEFT, rows[0]), ("end", _RIGHT, rows[-1]))
    for anchor, place, row in dates:
        shapes.append(f'<text class="{anchor}" x="{place}" y="{_HEIGHT - 8}">{_text(row.started[:10])}</text>')
    numbers = [row.value.value for row in rows if row.value.value is not None]
    label = say(
        "{measure} in {n} runs, from {low} to {high}",
        measure=history.measure,
        n=len(rows),
        low=show(min(numbers, default=None)),
        high=show(max(numbers, default=None)),
    )
    head = f'<svg class="series" role="img" aria-label="{_text(label)}" viewBox="0 0 {_WIDTH} {_HEIGHT}">'
    return f'<div class="scroll" tabindex="0">{head}{"".join(shapes)}</svg></div>\n'


def _segments(rows: Sequence[HistoryRow]) -> Iterator[list[int]]:
    """Yield the places of the rows of each segment that have a value."""
    places: list[int] = []
    for place, row in enumerate(rows):
        if row.new_segment and places:
            yield places
            places = []
        if row.value.value is not None:
            places.append(place)
    if places:
        yield places


def _band(points: Sequence[tuple[float, HistoryRow]], y: Callable[[float], float]) -> str:
    """Return the line of a segment, and the band of its intervals."""
    values = [(x, row.value.value) for x, row in points if row.value.value is not None]
    lows = [(x, row.value.low) for x, row in points if row.value.low is not None]
    highs = [(x, row.value.high) for x, row in points if row.value.high is not None]
    band, line = (" ".join(f"{x:.1f},{y(value):.1f}" for x, value in own) for own in (highs + lows[::-1], values))
    return f'<polygon class="band" points="{band}"/><polyline points="{line}"/>'


def _runs(history: RunHistory, viewer: str) -> str:
    table = history_rows(history)
    head = "".join(f'<th scope="col">{_text(say(title))}</th>' for title in ("", *table.titles))
    lines = []
    for place, (row, (cells, _)) in enumerate(zip(history.rows, table.rows, strict=True), 1):
        name = _text(row.id)
        if viewer:
            name = f'<a href="{escape(viewer)}#run={quote(row.id, safe="")}">{name}</a>'
        numbers = "".join(f"<td>{_text(say_sentence(cell))}</td>" for cell in cells[1:])
        lines.append(f'<tr id="run-{place}"><td>{place}</td><th scope="row">{name}</th>{numbers}</tr>')
    return f"<h2>{_text(say('Runs'))}</h2>\n{_table(head, lines)}{_paragraph(describe_rates(history))}"


def _case_map(history: RunHistory) -> str:
    """Return a row for each case with its pass rate in each run, those that broke last first."""
    cases = history.cases[:MOST_CASES]
    first = max(0, len(history.rows) - max(1, MOST_CELLS // len(cases)))
    places = {row.id: place for place, row in enumerate(history.rows, 1)}
    columns = "".join(_column(place, row) for place, row in enumerate(history.rows[first:], first + 1))
    titles = "".join(f'<th scope="col">{_text(say(title))}</th>' for title in ("case", "state"))
    with_sets = len({case.eval_set for case in cases}) > 1
    lines = []
    for case in cases:
        name = f"{case.eval_set}/{case.case}" if with_sets else case.case
        cells = "".join(
            _cell(passed, attempts, edited=place in case.edited)
            for place, (passed, attempts) in enumerate(zip(case.passed, case.attempts, strict=True))
            if place >= first
        )
        lines.append(f'<tr><th scope="row">{_text(name)}</th><td>{_state(case, places)}</td>{cells}</tr>')
    legend = _paragraph(
        "✓ all attempts passed, ✗ none passed; a number is the pass rate in percent, and a bar at its left says that "
        "the case was edited. ▲ is a step, and ┆ begins a new segment."
    )
    cut_cases = len(history.cases) - len(cases)
    cut_note = f"{cut_cases:,} more cases and {first:,} earlier runs are not shown; the report of JSON has them"
    more = _paragraph(cut_note) if cut_cases or first else ""
    return f"<h2>{_text(say('Cases'))}</h2>\n{legend}{more}{_table(titles + columns, lines, 'heat')}"


def _column(place: int, row: HistoryRow) -> str:
    sign = _STEP if row.step is not None else _SEGMENT if row.new_segment else ""
    return f'<th scope="col">{sign}<a href="#run-{place}" title="{_text(row.id)}">{place}</a></th>'


def _state(case: CaseLine, places: dict[str, int]) -> str:
    place = places.get(case.since)
    if place is None or case.state not in _SINCE:
        return _text(say(case.state))
    return f'<a href="#run-{place}">{_text(say(_SINCE[case.state], n=place))}</a>'


@lru_cache(maxsize=1 << 12)
def _cell(passed: int, attempts: int, *, edited: bool) -> str:
    """Return the cell of a case in a run. Its tint has five levels, and its sign says the same."""
    if not attempts:
        return "<td></td>"
    share = passed / attempts
    level = 0 if not passed else 4 if passed == attempts else 1 + min(2, int(3 * share))
    sign = _SIGNS.get(share) or rate(share).removesuffix(" %")
    return f'<td class="h{level}{" edited" if edited else ""}" title="{passed}/{attempts}">{sign}</td>'


def _table(head: str, lines: Sequence[str], kind: str = "") -> str:
    own = f' class="{kind}"' if kind else ""
    body = "\n".join(lines)
    table = f"<table{own}>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    return f'<div class="scroll" tabindex="0">{table}</div>\n'


def _text(value: str) -> str:
    return escape(_clean(value))


@lru_cache(maxsize=1 << 12)
def _clean(value: str) -> str:
    return without_secrets(visible_line(value))
