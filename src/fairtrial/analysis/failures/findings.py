"""A finding: a place at which an attempt went wrong, the kind of the difference, and the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.analysis.failures.events import Conversation
from fairtrial.records.result import CaseResult, Outcome, Verdict

if TYPE_CHECKING:
    from fairtrial.analysis.failures.reply_comparison import FactKey
    from fairtrial.records.attempt import Recording
    from fairtrial.records.case import EvalCase
    from fairtrial.records.failure_mode import Evidence, Signature
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
    """The calls and facts that the attempts at a case that passed have in common.

    `calls` are the calls that all of them made, in the order of the first. `made` are the calls that any of them made,
    as `normal_key` writes them. `facts` are what the replies of all of them state, as one of them writes it.
    """

    passes: int
    calls: tuple[ToolCall, ...] = ()
    made: frozenset[str] = frozenset()
    facts: Mapping[FactKey, str] = field(default_factory=dict)


@dataclass
class Attempt:
    """A failed attempt with everything that is known about it. Verdicts are computed once."""

    result: CaseResult
    recording: Recording | None
    case: EvalCase | None
    passes: SharedByPasses | None = None
    hints: dict[str, bool] = field(default_factory=dict)
    outcome_verdicts: Sequence[Verdict] | None = None

    @cached_property
    def verdicts(self) -> Sequence[tuple[Outcome, Verdict]]:
        """The outcomes with their verdicts, those that failed first."""
        own = self.result.verdicts if self.outcome_verdicts is None else self.outcome_verdicts
        pairs = list(zip(self.result.outcomes, own, strict=True))
        return sorted(pairs, key=lambda pair: pair[1] is not Verdict.FAILED)

    @cached_property
    def failed(self) -> Sequence[Outcome]:
        """The outcomes that failed, or those that could not be scored if none failed."""
        failed = [outcome for outcome, verdict in self.verdicts if verdict is Verdict.FAILED]
        return failed or [outcome for outcome, verdict in self.verdicts if verdict is Verdict.UNSCORED]


Situation = tuple[Attempt, Conversation]
"""An attempt, and its conversation as a list of events."""
