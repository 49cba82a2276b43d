"""The rows of a run's tables. Every row names its run, so that tables of several runs can be joined."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from fairtrial.records.result import CaseResult, Outcome
from fairtrial.records.score import Score
from fairtrial.records.trace import Invocation, Message, Step, Thought, ToolCall, ToolResult
from fairtrial.text.display import compact

if TYPE_CHECKING:
    from fairtrial.reports.report_table import ReportedRun

Row = tuple[Any, ...]


class Table(NamedTuple):
    """A table: its columns with the names of their Arrow types, and the rows of a run without the id of the run."""

    columns: dict[str, str]
    rows: Callable[[ReportedRun], Iterator[Row]]


_ATTEMPT = {"run": "string", "position": "int64", "attempt": "int64", "eval_set": "string", "case_id": "string"}


def _place(result: CaseResult) -> Row:
    return (result.position, result.attempt, result.eval_set, result.case_id)


def _attempts(run: ReportedRun) -> Iterator[Row]:
    for result in run.cases:
        fault, failure, judge = result.fault, result.failure, result.judge
        usage = result.usage or {}
        yield (
            *_place(result),
            result.title,
            result.digest,
            result.verdict.value,
            None if result.invalidations is None else not result.invalidations,
            None if fault is None else fault.side,
            None if failure is None else failure.side,
            None if failure is None else failure.cause,
            result.ended_by,
            usage.get("input_tokens"),
            usage.get("output_tokens"),
            None if judge is None else judge.calls,
            None if judge is None else judge.cost,
        )


def _outcomes(run: ReportedRun) -> Iterator[Row]:
    for result in run.cases:
        for outcome in result.outcomes:
            stats = outcome.judge_stats
            yield (
                *_place(result),
                outcome.criterion,
                outcome.score.value,
                outcome.threshold,
                outcome.lower_is_better,
                outcome.verdict.value,
                outcome.score.reason,
                None if stats is None else stats.calls,
                None if stats is None else stats.cost,
                None if stats is None else stats.self_agreement,
            )


def _parts(run: ReportedRun) -> Iterator[Row]:
    for result in run.cases:
        for outcome in result.outcomes:
            for path, part in _inner(outcome.score):
                key = part.key
                yield (
                    *_place(result),
                    outcome.criterion,
                    path,
                    None if key is None else key.kind,
                    None if key is None else key.index,
                    "" if key is None else key.id,
                    part.title,
                    part.value,
                    part.applicable,
                    part.reason,
                    part.side,
                )


def _inner(score: Score, above: str = "") -> Iterator[tuple[str, Score]]:
    """Yield the parts of a score at any depth, with their places, such as 0 and 0.2."""
    for number, part in enumerate(score.parts):
        path = f"{above}{number}"
        yield path, part
        yield from _inner(part, f"{path}.")


def _ballots(run: ReportedRun) -> Iterator[Row]:
    for result in run.cases:
        for outcome in result.outcomes:
            for ballot_id in dict.fromkeys(_ballot_ids(outcome)):
                ballot = run.ballots.get(ballot_id)
                for vote in () if ballot is None else ballot.votes:
                    cost = sum(call.cost or 0.0 for call in vote.calls) if vote.calls else None
                    place = (*_place(result), outcome.criterion, ballot_id, vote.draw, vote.wave, vote.voter)
                    for item, answer in vote.opinions.items():
                        yield (*place, item, answer.answer, answer.rationale, answer.quote, None, cost)
                    for item, problem in vote.problems.items():
                        yield (*place, item, None, None, None, problem, cost)


def _ballot_ids(outcome: Outcome) -> Iterator[str]:
    yield from outcome.score.ballots
    for _, part in _inner(outcome.score):
        yield from part.ballots


def _steps(run: ReportedRun) -> Iterator[Row]:
    cases = {case.position: case for case in run.expected}
    for position, recording in run.recordings:
        case = cases.get(position)
        place = (position, recording.attempt, "" if case is None else case.eval_set, recording.case_id)
        for number, invocation in enumerate(recording.trace.invocations):
            for index, row in enumerate(_steps_of(invocation)):
                yield (*place, number, index, *row)


def _steps_of(invocation: Invocation) -> Iterator[Row]:
    yield _step("user", invocation.user)
    yield from (_step(_KINDS[type(step)], step) for step in invocation.steps or ())
    if invocation.final_response is not None:
        yield _step("reply", invocation.final_response)


_KINDS = {Message: "message", Thought: "thought", ToolCall: "tool_call", ToolResult: "tool_result"}


def _step(kind: str, step: Step) -> Row:
    text = tool = content = None
    is_error = None
    if isinstance(step, ToolCall):
        tool, content = step.name, compact(step.args)
    elif isinstance(step, ToolResult):
        tool, content, is_error = step.name, compact(step.response), step.is_error
    else:
        text = step.text
    return (kind, step.author, text, tool, content, is_error, step.started, step.seconds)


def _labels(run: ReportedRun) -> Iterator[Row]:
    for label in run.labels:
        part = None if label.part is None else str(label.part)
        yield (
            label.case.eval_set,
            label.case.case,
            label.case.digest,
            label.attempt,
            label.criterion,
            part,
            label.value,
            label.author,
            label.at,
            label.note,
            label.key,
            label.weight,
            label.seconds,
            label.blind,
            label.probability,
            label.source,
            label.side,
            label.reference,
        )


TABLES: dict[str, Table] = {
    "attempts": Table(
        {
            **_ATTEMPT,
            "case": "string",
            "digest": "string",
            "verdict": "string",
            "valid": "bool",
            "fault": "string",
            "failure_side": "string",
            "failure_cause": "string",
            "ended_by": "string",
            "input_tokens": "int64",
            "output_tokens": "int64",
            "judge_calls": "int64",
            "judge_cost": "double",
        },
        _attempts,
    ),
    "outcomes": Table(
        {
            **_ATTEMPT,
            "criterion": "string",
            "value": "double",
            "threshold": "double",
            "lower_is_better": "bool",
            "verdict": "string",
            "reason": "string",
            "judge_calls": "int64",
            "judge_cost": "double",
            "self_agreement": "double",
        },
        _outcomes,
    ),
    "parts": Table(
        {
            **_ATTEMPT,
            "criterion": "string",
            "part": "string",
            "kind": "string",
            "index": "int64",
            "id": "string",
            "title": "string",
            "value": "double",
            "applicable": "bool",
            "reason": "string",
            "side": "string",
        },
        _parts,
    ),
    "ballots": Table(
        {
            **_ATTEMPT,
            "criterion": "string",
            "ballot": "string",
            "draw": "int64",
            "wave": "int64",
            "voter": "string",
            "item": "string",
            "answer": "string",
            "rationale": "string",
            "quote": "string",
            "problem": "string",
            "vote_cost": "double",
        },
        _ballots,
    ),
    "steps": Table(
        {
            **_ATTEMPT,
            "invocation": "int64",
            "step": "int64",
            "kind": "string",
            "author": "string",
            "text": "string",
            "tool": "string",
            "content": "string",
            "is_error": "bool",
            "started": "double",
            "seconds": "double",
        },
        _steps,
    ),
    "labels": Table(
        {
            "run": "string",
            "eval_set": "string",
            "case_id": "string",
            "digest": "string",
            "attempt": "int64",
            "criterion": "string",
            "part": "string",
            "value": "double",
            "labeler": "string",
            "at": "string",
            "note": "string",
            "key": "string",
            "weight": "double",
            "seconds": "double",
            "blind": "bool",
            "probability": "double",
            "source": "string",
            "side": "string",
            "reference": "string",
        },
        _labels,
    ),
}
"""Every table of a run. Positions, indices, invocations and steps count from 0, attempts, draws and waves from 1."""
