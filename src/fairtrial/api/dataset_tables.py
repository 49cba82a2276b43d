"""Which tables does the folder of a scored data set hold, and how do results become rows and rows results again?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from fairtrial.batch.parts import Columns
from fairtrial.records.attempt import Failure
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.result import CaseResult, Criterion, Fault, Outcome, Verdict
from fairtrial.records.score import Score

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
}
REFUSED: Columns = {"file": "string", "place": "int64", "id": "string", "pointer": "string", "reason": "string"}
TABLES = {"results": RESULTS, "scores": SCORES, "refused": REFUSED}

PLACES_OF_SHARD = 1 << 32
"""The number of a conversation is this times the number of its shard, plus its number in the shard."""


OWN_CASE = -1
"""The position of a case that is made for one conversation, because no eval set holds it."""


def result_row(
    result: CaseResult, verdict: Verdict, conversation: int, file: str, place: int | None
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
            _json(_numbers(score)) if _is_open(score) else None,
        )


def _is_open(score: Score) -> bool:
    """Whether something of a score is not scored, so that its parts bound its value."""
    return score.value is None or any(_is_open(part) for part in score.parts)


def _numbers(score: Score) -> Score:
    """Return a score without its texts."""
    return Score(score.value, applicable=score.applicable, parts=tuple(map(_numbers, score.parts)))


def _json(record: Any) -> str | None:
    return None if record is None else msgspec.json.encode(record).decode()


def result_of(rows: Sequence[dict[str, Any]], position: int, criteria: dict[str, Criterion]) -> CaseResult:
    """Return the result of a conversation from its joined rows, as far as the numbers of a run need it."""
    row = rows[0]
    calls = row["inference_calls"]
    usage = ("inference_calls", "input_tokens", "output_tokens")
    fault = Fault(row["fault"]) if row["fault"] else None
    return CaseResult(
        row["case_id"],
        position,
        tuple(_outcome_of(entry, criteria[entry["criterion"]]) for entry in rows if entry["criterion"] is not None),
        failure=Failure(row["failure_side"], "") if row["failure_side"] else None,
        invalidations=None if row["valid"] is None else (() if fault is None else (fault,)),
        usage=None if calls is None else {name: row[name] for name in usage},
        simulator=_usage_of(row["simulator"]),
        environment=_usage_of(row["environment"]),
        eval_set=row["eval_set"],
    )


def _outcome_of(row: dict[str, Any], criterion: Criterion) -> Outcome:
    score = Score(row["value"]) if row["open_parts"] is None else msgspec.json.decode(row["open_parts"], type=Score)
    return Outcome(
        criterion.name,
        replace(score, value=row["value"]),
        criterion.threshold,
        lower_is_better=criterion.lower_is_better,
        range=criterion.range,
        aggregation=criterion.aggregation,
    )


def _usage_of(text: str | None) -> ModelUsage | None:
    return None if text is None else msgspec.json.decode(text, type=ModelUsage)
