"""Results and verdicts: a score gets its verdict from its criterion, and a case from its outcomes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator
from enum import StrEnum
from typing import Literal

import msgspec

from fairtrial.records.attempt import EndedBy, Failure
from fairtrial.records.ballot import PairAgreement
from fairtrial.records.case import EvalCase
from fairtrial.records.keys import CaseKey
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.record import Displayed, Json, Record
from fairtrial.records.score import FaultSide, Range, Score, applies, bounds, has_value
from fairtrial.records.trace import Injection, Trace


class Verdict(StrEnum):
    """The verdict on an outcome, a case or a run. Only cases can be ERROR, and only outcomes NOT_APPLICABLE."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    UNSCORED = "unscored"
    NOT_APPLICABLE = "not_applicable"
    INFORMATIONAL = "informational"


class CascadeCounts(Record, frozen=True):
    """How a criterion that is asked before the judge treated some invocations.

    It made `decisions` about some, and the judge got `questions` about the others. `audited` decisions were also put to
    the judge, which answered. It decided `overruled` of these otherwise.
    """

    criterion: str
    decisions: int = 0
    questions: int = 0
    audited: int = 0
    overruled: int = 0

    def __add__(self, other: CascadeCounts) -> CascadeCounts:
        return CascadeCounts(
            self.criterion,
            self.decisions + other.decisions,
            self.questions + other.questions,
            self.audited + other.audited,
            self.overruled + other.overruled,
        )


class JudgeStats(Record, frozen=True):
    """The judge calls behind one outcome. `cost` is in US dollars. Tokens and cost are those of `ModelUsage`.

    Agreement is the share of pairs of votes in the first wave that
    agree: pairs of one model with itself, and pairs of different models of a panel. Only the first wave counts,
    because its size does not depend on the answers. `cascade` is None if no criterion is asked before the judge.
    """

    calls: int
    calls_saved: int
    abstentions: int
    cost: float | None = None
    self_agreement: float | None = None
    panel_agreement: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    unreported_calls: int = 0
    unpriced_calls: int = 0
    pair_agreements: tuple[PairAgreement, ...] = ()
    cascade: CascadeCounts | None = None

    @property
    def model_usage(self) -> ModelUsage:
        """The same calls as usage of models."""
        numbers = (self.input_tokens, self.output_tokens, self.cost)
        return ModelUsage(self.calls, *numbers, self.unreported_calls, self.unpriced_calls)


Aggregation = Literal["value", "parts"]
"""Which number decides a verdict: the score's own value, or the mean of its parts."""


OWN_VALUES = frozenset(("tool_rules_v1", "user_consent_v1"))
"""The criteria of this package whose own value decides."""


class Outcome(Displayed, frozen=True):
    """A score together with the criterion that judges it.

    With `aggregation` "value" the score's own value decides, and its parts only inform: this holds for users' metrics.
    With "parts" the mean of the parts decides. If some parts could not be scored, the verdict is computed twice, with
    the minimum and with the maximum of the range in their place. If both agree, they are the verdict. Otherwise the
    outcome is unscored.
    """

    criterion: str
    score: Score
    threshold: float | None = None
    lower_is_better: bool = False
    range: Range = Range()
    aggregation: Aggregation = "parts"
    judge_stats: JudgeStats | None = None

    @property
    def verdict(self) -> Verdict:
        """Passed if both bounds pass, failed if both fail."""
        score = self._deciding_score
        if self.threshold is None:
            return Verdict.INFORMATIONAL if applies(score) else Verdict.NOT_APPLICABLE
        ends = bounds(score, self.range)
        if ends is None:
            return Verdict.NOT_APPLICABLE
        if not has_value(score):
            return Verdict.UNSCORED
        low, high = ends
        low_passes = low <= self.threshold if self.lower_is_better else low >= self.threshold
        high_passes = high <= self.threshold if self.lower_is_better else high >= self.threshold
        if low_passes != high_passes:
            return Verdict.UNSCORED
        return Verdict.PASSED if low_passes else Verdict.FAILED

    @property
    def ends(self) -> tuple[float, float] | None:
        """The lowest and the highest value that could decide. None means that the criterion does not apply."""
        return bounds(self._deciding_score, self.range)

    @property
    def has_own_words(self) -> bool:
        """Whether the reason is the text of a user's metric or of its judge, which is never translated.

        For example, a metric of a user that says "missing". A score without a value has a reason of this package.
        """
        return self.aggregation == "value" and self.score.value is not None and self.criterion not in OWN_VALUES

    @property
    def _deciding_score(self) -> Score:
        if self.aggregation == "value" and self.score.parts:
            return msgspec.structs.replace(self.score, parts=())
        return self.score


Metric = Callable[[Trace, EvalCase], "Score | float | bool | Awaitable[Score | float | bool]"]
"""Scores a trace against its case: a plain function, or a frozen dataclass with `__call__`."""


class Criterion(Record, frozen=True):
    """A named metric with its threshold, direction and range.

    Without a threshold, the criterion only informs, unless its metric returns a bool. True then passes and false fails,
    or the reverse if `lower_is_better`.
    `aggregation` says whether the value that the metric returns decides, or the mean of its parts. `signature`
    identifies the code and the options that produce the numbers: qualified names, options and hashes of sources, but
    never a client or a key.
    """

    name: str
    metric: Metric
    threshold: float | None = None
    lower_is_better: bool = False
    range: Range = Range()
    aggregation: Aggregation = "value"
    signature: dict[str, Json] = {}


class Fault(Record, frozen=True):
    """A side on which something went wrong, and the evidence against it."""

    side: FaultSide
    evidence: tuple[str, ...] = ()


class InvocationInjection(Record, frozen=True):
    """A change that a simulated environment made to the answer of a tool. Invocations are counted from 1."""

    invocation: int
    tool: str
    injected: Injection


class CaseResult(Displayed, frozen=True):
    """All outcomes of one attempt at one case. `position` is the place of the case in the input, counted from 0.

    `invalidations` are problems on any side but the agent's, by precedence, whatever the verdict. An attempt that has
    one is invalid: it says nothing about the agent. None means that they were not looked for. `usage` counts the
    agent's own model calls, `simulator` those that played the user, `environment` those that played tools. `eval_set`
    and `digest` are, with the id, the key of the case. `name` is how reports call the case if its id alone would be
    ambiguous in the run. `probability` is that of the recording.
    """

    case_id: str
    position: int
    outcomes: tuple[Outcome, ...]
    attempt: int = 1
    failure: Failure | None = None
    invalidations: tuple[Fault, ...] | None = None
    ended_by: EndedBy = "script"
    usage: dict[str, int] | None = None
    warnings: tuple[str, ...] = ()
    simulator: ModelUsage | None = None
    environment: ModelUsage | None = None
    injections: tuple[InvocationInjection, ...] = ()
    eval_set: str = ""
    digest: str = ""
    name: str = ""
    probability: float | None = None

    @property
    def key(self) -> CaseKey:
        """The identity of the case in any run."""
        return CaseKey(self.eval_set, self.case_id, self.digest)

    @property
    def title(self) -> str:
        """The name of the case in reports."""
        return self.name or self.case_id

    @property
    def judge(self) -> ModelUsage | None:
        """The usage by judges for all outcomes, or None if no judge was asked."""
        usages = [outcome.judge_stats.model_usage for outcome in self.outcomes if outcome.judge_stats is not None]
        return sum(usages, ModelUsage()) if usages else None

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts of the outcomes, in their order."""
        return [outcome.verdict for outcome in self.outcomes]

    @property
    def verdict(self) -> Verdict:
        """The verdict that follows from the verdicts of the outcomes."""
        return self.combine_verdicts(self.verdicts)

    def combine_verdicts(self, verdicts: Collection[Verdict]) -> Verdict:
        """Return the first of failed, error, unscored and passed that occurs.

        If none does, a failure that the case expects has passed, and any other case only informs.
        """
        if Verdict.FAILED in verdicts:
            return Verdict.FAILED
        if self.failure is not None:
            return Verdict.ERROR
        for verdict in (Verdict.UNSCORED, Verdict.PASSED):
            if verdict in verdicts:
                return verdict
        return Verdict.PASSED if self.ended_by == "expected_failure" else Verdict.INFORMATIONAL

    @property
    def fault(self) -> Fault | None:
        """The side at fault if the attempt did not pass: the first side with evidence, otherwise the agent."""
        if self.find_fault_side(self.verdict) is None:
            return None
        return self.invalidations[0] if self.invalidations else Fault("agent", tuple(self._shortcomings()))

    def find_fault_side(self, verdict: Verdict) -> FaultSide | None:
        """Return the side of the fault, given the verdict of the attempt, or None if no side is at fault."""
        if self.invalidations is None or verdict in (Verdict.PASSED, Verdict.INFORMATIONAL):
            return None
        if self.invalidations:
            return self.invalidations[0].side
        return None if verdict is Verdict.UNSCORED and not self._has_agent_evidence else "agent"

    @property
    def _has_agent_evidence(self) -> bool:
        """Whether an unscored attempt speaks against the agent. A recording that lacks something does not."""
        if self.failure is not None or self.ended_by == "cap":
            return True
        scores = (score for outcome in self.outcomes for score in (outcome.score, *outcome.score.parts))
        return any(score.side == "agent" for score in scores if score.value is None)

    def _shortcomings(self) -> Iterator[str]:
        """Yield the evidence against the agent, which counts if there is none against another side."""
        if self.failure is not None:
            yield self.failure.cause
        if self.ended_by == "cap":
            yield "the conversation was ended by its cap on invocations"
        for outcome in self.outcomes:
            if outcome.verdict in (Verdict.FAILED, Verdict.UNSCORED):
                yield f"{outcome.criterion} {outcome.verdict}"
