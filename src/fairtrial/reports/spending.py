"""The usage of models, for people. Agent, judges, simulated users and played tools are counted separately."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from fairtrial.reports.numbers import dollars
from fairtrial.reports.rows import Rows
from fairtrial.text.display import DASH
from fairtrial.text.languages import say, say_count

if TYPE_CHECKING:
    from fairtrial.records.model_usage import ModelUsage
    from fairtrial.records.result import CaseResult
    from fairtrial.records.summary import RunUsage

_SIDES = ("agent", "judges", "simulated users", "played tools")


def spending_rows(spending: RunUsage) -> Rows:
    """Return calls, tokens and costs of each side that reports its usage."""
    rows = Rows(("models of", "calls", "tokens in", "tokens out", "cost"))
    usages = (spending.agent, spending.judge, spending.simulator, spending.environment)
    for side, usage in zip(_SIDES, usages, strict=True):
        if usage is not None:
            tokens = (_tokens(usage.input_tokens, usage), _tokens(usage.output_tokens, usage))
            rows.add(say(side), f"{usage.calls:,}", *tokens, dollars(usage.cost, usage.unpriced_calls))
    return rows


def spending_lines(result: CaseResult) -> Iterator[Text]:
    """Yield a line for the judges, the simulated user and the played tools of an attempt, if they called models."""
    sides = (("judges", result.judge), ("simulated user", result.simulator), ("played tools", result.environment))
    for side, usage in sides:
        if usage is not None:
            line = say(
                "{side}: {calls}, {input} tokens in, {output} out, cost {cost}",
                side=say(side),
                calls=say_count(usage.calls, "call"),
                input=_tokens(usage.input_tokens, usage),
                output=_tokens(usage.output_tokens, usage),
                cost=dollars(usage.cost, usage.unpriced_calls),
            )
            yield Text(line, "dim")


def _tokens(tokens: int | None, usage: ModelUsage) -> str:
    if tokens is None:
        return DASH
    return say("at least {value}", value=f"{tokens:,}") if usage.unreported_calls else f"{tokens:,}"
