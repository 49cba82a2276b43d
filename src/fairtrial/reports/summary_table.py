"""The numbers of a run for people, how sure one can be of them, and its verdict."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from fairtrial.records.result import Verdict
from fairtrial.records.run import RunInfo
from fairtrial.records.summary import CriterionSummary, RunUsage, Summary
from fairtrial.reports.numbers import NONE, beside, count, interval, rate
from fairtrial.reports.rows import INTERVAL, Rows
from fairtrial.reports.spending import spending_rows
from fairtrial.text.display import visible

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


def tables(summary: Summary) -> RenderableType:
    """Return the numbers over all attempts, over the valid ones where some are not, and what models took."""
    if not summary.criteria:
        return Text("")
    shown = [_criteria(summary)]
    if summary.invalid:
        shown.append(_valid(summary))
    if any(one.calls is not None for one in summary.criteria):
        shown.append(_judging(summary))
    if summary.spending != RunUsage():
        shown.append(spending_rows(summary.spending))
    return Group(*(part for table in shown for part in (Text(""), table)))


def _criteria(summary: Summary) -> Rows:
    used = [name for name in _COUNTS if any(getattr(one, name) for one in summary.criteria)]
    rows = Rows(("criterion", "mean", INTERVAL, "pass rate", INTERVAL, *(_COUNTS[name] for name in used)))
    for one in _told(summary):
        rows.add(
            one.criterion,
            beside(one.mean.value, one.threshold),
            interval(one.mean) or NONE,
            rate(one.pass_rate.value),
            interval(one.pass_rate, percent=True) or NONE,
            *(str(getattr(one, name) or NONE) for name in used),
            style=_style(one),
        )
    return rows


def _valid(summary: Summary) -> Rows:
    rows = Rows(("valid attempts only", "attempts", "mean", INTERVAL, "pass rate", INTERVAL))
    for one in _told(summary):
        if one.valid is not None:
            rows.add(
                one.criterion,
                f"{one.valid.n:,}",
                beside(one.valid.mean.value, one.threshold),
                interval(one.valid.mean) or NONE,
                rate(one.valid.pass_rate.value),
                interval(one.valid.pass_rate, percent=True) or NONE,
                style=_style(one),
            )
    return rows


def _style(one: CriterionSummary) -> str:
    return "dim" if one.threshold is None else ""


def _told(summary: Summary) -> list[CriterionSummary]:
    """The criteria that have something to tell: not what nobody asked for and nothing is recorded of."""
    return [one for one in summary.criteria if one.mean.value is not None or one.threshold is not None]


def _judging(summary: Summary) -> Rows:
    panels = any(one.panel_agreement is not None for one in summary.criteria)
    agreements = ("self-agreement", "panel agreement") if panels else ("self-agreement",)
    rows = Rows(("judged", "calls", "votes saved", "abstentions", *agreements, "cost"))
    for one in summary.criteria:
        if one.calls is not None:
            cost = NONE if one.cost is None else f"${one.cost:.4f}"
            numbers = (one.calls, one.calls_saved or 0, one.abstentions or 0)
            agreed = (rate(one.self_agreement), rate(one.panel_agreement))[: len(agreements)]
            rows.add(one.criterion, *(f"{number:,}" for number in numbers), *agreed, cost)
    return rows


def closing(info: RunInfo, summary: Summary, *, show: str = "") -> RenderableType:
    """Return the verdict of the run, why, and what it counted; `show` is the command that shows a run again."""
    mark, style = MARKS[summary.verdict]
    total = sum(summary.cases.values())
    counts = ", ".join(
        count(n, verdict) if verdict == "error" else f"{n:,} {verdict}" for verdict, n in summary.cases.items()
    )
    seconds = "" if info.seconds is None else f" in {info.seconds:.1f} s"
    why = f": {visible('; '.join(summary.reasons))}" if summary.reasons else ""
    if info.finished is None:
        mark, style = MARKS[Verdict.UNSCORED]
        lines = [Text.assemble((f"{mark} NOT FINISHED", f"bold {style}"), f", so far {summary.verdict}", why)]
    else:
        lines = [Text.assemble((f"{mark} {summary.verdict.upper()}", f"bold {style}"), why)]
    if summary.invalid:
        sides = ", ".join(f"{side} {n:,}" for side, n in summary.invalid.items())
        spoiled = f"{sum(summary.invalid.values()):,} of {count(total, 'attempt')} invalid: {sides}"
        lines.append(Text(f"{spoiled}; `{show}` lists them" if show else spoiled, "yellow"))
    methods = _methods(summary.criteria)
    tail = f"{count(total, 'attempt')}{seconds}: {counts or 'none'}" + (f"  (intervals: {methods})" if methods else "")
    lines.append(Text(tail, "dim"))
    return Group(*lines)


def _methods(criteria: Sequence[CriterionSummary]) -> str:
    named = [one.mean.method for one in criteria] + [one.pass_rate.method for one in criteria]
    return "; ".join(dict.fromkeys(name for name in named if name))
