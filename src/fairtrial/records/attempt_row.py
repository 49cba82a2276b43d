"""The numbers of one attempt, without its texts: enough to compare runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fairtrial.records.record import Record
from fairtrial.records.score import Range

if TYPE_CHECKING:
    from fairtrial.records.result import CaseResult, Verdict


class CriterionTerms(Record, frozen=True):
    """The name of a criterion, with the terms on which its values are judged."""

    name: str
    threshold: float | None = None
    lower_is_better: bool = False
    range: Range = Range()


class OutcomeRow(NamedTuple):
    """The value and the verdict of one criterion."""

    criterion: str
    value: float | None
    verdict: Verdict


class AttemptRow(NamedTuple):
    """One attempt at the case at a position.

    `agent_failed` says that the agent broke the attempt. `valid` is None if nobody checked whether the attempt says
    something about the agent. `probability` is that with which a sample holds the conversation, None without one.
    """

    position: int
    attempt: int
    verdict: Verdict
    valid: bool | None
    agent_failed: bool
    outcomes: list[OutcomeRow]
    probability: float | None = None


def make_row(result: CaseResult) -> AttemptRow:
    """Return the numbers of a result."""
    verdicts = [outcome.verdict for outcome in result.outcomes]
    return AttemptRow(
        result.position,
        result.attempt,
        result.combine_verdicts(verdicts),
        None if result.invalidations is None else not result.invalidations,
        result.failure is not None and result.failure.side == "agent",
        [
            OutcomeRow(outcome.criterion, outcome.score.value, verdict)
            for outcome, verdict in zip(result.outcomes, verdicts, strict=True)
        ],
        result.probability,
    )
