"""A report of mutation testing as one HTML file: it holds no script, and opens without a network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from fairtrial.records.mutation import CatchRate, CriterionRole, MutantFinding, MutationReport, OperatorRate
from fairtrial.reports.mutation.mutation_table import (
    card_rows,
    card_titles,
    caught_text,
    counts,
    coverage_lines,
    interval_text,
    judges_in,
    operator_text,
    rate_text,
    role_lines,
    score_text,
    summary_line,
)
from fairtrial.reports.numbers import DASH
from fairtrial.reports.page_shell import scriptless_page
from fairtrial.text.display import visible_line

_OPEN = 3
"""The number of survivors, and of false alarms, that a reader sees without a click."""


def mutation_html(report: MutationReport) -> str:
    """Return the report as a page: the score, a line for each operator, and every mutant that was judged wrongly."""
    return scriptless_page(_text(summary_line(report)), "".join(_parts(report)))


def _parts(report: MutationReport) -> Iterator[str]:
    facts = " · ".join((_text(report.run), _text(report.started), *counts(report)))
    yield f'<h1>Mutation testing</h1>\n<p class="note">{facts}</p>\n'
    rates = *(_number(rate.name, rate) for rate in report.families), _number("false alarms", report.false_alarm_rate)
    yield f'<div class="numbers">{"".join(rates)}</div>\n'
    yield _operators(report)
    yield _items("Criteria", role_lines(report))
    for role in judges_in(report):
        yield f"<h2>{_text(role.criterion)} on planted errors</h2>\n{_report_card(role)}"
    yield from _findings("Survivors", "The criteria passed these harmful changes.", report.survivors)
    yield from _findings("False alarms", "The criteria failed these harmless changes.", report.false_alarms)
    yield _items("Coverage", coverage_lines(report.coverage))
    yield _items("Left out", report.exclusions)


def _number(title: str, estimate: CatchRate) -> str:
    ends = f"<span>{_picture(estimate)} {interval_text(estimate)}</span>"
    return f"<div><span>{title}</span><b>{rate_text(estimate)}</b>{ends}</div>"


def _operators(report: MutationReport) -> str:
    criteria = [role.criterion for role in report.criteria]
    titles = ("operator", "direction", "caught", "95 % interval", *criteria)
    return f"<h2>Operators</h2>\n{_table(titles, (_operator(row, criteria) for row in report.operators))}"


def _report_card(role: CriterionRole) -> str:
    rows = (_row(row.operator, [row.direction, *cells]) for row, cells in card_rows(role))
    return _table(("operator", "direction", *card_titles(role)), rows)


def _row(title: str, cells: Iterable[str]) -> str:
    return f'<tr><th scope="row">{_text(title)}</th>{"".join(f"<td>{_text(cell)}</td>" for cell in cells)}</tr>'


def _table(titles: Iterable[str], rows: Iterable[str]) -> str:
    head = "".join(f'<th scope="col">{_text(title)}</th>' for title in titles)
    body = "\n".join(rows)
    table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    return f'<div class="scroll" tabindex="0">{table}</div>\n'


def _operator(row: OperatorRate, criteria: Sequence[str]) -> str:
    by_criterion = {estimate.name: estimate for estimate in row.criteria}
    cells = (
        f"<td>{row.direction}</td>",
        f"<td>{caught_text(row.overall)}</td>",
        f"<td>{_picture(row.overall)} {interval_text(row.overall) or DASH}</td>",
        *(f'<td class="small">{caught_text(by_criterion.get(criterion))}</td>' for criterion in criteria),
    )
    return f'<tr><th scope="row">{_text(row.operator)}</th>{"".join(cells)}</tr>'


def _picture(estimate: CatchRate) -> str:
    """Return the rate and its interval as a picture. The text beside it says the same."""
    if estimate.rate is None:
        return ""
    low, high = (estimate.rate if end is None else end for end in (estimate.low, estimate.high))
    return (
        '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<line x1="0" y1="5" x2="100" y2="5"/>'
        f'<line class="interval" x1="{100 * low:.1f}" y1="5" x2="{100 * high:.1f}" y2="5"/>'
        f'<circle cx="{100 * estimate.rate:.1f}" cy="5" r="2.5"/></svg>'
    )


def _findings(title: str, explanation: str, findings: Sequence[MutantFinding]) -> Iterator[str]:
    if findings:
        yield f'<h2>{title}</h2>\n<p class="note">{explanation}</p>\n'
    for place, finding in enumerate(findings):
        lines = "\n".join(map(_diff_line, finding.diff))
        scores = _text(", ".join(map(score_text, finding.scores)))
        hint = f'<p class="hint">{_text(finding.hint)}</p>' if finding.hint else ""
        change = f"<b>{_text(operator_text(finding.mutation))}</b> ({finding.kind}) in {_text(finding.case)}"
        state = " open" if place < _OPEN else ""
        yield (
            f"<details{state}><summary>{change}, invocation {finding.mutation.invocation}</summary>"
            f'<pre>{lines}</pre><p class="note">{scores}</p>{hint}</details>\n'
        )


def _diff_line(line: str) -> str:
    kind = "removed" if line.startswith("-") else "added"
    return f'<span class="{kind}">{_text(line)}</span>'


def _items(title: str, lines: Iterable[str]) -> str:
    items = "".join(f"<li>{_text(line)}</li>" for line in lines)
    return f"<h2>{title}</h2>\n<ul>{items}</ul>\n" if items else ""


def _text(value: str) -> str:
    return escape(visible_line(value))
