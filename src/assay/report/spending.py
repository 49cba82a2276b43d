"""What models took, for people: the agent's, the judges' and those that played users, each counted apart."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from assay.data.outcome import CaseResult
from assay.data.spent import Spent
from assay.data.summary import Spending
from assay.report.numbers import NONE, count
from assay.report.rows import Rows

_SIDES = ("agent", "judges", "simulated users")


def spending_rows(spending: Spending) -> Rows:
    """Return calls, tokens and money of each side that told of any."""
    rows = Rows(("models of", "calls", "tokens in", "tokens out", "cost"))
    for side, spent in zip(_SIDES, (spending.agent, spending.judge, spending.simulator), strict=True):
        if spent is not None:
            tokens = (_number(spent.input_tokens), _number(spent.output_tokens))
            rows.add(side, f"{spent.calls:,}", *tokens, _money(spent), dim=False)
    return rows


def spending_lines(result: CaseResult) -> Iterator[Text]:
    """Yield a line for judges and simulated user of one attempt, where there were any."""
    for side, spent in (("judges", result.judge), ("simulated user", result.simulator)):
        if spent is not None:
            tokens = f"{_number(spent.input_tokens)} tokens in, {_number(spent.output_tokens)} out"
            yield Text(f"{side}: {count(spent.calls, 'call')}, {tokens}, cost {_money(spent)}", "dim")


def _number(tokens: int | None) -> str:
    return NONE if tokens is None else f"{tokens:,}"


def _money(spent: Spent) -> str:
    return NONE if spent.cost is None else f"${spent.cost:.4f}"
