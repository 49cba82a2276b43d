"""The tables of a run for people: its numbers with their intervals, and its verdict."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from fairtrial.records.judging.judge_state import JudgeState
from fairtrial.records.result import Verdict
from fairtrial.records.summary import CriterionSummary, RunUsage, Summary
from fairtrial.reports.decisions.comparison_table import pass_k_table
from fairtrial.reports.decisions.gate_report import gate_report
from fairtrial.reports.judges.judge_states import judge_states
from fairtrial.reports.numbers import dollars, format_estimate, interval, make_estimate, rate, with_unit
from fairtrial.reports.rows import INTERVAL, Name, Rows
from fairtrial.reports.shown_criteria import informative, run_numbers, valid_numbers
from fairtrial.reports.skill_uses import skill_tables
from fairtrial.reports.small_tables import table_sentence
from fairtrial.reports.spending import spending_rows
from fairtrial.text.display import DASH, visible, visible_line
from fairtrial.text.languages import say, say_count
from fairtrial.text.translated_lines import say_sentence

if TYPE_CHECKING:
    from fairtrial.records.judging.calibration import Calibration
    from fairtrial.records.run import RunInfo

MARKS = {
    Verdict.PASSED: ("✓", "green"),
    Verdict.FAILED: ("✗", "red"),
    Verdict.ERROR: ("!", "magenta"),
    Verdict.UNSCORED: ("?", "yellow"),
    Verdict.NOT_APPLICABLE: ("·", "dim"),
    Verdict.INFORMATIONAL: ("·", "dim"),
}
_COUNTS = {
    "passed": "passed",
    "failed": "failed",
    "unscored": "unscored",
    "errors": "errors",
    "not_applicable": "n/a",
    "informational": "info",
}


def tables(summary: Summary, calibrations: Sequence[Calibration] = ()) -> RenderableType:
    """Return the numbers over all attempts, the numbers over valid attempts if some are invalid, and model usage.

    `calibrations` say how far the judges may be believed. If a judge is biased, the corrected numbers stand first.
    """
    if not summary.criteria:
        return Text("")
    useless = {own.criterion for own in calibrations if own.state is JudgeState.USELESS}
    sections: list[RenderableType] = [Group(_criteria(summary, useless), *table_sentence(run_numbers(summary)))]
    states = judge_states(calibrations)
    if states is not None:
        is_biased = any(own.state is JudgeState.BIASED for own in calibrations)
        sections.insert(0 if is_biased else 1, states)
    if summary.pass_k:
        sections.append(pass_k_table(summary.pass_k))
    sections += skill_tables(summary.skill_uses)
    if summary.invalid:
        sections.append(Group(_valid(summary), *table_sentence(valid_numbers(summary))))
    if any(criterion.calls is not None for criterion in summary.criteria):
        sections.append(_judging(summary))
    if any(len(criterion.pair_agreements) > 1 for criterion in summary.criteria):
        sections.append(_pairs(summary))
    if summary.spending != RunUsage():
        sections.append(spending_rows(summary.spending))
    return Group(*(part for table in sections for part in (Text(""), table)))


def _criteria(summary: Summary, useless: Collection[str]) -> Rows:
    # A column that would be 0 for every criterion is left out.
    verdicts = [name for name in _COUNTS if any(getattr(criterion, name) for criterion in summary.criteria)]
    rows = Rows(("criterion", "mean", INTERVAL, "pass rate", INTERVAL, *(_COUNTS[name] for name in verdicts)))
    for criterion in informative(summary):
        rows.add(
            criterion.criterion,
            with_unit(criterion.criterion, format_estimate(criterion.mean, criterion.threshold)),
            with_unit(criterion.criterion, interval(criterion.mean) or DASH),
            format_estimate(criterion.pass_rate, percent=True),
            interval(criterion.pass_rate, percent=True) or DASH,
            *(str(getattr(criterion, name) or DASH) for name in verdicts),
            style="dim" if criterion.criterion in useless else _style(criterion),
        )
    return rows


def _valid(summary: Summary) -> Rows:
    rows = Rows(("valid attempts only", "attempts", "mean", INTERVAL, "pass rate", INTERVAL))
    for criterion in informative(summary):
        if criterion.valid is not None:
            rows.add(
                criterion.criterion,
                f"{criterion.valid.n:,}",
                format_estimate(criterion.valid.mean, criterion.threshold),
                interval(criterion.valid.mean) or DASH,
                format_estimate(criterion.valid.pass_rate, percent=True),
                interval(criterion.valid.pass_rate, percent=True) or DASH,
                style=_style(criterion),
            )
    return rows


def _style(criterion: CriterionSummary) -> str:
    return "dim" if criterion.threshold is None else ""


def _pairs(summary: Summary) -> Rows:
    """Return the agreement of each two models of a panel. With two models, it is the panel agreement."""
    rows = Rows(("judged by a panel", "two models", "agreement", "pairs of votes"))
    for criterion in summary.criteria:
        for pair in criterion.pair_agreements:
            models = Name(visible_line(f"{pair.first}, {pair.second}"))
            rows.add(criterion.criterion, models, rate(pair.equal / pair.pairs), f"{pair.pairs:,}")
    return rows


def _judging(summary: Summary) -> Rows:
    panels = any(criterion.panel_agreement is not None for criterion in summary.criteria)
    names = ("self-agreement", INTERVAL, *(("panel agreement", INTERVAL) if panels else ()))
    rows = Rows(("judged", "calls", "votes saved", "abstentions", *names, "cost"))
    for criterion in summary.criteria:
        if criterion.calls is not None:
            cost = dollars(criterion.cost, criterion.unpriced_calls)
            numbers = (criterion.calls, criterion.calls_saved or 0, criterion.abstentions or 0)
            with_itself = make_estimate(criterion.self_agreement, criterion.self_agreement_interval)
            in_panel = make_estimate(criterion.panel_agreement, criterion.panel_agreement_interval)
            agreements = (with_itself, in_panel) if panels else (with_itself,)
            ends = (
                text
                for own in agreements
                for text in (format_estimate(own, percent=True), interval(own, percent=True) or DASH)
            )
            rows.add(criterion.criterion, *(f"{number:,}" for number in numbers), *ends, cost)
    return rows


def notes(summary: Summary) -> RenderableType:
    """Return the notes on the numbers of a run, a line for each."""
    return Group(*(Text(visible(say("note: {note}", note=say_sentence(note))), "yellow") for note in summary.notes))


def closing(info: RunInfo, summary: Summary, *, show: str = "", has_tables: bool = True) -> RenderableType:
    """Return the verdict of the run with its reasons, and the number of attempts by verdict.

    `show` is the command that shows the run again, or empty if there is none. If no table stands above, no interval
    does, and their methods are left out.
    """
    mark, style = MARKS[summary.verdict]
    total = sum(summary.cases.values())
    counts = ", ".join(
        say_count(n, verdict) if verdict == "error" else _count_verdict(n, verdict)
        for verdict, n in summary.cases.items()
    )
    seconds = "" if info.seconds is None else say(" in {seconds} s", seconds=f"{info.seconds:.1f}")
    reasons = f": {visible_line('; '.join(map(say_sentence, summary.reasons)))}" if summary.reasons else ""
    # An interrupted run does not have a verdict yet, even if every attempt so far has passed.
    if info.finished is None:
        mark, style = MARKS[Verdict.UNSCORED]
        so_far = say(", so far {verdict}", verdict=say(summary.verdict.value))
        lines = [Text.assemble((f"{mark} {say('NOT FINISHED')}", f"bold {style}"), so_far, reasons)]
    else:
        lines = [Text.assemble((f"{mark} {say(summary.verdict.value).upper()}", f"bold {style}"), reasons)]
    if summary.invalid:
        sides = ", ".join(f"{say(side)} {n:,}" for side, n in summary.invalid.items())
        invalid, attempts = f"{sum(summary.invalid.values()):,}", say_count(total, "attempt")
        notice = say("{n} of {attempts} invalid: {sides}", n=invalid, attempts=attempts, sides=sides)
        lines.append(
            Text(
                say("{notice_text}; `{command}` lists them", notice_text=notice, command=show) if show else notice,
                "yellow",
            )
        )
    methods = _methods(summary.criteria) if has_tables else ""
    tail = f"{say_count(total, 'attempt')}{seconds}: {counts or say('none')}"
    lines.append(Text(tail + (say("  (intervals: {methods})", methods=methods) if methods else ""), "dim"))
    if summary.attempt_rules:
        cases = ", ".join(_count_verdict(n, verdict) for verdict, n in summary.case_verdicts.items())
        total_cases = sum(summary.case_verdicts.values())
        needed = say("  (needed: {rules})", rules="; ".join(map(say_sentence, summary.attempt_rules)))
        lines.append(Text(f"{say_count(total_cases, 'case')}: {cases}{needed}", "dim"))
    decisions = [] if summary.decision is None else [gate_report(summary.decision)]
    return Group(*lines, *decisions)


def _count_verdict(number: int, verdict: str) -> str:
    return say("{n} {verdict}", n=f"{number:,}", verdict=say(verdict.replace("_", " ")))


def _methods(criteria: Sequence[CriterionSummary]) -> str:
    """Return the names of the methods behind the intervals, each once."""
    methods = [criterion.mean.method for criterion in criteria]
    methods += [criterion.pass_rate.method for criterion in criteria]
    return "; ".join(dict.fromkeys(method for method in methods if method))
