"""A report of mutation testing as one HTML file: it holds no script, and opens without a network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from fairtrial.reports.mutation.mutation_table import (
    card_rows,
    card_titles,
    caught_text,
    counts,
    coverage_lines,
    describe_rates,
    interval_text,
    judges_in,
    named_rates,
    operator_text,
    percent,
    rate_text,
    role_lines,
    score_text,
)
from fairtrial.reports.page_shell import scriptless_page
from fairtrial.text.display import DASH, visible_line
from fairtrial.text.languages import chosen_language, say
from fairtrial.text.redaction.redact import without_secrets
from fairtrial.text.translated_lines import say_sentence

if TYPE_CHECKING:
    from fairtrial.records.mutation import CatchRate, CriterionRole, MutantFinding, MutationReport, OperatorRate

_OPEN = 3
"""The number of survivors, and of false alarms, that a reader sees without a click."""


def mutation_html(report: MutationReport) -> str:
    """Return the report as a page: the score, a line for each operator, and every mutant that was judged wrongly.

    Its words are in the language that is spoken now: of the terminal, or of `speaking`.
    """
    rates = (f"{say_sentence(name)} {say_sentence(percent(rate))}" for name, rate in named_rates(report))
    title = ", ".join((*rates, *map(say_sentence, counts(report))))
    return scriptless_page(_text(title), "".join(_parts(report)), chosen_language())


def _parts(report: MutationReport) -> Iterator[str]:
    facts = " · ".join((_text(report.run), _text(report.started), *map(_sentence, counts(report))))
    yield f'<h1>{_sentence("Mutation testing")}</h1>\n<p class="note">{facts}</p>\n'
    rates = "".join(_number(name, rate) for name, rate in named_rates(report))
    yield f'<div class="numbers">{rates}</div>\n'
    yield _operators(report)
    yield _items("Criteria", role_lines(report))
    for role in judges_in(report):
        yield f"<h2>{_text(say('{name} on planted errors', name=role.criterion))}</h2>\n{_report_card(role)}"
    survivors, alarms = "The criteria passed these harmful changes.", "The criteria failed these harmless changes."
    yield from _findings("Survivors", survivors, report.survivors)
    yield from _findings("False alarms", alarms, report.false_alarms)
    yield _items("Coverage", coverage_lines(report.coverage))
    yield _items("Left out", report.exclusions)


def _number(title: str, estimate: CatchRate) -> str:
    ends = f"<span>{_picture(estimate)} {_sentence(interval_text(estimate))}</span>"
    return f"<div><span>{_sentence(title)}</span><b>{rate_text(estimate)}</b>{ends}</div>"


def _operators(report: MutationReport) -> str:
    criteria = [role.criterion for role in report.criteria]
    titles = *map(_sentence, ("operator", "direction", "caught", "95 % interval")), *map(_text, criteria)
    rows = (_operator(row, criteria) for row in report.operators)
    return f"<h2>{_sentence('Operators')}</h2>\n{_table(titles, rows)}{_limits(report.operators)}"


def _report_card(role: CriterionRole) -> str:
    rows = (_row(row.operator, [row.direction, *cells]) for row, cells in card_rows(role))
    return _table(map(_sentence, ("operator", "direction", *card_titles(role))), rows) + _limits(role.operators)


def _limits(rows: Iterable[OperatorRate]) -> str:
    sentence = describe_rates(rows)
    return f'<p class="note">{_sentence(sentence)}</p>\n' if sentence else ""


def _row(title: str, cells: Iterable[str]) -> str:
    return f'<tr><th scope="row">{_text(title)}</th>{"".join(f"<td>{_sentence(cell)}</td>" for cell in cells)}</tr>'


def _table(titles: Iterable[str], rows: Iterable[str]) -> str:
    """Return a table. Its titles and rows are escaped."""
    head = "".join(f'<th scope="col">{title}</th>' for title in titles)
    body = "\n".join(rows)
    table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    return f'<div class="scroll" tabindex="0">{table}</div>\n'


def _operator(row: OperatorRate, criteria: Sequence[str]) -> str:
    by_criterion = {estimate.name: estimate for estimate in row.criteria}
    cells = (
        f"<td>{_sentence(row.direction)}</td>",
        f"<td>{_sentence(caught_text(row.overall))}</td>",
        f"<td>{_picture(row.overall)} {_sentence(interval_text(row.overall) or DASH)}</td>",
        *(f'<td class="small">{_sentence(caught_text(by_criterion.get(criterion)))}</td>' for criterion in criteria),
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
        yield f'<h2>{_sentence(title)}</h2>\n<p class="note">{_sentence(explanation)}</p>\n'
    for place, finding in enumerate(findings):
        lines = "\n".join(map(_diff_line, finding.diff))
        scores = _text(", ".join(say_sentence(score_text(score)) for score in finding.scores))
        hint = f'<p class="hint">{_sentence(finding.hint)}</p>' if finding.hint else ""
        where = {"kind": say_sentence(finding.kind), "case": finding.case, "n": finding.mutation.invocation}
        change = f"<b>{_text(operator_text(finding.mutation))}</b> "
        change += _text(say("({kind}) in {case}, invocation {n}", **where))
        state = " open" if place < _OPEN else ""
        yield (
            f"<details{state}><summary>{change}</summary>"
            f'<pre>{lines}</pre><p class="note">{scores}</p>{hint}</details>\n'
        )


def _diff_line(line: str) -> str:
    kind = "removed" if line.startswith("-") else "added"
    return f'<span class="{kind}">{_text(line)}</span>'


def _items(title: str, lines: Iterable[str]) -> str:
    items = "".join(f"<li>{_sentence(line)}</li>" for line in lines)
    return f"<h2>{_sentence(title)}</h2>\n<ul>{items}</ul>\n" if items else ""


def _sentence(value: str) -> str:
    """Return a text of this package in the language of the page, escaped."""
    return _text(say_sentence(value))


def _text(value: str) -> str:
    return escape(without_secrets(visible_line(value)))
