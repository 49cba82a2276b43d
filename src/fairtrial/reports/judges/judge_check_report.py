"""The terminal report of a judge check."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from fairtrial.records.judge_check import CheckResult, JudgeCheckReport, RuleRates, Share
from fairtrial.reports.numbers import DASH, rate
from fairtrial.reports.rows import INTERVAL, Rows
from fairtrial.text.display import shorten, visible_line

_MOST_LISTED = 20
"""The most wrong answers that are listed. The JSON has all of them."""
_LONGEST = 200


def print_judge_check(console: Console, report: JudgeCheckReport) -> None:
    """Print the rates of each model by prompt and rule, then the wrong and the unreadable answers."""
    for model in dict.fromkeys(rates.model for rates in report.rates):
        console.print(Text(f"\n{visible_line(model)}", "bold"))
        console.print(_table([rates for rates in report.rates if rates.model == model]))
    for name, version in report.templates.items():
        console.print(Text(f"prompt {name}: version {visible_line(version)}"))
    mistakes = [result for result in report.results if result.calls and not result.is_right]
    if mistakes:
        console.print(Text("\nanswers that are not right", "bold"))
    for result in mistakes[:_MOST_LISTED]:
        console.print(Text(describe_miss(result)))
    if len(mistakes) > _MOST_LISTED:
        console.print(Text(f"… and {len(mistakes) - _MOST_LISTED} more; --json has all of them", "dim"))
    for model, refusals in report.refusals.items():
        for refusal in refusals:
            console.print(Text(f"refused: {visible_line(model)}: {visible_line(refusal.reason)}", "red"))
    served = {(result.model, result.served): None for result in report.results if result.served}
    for model, other in served:
        console.print(Text(f"another model answered: asked {visible_line(model)}, got {visible_line(other)}", "yellow"))
    console.print(Text(f"\n{summary_line(report)}", "bold"))


def print_quick_check(console: Console, report: JudgeCheckReport) -> None:
    """Print each answer of a quick check, and how many answers of each model are right."""
    for model in dict.fromkeys(result.model for result in report.results):
        own = [result for result in report.results if result.model == model]
        for result in own:
            cost = "" if result.cost is None else f", ${result.cost:.6f}"
            again = ", asked twice" if result.calls > 1 else ""
            right = f"✓ {result.prompt} ({result.language}) in {result.seconds:.1f} s{cost}{again}"
            console.print(Text(right if result.is_right else describe_miss(result)))
        console.print(Text(f"{visible_line(model)}: {sum(result.is_right for result in own)} of {len(own)} right"))


def _table(rates: Sequence[RuleRates]) -> Rows:
    table = Rows(("prompt, rule", "sensitivity", INTERVAL, "specificity", INTERVAL))
    for row in rates:
        cells = (*_cells(row.sensitivity), *_cells(row.specificity))
        table.add(
            f"  {row.rule}" if row.rule else row.prompt or "all prompts", *cells, style="" if row.rule else "bold"
        )
    return table


def _cells(share: Share | None) -> tuple[str, str]:
    """Return a share and its interval. For example: "3 of 4" and "30 % … 95 %"."""
    if share is None:
        return DASH, DASH
    return f"{share.right} of {share.total}", f"{rate(share.low)} … {rate(share.high)}"


def describe_miss(result: CheckResult) -> str:
    """Return a wrong or an unreadable answer in a line."""
    question = f"✗ {result.id} ({result.rule}, {result.language})"
    if not result.outcome:
        return f"{question}: no readable answer: {visible_line(shorten(result.problem, _LONGEST))}"
    because = f": {visible_line(shorten(result.rationale, _LONGEST))}" if result.rationale else ""
    return f"{question}: must be {result.expected}, got {result.outcome}{because}"


def summary_line(report: JudgeCheckReport) -> str:
    """Return how many answers are right. For example: "11 of 12 right"."""
    results = [result for result in report.results if result.calls]
    right = sum(result.is_right for result in results)
    unread = sum(not result.outcome for result in results)
    parts = [f"{right} of {len(results)} right"]
    parts += [f"{unread} without a readable answer"] if unread else []
    parts += [f"{report.question_count - len(results)} not asked"] if len(results) < report.question_count else []
    return ", ".join(parts)
