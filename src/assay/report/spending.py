"""What models took, for people: the agent's, the judges' and those that played users, each counted apart."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.table import Table
from rich.text import Text

from assay.data.outcome import CaseResult
from assay.data.spent import Spent
from assay.data.summary import Spending
from assay.report.numbers import NONE, count

_SIDES = ("agent", "judges", "simulated users")


def spending_table(spending: Spending) -> Table:
    """Return calls, tokens and money of each side that told of any."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    table.add_column("models of")
    for title in ("calls", "tokens in", "tokens out", "cost"):
        table.add_column(title, justify="right")
    for side, spent in zip(_SIDES, (spending.agent, spending.judge, spending.simulator), strict=True):
        if spent is not None:
            tokens = (_number(spent.input_tokens), _number(spent.output_tokens))
            table.add_row(side, f"{spent.calls:,}", *tokens, _money(spent))
    return table


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
