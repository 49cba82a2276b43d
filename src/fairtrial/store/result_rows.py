"""Convert attempt results to rows, and rows to results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from fairtrial.records.attempt import EndedBy, Failure
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.record import Json, Record
from fairtrial.records.result import Aggregation, CaseResult, Fault, InvocationInjection, JudgeStats, Outcome, Verdict
from fairtrial.records.score import Range, Score
from fairtrial.store.bodies import UnreadableBodyError, encode

if TYPE_CHECKING:
    from fairtrial.records.failure_mode import FoundFailure
    from fairtrial.store.statements import Row


class Terms(Record, frozen=True):
    """The threshold, direction and range for a criterion. They are stored once per run.

    If two eval sets give a criterion different thresholds, the run has two terms of that name.
    """

    name: str
    threshold: float | None
    lower_is_better: bool
    range: Range
    aggregation: Aggregation


class ResultBody(Record, frozen=True):
    """A result without its place, its terms and its case digest, which have columns or rows of their own.

    `finding` is a `FoundFailure`, which another version of this program may write in another shape.
    """

    case_id: str
    eval_set: str
    name: str
    criteria: tuple[int, ...]
    scores: tuple[Score, ...]
    judge_stats: tuple[JudgeStats | None, ...]
    failure: Failure | None
    invalidations: tuple[Fault, ...] | None
    ended_by: EndedBy
    usage: dict[str, int] | None
    warnings: tuple[str, ...]
    simulator: ModelUsage | None
    environment: ModelUsage | None
    injections: tuple[InvocationInjection, ...]
    probability: float | None = None
    finding: Json | UnsetType = UNSET


def make_terms(outcome: Outcome) -> Terms:
    """Return an outcome's terms."""
    return Terms(outcome.criterion, outcome.threshold, outcome.lower_is_better, outcome.range, outcome.aggregation)


def make_body(result: CaseResult, criteria: Sequence[int], finding: FoundFailure | None = None) -> ResultBody:
    """Return a result's body whose outcomes have these criteria, by their numbers in the run, with its finding."""
    return ResultBody(
        result.case_id,
        result.eval_set,
        result.name,
        tuple(criteria),
        tuple([outcome.score for outcome in result.outcomes]),
        tuple([outcome.judge_stats for outcome in result.outcomes]),
        result.failure,
        result.invalidations,
        result.ended_by,
        result.usage,
        result.warnings,
        result.simulator,
        result.environment,
        result.injections,
        result.probability,
        UNSET if finding is None else finding,
    )


def read_result(body: ResultBody, position: int, attempt: int, digest: str, terms: Mapping[int, Terms]) -> CaseResult:
    """Return the result that a body holds. Raises UnreadableBodyError if a criterion's terms are missing."""
    if not terms.keys() >= set(body.criteria):
        raise UnreadableBodyError("the terms of a criterion cannot be read")
    outcomes = tuple(
        Outcome(
            terms[number].name,
            score,
            terms[number].threshold,
            terms[number].lower_is_better,
            terms[number].range,
            terms[number].aggregation,
            judge_stats,
        )
        for number, score, judge_stats in zip(body.criteria, body.scores, body.judge_stats, strict=True)
    )
    return CaseResult(
        body.case_id,
        position,
        outcomes,
        attempt,
        body.failure,
        body.invalidations,
        body.ended_by,
        body.usage,
        body.warnings,
        body.simulator,
        body.environment,
        body.injections,
        body.eval_set,
        digest,
        body.name,
        body.probability,
    )


def result_row(
    result: CaseResult,
    run: int,
    criteria: Sequence[int],
    verdicts: Sequence[Verdict],
    finding: FoundFailure | None = None,
) -> Row:
    """Return a result's row, given its outcomes' verdicts."""
    verdict = result.combine_verdicts(verdicts)
    return {
        "run": run,
        "position": result.position,
        "attempt": result.attempt,
        "verdict": verdict.value,
        "fault_side": result.find_fault_side(verdict),
        "valid": None if result.invalidations is None else not result.invalidations,
        "body": encode(make_body(result, criteria, finding)),
    }


def score_rows(result: CaseResult, run: int, criteria: Sequence[int], verdicts: Sequence[Verdict]) -> list[Row]:
    """Return a long table row for each outcome, given its criterion and its verdict."""
    return [
        {
            "run": run,
            "position": result.position,
            "attempt": result.attempt,
            "criterion": criterion,
            "value": outcome.score.value,
            "verdict": verdict._value_,  # an attribute, which takes a fraction of the time of the property
        }
        for outcome, criterion, verdict in zip(result.outcomes, criteria, verdicts, strict=True)
    ]
