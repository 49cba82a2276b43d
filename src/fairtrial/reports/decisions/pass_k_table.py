"""Terminal rows for pass^k and pass@k."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group

from fairtrial.records.run_comparison import IntervalEstimate, PassK
from fairtrial.records.summary import Estimate
from fairtrial.reports.numbers import DASH, format_estimate, interval
from fairtrial.reports.rows import INTERVAL, Rows
from fairtrial.reports.small_tables import TableNumber, table_sentence
from fairtrial.text.display import count
from fairtrial.text.languages import say


def pass_k_table(table: Sequence[PassK], title: str = "") -> Group:
    """Return pass^k and pass@k with their intervals, and the sentence about a small table."""
    rows = Rows(
        (
            say("{name} attempts", name=say(title)) if title else "attempts",
            "all pass (pass^k)",
            INTERVAL,
            "any passes (pass@k)",
            INTERVAL,
        )
    )
    for entry in table:
        cells = [text for estimate in (entry.pass_hat, entry.pass_at) for text in _estimate(estimate)]
        rows.add(str(entry.k), *cells)
    return Group(rows, *table_sentence(_rates(table)))


def _rates(table: Sequence[PassK]) -> Iterator[TableNumber]:
    for entry in table:
        for name, own in ((f"pass^{entry.k}", entry.pass_hat), (f"pass@{entry.k}", entry.pass_at)):
            yield TableNumber(name, count(entry.cases, "case"), Estimate(own.value, own.low, own.high))


def _estimate(estimate: IntervalEstimate) -> tuple[str, str]:
    ends = Estimate(estimate.value, estimate.low, estimate.high)
    return format_estimate(ends, percent=True), interval(ends, percent=True) or DASH
