"""The criteria of a run that a report shows, and the numbers of them for the sentence below their table.

A report leaves out the criteria that nobody asked for and that found no data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairtrial.metrics.entries import CATALOG
from fairtrial.reports.small_tables import Quote, TableNumber, describe_table
from fairtrial.text.display import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairtrial.records.summary import CriterionSummary, Estimate, Summary

_ALWAYS_COMPUTED = frozenset(entry.name for entry in CATALOG.values() if entry.always_computed)


def has_data(criterion: CriterionSummary) -> bool:
    """Whether a criterion has a mean or a threshold, or somebody asked for it and it applied to a case.

    The other criteria were computed by default and found no data. For example, token counts may not be recorded.
    """
    return (
        criterion.mean.value is not None
        or criterion.threshold is not None
        or (criterion.informational > 0 and criterion.criterion not in _ALWAYS_COMPUTED)
    )


def informative(summary: Summary) -> list[CriterionSummary]:
    """Return the criteria that a report shows."""
    return list(filter(has_data, summary.criteria))


def describe_run(summary: Summary, quote: Quote = str) -> str:
    """Return the sentence about the criteria of a run, in English. It is empty unless their table is small."""
    return describe_table(run_numbers(summary, quote))


def run_numbers(summary: Summary, quote: Quote = str) -> list[TableNumber]:
    """Return the pass rates of a run, or the means with bounds if no criterion has a pass rate.

    Nothing is proven if a model has judged the criterion, or if an attempt of the run is invalid.
    """
    rows = informative(summary)
    rates = [own for own in rows if own.pass_rate.value is not None]
    if rates:
        return [
            TableNumber(
                _name_rate(own, "the pass rate", rates, quote),
                _count_sample(own, summary),
                own.pass_rate,
                "" if own.calls is not None or summary.invalid else _find_fact(own.pass_rate, summary),
                is_single=1 in (_count_scored(own), sum(summary.case_verdicts.values())),
            )
            for own in rates
        ]
    means = [own for own in rows if own.mean.value is not None and None not in (own.range.low, own.range.high)]
    return [
        TableNumber(
            _name_rate(own, "the mean", means, quote),
            _count_sample(own, summary),
            own.mean,
            is_rate=False,
            width=(own.range.high or 0.0) - (own.range.low or 0.0),
        )
        for own in means
    ]


def valid_numbers(summary: Summary, quote: Quote = str) -> list[TableNumber]:
    """Return the pass rates over the valid attempts of a run."""
    rates = [own for own in informative(summary) if own.valid is not None and own.valid.pass_rate.value is not None]
    return [
        TableNumber(
            _name_rate(own, "the pass rate", rates, quote),
            count(own.valid.n, "valid attempt"),
            own.valid.pass_rate,
            "" if own.calls is not None else _find_fact(own.valid.pass_rate, summary),
        )
        for own in rates
        if own.valid is not None
    ]


def _name_rate(criterion: CriterionSummary, noun: str, rows: Sequence[CriterionSummary], quote: Quote) -> str:
    return noun if len(rows) == 1 else f"{noun} of {quote(criterion.criterion)}"


def _count_sample(criterion: CriterionSummary, summary: Summary) -> str:
    """Return how many cases or attempts the numbers of a criterion come from."""
    attempts, cases = sum(summary.cases.values()), sum(summary.case_verdicts.values())
    scored = _count_scored(criterion)
    if criterion.unscored:
        return f"{count(scored, 'attempt')} and {criterion.unscored:,} unscored"
    if scored < attempts or not cases:
        return count(scored, "attempt")
    return count(cases, "case") if attempts == cases else f"{count(attempts, 'attempt')} at {count(cases, 'case')}"


def _count_scored(criterion: CriterionSummary) -> int:
    return criterion.passed + criterion.failed + criterion.informational + criterion.errors


def _find_fact(pass_rate: Estimate, summary: Summary) -> str:
    """Return what the attempts prove about the agent, or nothing.

    A failure at one criterion is a failure of its attempt. A pass at one criterion is not a pass of its attempt: that
    is proven if more attempts passed than are invalid, and if no model judged any of their criteria.
    """
    if not pass_rate.value:
        return "the agent can fail"
    is_judged = any(own.calls is not None and own.threshold is not None for own in summary.criteria)
    has_passed = summary.cases.get("passed", 0) > sum(summary.invalid.values())
    return "the agent can pass" if has_passed and not is_judged else ""
