"""From scores to verdicts: what a metric said, and what that means against its criterion."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator
from enum import StrEnum
from typing import Literal

import msgspec

from fairtrial.records.attempt import EndedBy, Failure
from fairtrial.records.case import EvalCase
from fairtrial.records.keys import CaseKey
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.record import Json, Record
from fairtrial.records.score import FaultSide, Range, Score, any_scored, applies, bounds
from fairtrial.records.trace import Injection, Trace


class Verdict(StrEnum):
    """What became of an outcome, a case or a run; ERROR is for cases only, NOT_APPLICABLE for outcomes only."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    UNSCORED = "unscored"
    NOT_APPLICABLE = "not_applicable"
    INFORMATIONAL = "informational"


class JudgeStats(Record, frozen=True):
    """What asking a language model cost for one outcome; money in US dollars, None where the price is unknown.

    Tokens are None where a call does not tell.
    Agreement is the share of pairs of first-wave votes that agree: of one model with itself, and of the models of a
    panel with each other.
    """

    calls: int
    calls_saved: int
    abstentions: int
    cost: float | None = None
    self_agreement: float | None = None
    panel_agreement: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def spent(self) -> ModelUsage:
        """Calls, tokens and money."""
        return ModelUsage(self.calls, self.input_tokens, self.output_tokens, self.cost)


Aggregation = Literal["value", "parts"]
"""Which number decides a verdict: the score's own value, or the mean of its parts."""


class Outcome(Record, frozen=True):
    """A score held against its criterion.

    `aggregation` "value": the score's own value counts, and its parts only inform (metrics of users). "parts": the
    mean of the parts counts, by bounds, so that an unscored part leaves open what it could still decide.
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
        """Passed if both bounds pass, failed if both fail; this is the one comparison with a threshold."""
        score = self.score
        if self.aggregation == "value" and score.parts:
            score = msgspec.structs.replace(score, parts=())
        if self.threshold is None:
            return Verdict.INFORMATIONAL if applies(score) else Verdict.NOT_APPLICABLE
        ends = bounds(score, self.range)
        if ends is None:
            return Verdict.NOT_APPLICABLE
        if not any_scored(score):
            return Verdict.UNSCORED
        passes = {(end <= self.threshold) if self.lower_is_better else (end >= self.threshold) for end in ends}
        if len(passes) > 1:
            return Verdict.UNSCORED
        return Verdict.PASSED if passes.pop() else Verdict.FAILED


Metric = Callable[[Trace, EvalCase], "Score | float | bool | Awaitable[Score | float | bool]"]
"""What happened, what was expected: a plain function, or a frozen dataclass with `__call__`."""


class Criterion(Record, frozen=True):
    """A named metric with its threshold (None: informational), direction and range.

    `aggregation` "value": the value that the metric returns counts, and the parts of its score only inform. "parts":
    the mean of the parts counts, by bounds. `signature` identifies the code and the options that produce the numbers:
    qualified names, options and hashes of sources, never a client or a key.
    """

    name: str
    metric: Metric
    threshold: float | None = None
    lower_is_better: bool = False
    range: Range = Range()
    aggregation: Aggregation = "value"
    signature: dict[str, Json] = {}


class Fault(Record, frozen=True):
    """A side on which something went wrong, and what shows it."""

    side: FaultSide
    evidence: tuple[str, ...] = ()


class InvocationInjection(Record, frozen=True):
    """What a simulated environment did to the answer of a tool, in which invocation (from 1)."""

    invocation: int
    tool: str
    injected: Injection


class CaseResult(Record, frozen=True):
    """All outcomes of one attempt at one case. `position` is the case's place in the input, from 0.

    `invalidations` are problems on any side but the agent's, by precedence, whatever the verdict. An attempt that has
    one is invalid: it says nothing about the agent. None: nobody looked for them. `usage` counts the agent's own model
    calls, `simulator` the calls that played the user, and `environment` the calls that played tools. `eval_set` and
    `digest` are, with the id, the key of the case. `name` is how reports call the case if its id alone would be
    ambiguous in the run.
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

    @property
    def key(self) -> CaseKey:
        """The identity of the case in any run."""
        return CaseKey(self.eval_set, self.case_id, self.digest)

    @property
    def title(self) -> str:
        """How reports call the case."""
        return self.name or self.case_id

    @property
    def judge(self) -> ModelUsage | None:
        """What asking judges took for all outcomes; None where none was asked."""
        asked = [outcome.judge_stats.spent for outcome in self.outcomes if outcome.judge_stats is not None]
        return sum(asked, ModelUsage()) if asked else None

    @property
    def verdict(self) -> Verdict:
        """What the verdicts of its outcomes come to."""
        return self.verdict_of([outcome.verdict for outcome in self.outcomes])

    def verdict_of(self, verdicts: Collection[Verdict]) -> Verdict:
        """Failed before error before unscored before passed; without a passed outcome it only informs."""
        if Verdict.FAILED in verdicts:
            return Verdict.FAILED
        if self.failure is not None:
            return Verdict.ERROR
        for verdict in (Verdict.UNSCORED, Verdict.PASSED):
            if verdict in verdicts:
                return verdict
        return Verdict.INFORMATIONAL

    @property
    def fault(self) -> Fault | None:
        """The side on which an attempt that did not pass failed: the first with evidence, else the agent's."""
        if self.invalidations is None or self.verdict in (Verdict.PASSED, Verdict.INFORMATIONAL):
            return None
        return self.invalidations[0] if self.invalidations else Fault("agent", tuple(self._shortcomings()))

    def _shortcomings(self) -> Iterator[str]:
        """What an agent has to answer for, where nothing else explains it."""
        if self.failure is not None:
            yield self.failure.cause
        if self.ended_by == "cap":
            yield "the conversation was ended by its cap on invocations"
        for outcome in self.outcomes:
            if outcome.verdict in (Verdict.FAILED, Verdict.UNSCORED):
                yield f"{outcome.criterion} {outcome.verdict}"
