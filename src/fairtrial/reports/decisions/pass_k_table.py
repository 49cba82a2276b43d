"""Terminal rows for pass^k and pass@k."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairtrial.records.summary import Estimate
from fairtrial.reports.numbers import format_estimate, interval
from fairtrial.reports.rows import INTERVAL, Rows
from fairtrial.text.display import DASH
from fairtrial.text.languages import say

if TYPE_CHECKING:
    from fairtrial.records.run_comparison import IntervalEstimate, PassK


def pass_k_rows(table: Sequence[PassK], title: str = "") -> Rows:
    """Return pass^k and pass@k with their intervals."""
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
    return rows


def _estimate(estimate: IntervalEstimate) -> tuple[str, str]:
    ends = Estimate(estimate.value, estimate.low, estimate.high)
    return format_estimate(ends, percent=True), interval(ends, percent=True) or DASH
