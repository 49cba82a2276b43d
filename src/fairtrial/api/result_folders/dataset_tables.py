"""The tables of a scored data set's folder, with conversions between results and rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import astuple, replace

from fairtrial.errors import UsageError, spell
from fairtrial.records.attempt import Failure
from fairtrial.records.decoding import json_decoder
from fairtrial.records.failure_mode import DecisiveStep, FailedAttempt, Signature
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.result import CaseResult, Criterion, Fault, JudgeStats, Outcome, Verdict
from fairtrial.records.score import FaultSide, PartKind, Score
from fairtrial.reports.table_rows import (
    ATTEMPT,
    KEY,
    OUTCOME,
    PART,
    Row,
    TableAttempt,
    attempt_values,
    list_types,
    outcome_values,
    part_values,
)

if TYPE_CHECKING:
    from fairtrial.batch.parts import Columns

SCHEMA_VERSION = 3
"""The version of these tables. It grows when a column changes its meaning or goes; new columns may come at any time."""

PLACES_OF_SHARD = 1 << 32
"""The number of a conversation is this times the number of its shard, plus its number in the shard."""


OWN_CASE = -1
"""The position of a case that is made for one conversation, because no eval set holds it."""


class Source(NamedTuple):
    """The place of a conversation in the data set, and the fields of its record that are carried into the tables."""

    conversation: int
    file: str
    place: int | None
    stratum: str | None = None
    carried: tuple[str | None, ...] = ()


_SOURCE = {"conversation": "int64", "file": "string", "place": "int64", "stratum": "string"}
_CONVERSATION = {"conversation": "int64"}
_USAGES = {"simulator": "string", "environment": "string"}
SCORE = {"number": "int64", "open_parts": "string", "judge": "string"}
REFUSED: Columns = {"file": "string", "place": "int64", "id": "string", "pointer": "string", "reason": "string"}


def folder_tables(carry: Sequence[str] = ()) -> dict[str, Columns]:
    """Return the tables of a folder. They have the columns of a run's tables, and those of a data set.

    `carry` names the fields of the input that are columns of the attempts. Raises UsageError if a field has the name of
    another column, or is named twice.
    """
    attempts = {**_SOURCE, **list_types(KEY), **list_types(ATTEMPT), **_USAGES}
    for field in carry:
        if field in attempts:
            raise UsageError(
                f"{spell('carry')} {field}: the results have a column of this name; carry a field of another name"
            )
        attempts[field] = "string"
    return {
        "attempts": attempts,
        "outcomes": {**_CONVERSATION, **list_types(KEY), **list_types(OUTCOME), **SCORE},
        "parts": {**_CONVERSATION, **list_types(KEY), **list_types(PART)},
        "failures": {**_CONVERSATION, "file": "string", **list_types(KEY), **FAILURE, "features": "list"},
        "refused": REFUSED,
    }


FAILURE: Columns = {
    "case": "string",
    "verdict": "string",
    "kind": "string",
    "tool": "string",
    "field": "string",
    "criterion": "string",
    "template": "string",
    "side": "string",
    "evidence": "string",
    "reason": "string",
    "invocation": "int64",
    "step": "int64",
    "step_kind": "string",
    "ordinal": "int64",
    "text": "string",
    "length": "int64",
}
"""The signature and the decisive step of a failed attempt. All but the case and the verdict are null for a pass."""


def failure_row(failed: FailedAttempt, verdict: str) -> Row:
    """Return the columns of a failed attempt."""
    step = failed.step
    place = (None,) * 5 if step is None else (step.invocation, step.step, step.kind, step.ordinal, step.text)
    signature = astuple(failed.signature)
    return (failed.case, verdict, *signature, failed.side, failed.evidence, failed.reason, *place, failed.length)


def read_failure(row: Sequence[Any], signature: Signature, position: int, attempt: int) -> FailedAttempt:
    """Return the failed attempt of a row that `failure_row` made, with a signature that was read before."""
    side, evidence, reason, invocation, step, kind, ordinal, text, length = row[7:]
    place = None if ordinal is None else DecisiveStep(invocation, step, kind, ordinal, text)
    return FailedAttempt(position, row[0], attempt, signature, side, reason, place, evidence, length=length)


_UNNAMED: tuple[PartKind, ...] = ("invocation", "call", "message")
"""The parts that have no row, because there are many and they have no name that a query could group by."""


def folder_rows(attempt: TableAttempt, source: Source, key: Row) -> Iterator[tuple[str, list[Row]]]:
    """Yield the tables of a folder, each with the rows of an attempt. `key` are the values that all rows share."""
    result = attempt.result
    usages = (_json(result.simulator), _json(result.environment))
    yield "attempts", [source[:4] + key + attempt_values(attempt) + usages + source.carried]
    start = (source.conversation, *key)
    outcomes = enumerate(zip(result.outcomes, outcome_values(attempt), strict=True))
    yield "outcomes", [start + values + score_values(outcome, number) for number, (outcome, values) in outcomes]
    yield "parts", [start + values for values in part_values(result, _UNNAMED)]


def score_values(outcome: Outcome, number: int) -> Row:
    """Return the values of an outcome in the columns `SCORE`. `number` is its place among those of its attempt."""
    score = outcome.score
    return (number, _open_parts(score) if _is_open(score) else None, _json(outcome.judge_stats))


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
    invalid_side: str | None
    failure_side: FaultSide | None
    inference_calls: int | None
    input_tokens: int | None
    output_tokens: int | None
    simulator: str | None
    environment: str | None
    probability: float | None
    stratum: str | None


class OutcomeColumns(NamedTuple):
    """The columns of an outcome that the numbers of a run need."""

    conversation: int
    criterion: str
    value: float | None
    verdict: str
    open_parts: str | None
    judge: str | None


def make_terms(criterion: Criterion) -> Outcome:
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
        fault = Fault(row.invalid_side) if row.invalid_side else None  # type: ignore[arg-type]
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
            simulator=_parse_usage(row.simulator),
            environment=_parse_usage(row.environment),
            eval_set=row.eval_set,
            probability=row.probability,
        )
        return result, [_VERDICTS[outcome.verdict] for outcome in outcomes]

    def _outcome(self, row: OutcomeColumns) -> Outcome:
        key = (row.criterion, row.value, row.open_parts)
        outcome = self._outcomes.get(key)
        if outcome is None:
            if len(self._outcomes) >= _MOST_OUTCOMES:
                self._outcomes.clear()
            outcome = self._outcomes[key] = _make_outcome(row, self._terms[key[0]])
        if row.judge is None:
            return outcome
        return replace(outcome, judge_stats=json_decoder(JudgeStats).decode(row.judge))


_VERDICTS = {verdict.value: verdict for verdict in Verdict}
_MOST_OUTCOMES = 10_000


def _make_outcome(row: OutcomeColumns, terms: Outcome) -> Outcome:
    score = Score(row.value) if row.open_parts is None else json_decoder(Score).decode(row.open_parts)
    return replace(terms, score=replace(score, value=row.value))


def _parse_usage(text: str | None) -> ModelUsage | None:
    return None if text is None else json_decoder(ModelUsage).decode(text)
