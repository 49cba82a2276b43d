"""The usage of models, for people. Agent, judges, simulated users and played tools are counted separately."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.result import CaseResult
from fairtrial.records.summary import RunUsage
from fairtrial.reports.numbers import DASH, count
from fairtrial.reports.rows import Rows

_SIDES = ("agent", "judges", "simulated users", "played tools")


def spending_rows(spending: RunUsage) -> Rows:
    """Return calls, tokens and costs of each side that reports its usage."""
    rows = Rows(("models of", "calls", "tokens in", "tokens out", "cost"))
    usages = (spending.agent, spending.judge, spending.simulator, spending.environment)
    for side, usage in zip(_SIDES, usages, strict=True):
        if usage is not None:
            tokens = (_number(usage.input_tokens), _number(usage.output_tokens))
            rows.add(side, f"{usage.calls:,}", *tokens, _cost(usage))
    return rows


def spending_lines(result: CaseResult) -> Iterator[Text]:
    """Yield a line for the judges, the simulated user and the played tools of an attempt, if they called models."""
    sides = (("judges", result.judge), ("simulated user", result.simulator), ("played tools", result.environment))
    for side, usage in sides:
        if usage is not None:
            tokens = f"{_number(usage.input_tokens)} tokens in, {_number(usage.output_tokens)} out"
            yield Text(f"{side}: {count(usage.calls, 'call')}, {tokens}, cost {_cost(usage)}", "dim")


def _number(tokens: int | None) -> str:
    return DASH if tokens is None else f"{tokens:,}"


def _cost(usage: ModelUsage) -> str:
    return DASH if usage.cost is None else f"${usage.cost:.4f}"
