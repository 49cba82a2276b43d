"""A finding: a place at which an attempt went wrong, the kind of the difference, and the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from fairtrial.analysis.failures.events import Conversation
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase
from fairtrial.records.failure_mode import Evidence, Signature
from fairtrial.records.result import CaseResult, Outcome, Verdict
from fairtrial.records.score import FaultSide
from fairtrial.records.trace import ToolCall


class Finding(NamedTuple):
    """A fault at a place of a conversation. `place` is None if the attempt has no conversation."""

    signature: Signature
    place: int | None
    reason: str
    evidence: Evidence
    side: FaultSide = "agent"


@dataclass(frozen=True)
class SharedByPasses:
    """The calls and numbers that the attempts at a case that passed have in common.

    `calls` are the calls that all of them made, in the order of the first. `made` are the calls that any of them made,
    by name and arguments. `values` are the numbers that the replies of all of them state.
    """

    passes: int
    calls: tuple[ToolCall, ...] = ()
    made: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()


@dataclass
class Attempt:
    """A failed attempt with everything that is known about it. Verdicts are computed once."""

    result: CaseResult
    recording: Recording | None
    case: EvalCase | None
    passes: SharedByPasses | None = None
    hints: dict[str, bool] = field(default_factory=dict)

    @cached_property
    def verdicts(self) -> Sequence[tuple[Outcome, Verdict]]:
        """The outcomes with their verdicts, those that failed first."""
        pairs = [(outcome, outcome.verdict) for outcome in self.result.outcomes]
        return sorted(pairs, key=lambda pair: pair[1] is not Verdict.FAILED)

    @cached_property
    def failed(self) -> Sequence[Outcome]:
        """The outcomes that failed, or those that could not be scored if none failed."""
        failed = [outcome for outcome, verdict in self.verdicts if verdict is Verdict.FAILED]
        return failed or [outcome for outcome, verdict in self.verdicts if verdict is Verdict.UNSCORED]


Situation = tuple[Attempt, Conversation]
"""An attempt, and its conversation as a list of events."""
