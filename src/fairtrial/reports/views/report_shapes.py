"""The shapes of the JSON report. `json_report` fills them, and makes their JSON Schema."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from fairtrial.records.attempt import EndedBy, Side
from fairtrial.records.ballot import PairAgreement
from fairtrial.records.gate import GateDecision
from fairtrial.records.run_comparison import PassK
from fairtrial.records.score import FaultSide, PartKind
from fairtrial.reports.views.ballot_shapes import BallotShape

CaseVerdict = Literal["passed", "failed", "error", "unscored", "informational"]
OutcomeVerdict = Literal["passed", "failed", "unscored", "not_applicable", "informational"]


class Shape(msgspec.Struct, frozen=True):
    """The base of all shapes. Every key is always present; a key without a value is null."""


class RunShape(Shape, frozen=True):
    """The run: its configuration, and the signatures of its criteria."""

    id: str
    started: str
    version: str
    config: dict[str, Any]
    signatures: dict[str, Any]


class ErrorShape(Shape, frozen=True):
    """The failure that broke an attempt."""

    side: Side
    cause: str
    traceback: str


class FaultShape(Shape, frozen=True):
    """A side on which something went wrong, and the evidence against it."""

    side: FaultSide
    evidence: list[str]


class QuoteShape(Shape, frozen=True):
    """A quotation and its source."""

    text: str
    source: str


class KeyShape(Shape, frozen=True):
    """The identity of a part: `index` counts from 0 and is null for parts that have an `id`."""

    kind: PartKind
    index: int | None
    id: str


class PartShape(Shape, frozen=True):
    """A part of a score. `key` identifies the part. It is null if a user's metric does not give it."""

    label: str
    key: KeyShape | None
    value: float | None
    applicable: bool
    reason: str
    quotes: list[QuoteShape]
    parts: list[PartShape]


class SpentShape(Shape, frozen=True):
    """The usage of language models. `cost` is in US dollars. A number is null if none of the calls reports it.

    Tokens leave out the `unreported_calls`, and the cost leaves out the `unpriced_calls`.
    """

    calls: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    unreported_calls: int
    unpriced_calls: int


class SpendingShape(Shape, frozen=True):
    """The usage of models by each side over the run."""

    agent: SpentShape | None
    judge: SpentShape | None
    simulator: SpentShape | None
    environment: SpentShape | None


class OutcomeShape(Shape, frozen=True):
    """One criterion on one attempt. `ballots` are the ids of its questions to judges."""

    criterion: str
    value: float | None
    threshold: float | None
    verdict: OutcomeVerdict
    reason: str
    calls: int | None
    calls_saved: int | None
    abstentions: int | None
    cost: float | None
    self_agreement: float | None
    panel_agreement: float | None
    parts: list[PartShape]
    input_tokens: int | None
    output_tokens: int | None
    unpriced_calls: int | None
    ballots: list[str]


class InjectedShape(Shape, frozen=True):
    """A change that a simulated environment made to the answer of a tool. Invocations count from 1."""

    invocation: int
    tool: str
    effect: str
    detail: str
    invalidates: bool


class StepShape(Shape, frozen=True):
    """A step of a conversation. A message and a thought have a `text`, a call has `args`, a result a `response`."""

    kind: Literal["message", "thought", "tool_call", "tool_result"]
    author: str
    text: str | None
    name: str | None
    args: dict[str, Any] | None
    response: Any
    is_error: bool | None


class ExpectedTurnShape(Shape, frozen=True):
    """The expected calls and the reference reply. Each is null if nothing was expected about it."""

    calls: list[StepShape] | None
    reply: str | None


class TurnShape(Shape, frozen=True):
    """One invocation: the user's message, the steps of the agent, its reply, and what was expected.

    `steps` is null if the recording does not say anything about steps. `reply` is null if there was none.
    """

    user: str
    steps: list[StepShape] | None
    reply: str | None
    expected: ExpectedTurnShape | None


class CaseShape(Shape, frozen=True):
    """One attempt at one case. `eval_set`, `id` and `digest` (of what was expected) identify the case in any run.

    `fault` is the side at fault, or null if the attempt passed or only informs. `invalid` contains the evidence that
    the attempt says nothing about the agent, even if it passed. It is empty if the attempt is valid, and null if this
    was not checked. `usage` is the agent's own. Judges, simulated users and played tools are counted separately.
    `transcript` is the whole conversation, or null if the recording cannot be read. `missing` are the expected
    invocations that did not happen. `case_verdict` is the verdict that all attempts at the case have together, and
    `needed` is the rule that made it.
    """

    id: str
    attempt: int
    verdict: CaseVerdict
    error: ErrorShape | None
    fault: FaultShape | None
    invalid: list[FaultShape] | None
    ended_by: EndedBy
    usage: dict[str, int] | None
    outcomes: list[OutcomeShape]
    judge: SpentShape | None
    simulator: SpentShape | None
    environment: SpentShape | None
    injected: list[InjectedShape]
    eval_set: str
    digest: str
    transcript: list[TurnShape] | None
    missing: list[TurnShape]
    case_verdict: CaseVerdict
    needed: str


class RateShape(Shape, frozen=True):
    """A number with its 95 % interval: a rate in 0..1, or a mean in the range of its criterion."""

    value: float | None
    low: float | None
    high: float | None
    method: str | None


class ValidShape(Shape, frozen=True):
    """The numbers over valid attempts only, passed or not. The criterion applied to `n` of these attempts."""

    n: int
    mean: float | None
    low: float | None
    high: float | None
    pass_rate: RateShape


class RangeShape(Shape, frozen=True):
    """The lowest and the highest value of a criterion. A null end is unbounded."""

    low: float | None
    high: float | None


class JudgeStateShape(Shape, frozen=True):
    """The state of a judge, and its sentence for people. `labels` counts the outcomes that people have labelled."""

    state: Literal["unchecked", "too few", "useless", "biased", "good"]
    judge: str
    message: str
    labels: int


class SummaryShape(Shape, frozen=True):
    """One criterion over the run. `low` and `high` are the 95 % interval of `mean`, computed by `method`.

    The intervals of `self_agreement` and `panel_agreement` are 95 % intervals, too, as [low, high].

    `judge_state` says how far the judge may be believed. `corrected` is the pass rate, or the mean of a graded
    criterion, that people would give. Both are null for a criterion that is neither judged nor labelled.
    """

    criterion: str
    mean: float | None
    low: float | None
    high: float | None
    method: str | None
    pass_rate: RateShape
    passed: int
    failed: int
    unscored: int
    not_applicable: int
    informational: int
    errors: int
    self_agreement: float | None
    panel_agreement: float | None
    valid: ValidShape | None
    threshold: float | None
    lower_is_better: bool
    range: RangeShape
    judge_state: JudgeStateShape | None
    corrected: RateShape | None
    cost: float | None
    unpriced_calls: int
    pair_agreements: list[PairAgreement]
    self_agreement_interval: tuple[float, float] | None
    panel_agreement_interval: tuple[float, float] | None


class ReportShape(Shape, frozen=True):
    """A whole run."""

    run: RunShape
    verdict: Literal["passed", "failed", "unscored", "informational"]
    cases: list[CaseShape]
    summary: list[SummaryShape]
    spending: SpendingShape
    finished: bool
    pass_k: list[PassK]
    decision: GateDecision | None
    notes: list[str]
    ballots: list[BallotShape]
