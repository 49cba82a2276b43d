"""Map scores and labels of a run to the places in the source traces that they belong to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from fairtrial.platforms.platform import Annotator, PushedScore
from fairtrial.records.result import CaseResult, Outcome, Verdict
from fairtrial.text.display import shorten

if TYPE_CHECKING:
    from fairtrial.api.stored_runs import Run
    from fairtrial.records.attempt import Recording
    from fairtrial.records.label import Label
    from fairtrial.records.score import Score
    from fairtrial.records.trace import Origin

_LONGEST_TEXT = 4000
_ID_LENGTH = 32


def yield_scores(run: Run) -> Iterator[PushedScore]:
    """Yield the scores of a run, and the labels that people gave to it, with their places.

    A criterion with a score for each invocation has a place for each of them. Recordings without traces have no place.
    """
    labels: dict[tuple[str, str, int], list[Label]] = {}
    for label in run.labels:
        labels.setdefault((label.case.eval_set, label.case.case, label.attempt), []).append(label)
    results = {(result.position, result.attempt): result for result in run.cases}
    for position, recording in run.recordings:
        result = results.get((position, recording.attempt))
        places = _Places(run, recording)
        if result is None or not places.origins:
            continue
        for outcome in result.outcomes:
            yield from places.scores(result, outcome)
        for label in labels.get((result.eval_set, result.case_id, result.attempt), ()):
            if label.value is not None:
                yield places.label(label, label.value)


class _Places:
    """The places of one attempt."""

    def __init__(self, run: Run, recording: Recording) -> None:
        trace = recording.trace
        self._run = run.info.id
        self._time = round(datetime.fromisoformat(run.info.started).timestamp() * 1e9)
        self.origins: dict[int, Origin] = {
            number: invocation.origin for number, invocation in enumerate(trace.invocations) if invocation.origin
        }
        traces = {origin.trace_id for origin in self.origins.values()}
        # A receiver names a conversation without an id by its trace.
        self._session = "" if trace.session_id in traces else trace.session_id

    def scores(self, result: CaseResult, outcome: Outcome) -> Iterator[PushedScore]:
        """Yield the scores of an outcome."""
        if outcome.verdict is Verdict.NOT_APPLICABLE:
            return
        parts = {part.key.index: part for part in outcome.score.parts if part.key and part.key.kind == "invocation"}
        if outcome.aggregation == "value" or not parts:
            yield self._score(result, outcome, outcome.score, None)
            return
        for number, part in parts.items():
            if number in self.origins and part.applicable:
                yield self._score(result, outcome, part, number)

    def _score(self, result: CaseResult, outcome: Outcome, score: Score, number: int | None) -> PushedScore:
        own_outcome = msgspec.structs.replace(outcome, score=score)
        annotator: Annotator = "LLM" if outcome.judge_stats is not None else "CODE"
        metadata = {
            "run.id": self._run,
            "case.id": result.case_id,
            "attempt": result.attempt,
            **({} if outcome.threshold is None else {"threshold": outcome.threshold}),
        }
        text = shorten(score.reason, _LONGEST_TEXT)
        return self._place(
            PushedScore(
                _read_id(self._run, result.eval_set, result.case_id, result.attempt, outcome.criterion, number),
                outcome.criterion,
                "",
                value=score.value,
                label=own_outcome.verdict.value,
                explanation=text if score.value is not None else "",
                problem="" if score.value is not None else text or "not scored",
                annotator=annotator,
                metadata=metadata,
                time=self._time,
            ),
            number,
        )

    def label(self, label: Label, value: float) -> PushedScore:
        """Return the label of a person as a score."""
        number = label.part.index if label.part is not None and label.part.kind == "invocation" else None
        case = label.case
        key = _read_id(self._run, case.eval_set, case.case, label.attempt, label.criterion, number, label.author)
        metadata = {"run.id": self._run, "case.id": case.case, "attempt": label.attempt, "author": label.author}
        score = PushedScore(
            key,
            label.criterion,
            "",
            value=value,
            explanation=shorten(label.note, _LONGEST_TEXT),
            annotator="HUMAN",
            metadata=metadata,
            time=self._time,
        )
        return self._place(score, number if number in self.origins else None)

    def _place(self, score: PushedScore, number: int | None) -> PushedScore:
        origin = self.origins[max(self.origins) if number is None else number]
        return msgspec.structs.replace(
            score,
            trace_id=origin.trace_id,
            span_id=origin.span_id,
            response_id=origin.response_id,
            session_id=self._session,
            scope="conversation" if number is None else "invocation",
            metadata=score.metadata if number is None else {**score.metadata, "invocation": number + 1},
        )


def _read_id(*parts: str | int | None) -> str:
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:_ID_LENGTH]
