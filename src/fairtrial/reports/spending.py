"""The usage of models, for people. Agent, judges, simulated users and played tools are counted separately."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.result import CaseResult
from fairtrial.records.summary import RunUsage
from fairtrial.reports.numbers import DASH, dollars
from fairtrial.reports.rows import Rows
from fairtrial.text.display import count

_SIDES = ("agent", "judges", "simulated users", "played tools")


def spending_rows(spending: RunUsage) -> Rows:
    """Return calls, tokens and costs of each side that reports its usage."""
    rows = Rows(("models of", "calls", "tokens in", "tokens out", "cost"))
    usages = (spending.agent, spending.judge, spending.simulator, spending.environment)
    for side, usage in zip(_SIDES, usages, strict=True):
        if usage is not None:
            tokens = (_tokens(usage.input_tokens, usage), _tokens(usage.output_tokens, usage))
            rows.add(side, f"{usage.calls:,}", *tokens, dollars(usage.cost, usage.unpriced_calls))
    return rows


def spending_lines(result: CaseResult) -> Iterator[Text]:
    """Yield a line for the judges, the simulated user and the played tools of an attempt, if they called models."""
    sides = (("judges", result.judge), ("simulated user", result.simulator), ("played tools", result.environment))
    for side, usage in sides:
        if usage is not None:
            tokens = f"{_tokens(usage.input_tokens, usage)} tokens in, {_tokens(usage.output_tokens, usage)} out"
            cost = dollars(usage.cost, usage.unpriced_calls)
            yield Text(f"{side}: {count(usage.calls, 'call')}, {tokens}, cost {cost}", "dim")


def _tokens(tokens: int | None, usage: ModelUsage) -> str:
    return DASH if tokens is None else f"{'at least ' if usage.unreported_calls else ''}{tokens:,}"
