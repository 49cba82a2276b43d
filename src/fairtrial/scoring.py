"""Recordings x criteria -> case results: the only place where a metric is awaited."""

from __future__ import annotations

import inspect
import math
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from fairtrial.concurrency import concurrently, ends_the_run
from fairtrial.errors import JudgeError, MetricError, UsageError
from fairtrial.judge.ballot import judge_stats
from fairtrial.metrics.fault import find_invalidations
from fairtrial.planned_case import Pair, PlannedCase
from fairtrial.protocols import ChecksTools, GivesNotes
from fairtrial.records.attempt import Recording
from fairtrial.records.ballot import Ballot
from fairtrial.records.case import EvalCase
from fairtrial.records.result import CaseResult, Criterion, InvocationInjection, Outcome, Verdict
from fairtrial.records.score import FaultSide, Score
from fairtrial.records.trace import ToolResult, Trace
from fairtrial.text.display import described, shortened

Known = Mapping[tuple[int, int], CaseResult]
"""Results of an earlier go at the same run, by position and attempt."""

Ballots = Mapping[str, Ballot]
"""What judges were asked, by the ids that scores name."""


async def score(
    recordings: AsyncIterable[Pair], *, concurrency: int, known: Known | None = None, ballots: Ballots | None = None
) -> AsyncIterator[CaseResult]:
    """Yield the result of each recording, in the order of completion.

    Outcomes in `known` stay as they are, except for those that are unscored. A metric that raises leaves its outcome
    unscored with the reason; it never ends the run.
    """
    earlier = {} if known is None else known

    async def one(pair: Pair) -> CaseResult:
        work, recording = pair
        return await score_case(work, recording, earlier.get((work.position, recording.attempt)), ballots)

    async for result in concurrently(recordings, one, limit=concurrency):
        yield result


async def score_case(
    work: PlannedCase, recording: Recording, earlier: CaseResult | None = None, ballots: Ballots | None = None
) -> CaseResult:
    """Return all outcomes of one attempt."""
    trace, failure = replace(recording.trace, ended_by=recording.ended_by), recording.failure
    if failure is not None:
        trace = replace(trace, broken=failure.cause or f"failure of the {failure.side}")
    kept = {one.criterion: one for one in earlier.outcomes if not _is_open(one)} if earlier else {}
    outcomes = [
        kept[criterion.name]
        if criterion.name in kept
        else await _outcome(criterion, trace, work, {} if ballots is None else ballots)
        for criterion in work.criteria
    ]
    injections = tuple(_injections(trace))
    return CaseResult(
        work.case.id,
        work.position,
        tuple(outcomes),
        recording.attempt,
        failure,
        find_invalidations(recording, injections, work.case, work.criteria, outcomes),
        recording.ended_by,
        usage=_usage(trace),
        warnings=tuple(_warnings(trace, work)),
        simulator=recording.simulator,
        environment=recording.environment,
        injections=injections,
        eval_set=work.eval_set,
        digest=work.digest,
        name=work.name,
    )


def _is_open(outcome: Outcome) -> bool:
    return outcome.verdict is Verdict.UNSCORED


async def _outcome(criterion: Criterion, trace: Trace, work: PlannedCase, ballots: Ballots) -> Outcome:
    if criterion.aggregation == "value" and trace.broken:
        score = Score(None, f"the conversation broke: {trace.broken}")
    else:
        score = await _called(criterion, trace, work)
    if criterion.aggregation == "value" and score.value is not None and score.value not in criterion.range:
        reason = f"must be {criterion.range}, got {score.value:g}"
        score = replace(score, value=None, reason=reason, side="infrastructure")
    return Outcome(
        criterion.name,
        score,
        criterion.threshold,
        lower_is_better=criterion.lower_is_better,
        range=criterion.range,
        aggregation=criterion.aggregation,
        judge_stats=judge_stats(score, ballots),
    )


async def _called(criterion: Criterion, trace: Trace, work: PlannedCase) -> Score:
    try:
        result = criterion.metric(trace, work.case)
        if inspect.isawaitable(result):
            result = await result
        score = as_score(result)
        return _kept(score) if criterion.aggregation == "value" else score
    except BaseException as error:
        of_the_run = (
            isinstance(error, UsageError) and criterion.aggregation == "parts"
        )  # a cassette without the call, say
        if of_the_run or ends_the_run(error):
            raise
        # The boundary around code of users: whatever it raises is this outcome's.
        side: FaultSide = "judge" if isinstance(error, JudgeError) else "infrastructure"
        return Score(None, f"the metric failed: {shortened(described(error), 500)}", side=side)


def _kept(score: Score) -> Score:
    """Return a user's score as the store will give it back; raises where a field of it, or of a part, is no such."""
    try:
        return msgspec.json.decode(msgspec.json.encode(score), type=Score)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise MetricError(f"must return a Score whose fields have the types of a Score: {error}") from error


def as_score(result: Any) -> Score:
    """Return what a metric returned as a Score: a Score, a number, or a bool (true is 1).

    Raises MetricError for anything else, and for numbers that are not finite.
    """
    score = replace(result, value=_number(result.value)) if isinstance(result, Score) else None
    if isinstance(result, bool | int | float):
        score = Score(float(result))
    if score is None:
        raise MetricError(f"must return a Score, a number or a bool, got {type(result).__name__}")
    if score.value is not None and not math.isfinite(score.value):
        raise MetricError(f"must return a finite number, or a Score without value and with a reason, got {score.value}")
    return score


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, bool) else value


def _usage(trace: Trace) -> dict[str, int] | None:
    usages = [usage for one in trace.invocations for usage in one.usages or ()]
    recorded = [usage for usage in usages if usage.recorded]
    if not recorded:
        return None
    return {
        "input_tokens": sum(usage.input_tokens for usage in recorded),
        "output_tokens": sum(usage.output_tokens for usage in recorded),
        "inference_calls": len(usages),
    }


def _injections(trace: Trace) -> Iterator[InvocationInjection]:
    for number, invocation in enumerate(trace.invocations, 1):
        for step in (*(invocation.steps or ()), *invocation.unreported_injections):
            if isinstance(step, ToolResult):
                for one in step.injected:
                    yield InvocationInjection(number, step.name, one)


def _warnings(trace: Trace, work: PlannedCase) -> list[str]:
    """Return what may not be meant: another user than the expected one, tools not there, rubrics without a type."""
    expected = work.case.conversation or ()
    said = list(work.environments.undeclared(trace)) if isinstance(work.environments, ChecksTools) else []
    for criterion in work.criteria:
        said += _notes(criterion, trace, work.case)
    for i, (ours, theirs) in enumerate(zip(trace.invocations, expected, strict=False), 1):
        if ours.query.strip() != theirs.query.strip():
            shown = f"{shortened(ours.query, 60)!r} recorded, {shortened(theirs.query, 60)!r} expected"
            said.append(f"the user's message of invocation {i} differs: {shown}")
            break
    if work.case.conversation is not None and len(trace.invocations) > len(expected):
        said.append(
            f"{len(trace.invocations)} invocations recorded, {len(expected)} expected; the surplus is not scored"
        )
    return said


def _notes(criterion: Criterion, trace: Trace, case: EvalCase) -> list[str]:
    metric: object = criterion.metric
    if not isinstance(metric, GivesNotes):
        return []
    try:
        return [str(note) for note in metric.notes(trace, case)]
    except Exception as error:  # noqa: BLE001 - the metric may be a user's; its failure must not end the run
        return [f"{criterion.name}: notes failed: {shortened(described(error), 500)}"]
