"""Score recordings by criteria. Only this module awaits metrics."""

from __future__ import annotations

import inspect
import math
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from fairtrial.errors import JudgeError, MetricError, UsageError
from fairtrial.judge.ballot_costs import judge_stats
from fairtrial.metrics.custom.metric_functions import decision_threshold
from fairtrial.metrics.fault import find_invalidations
from fairtrial.metrics.tool_outages import needs_result, tool_outages
from fairtrial.protocols import ChecksTools, gives_notes
from fairtrial.records.ballot import Ballot
from fairtrial.records.decoding import json_decoder
from fairtrial.records.result import CaseResult, Criterion, InvocationInjection, Outcome, Verdict
from fairtrial.records.score import FaultSide, Score
from fairtrial.records.trace import Invocation, ToolCall, ToolResult, Trace
from fairtrial.system.concurrency import concurrently, ends_the_run
from fairtrial.system.event_loop import blocking
from fairtrial.text.display import describe_error, shorten

if TYPE_CHECKING:
    from fairtrial.planned_case import Pair, PlannedCase
    from fairtrial.records.attempt import Recording
    from fairtrial.records.case import EvalCase

EarlierResults = Mapping[tuple[int, int], CaseResult]
"""Results of an interrupted run that goes on now, by position and attempt."""

Ballots = Mapping[str, Ballot]
"""The questions to judges with their votes, by the ids that scores name."""


async def score(
    recordings: AsyncIterable[Pair],
    *,
    concurrency: int,
    earlier: EarlierResults | None = None,
    ballots: Ballots | None = None,
) -> AsyncGenerator[CaseResult]:
    """Yield the result of each recording, in the order of completion.

    Outcomes of `earlier` results are kept unless they are unscored. If a metric raises, its outcome is unscored with
    the reason, and the run goes on.
    """
    results = {} if earlier is None else earlier

    async def score_pair(pair: Pair) -> CaseResult:
        planned_case, recording = pair
        return await score_case(
            planned_case, recording, results.get((planned_case.position, recording.attempt)), ballots
        )

    async for result in concurrently(recordings, score_pair, limit=concurrency, is_immediate=_NeverWaits()):
        yield result


class _NeverWaits:
    """Whether no criterion of a case waits, for example for a model. A user's metric may.

    All cases of an eval set share their criteria, so that the answer for the latest criteria is kept.
    """

    def __init__(self) -> None:
        self._criteria: tuple[Criterion, ...] = ()
        self._answer = True

    def __call__(self, pair: Pair) -> bool:
        if pair[0].criteria is not self._criteria:
            self._criteria = pair[0].criteria
            self._answer = not any(map(_may_wait, self._criteria))
        return self._answer


def _may_wait(criterion: Criterion) -> bool:
    kind: Any = type(criterion.metric)
    return criterion.aggregation == "value" or inspect.iscoroutinefunction(kind.__call__)


def score_chunk(pairs: Sequence[Pair]) -> list[CaseResult]:
    """Return the results of some recordings, in their order. Pairs and results are picklable, so a worker can do it."""

    async def score_each() -> list[CaseResult]:
        return [await score_case(planned_case, recording) for planned_case, recording in pairs]

    results: list[CaseResult] = blocking(score_each())
    return results


async def score_case(
    planned_case: PlannedCase, recording: Recording, earlier: CaseResult | None = None, ballots: Ballots | None = None
) -> CaseResult:
    """Return all outcomes of one attempt. Outcomes of an `earlier` result are kept unless they are unscored."""
    trace, failure = recording.trace, recording.failure
    if trace.ended_by != recording.ended_by:
        trace = replace(trace, ended_by=recording.ended_by)
    if failure is not None:
        trace = replace(trace, broken=failure.cause or f"failure of the {failure.side}")
    final = {outcome.criterion: outcome for outcome in earlier.outcomes if _is_final(outcome)} if earlier else {}
    has_action = any(map(_has_action, trace.invocations))
    outcomes = [
        final[criterion.name]
        if criterion.name in final
        else await _outcome(criterion, trace, planned_case.case, ballots, has_action=has_action)
        for criterion in planned_case.criteria
    ]
    injections = tuple(_injections(trace))
    outages = [(outage.text, needs_result(planned_case.case, trace, outage)) for outage in tool_outages(trace)]
    return CaseResult(
        planned_case.case.id,
        planned_case.position,
        tuple(outcomes),
        recording.attempt,
        failure,
        find_invalidations(recording, injections, planned_case.case, planned_case.criteria, outcomes, outages),
        recording.ended_by,
        usage=_usage(trace),
        warnings=(*_warnings(trace, planned_case, outages),),
        simulator=recording.simulator,
        environment=recording.environment,
        injections=injections,
        eval_set=planned_case.eval_set,
        digest=planned_case.digest,
        name=planned_case.name,
        probability=recording.probability,
    )


def _is_final(outcome: Outcome) -> bool:
    return outcome.verdict is not Verdict.UNSCORED


async def _outcome(
    criterion: Criterion, trace: Trace, case: EvalCase, ballots: Ballots | None, *, has_action: bool
) -> Outcome:
    threshold = criterion.threshold
    if criterion.aggregation == "value" and trace.broken:
        # A user's metric has no bounds: of half a conversation it would give a value that looks like any other.
        score = Score(None, f"the conversation broke: {trace.broken}")
    else:
        score, is_decision = await _call_metric(criterion, trace, case)
        if is_decision and threshold is None:
            threshold = decision_threshold(criterion)
    if criterion.aggregation == "value" and score.value is not None and score.value not in criterion.range:
        reason = f"must be {criterion.range}, got {score.value:g}"
        score = replace(score, value=None, reason=reason, side="infrastructure")
    outcome = Outcome(
        criterion.name,
        score,
        threshold,
        criterion.lower_is_better,
        criterion.range,
        criterion.aggregation,
        None if ballots is None else judge_stats(score, ballots),
    )
    if not has_action and criterion.aggregation == "parts" and outcome.verdict is Verdict.PASSED:
        # For example, an agent that returns None calls no tool, as expected. That does not speak for the agent.
        return replace(outcome, score=Score(None, "the agent neither replied nor called a tool", side="agent"))
    return outcome


def _has_action(invocation: Invocation) -> bool:
    """Whether the agent did anything in an invocation, or the recording does not say."""
    reply = invocation.final_response
    if invocation.steps is None or invocation.steps:
        return True
    return reply is not None and bool(reply.text or reply.parts or reply.withheld)


async def _call_metric(criterion: Criterion, trace: Trace, case: EvalCase) -> tuple[Score, bool]:
    """Return the score that a metric gives, and whether it is a bool, or an unscored one with the exception."""
    try:
        result = criterion.metric(trace, case)
        if type(result) is not Score and inspect.isawaitable(result):
            result = await result
        score = as_score(result)
        if criterion.aggregation == "parts":
            return score, False
        return _as_stored(score), isinstance(result.value if isinstance(result, Score) else result, bool)
    except BaseException as error:
        # For example, a cassette without the call: no other case would fare better.
        stops_all_cases = isinstance(error, UsageError) and criterion.aggregation == "parts"
        if stops_all_cases or ends_the_run(error):
            raise
        # The boundary around users' code: any other exception concerns this outcome only.
        side: FaultSide = "judge" if isinstance(error, JudgeError) else "infrastructure"
        return Score(None, f"the metric failed: {shorten(describe_error(error), 500)}", side=side), False


def _as_stored(score: Score) -> Score:
    """Return a user's score exactly as the store will return it. Raises MetricError if a field has a wrong type."""
    try:
        return json_decoder(Score).decode(msgspec.json.encode(score))
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise MetricError(f"must return a Score whose fields have the types of a Score: {error}") from error


def as_score(result: Any) -> Score:
    """Return the result of a metric as a Score: a Score, a number, or a bool, of which true is 1.

    Raises MetricError for anything else, and for numbers that are not finite.
    """
    if isinstance(result, Score):
        # A user's metric may write the value as a bool.
        score = replace(result, value=float(result.value)) if isinstance(result.value, bool) else result
    elif isinstance(result, bool | int | float):
        score = Score(float(result))
    else:
        raise MetricError(f"must return a Score, a number or a bool, got {type(result).__name__}")
    if score.value is not None and not math.isfinite(score.value):
        raise MetricError(f"must return a finite number, or a Score without value and with a reason, got {score.value}")
    return score


def _usage(trace: Trace) -> dict[str, int] | None:
    """Return the sums over the agent's model calls, or None if the tokens of no call are recorded.

    A reply whose calls are not recorded counts as one call without tokens, because the sums are too low without it.
    """
    usages = [usage for invocation in trace.invocations for usage in invocation.all_usages or ()]
    measured = [usage for usage in usages if usage.total_tokens is not None]
    if not measured:
        return None
    calls = len(usages) + sum(one.all_usages is None and one.final_response is not None for one in trace.invocations)
    return {
        "input_tokens": sum(usage.input_tokens or 0 for usage in measured),
        "output_tokens": sum(usage.output_tokens or 0 for usage in measured),
        "inference_calls": calls,
        **({"unreported_calls": calls - len(measured)} if len(measured) < calls else {}),
    }


def _injections(trace: Trace) -> Iterator[InvocationInjection]:
    for number, invocation in enumerate(trace.invocations, 1):
        for step in (*(invocation.steps or ()), *invocation.unreported_injections):
            if isinstance(step, ToolResult):
                for injection in step.injected:
                    yield InvocationInjection(number, step.name, injection)


def _warnings(trace: Trace, planned_case: PlannedCase, outages: Sequence[tuple[str, bool]]) -> Iterator[str]:
    """Yield signs that the data may not be as intended, for example another user's message than the expected one."""
    environments: object = planned_case.environments
    if environments is not None and isinstance(environments, ChecksTools):
        yield from _guard_call("environment", environments.undeclared, trace)
    for criterion in planned_case.criteria:
        metric: object = criterion.metric
        if gives_notes(metric):
            yield from _guard_call(criterion.name, metric.notes, trace, planned_case.case)
    yield from _list_unmet_approvals(trace, planned_case.case) if planned_case.case.approvals else ()
    yield from [text for text, is_needed in outages if not is_needed]
    expected = planned_case.case.conversation
    if expected is None:
        return
    for number, (ours, theirs) in enumerate(zip(trace.invocations, expected, strict=False), 1):
        if ours.query.strip() != theirs.query.strip() and not ours.user.withheld:
            messages = f"{shorten(ours.query, 60)!r} recorded, {shorten(theirs.query, 60)!r} expected"
            yield f"the user's message of invocation {number} differs: {messages}"
            break
    if len(trace.invocations) < len(expected) and not trace.broken:
        counts = f"{len(trace.invocations)} invocations recorded, {len(expected)} expected"
        yield f"{counts}; criteria without a reference score what is recorded"
    if len(trace.invocations) > len(expected):
        counts = f"{len(trace.invocations)} invocations recorded, {len(expected)} expected"
        yield f"{counts}; the surplus is not scored"


def _list_unmet_approvals(trace: Trace, case: EvalCase) -> Iterator[str]:
    """Yield a sentence for each decision of the case that no recorded call has, for example because of a typo."""
    if trace.broken or any(invocation.steps is None for invocation in trace.invocations):
        return
    steps = [step for invocation in trace.invocations for step in invocation.steps or ()]
    results = [step for step in steps if isinstance(step, ToolResult)]
    tool_names = {step.name for step in results if step.approval is not None}
    result_ids = {step.id for step in results}
    waiting = [step.name for step in steps if isinstance(step, ToolCall) and step.id not in result_ids]
    names = ", ".join(map(repr, sorted(tool_names | set(waiting)))) or "none"
    for name in case.approvals:
        if name not in tool_names:
            yield (
                f"approvals: no recorded call of {name!r} has a decision; calls with a decision or without a result: "
                f"{names} (a function takes no decisions, a question that names no call waits for a message, and a "
                "decision about a step or a node is not recorded)"
            )


def _guard_call(name: str, check: Callable[..., Sequence[str]], *arguments: Any) -> list[str]:
    """Return the warnings of a check. It may be a user's code, so that its failure is a warning, too."""
    try:
        return [str(warning) for warning in check(*arguments)]
    except Exception as error:  # noqa: BLE001
        return [f"{name}: its check failed: {shorten(describe_error(error), 500)}"]
