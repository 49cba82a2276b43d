"""Who makes the attempts of a case differ, the agent or the judge?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from fairtrial.records.ballot import Ballot
from fairtrial.records.case import EvalCase
from fairtrial.records.flaky_case import Cause
from fairtrial.records.keys import digest
from fairtrial.records.result import CaseResult, Verdict
from fairtrial.records.score import Score

if TYPE_CHECKING:
    from fairtrial.store import Store

_BATCH = 500


def flaky_causes(store: Store, run_id: str, positions: Collection[int]) -> Mapping[int, Cause]:
    """Return who makes the attempts of cases differ.

    The judge, if attempts with equal traces got different verdicts, or if the votes on an attempt were split.
    Otherwise the agent.
    """
    ballots = store.ballots(run_id)
    by_position: dict[int, Cause] = {}
    queue = iter(positions)
    while batch := list(islice(queue, _BATCH)):
        verdicts: dict[tuple[int, str], set[Verdict]] = defaultdict(set)
        traces = {
            (position, recording.attempt): digest(EvalCase("", recording.trace.invocations))
            for position, recording in store.recordings(run_id, positions=batch)
        }
        for result in store.results(run_id, positions=batch):
            trace = traces.get((result.position, result.attempt), "")
            verdicts[result.position, trace].add(result.verdict)
            if _is_split(result, ballots):
                by_position[result.position] = "judge"
        for (position, _), kinds in verdicts.items():
            if len(kinds) > 1:
                by_position[position] = "judge"
            by_position.setdefault(position, "agent")
    return by_position


def _is_split(result: CaseResult, ballots: Mapping[str, Ballot]) -> bool:
    """Whether the judges of an attempt disagreed in a vote that was counted."""
    ids = {ballot for outcome in result.outcomes for ballot in _ballots(outcome.score)}
    counts = (decision.counted for key in ids if key in ballots for decision in ballots[key].decisions.values())
    return any(len(counted) > 1 for counted in counts)


def _ballots(score: Score) -> Iterator[str]:
    yield from score.ballots
    for part in score.parts:
        yield from _ballots(part)
