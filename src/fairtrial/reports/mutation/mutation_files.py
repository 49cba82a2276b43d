"""A report of mutation testing as Markdown and as JUnit XML.

Text of agents is escaped: Markdown shows it as code, and XML holds no forbidden character.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from fairtrial.reports.markdown_text import code_span
from fairtrial.reports.mutation.mutation_table import (
    card_rows,
    card_titles,
    caught_text,
    coverage_lines,
    describe_rates,
    interval_text,
    judges_in,
    operator_text,
    percent,
    role_lines,
    score_text,
    summary_line,
)
from fairtrial.text.display import DASH, visible_line
from fairtrial.text.redaction.redact import without_secrets

if TYPE_CHECKING:
    from fairtrial.records.mutation import CriterionRole, MutantFinding, MutationReport, OperatorRate

_LINE_LENGTH = 500


def mutation_markdown(report: MutationReport) -> str:
    """Return the report as Markdown."""
    criteria = [role.criterion for role in report.criteria]
    titles = ["operator", "direction", "caught", "95 % interval", *map(_cell, criteria)]
    lines = [
        f"# {summary_line(report)}",
        "",
        f"| {' | '.join(titles)} |",
        f"|{'---|' * len(titles)}",
        *(_row(row, criteria) for row in report.operators),
        "",
        *filter(None, [describe_rates(report.operators)]),
        "",
        *(f"- {_cell(line)}" for line in role_lines(report)),
        *(line for role in judges_in(report) for line in _report_card(role)),
    ]
    for title, findings in (("Survivors", report.survivors), ("False alarms", report.false_alarms)):
        if findings:
            lines += ["", f"## {title}"]
        for finding in findings:
            lines += ["", *_finding(finding)]
    lines += ["", "## Coverage", "", *(f"- {_cell(line)}" for line in coverage_lines(report.coverage))]
    if report.exclusions:
        lines += ["", "## Left out", "", *(f"- {_cell(reason)}" for reason in report.exclusions)]
    return "\n".join(lines) + "\n"


def _row(row: OperatorRate, criteria: list[str]) -> str:
    by_criterion = {estimate.name: estimate for estimate in row.criteria}
    cells = [
        row.operator,
        row.direction,
        caught_text(row.overall),
        interval_text(row.overall) or DASH,
        *(caught_text(by_criterion.get(criterion)) for criterion in criteria),
    ]
    return f"| {' | '.join(cells)} |"


def _report_card(role: CriterionRole) -> Iterator[str]:
    titles = ("operator", "direction", *(_cell(title) for title in card_titles(role)))
    yield from ("", f"## {_cell(role.criterion)} on planted errors", "", f"| {' | '.join(titles)} |")
    yield f"|{'---|' * len(titles)}"
    yield from (f"| {' | '.join((row.operator, row.direction, *cells))} |" for row, cells in card_rows(role))
    yield from ("", describe_rates(role.operators))


def _finding(finding: MutantFinding) -> Iterator[str]:
    mutation = finding.mutation
    place = f"{_cell(finding.case)}, invocation {mutation.invocation}"
    yield f"**{_cell(operator_text(mutation))}** ({finding.kind}) in {place}"
    yield ""
    # Indented code has no closing fence that a text could imitate.
    yield from (f"    {without_secrets(visible_line(line))}" for line in finding.diff)
    yield ""
    yield _cell(", ".join(map(score_text, finding.scores)))
    if finding.hint:
        yield f"Hint: {_cell(finding.hint)}"


def _cell(text: str) -> str:
    """Return a text as code on one line, so that no name, address or mark in it comes alive."""
    return code_span(text, _LINE_LENGTH)


def mutation_junit(report: MutationReport) -> bytes:
    """Return the report as JUnit XML: a test case for each operator. It fails if a mutant was judged wrongly."""
    stream = io.BytesIO()
    xml = XMLGenerator(stream, encoding="utf-8", short_empty_elements=True)
    xml.startDocument()
    failures = sum(_is_failure(row) for row in report.operators)
    suite = {"name": f"fairtrial mutate {report.run}", "tests": str(len(report.operators)), "failures": str(failures)}
    xml.startElement("testsuite", AttributesImpl({key: visible_line(value) for key, value in suite.items()}))
    for row in report.operators:
        attributes = {"name": visible_line(row.operator), "classname": f"fairtrial.{row.direction}"}
        xml.startElement("testcase", AttributesImpl(attributes))
        if _is_failure(row):
            message = f"caught {caught_text(row.overall)}: {percent(row.overall)}"
            xml.startElement("failure", AttributesImpl({"message": message}))
            xml.characters("\n".join(_yield_lines(report, row.operator)))
            xml.endElement("failure")
        xml.endElement("testcase")
    xml.startElement("system-out", AttributesImpl({}))
    xml.characters(visible_line(summary_line(report)))
    xml.endElement("system-out")
    xml.endElement("testsuite")
    xml.endDocument()
    return stream.getvalue()


def _is_failure(row: OperatorRate) -> bool:
    expected = row.overall.mutants if row.direction == "harmful" else 0
    return row.overall.caught != expected


def _yield_lines(report: MutationReport, operator: str) -> Iterator[str]:
    for finding in (*report.survivors, *report.false_alarms):
        if finding.mutation.operator == operator:
            place = f"{finding.case}, invocation {finding.mutation.invocation}"
            yield from (without_secrets(visible_line(line)) for line in (place, *finding.diff))
