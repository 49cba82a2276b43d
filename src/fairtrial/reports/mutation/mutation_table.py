"""The terminal report of mutation testing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from fairtrial.records.mutation import (
    FEWEST_SCORES,
    CatchRate,
    Coverage,
    CriterionRole,
    MutantFinding,
    MutantScore,
    Mutation,
    MutationReport,
    OperatorRate,
)
from fairtrial.records.summary import Estimate
from fairtrial.reports.numbers import against, beside, format_estimate, interval
from fairtrial.reports.rows import INTERVAL, Name, Rows
from fairtrial.reports.small_tables import TableNumber, describe_table, write_paragraph
from fairtrial.text.display import DASH, count, shorten, visible_line
from fairtrial.text.translated_lines import say_sentence

LISTED = 5
"""The number of survivors, and of false alarms, in a terminal. JSON and Markdown hold more."""
_NOTE = (
    "The rates of judges hold for planted errors, which are not natural ones. Labels of people say how far a judge "
    "agrees with people: fairtrial judge sample."
)


def mutation_table(report: MutationReport, *, everything: bool = False) -> RenderableType:
    """Return the rates of operators and criteria, the survivors with hints, and the coverage."""
    lines: list[RenderableType] = [
        Text(", ".join(map(say_sentence, _summary_parts(report))), "bold"),
        *(Text(visible_line(f"left out: {reason}"), "yellow") for reason in report.exclusions),
        Text(""),
        _operators(report),
        *write_paragraph(describe_rates(report.operators)),
        Text(""),
        *map(Text, role_lines(report)),
        *(part for role in judges_in(report) for part in (Text(""), *_report_card(role))),
    ]
    for title, findings in (("survived", report.survivors), ("false alarm", report.false_alarms)):
        for finding in findings if everything else findings[:LISTED]:
            lines += [Text(""), *_finding(title, finding)]
        if not everything and len(findings) > LISTED:
            lines.append(Text(f"… and {len(findings) - LISTED} more in --json and --markdown", "dim"))
    return Group(*lines, Text(""), *(Text(visible_line(line), "dim") for line in coverage_lines(report.coverage)))


def summary_line(report: MutationReport) -> str:
    """Return the scores of calls, facts and form, the worst first, and the false alarm rate, in one line."""
    return ", ".join(_summary_parts(report))


def _summary_parts(report: MutationReport) -> list[str]:
    return [*(f"{name} {percent(rate)}" for name, rate in named_rates(report)), *counts(report)]


def named_rates(report: MutationReport) -> list[tuple[str, CatchRate]]:
    """Return the scores of calls, facts and form, the worst first, and the false alarm rate, each with its name."""
    return [*((rate.name, rate) for rate in report.families), ("false alarms", report.false_alarm_rate)]


def counts(report: MutationReport) -> list[str]:
    """Return the numbers of baselines, of cases that were left out, and of inert mutants, in words."""
    texts = [count(report.baselines, "baseline")]
    texts += [f"{len(report.exclusions)} left out"] if report.exclusions else []
    return texts + ([f"{count(report.inert, 'inert mutant')} not in the score"] if report.inert else [])


def percent(estimate: CatchRate) -> str:
    """Return a rate with its interval, for example "52 % (42 to 62 %)"."""
    if estimate.rate is None:
        return DASH
    ends = interval_text(estimate)
    return f"{rate_text(estimate)} ({ends})" if ends else rate_text(estimate)


def rate_text(estimate: CatchRate) -> str:
    """Return a rate with the decimals of its interval."""
    return format_estimate(_estimate(estimate), percent=True)


def _estimate(own: CatchRate) -> Estimate:
    return Estimate(own.rate, own.low, own.high)


def interval_text(estimate: CatchRate) -> str:
    """Return the interval of a rate, or an empty text if there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    low, _, high = interval(_estimate(estimate), percent=True).partition(" … ")
    return f"{low.removesuffix(' %')} to {high}"


def _operators(report: MutationReport) -> Rows:
    criteria = [role.criterion for role in report.criteria]
    rows = Rows(("operator", "caught", INTERVAL, *map(Name, criteria)))
    for row in report.operators:
        by_criterion = {estimate.name: estimate for estimate in row.criteria}
        rows.add(
            say_sentence(_name(row)),
            caught_text(row.overall),
            interval_text(row.overall) or DASH,
            *(caught_text(by_criterion.get(criterion)) for criterion in criteria),
            style="dim" if row.direction == "harmless" else "",
        )
    return rows


def caught_text(estimate: CatchRate | None) -> str:
    """Return how many mutants were caught, for example "3 of 4, 1 unscored", or a dash without mutants."""
    if estimate is None or not (estimate.mutants or estimate.unscored):
        return DASH
    unscored = f", {estimate.unscored} unscored" if estimate.unscored else ""
    return f"{estimate.caught} of {estimate.mutants}{unscored}"


def role_lines(report: MutationReport) -> Iterator[str]:
    """Yield a line for each criterion: its part, and for a judge its report card on planted errors."""
    for role in report.criteria:
        name = visible_line(role.criterion)
        if role.judged:
            yield (
                f"{name}: the judge notices {percent(role.sensitivity)} of the planted errors, and fails "
                f"{percent(role.false_alarms)} of the harmless changes"
            )
        if role.caught_alone:
            yield f"{name}: {count(role.caught_alone, 'mutant')} that no other criterion caught"
        elif role.sensitivity.mutants and len(report.criteria) > 1:
            yield f"{name}: caught nothing that no other criterion caught; it may be dropped"
    yield from _advice(report)
    if any(role.judged for role in report.criteria):
        yield _NOTE


def _advice(report: MutationReport) -> Iterator[str]:
    """Yield better thresholds, criteria that judge alike, counts of paraphrases, and fixes that were really run."""
    for best in report.thresholds:
        interval_ = f"{best.low:.2f} to {best.high:.2f}"
        yield (
            f"{visible_line(best.criterion)}: a threshold of {best.threshold:.2f} ({interval_}) separates harmful from "
            f"harmless changes best: Youden's J {best.youden:.2f} instead of {best.youden_now:.2f}"
        )
    for pair in report.redundant:
        yield (
            f"{visible_line(pair.first)} and {visible_line(pair.second)} judge {pair.mutants} mutants alike "
            f"(phi {pair.phi:.2f}); one of them may suffice"
        )
    if report.paraphrases is not None:
        reasons = ", ".join(f"{number} {reason}" for reason, number in report.paraphrases.unproven.items())
        yield (
            f"paraphrases of a model: {report.paraphrases.proven} proven by their facts, "
            f"{sum(report.paraphrases.unproven.values())} dropped{f': {visible_line(reasons)}' if reasons else ''}"
        )
    for fix in report.fixes:
        yield (
            f'fix: add "{fix.criterion}": {fix.threshold} to the criteria. It catches {fix.caught} of '
            f"{count(fix.survivors, 'survivor')}, and fails {fix.false_alarms} of {fix.harmless} conversations that "
            "are right and pass now (really run)"
        )
    if report.baselines < FEWEST_SCORES:
        yield f"no other threshold is proposed from {count(report.baselines, 'case')}: that takes {FEWEST_SCORES}"


def judges_in(report: MutationReport) -> list[CriterionRole]:
    """Return the criteria that ask a model, each with its rates by operator and language."""
    return [role for role in report.criteria if role.judged and role.operators]


def card_titles(role: CriterionRole) -> list[str]:
    """Return the titles of the columns of a judge's report card: caught mutants, and those of each language."""
    return ["caught", INTERVAL, *_languages(role)]


def card_rows(role: CriterionRole) -> Iterator[tuple[OperatorRate, list[str]]]:
    """Yield each operator with its cells: the mutants that the judge caught, in all and in each language."""
    for row in role.operators:
        by_language = {estimate.name: estimate for estimate in row.languages}
        cells = [caught_text(by_language.get(language)) for language in _languages(role)]
        yield row, [caught_text(row.overall), interval_text(row.overall) or DASH, *cells]


def _languages(role: CriterionRole) -> list[str]:
    return sorted({estimate.name for row in role.operators for estimate in row.languages})


def _report_card(role: CriterionRole) -> Iterator[RenderableType]:
    rows = Rows((f"{visible_line(role.criterion)} on planted errors", *card_titles(role)))
    for row, cells in card_rows(role):
        rows.add(say_sentence(_name(row)), *cells, style="dim" if row.direction == "harmless" else "")
    yield from (rows, *write_paragraph(describe_rates(role.operators)))


def describe_rates(rows: Iterable[OperatorRate]) -> str:
    """Return the sentence about the rates of operators, if their table is small."""
    return describe_table(_catch_numbers(rows))


def _catch_numbers(rows: Iterable[OperatorRate]) -> Iterator[TableNumber]:
    for row in rows:
        own = row.overall
        fact = "such a change can be caught" if own.caught else "such a change can be missed"
        sample = count(own.mutants, "mutant")
        yield TableNumber(
            f"the share of {row.operator} that is caught", sample, _estimate(own), fact, is_single=own.mutants == 1
        )


def _name(row: OperatorRate) -> str:
    return row.operator if row.direction == "harmful" else f"{row.operator} (harmless)"


def _finding(title: str, finding: MutantFinding) -> Iterator[Text]:
    mutation = finding.mutation
    place = f"{finding.case}, invocation {mutation.invocation}"
    yield Text(visible_line(f"{title} ({finding.kind}): {operator_text(mutation)} in {place}"), "bold")
    for line in finding.diff:
        yield Text(f"  {visible_line(shorten(line, 300))}", "red" if line.startswith("-") else "green")
    yield Text("  " + visible_line(", ".join(say_sentence(score_text(score)) for score in finding.scores)), "dim")
    if finding.hint:
        yield Text(f"  hint: {finding.hint}")


def operator_text(mutation: Mutation) -> str:
    """Return the operator of a mutant, and the tool that it degraded, for example "tool_fails (find)"."""
    return f"{mutation.operator} ({shorten(mutation.tool, 60)})" if mutation.tool else mutation.operator


def score_text(score: MutantScore) -> str:
    """Return the score of a mutant by a criterion, for example "response_match_score 0.96 (needs 0.80)"."""
    limit = DASH if score.threshold is None else against(score.threshold, score.threshold)[1]
    return f"{score.criterion} {beside(score.value, score.threshold)} (needs {limit})"


def coverage_lines(coverage: Coverage) -> Iterator[str]:
    """Yield everything that the conversations exercise, and everything that is declared and never expected."""
    turns = "; ".join(f"{count(cases, 'case')} with {count(n, 'invocation')}" for n, cases in coverage.turns.items())
    yield f"coverage: {turns}" if turns else "coverage: no fixed conversation"
    tools = ", ".join(f"{tool} {calls}" for tool, calls in coverage.tools.items())
    yield f"expected calls: {tools or 'none'}"
    languages = ", ".join(f"{language} {messages}" for language, messages in coverage.languages.items())
    yield f"messages by language: {languages or 'none'}"
    if coverage.errors:
        yield f"failing tools: {', '.join(coverage.errors)}"
    else:
        yield "failing tools: none; no case shows the agent an error of a tool"
    if coverage.personas:
        yield f"personas: {', '.join(coverage.personas)}"
    unexpected = (*coverage.unexpected_tools, *coverage.unexpected_arguments)
    if unexpected:
        yield f"declared and never expected: {', '.join(unexpected)}"
