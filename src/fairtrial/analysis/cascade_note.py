"""A sentence about the criterion that was asked before a judge: its decisions, and the known share of errors."""

from __future__ import annotations

from fairtrial.records.summary import Cascade, CriterionSummary


def describe_cascade(summary: CriterionSummary) -> str:
    """Return the number of decisions of the first criterion, and the share that the judge would decide otherwise."""
    cascade = summary.cascade or Cascade("")
    total = cascade.decisions + cascade.questions
    start = f"{summary.criterion}: {cascade.criterion} decided {cascade.decisions:,} of {total:,} invocations"
    if not cascade.decisions:
        return f"{start}, and the judge was asked about all of them"
    start += " without the judge"
    if not cascade.audited:
        return f"{start}; the judge was asked about none of these, so their error is not known: set `audit`"
    error = cascade.error
    ends = "" if error.low is None or error.high is None else f", 95 % interval {error.low:.0%} to {error.high:.0%}"
    share = "" if error.value is None else f" ({error.value:.0%}{ends})"
    checked = f"the judge, asked about {cascade.audited:,} of these, decided {cascade.overruled:,} otherwise{share}"
    return f"{start}; {checked}"
