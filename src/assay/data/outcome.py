"""From scores to verdicts: what a metric said, and what that means against its criterion."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from enum import StrEnum
from math import inf
from typing import Literal

import msgspec

from assay.data.case import EvalCase
from assay.data.noun import Json, Noun
from assay.data.recording import EndedBy, Failure
from assay.data.spent import Spent
from assay.data.trace import Injected, Trace


class Verdict(StrEnum):
    """What became of an outcome, a case or a run; ERROR is for cases only, NOT_APPLICABLE for outcomes only."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    UNSCORED = "unscored"
    NOT_APPLICABLE = "not_applicable"
    INFORMATIONAL = "informational"


FaultSide = Literal["infrastructure", "judge", "simulator", "environment", "expectation", "agent"]
"""On which side something went wrong; where there is evidence on several, the first of this order counts."""


class Quote(Noun, frozen=True):
    """A piece of evidence, word for word, and where it is from."""

    text: str
    source: str = ""


class Score(Noun, frozen=True):
    """What a metric says of a trace.

    `value` None with a reason: it should have been scored and could not be; `side` then says whose doing that is, where
    it is known. `applicable` False: there is nothing to score here, which the data alone decides. `parts` are the
    scores that the value is the mean of.
    """

    value: float | None = None
    reason: str = ""
    label: str = ""
    applicable: bool = True
    parts: tuple[Score, ...] = ()
    evidence: tuple[Quote, ...] = ()
    ballots: tuple[str, ...] = ()
    side: FaultSide | None = None


Bounds = tuple[float, float]


class Range(Noun, frozen=True):
    """The values that a score can have; an end that is None is unbounded, one that is open is no value itself."""

    low: float | None = 0.0
    high: float | None = 1.0
    open_low: bool = False
    open_high: bool = False

    @property
    def bounds(self) -> Bounds:
        """Both ends as numbers, infinite where unbounded."""
        return (-inf if self.low is None else self.low, inf if self.high is None else self.high)

    def __contains__(self, value: float) -> bool:
        low, high = self.bounds
        return low <= value <= high and not (self.open_low and value == low) and not (self.open_high and value == high)

    def __str__(self) -> str:
        if None not in (self.low, self.high) and not (self.open_low or self.open_high):
            return f"from {self.low:g} to {self.high:g}"
        low = None if self.low is None else f"{'above' if self.open_low else 'of at least'} {self.low:g}"
        high = None if self.high is None else f"{'below' if self.open_high else 'of at most'} {self.high:g}"
        return " and ".join(end for end in (low, high) if end) or "of any size"


def bounds(score: Score, scale: Range) -> Bounds | None:
    """Return the lowest and highest value that the score could have, were its unscored leaves scored.

    A scored leaf is (v, v), an unscored one the ends of the range, a node the mean of its children; what is not
    applicable is dropped. None: nothing applies.
    """
    if not score.applicable:
        return None
    if not score.parts:
        return scale.bounds if score.value is None else (score.value, score.value)
    inner = [ends for part in score.parts if (ends := bounds(part, scale)) is not None]
    if not inner:
        return None
    lows, highs = zip(*inner, strict=True)
    return sum(lows) / len(inner), sum(highs) / len(inner)


def applies(score: Score) -> bool:
    """Whether there is anything to score: the score applies, and of its parts, where it has any, at least one."""
    return score.applicable and (not score.parts or any(map(applies, score.parts)))


def any_scored(score: Score) -> bool:
    """Whether at least one applicable leaf has a value."""
    if not score.applicable:
        return False
    return any(any_scored(part) for part in score.parts) if score.parts else score.value is not None


def mean_of(parts: Iterable[Score], *, reason: str = "", label: str = "") -> Score:
    """Return the score whose value is the mean of its scored, applicable parts.

    Without an applicable part it is not applicable; with applicable parts but no scored one its value is None.
    """
    kept = tuple(parts)
    applicable = [part for part in kept if part.applicable]
    values = [part.value for part in applicable if part.value is not None]
    return Score(
        value=sum(values) / len(values) if values else None,
        reason=reason,
        label=label,
        applicable=bool(applicable),
        parts=kept,
    )


class Judging(Noun, frozen=True):
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
    def spent(self) -> Spent:
        """Calls, tokens and money."""
        return Spent(self.calls, self.input_tokens, self.output_tokens, self.cost)


class Outcome(Noun, frozen=True):
    """A score held against its criterion.

    `own_value` True: the score's own value counts, and its parts inform only (metrics of users).
    """

    criterion: str
    score: Score
    threshold: float | None = None
    lower_is_better: bool = False
    range: Range = Range()
    own_value: bool = False
    judging: Judging | None = None

    @property
    def verdict(self) -> Verdict:
        """Passed if both bounds pass, failed if both fail; this is the one comparison with a threshold."""
        score = self.score
        if self.own_value and score.parts:
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


class Criterion(Noun, frozen=True):
    """A named metric with its threshold (None: informational), direction and range.

    `own_value` True: the value that the metric returns counts, and the parts of its score inform only; False: the parts
    count, so that an unscored part leaves open what it could still decide. `signature` says
    what produced the numbers: qualified names, options and source hashes, never a client or a key.
    """

    name: str
    metric: Metric
    threshold: float | None = None
    lower_is_better: bool = False
    range: Range = Range()
    own_value: bool = True
    signature: dict[str, Json] = {}


class Fault(Noun, frozen=True):
    """A side on which something went wrong, and what shows it."""

    side: FaultSide
    evidence: tuple[str, ...] = ()


class Injection(Noun, frozen=True):
    """What a simulated environment did to the answer of a tool, in which invocation (from 1)."""

    invocation: int
    tool: str
    injected: Injected


class CaseResult(Noun, frozen=True):
    """All outcomes of one attempt at one case. `position` is the case's place in the input, from 0.

    `evidence` is what went wrong on any side but the agent's, by precedence, whatever the verdict. With any the attempt
    is invalid: it says nothing about the agent. None: nobody looked for it. `usage` is what the agent's own model calls
    took, `simulator` what playing the user did, `environment` what playing tools did.
    """

    case_id: str
    position: int
    outcomes: tuple[Outcome, ...]
    attempt: int = 1
    failure: Failure | None = None
    evidence: tuple[Fault, ...] | None = None
    ended_by: EndedBy = "script"
    usage: dict[str, int] | None = None
    warnings: tuple[str, ...] = ()
    simulator: Spent | None = None
    environment: Spent | None = None
    injections: tuple[Injection, ...] = ()

    @property
    def judge(self) -> Spent | None:
        """What asking judges took for all outcomes; None where none was asked."""
        asked = [outcome.judging.spent for outcome in self.outcomes if outcome.judging is not None]
        return sum(asked, Spent()) if asked else None

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
        if self.evidence is None or self.verdict in (Verdict.PASSED, Verdict.INFORMATIONAL):
            return None
        return self.evidence[0] if self.evidence else Fault("agent", tuple(self._shortcomings()))

    def _shortcomings(self) -> Iterator[str]:
        """What an agent has to answer for, where nothing else explains it."""
        if self.failure is not None:
            yield self.failure.cause
        if self.ended_by == "cap":
            yield "the conversation was ended by its cap on invocations"
        for outcome in self.outcomes:
            if outcome.verdict in (Verdict.FAILED, Verdict.UNSCORED):
                yield f"{outcome.criterion} {outcome.verdict}"
