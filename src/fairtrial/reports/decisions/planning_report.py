"""Terminal reports of plans and of flaky cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from fairtrial.records.summary import Estimate
from fairtrial.reports.decisions.comparison_table import points
from fairtrial.reports.numbers import interval, number, rate
from fairtrial.reports.rows import INTERVAL, Rows
from fairtrial.reports.small_tables import TableNumber, table_sentence
from fairtrial.reports.terminal_text import signature_line
from fairtrial.text.display import DASH, count, visible_line

if TYPE_CHECKING:
    from fairtrial.records.flaky_case import Flakiness, FlakyCase
    from fairtrial.records.size_plan import SizePlan

_MOST = 30
_QUESTIONS = {
    "detect": "show a difference of {} in {}",
    "not_worse_by": "show that {1} is not worse by {0}",
    "half_width": "know {1} to plus or minus {0}",
}


_FEW = 30
"""The variance of fewer cases is known roughly: its relative error is about the root of 2 / (cases - 1)."""


def plan_report(plan: SizePlan) -> RenderableType:
    """Return the designs that answer a question, and the noise that they are computed from."""
    show = rate if plan.is_rate else number
    size = points if plan.is_rate and plan.question != "half_width" else show
    question = _QUESTIONS[plan.question].format(size(plan.limit), plan.measure)
    power = "" if plan.question == "half_width" else f" with a power of {rate(plan.power)}"
    about = "cases like these" if plan.about == "cases-like-these" else "these cases"
    rows = Rows(("attempts of each case", "cases", "votes", "attempts in all", "cost without the agent", ""))
    for row in plan.rows:
        total = None if row.cases is None else row.cases * row.attempts
        rows.add(
            f"{row.attempts:,}",
            "too many" if row.cases is None else f"{row.cases:,}",
            DASH if row.votes is None else f"~ {row.votes}",
            DASH if total is None else f"{total:,}",
            DASH if row.cost is None else f"${row.cost:,.2f}",
            "cheapest" if row.cheapest else "",
            style="green" if row.cheapest else "",
        )
    lines: list[RenderableType] = [
        Text(visible_line(f"To {question}{power}, about {about}:"), "bold"),
        Text(""),
        rows,
        Text(""),
        Text(_variances(plan)),
    ]
    if plan.runs and plan.runs[0].cases < _FEW:
        cases = count(plan.runs[0].cases, "case")
        lines.append(Text(f"With {cases}, the variance is known roughly: these sizes show an order of magnitude."))
    if plan.detectable is not None:
        reach = "half width" if plan.question == "half_width" and len(plan.runs) < 2 else "difference"
        if reach == "difference":
            lines.append(Text(f"The present design finds a difference of {size(plan.detectable)}."))
    lines += [Text(visible_line(note), "yellow") for note in plan.notes]
    lines.append(signature_line(plan.signature))
    return Group(*lines)


def _variances(plan: SizePlan) -> str:
    variance = plan.variance
    if variance.attempt is None:
        return f"variance of cases and attempts together {variance.case:.4f}"
    judge = "" if variance.judge is None else f" (~ {variance.judge:.4f} of it by the votes of the judge)"
    lasting = (
        "" if variance.lasting is None else f", of case differences that attempts cannot remove {variance.lasting:.4f}"
    )
    return f"variance between cases {variance.case:.4f}, between attempts {variance.attempt:.4f}{judge}{lasting}"


def flaky_report(flakiness: Flakiness) -> RenderableType:
    """Return the flaky cases, the most uncertain first, and how many verdicts to expect to change."""
    rows = Rows(("flaky case", "passed", "attempts", "pass rate", INTERVAL, "cause"))
    for case in flakiness.cases[:_MOST]:
        share = case.passed / case.attempts
        ends = interval(Estimate(share, case.low, case.high), percent=True)
        rows.add(case.case, str(case.passed), str(case.attempts), rate(share), ends, case.cause or DASH)
    lines: list[RenderableType] = []
    if flakiness.cases:
        lines += [rows, *table_sentence(map(_pass_rate, flakiness.cases[:_MOST]))]
        if len(flakiness.cases) > _MOST:
            lines.append(Text(f"… and {len(flakiness.cases) - _MOST} more; --json FILE lists them all", "dim"))
        lines.append(Text(""))
    lines.append(
        Text(f"{flakiness.always} always passed, {flakiness.never} never passed, {_flaky_count(len(flakiness.cases))}.")
    )
    if flakiness.single:
        notice = f"{count(flakiness.single, 'case')} with one attempt: nothing shows whether they are flaky"
        lines.append(Text(f"{notice}; run with --attempts 2 or more", "yellow"))
    if flakiness.always or flakiness.never or flakiness.cases:  # without repeated cases, the number is a guess
        changes = number(flakiness.expected_changes)
        lines.append(Text(f"If all cases were run once more, and once again, about {changes} verdicts would differ."))
    if flakiness.attempt_variance is not None and flakiness.case_variance is not None:
        variances = f"{flakiness.case_variance:.4f}, between attempts {flakiness.attempt_variance:.4f}"
        lines.append(Text(f"variance between cases {variances}"))
    lines.append(signature_line(flakiness.signature))
    return Group(*lines)


def _pass_rate(case: FlakyCase) -> TableNumber:
    estimate = Estimate(case.passed / case.attempts, case.low, case.high)
    sample = count(case.attempts, "attempt")
    return TableNumber(f"the pass rate of {case.case}", sample, estimate, "its verdict can change")


def _flaky_count(cases: int) -> str:
    return f"{cases} {'is' if cases == 1 else 'are'} flaky"
