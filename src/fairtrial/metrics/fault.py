"""Find the faults that make an attempt invalid: problems on any side except the agent's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, get_args

from fairtrial.protocols import ExplainsExpectation, explains_expectation
from fairtrial.records.result import Criterion, Fault, InvocationInjection, Outcome, Verdict
from fairtrial.records.score import FaultSide, Score, is_fully_scored
from fairtrial.text.display import describe_error, shorten

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording
    from fairtrial.records.case import EvalCase
    from fairtrial.records.trace import Trace

SIMULATOR = "per_turn_user_simulator_quality_v1"

_PRECEDENCE: tuple[FaultSide, ...] = get_args(FaultSide)

Problems = Iterator[tuple[FaultSide, str]]
"""Problems, each behind the side that it speaks against."""


def find_invalidations(
    recording: Recording,
    injections: Sequence[InvocationInjection],
    case: EvalCase,
    criteria: Sequence[Criterion],
    outcomes: Sequence[Outcome],
    outages: Sequence[tuple[str, bool]] = (),
) -> tuple[Fault, ...]:
    """Return each side with evidence against it, ordered by precedence.

    `outages` are sentences about tools that were down, each with whether the reference needs their answer.

    Verdicts on the agent play no role. Evidence are failures, missing values with their reasons, the verdict on the
    simulated user, injected faults, tools that were down, and the expectation.
    """
    evidence: dict[FaultSide, dict[str, None]] = {}
    failure = recording.failure
    if failure is not None and failure.side != "agent":
        evidence[failure.side] = {failure.cause: None}
    sources = (
        _missing_values(outcomes),
        _simulated_user(outcomes),
        _injected_faults(injections),
        _tool_outages(outages),
        *[
            _expectation(criterion, metric, recording.trace, case)
            for criterion in criteria
            if explains_expectation(metric := criterion.metric)
        ],
    )
    for problems in sources:
        for side, text in problems:
            evidence.setdefault(side, {})[text] = None
    return tuple(Fault(side, tuple(evidence[side])) for side in _PRECEDENCE if side in evidence) if evidence else ()


def _missing_values(outcomes: Sequence[Outcome]) -> Problems:
    for outcome in outcomes:
        if is_fully_scored(outcome.score):
            continue
        for score in _find_unscored(outcome.score):
            if score.side is not None and score.side != "agent":
                yield score.side, f"{outcome.criterion}: {score.reason}"


def _find_unscored(score: Score) -> Iterator[Score]:
    """Yield a score and its parts at any depth, if they apply and do not have a value."""
    if score.applicable:
        if score.value is None:
            yield score
        for part in score.parts:
            if part.parts:
                yield from _find_unscored(part)
            elif part.value is None and part.applicable:
                yield part


def _simulated_user(outcomes: Sequence[Outcome]) -> Problems:
    for outcome in outcomes:
        if outcome.criterion == SIMULATOR and outcome.verdict is Verdict.FAILED:
            reasons = [f"{part.title}: {part.reason}" for part in outcome.score.parts if part.value == 0.0]
            for text in reasons or [outcome.score.reason or "failed"]:
                yield "simulator", f"{SIMULATOR}: {text}"


def _injected_faults(injections: Sequence[InvocationInjection]) -> Problems:
    for injection in injections:
        effect = injection.injected
        if effect.invalidates:
            detail = f": {effect.detail}" if effect.detail else ""
            place = f"{injection.tool} in invocation {injection.invocation}"
            yield "environment", f"{effect.effect} injected into {place}{detail}"


def _tool_outages(outages: Sequence[tuple[str, bool]]) -> Problems:
    for text, is_needed in outages:
        if is_needed:
            yield "infrastructure", f"{text}; the reference holds values that only its answer would give"


def _expectation(criterion: Criterion, metric: ExplainsExpectation, trace: Trace, case: EvalCase) -> Problems:
    try:
        problems = [str(problem) for problem in metric.expectation_problems(trace, case)]
    except Exception as error:  # noqa: BLE001 - the metric may be a user's; its failure must not end the run
        cause = shorten(describe_error(error), 500)
        yield "infrastructure", f"{criterion.name}: expectation_problems failed: {cause}"
        return
    for problem in problems:
        yield "expectation", f"{criterion.name}: {problem}"
