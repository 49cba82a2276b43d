"""Propose expectations for the cases of which people say that the agent did not fail, from the attempt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.analysis.failures.reply_differences import NO_REPLY_CRITERIA
from fairtrial.records.label import FAILURES, Label
from fairtrial.records.result import Verdict
from fairtrial.reports.transcript import Transcript, transcripts

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.keys import CaseKey
    from fairtrial.records.trace import Invocation, ToolCall, Trace
    from fairtrial.reports.report_table import ReportedRun

_TRAJECTORY = "tool_trajectory_avg_score"
_STATE = "final_state_match_v1"


def repaired_cases(run: ReportedRun) -> dict[int, EvalCase]:
    """Return the cases whose failed attempt is none in the opinion of all who read it, by their positions.

    Each expects the calls, the replies or the final state of the attempt, whichever a criterion failed. The first such
    attempt at a case counts.
    """
    refuted = _refuted_failures(run.labels)
    if not refuted:
        return {}
    keys = {expected.position: expected.key for expected in run.expected}
    case_of_position: dict[int, EvalCase] = {}
    for own in transcripts(run):
        place = keys.get(own.result.position), own.result.attempt
        if place in refuted and own.result.position not in case_of_position:
            case = _repair(own)
            if case is not None:
                case_of_position[own.result.position] = case
    return case_of_position


def _refuted_failures(labels: Sequence[Label]) -> set[tuple[CaseKey | None, int]]:
    """Return the attempts of which the last label of every reader says that the agent did not fail."""
    values_of_place: dict[tuple[CaseKey, int], dict[str, float | None]] = {}
    for label in labels:
        if label.criterion == FAILURES and label.part is None:
            values_of_place.setdefault((label.case, label.attempt), {})[label.author] = label.value
    return {place for place, values in values_of_place.items() if all(value == 0 for value in values.values())}


def _repair(own: Transcript) -> EvalCase | None:
    if own.case is None or own.recording is None:
        return None
    case, trace = own.case, own.recording.trace
    failed_outcomes = [outcome for outcome in own.result.outcomes if outcome.verdict is Verdict.FAILED]
    if any(outcome.criterion == _TRAJECTORY or outcome.score.calls for outcome in failed_outcomes):
        case = _with_calls(case, trace)
    if any(outcome.criterion not in NO_REPLY_CRITERIA for outcome in failed_outcomes):
        case = _with_replies(case, trace)
    if any(outcome.criterion == _STATE for outcome in failed_outcomes) and trace.final_state is not None:
        case = replace(case, final_session_state=trace.final_state)
    return None if case == own.case else case


def _with_calls(case: EvalCase, trace: Trace) -> EvalCase:
    """Return a case that expects the calls of a trace wherever it expects calls."""
    if case.expected_calls is not None:
        calls = tuple(call for turn in trace.invocations for call in _calls(turn))
        return replace(case, expected_calls=calls)
    turns = [
        replace(turn, steps=_calls(turn_of_agent)) if turn.steps is not None and turn_of_agent is not None else turn
        for turn, turn_of_agent in _pairs(case, trace)
    ]
    return replace(case, conversation=tuple(turns)) if turns else case


def _with_replies(case: EvalCase, trace: Trace) -> EvalCase:
    """Return a case that expects the replies of a trace wherever it expects a reply."""
    turns = [
        replace(turn, final_response=turn_of_agent.final_response)
        if turn.final_response is not None and turn_of_agent is not None and turn_of_agent.final_response is not None
        else turn
        for turn, turn_of_agent in _pairs(case, trace)
    ]
    return replace(case, conversation=tuple(turns)) if turns else case


def _pairs(case: EvalCase, trace: Trace) -> Iterator[tuple[Invocation, Invocation | None]]:
    turn_of_agent = trace.invocations
    return (
        (turn, turn_of_agent[at] if at < len(turn_of_agent) else None)
        for at, turn in enumerate(case.conversation or ())
    )


def _calls(turn: Invocation) -> tuple[ToolCall, ...]:
    return tuple(replace(call, id="") for call in turn.tool_calls)
