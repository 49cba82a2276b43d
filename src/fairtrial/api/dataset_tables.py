"""The tables of a scored data set's folder, with conversions between results and rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from fairtrial.batch.parts import Columns
from fairtrial.records.attempt import Failure
from fairtrial.records.decoding import json_decoder
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.result import CaseResult, Criterion, Fault, JudgeStats, Outcome, Verdict
from fairtrial.records.score import FaultSide, Score

SCHEMA_VERSION = 1
"""The version of these tables. It grows when a column changes its meaning or goes; new columns may come at any time."""

RESULTS: Columns = {
    "conversation": "int64",
    "file": "string",
    "place": "int64",
    "eval_set": "string",
    "case_id": "string",
    "position": "int64",
    "digest": "string",
    "verdict": "string",
    "valid": "bool",
    "fault": "string",
    "failure_side": "string",
    "failure_cause": "string",
    "ended_by": "string",
    "inference_calls": "int64",
    "input_tokens": "int64",
    "output_tokens": "int64",
    "warnings": "list",
    "simulator": "string",
    "environment": "string",
    "stratum": "string",
}
SCORES: Columns = {
    "conversation": "int64",
    "eval_set": "string",
    "case_id": "string",
    "criterion": "string",
    "number": "int64",
    "value": "double",
    "verdict": "string",
    "reason": "string",
    "open_parts": "string",
    "judge": "string",
}
REFUSED: Columns = {"file": "string", "place": "int64", "id": "string", "pointer": "string", "reason": "string"}
TABLES = {"results": RESULTS, "scores": SCORES, "refused": REFUSED}

PLACES_OF_SHARD = 1 << 32
"""The number of a conversation is this times the number of its shard, plus its number in the shard."""


OWN_CASE = -1
"""The position of a case that is made for one conversation, because no eval set holds it."""


def result_row(
    result: CaseResult, verdict: Verdict, conversation: int, file: str, place: int | None, stratum: str | None
) -> tuple[Any, ...]:
    """Return the row of a conversation."""
    usage, failure, faults = result.usage or {}, result.failure, result.invalidations
    return (
        conversation,
        file,
        place,
        result.eval_set,
        result.case_id,
        None if result.position == OWN_CASE else result.position,
        result.digest,
        verdict.value,
        None if faults is None else not faults,
        faults[0].side if faults else None,
        None if failure is None else failure.side,
        None if failure is None else failure.cause,
        result.ended_by,
        usage.get("inference_calls"),
        usage.get("input_tokens"),
        usage.get("output_tokens"),
        result.warnings,
        _json(result.simulator),
        _json(result.environment),
        stratum,
    )


def score_rows(result: CaseResult, verdicts: Sequence[Verdict], conversation: int) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each outcome. `verdicts` are those of the outcomes."""
    for number, (outcome, verdict) in enumerate(zip(result.outcomes, verdicts, strict=True)):
        score = outcome.score
        yield (
            conversation,
            result.eval_set,
            result.case_id,
            outcome.criterion,
            number,
            score.value,
            verdict.value,
            score.reason,
            _open_parts(score) if _is_open(score) else None,
            None if outcome.judge_stats is None else _json(outcome.judge_stats),
        )


def _is_open(score: Score) -> bool:
    """Whether something of a score is not scored, so that its parts bound its value."""
    if score.value is None:
        return True
    for part in score.parts:  # noqa: SIM110  # a loop is faster than a generator
        if part.value is None or (part.parts and _is_open(part)):
            return True
    return False


def _open_parts(score: Score) -> str | None:
    """Return a score without its texts, as JSON."""
    if score.value is None and not any(part.value is not None or part.parts for part in score.parts):
        return _without_values(score.applicable, tuple([part.applicable for part in score.parts]))
    return _json(_numbers(score))


@lru_cache(maxsize=256)  # most open scores are of criteria that find nothing to measure
def _without_values(applicable: bool, parts: tuple[bool, ...]) -> str | None:
    return _json(Score(None, applicable=applicable, parts=tuple(Score(None, applicable=part) for part in parts)))


def _numbers(score: Score) -> Score:
    """Return a score without its texts."""
    return Score(score.value, applicable=score.applicable, parts=tuple(map(_numbers, score.parts)))


def _json(record: Any) -> str | None:
    return None if record is None else msgspec.json.encode(record).decode()


class ConversationRow(NamedTuple):
    """The columns of a conversation that the numbers of a run need."""

    conversation: int
    file: str
    position: int | None
    eval_set: str
    case_id: str
    digest: str
    verdict: str
    valid: bool | None
    fault: str | None
    failure_side: FaultSide | None
    inference_calls: int | None
    input_tokens: int | None
    output_tokens: int | None
    simulator: str | None
    environment: str | None
    stratum: str | None


class OutcomeColumns(NamedTuple):
    """The columns of an outcome that the numbers of a run need."""

    conversation: int
    criterion: str
    value: float | None
    verdict: str
    open_parts: str | None
    judge: str | None


def terms_of(criterion: Criterion) -> Outcome:
    """Return the outcome of a criterion without a value: all that the numbers of a run need of the criterion."""
    return Outcome(
        criterion.name,
        Score(),
        criterion.threshold,
        lower_is_better=criterion.lower_is_better,
        range=criterion.range,
        aggregation=criterion.aggregation,
    )


class ResultReader:
    """Makes results of rows again, as far as the numbers of a run need them.

    `terms` are an outcome without a value of each criterion. Equal outcomes of a criterion are one record, because most
    outcomes have one of a few values.
    """

    def __init__(self, terms: Mapping[str, Outcome]) -> None:
        self._terms = terms
        self._outcomes: dict[tuple[str, float | None, str | None], Outcome] = {}

    def result(
        self, row: ConversationRow, outcomes: Sequence[OutcomeColumns], position: int
    ) -> tuple[CaseResult, list[Verdict]]:
        """Return the result of a conversation, and the verdicts of its outcomes."""
        fault = Fault(row.fault) if row.fault else None  # type: ignore[arg-type]
        usage: Any = None
        if row.inference_calls is not None:
            usage = {name: getattr(row, name) for name in ("inference_calls", "input_tokens", "output_tokens")}
        result = CaseResult(
            row.case_id,
            position,
            tuple([self._outcome(outcome) for outcome in outcomes]),
            failure=Failure(row.failure_side, "") if row.failure_side else None,  # type: ignore[arg-type]
            invalidations=None if row.valid is None else (() if fault is None else (fault,)),
            usage=usage,
            simulator=_usage_of(row.simulator),
            environment=_usage_of(row.environment),
            eval_set=row.eval_set,
        )
        return result, [_VERDICTS[outcome.verdict] for outcome in outcomes]

    def _outcome(self, row: OutcomeColumns) -> Outcome:
        key = (row.criterion, row.value, row.open_parts)
        outcome = self._outcomes.get(key)
        if outcome is None:
            if len(self._outcomes) >= _MOST_OUTCOMES:
                self._outcomes.clear()
            outcome = self._outcomes[key] = _outcome_of(row, self._terms[key[0]])
        if row.judge is None:
            return outcome
        return replace(outcome, judge_stats=json_decoder(JudgeStats).decode(row.judge))


_VERDICTS = {verdict.value: verdict for verdict in Verdict}
_MOST_OUTCOMES = 10_000


def _outcome_of(row: OutcomeColumns, terms: Outcome) -> Outcome:
    score = Score(row.value) if row.open_parts is None else json_decoder(Score).decode(row.open_parts)
    return replace(terms, score=replace(score, value=row.value))


def _usage_of(text: str | None) -> ModelUsage | None:
    return None if text is None else json_decoder(ModelUsage).decode(text)
