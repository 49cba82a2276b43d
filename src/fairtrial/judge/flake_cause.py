"""Attribute the differences between attempts of a case to the agent or to the judge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from fairtrial.judge.ballot_costs import collect_ballot_ids
from fairtrial.records.case import EvalCase
from fairtrial.records.keys import digest

if TYPE_CHECKING:
    from fairtrial.records.ballot import Ballot
    from fairtrial.records.flaky_case import Cause
    from fairtrial.records.result import CaseResult, Verdict
    from fairtrial.records.trace import Trace


def find_cause(attempts: Iterable[tuple[CaseResult, Trace | None]], ballots: Mapping[str, Ballot]) -> Cause | None:
    """Return who makes the attempts at a case differ, from their results and traces.

    The judge, if attempts with equal traces got different verdicts, or if the votes on an attempt were split.
    Otherwise the agent. None if the traces are not known and no vote was split.
    """
    verdicts: defaultdict[str, set[Verdict]] = defaultdict(set)
    for result, trace in attempts:
        if _is_split(result, ballots):
            return "judge"
        if trace is not None:
            verdicts[digest(EvalCase("", trace.invocations))].add(result.verdict)
    if not verdicts:
        return None
    return "judge" if any(len(kinds) > 1 for kinds in verdicts.values()) else "agent"


def _is_split(result: CaseResult, ballots: Mapping[str, Ballot]) -> bool:
    """Whether the judges of an attempt disagreed in a vote that was counted."""
    ids = {name for outcome in result.outcomes for name in collect_ballot_ids(outcome.score)}
    found = (ballots.get(name) for name in ids)
    return any(len(decision.counted) > 1 for own in found if own for decision in own.decisions.values())
