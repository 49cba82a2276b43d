"""A run as JSON, which other programs read. `python -m fairtrial.reports.json_report` prints its JSON Schema."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import groupby
from typing import Any, BinaryIO, Literal

import msgspec

from fairtrial.judge.ballot_costs import ballots_of
from fairtrial.records.attempt import EndedBy, Side
from fairtrial.records.attempt_rule import AttemptRule
from fairtrial.records.ballot import PairAgreement
from fairtrial.records.calibration import Calibration
from fairtrial.records.gate import GateDecision
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.result import Fault, InvocationInjection, Outcome, Verdict
from fairtrial.records.run_comparison import PassK
from fairtrial.records.score import FaultSide, PartKey, PartKind, Score
from fairtrial.records.summary import CriterionSummary, Estimate, Valid
from fairtrial.records.trace import Invocation, Message, Step, ToolCall, ToolResult
from fairtrial.reports.attempts import CaseAttempts
from fairtrial.reports.ballot_shapes import BallotShape, ballot_shape
from fairtrial.reports.judge_states import describe
from fairtrial.reports.report_table import DEFAULTS, ReportedRun, ReportOptions
from fairtrial.reports.transcript import Transcript, transcripts

_GREEN = (Verdict.PASSED, Verdict.INFORMATIONAL)
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


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the report."""
    described = msgspec.json.schema(ReportShape)
    for shape in described["$defs"].values():
        shape["description"] = inspect.cleandoc(shape["description"])  # from 3.13 on Python does so itself
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **described}


def write(stream: BinaryIO, run: ReportedRun, options: ReportOptions = DEFAULTS) -> None:  # noqa: ARG001
    """Write the report, one case a line, without holding the cases in memory.

    A run that was interrupted has not passed. `options` change nothing here; every report has them.
    """
    info, summary = run.info, run.summary
    so_far = summary.verdict
    verdict = Verdict.UNSCORED if info.finished is None and so_far in _GREEN else so_far
    about = RunShape(info.id, info.started, info.version, info.config, info.signatures)
    stream.write(b'{"run": %s,\n "verdict": %s,\n "cases": [' % (_json(about), _json(verdict)))
    stream.writelines((b",\n  " if i else b"\n  ") + _json(shape) for i, shape in enumerate(_cases(run)))
    calibrations = {calibration.criterion: calibration for calibration in run.calibrations}
    rows = b",\n  ".join(
        _json(_summary(criterion, calibrations.get(criterion.criterion))) for criterion in summary.criteria
    )
    usage = summary.spending
    spending = SpendingShape(*map(_usage, (usage.agent, usage.judge, usage.simulator, usage.environment)))
    end = (rows, _json(spending), _json(info.finished is not None), _json(summary.pass_k), _json(summary.decision))
    stream.write(
        b'],\n "summary": [\n  %s],\n "spending": %s,\n "finished": %s,\n "pass_k": %s,\n "decision": %s' % end
    )
    stream.write(b',\n "notes": %s,\n "ballots": [' % _json(summary.notes))
    replies = run.replies
    shapes = (ballot_shape(ballot, replies) for ballot in run.ballots.values())
    stream.writelines((b",\n  " if i else b"\n  ") + _json(shape) for i, shape in enumerate(shapes))
    stream.write(b"]}\n")


_json = msgspec.json.Encoder().encode


def _cases(run: ReportedRun) -> Iterator[CaseShape]:
    """Yield the attempts. The attempts of one case are held at once, because they make the verdict of the case."""
    rules = run.info.attempt_rules
    for _, group in groupby(transcripts(run), key=lambda transcript: transcript.result.position):
        of_case = list(group)
        first = of_case[0].result
        rule = rules.of(first.eval_set, first.case_id)
        verdict = CaseAttempts(tuple(transcript.result for transcript in of_case), rule).verdict
        for transcript in of_case:
            yield _case(transcript, verdict, rule)


def _case(transcript: Transcript, case_verdict: Verdict, rule: AttemptRule) -> CaseShape:
    result = transcript.result
    failure, fault, invalidations = result.failure, result.fault, result.invalidations
    return CaseShape(
        result.case_id,
        result.attempt,
        result.verdict.value,  # type: ignore[arg-type]
        ErrorShape(failure.side, failure.cause, failure.traceback) if failure else None,
        _fault(fault) if fault else None,
        None if invalidations is None else [_fault(invalidation) for invalidation in invalidations],
        result.ended_by,
        result.usage,
        [_outcome(outcome) for outcome in result.outcomes],
        _usage(result.judge),
        _usage(result.simulator),
        _usage(result.environment),
        [_injected(entry) for entry in result.injections],
        result.eval_set,
        result.digest,
        None if transcript.recording is None else _turns(transcript),
        [TurnShape(own.query, None, None, _expected_turn(own)) for own in transcript.missing],
        case_verdict.value,  # type: ignore[arg-type]
        str(rule),
    )


def _turns(transcript: Transcript) -> list[TurnShape]:
    turns = []
    for index, invocation in enumerate(transcript.invocations):
        steps = None if invocation.steps is None else list(map(_step, invocation.steps))
        reply = None if invocation.final_response is None else invocation.reply
        turns.append(TurnShape(invocation.query, steps, reply, _expected_turn(transcript.expected(index))))
    return turns


def _expected_turn(expected: Invocation | None) -> ExpectedTurnShape | None:
    if expected is None:
        return None
    calls = None if expected.steps is None else list(map(_step, expected.tool_calls))
    return ExpectedTurnShape(calls, None if expected.final_response is None else expected.reply)


def _step(step: Step) -> StepShape:
    if isinstance(step, ToolCall):
        return StepShape("tool_call", step.author, None, step.name, step.args, None, None)
    if isinstance(step, ToolResult):
        return StepShape("tool_result", step.author, None, step.name, None, step.response, step.is_error)
    kind: Literal["message", "thought"] = "message" if isinstance(step, Message) else "thought"
    return StepShape(kind, step.author, step.text, None, None, None, None)


def _fault(fault: Fault) -> FaultShape:
    return FaultShape(fault.side, list(fault.evidence))


def _usage(usage: ModelUsage | None) -> SpentShape | None:
    return None if usage is None else SpentShape(*msgspec.structs.astuple(usage))


def _injected(entry: InvocationInjection) -> InjectedShape:
    injected = entry.injected
    return InjectedShape(entry.invocation, entry.tool, injected.effect, injected.detail, injected.invalidates)


def _outcome(outcome: Outcome) -> OutcomeShape:
    judge_stats, score = outcome.judge_stats, outcome.score
    return OutcomeShape(
        outcome.criterion,
        score.value,
        outcome.threshold,
        outcome.verdict.value,  # type: ignore[arg-type]
        score.reason,
        judge_stats.calls if judge_stats else None,
        judge_stats.calls_saved if judge_stats else None,
        judge_stats.abstentions if judge_stats else None,
        judge_stats.cost if judge_stats else None,
        judge_stats.self_agreement if judge_stats else None,
        judge_stats.panel_agreement if judge_stats else None,
        [_part(part) for part in score.parts],
        judge_stats.input_tokens if judge_stats else None,
        judge_stats.output_tokens if judge_stats else None,
        judge_stats.unpriced_calls if judge_stats else None,
        list(ballots_of(score)),
    )


def _part(score: Score) -> PartShape:
    quotes = [QuoteShape(quote.text, quote.source) for quote in score.quotes]
    parts = [_part(part) for part in score.parts]
    return PartShape(score.title, _key(score.key), score.value, score.applicable, score.reason, quotes, parts)


def _key(key: PartKey | None) -> KeyShape | None:
    return None if key is None else KeyShape(key.kind, key.index, key.id)


def _summary(summary: CriterionSummary, calibration: Calibration | None) -> SummaryShape:
    return SummaryShape(
        summary.criterion,
        summary.mean.value,
        summary.mean.low,
        summary.mean.high,
        summary.mean.method,
        _rate(summary.pass_rate),
        summary.passed,
        summary.failed,
        summary.unscored,
        summary.not_applicable,
        summary.informational,
        summary.errors,
        summary.self_agreement,
        summary.panel_agreement,
        _valid(summary.valid) if summary.valid else None,
        summary.threshold,
        summary.lower_is_better,
        RangeShape(summary.range.low, summary.range.high),
        _judge_state(calibration) if calibration else None,
        _rate(calibration.corrected) if calibration else None,
        summary.cost,
        summary.unpriced_calls,
        list(summary.pair_agreements),
    )


def _judge_state(calibration: Calibration) -> JudgeStateShape:
    return JudgeStateShape(
        calibration.state.value,
        calibration.judge,
        describe(calibration),
        calibration.labels,
    )


def _valid(summary: Valid) -> ValidShape:
    return ValidShape(summary.n, summary.mean.value, summary.mean.low, summary.mean.high, _rate(summary.pass_rate))


def _rate(rate: Estimate) -> RateShape:
    return RateShape(rate.value, rate.low, rate.high, rate.method)


if __name__ == "__main__":
    print(msgspec.json.format(msgspec.json.encode(schema()), indent=2).decode())  # noqa: T201
