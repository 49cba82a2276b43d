"""The reasoning trace of a recorded conversation."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from fairtrial.errors import CaseError
from fairtrial.formats import knowledgepulse
from fairtrial.records.contents import CONTENTS, withheld_reason
from fairtrial.records.reasoning import (
    ReasoningMetadata,
    ReasoningOutcome,
    ReasoningStep,
    ReasoningTask,
    ReasoningTool,
    ReasoningTrace,
    StepType,
)
from fairtrial.records.trace import Invocation, Message, Step, Thought, ToolCall, ToolResult, Trace

if TYPE_CHECKING:
    from fairtrial.records.record import Json

UNKNOWN_DOMAIN = "unspecified"
_sorted_json = msgspec.json.Encoder(order="sorted").encode
_NAMESPACE = uuid.UUID("6f0d8a52-5d0e-5c3e-9d63-3f5d6f0f4b1e")


def from_trace(
    trace: Trace,
    *,
    confidence: float | None = None,
    success: bool | None = None,
    verdict: bool | None = None,
    name: str = "",
) -> ReasoningTrace:
    """Return the reasoning of a trace: thoughts, tool calls, and results and replies as observations.

    The text of an agent before a call is a thought. A call that succeeds after the same tool failed is a recovery, but
    not if its arguments are those of a call that failed: a blind retry takes no reasoning. The objective is the
    messages of the user, one a line, and the result is the last reply. A trace that was loaded from a ReasoningTrace is
    returned unchanged. The new trace is private. Its id is `name`, or the id of the session, or a hash of its content.
    Success is the `verdict` of a run, or the reward or outcome of the trace, or `success`. Raises CaseError if
    confidence or success is unknown, because a guess would falsify the value, or if the objective or the steps are
    missing or not recorded in full.
    """
    original = knowledgepulse.original(trace)
    if original is not None:
        return original
    success = next((flag for flag in (verdict, _recorded_success(trace), success) if flag is not None), None)
    if confidence is None or success is None:
        missing = " and ".join(
            name for name, value in (("confidence", confidence), ("success", success)) if value is None
        )
        raise CaseError(f"the trace does not state its {missing}; give it, because it is never guessed")
    if not 0.0 <= confidence <= 1.0:
        raise CaseError(f"confidence: must be a number from 0 to 1, got {confidence!r}")
    if withheld := withheld_reason(trace.invocations, CONTENTS):
        raise CaseError(withheld)
    objective = "\n".join(invocation.query for invocation in trace.invocations if invocation.query.strip())
    steps = tuple(_number_items(trace))
    if not objective:
        raise CaseError("the trace has no user message, so its objective is unknown")
    if not steps:
        raise CaseError("the trace has no step: no thought, no tool call, no reply")
    trace_id = name or trace.session_id or str(uuid.uuid5(_NAMESPACE, msgspec.json.encode([objective, steps]).decode()))
    return ReasoningTrace(
        id=f"kp:trace:{trace_id}",
        metadata=ReasoningMetadata(
            created_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            task_domain=UNKNOWN_DOMAIN,
            success=success,
            quality_score=0.0,
            visibility="private",
            privacy_level="private",
        ),
        task=ReasoningTask(objective=objective),
        steps=steps,
        outcome=ReasoningOutcome(
            result_summary=next((last.reply for last in reversed(trace.invocations) if last.reply), ""),
            confidence=float(confidence),
        ),
    )


def _recorded_success(trace: Trace) -> bool | None:
    """Return the success that the trace records: by a reward of 1 or 0, or by its outcome."""
    if trace.reward in (0, 1):
        return trace.reward == 1
    return trace.outcome == "success" if trace.outcome else None


def _number_items(trace: Trace) -> Iterator[ReasoningStep]:
    failing: dict[str, set[bytes]] = {}
    number = 0
    for invocation in trace.invocations:
        for step in _steps(invocation, failing):
            yield msgspec.structs.replace(step, step_id=number)
            number += 1


def _steps(invocation: Invocation, failing: dict[str, set[bytes]]) -> Iterator[ReasoningStep]:
    """Yield the steps of an invocation, and its reply last.

    `failing` are the tools whose last answer failed, with the arguments of the calls that failed.
    """
    recorded = invocation.steps or ()
    answers = _answers(invocation)
    for place, step in enumerate(recorded):
        if isinstance(step, Thought):
            yield ReasoningStep(step_id=0, type="thought", content=step.text, latency_ms=_latency(step))
        elif isinstance(step, Message):
            kind: StepType = "thought" if _precedes_call(recorded, place) else "observation"
            yield ReasoningStep(step_id=0, type=kind, content=step.text, latency_ms=_latency(step))
        elif isinstance(step, ToolCall):
            yield ReasoningStep(
                step_id=0,
                type=_kind_of_call(step, answers.get(place), failing),
                tool=ReasoningTool(name=step.name),
                input=step.args or None,
                latency_ms=_latency(step),
            )
        else:
            yield ReasoningStep(
                step_id=0,
                type="observation",
                content=_text(step.response),
                tool=ReasoningTool(name=step.name),
                latency_ms=_latency(step),
            )
    if invocation.final_response is not None and invocation.reply:
        yield ReasoningStep(step_id=0, type="observation", content=invocation.reply)


def _latency(step: Step) -> float | None:
    return None if step.seconds is None else step.seconds * 1000


def _precedes_call(steps: Sequence[Step], place: int) -> bool:
    """Return whether the next step that is not a text is a tool call: the agent says why it calls the tool."""
    later = (step for step in steps[place + 1 :] if not isinstance(step, Message | Thought))
    return isinstance(next(later, None), ToolCall)


def _kind_of_call(call: ToolCall, answer: ToolResult | None, failing: dict[str, set[bytes]]) -> StepType:
    if answer is None:
        return "tool_call"
    arguments = _sorted_json(call.args)
    if answer.is_error:
        failing.setdefault(call.name, set()).add(arguments)
        return "tool_call"
    failed_arguments = failing.pop(call.name, None)
    is_blind = failed_arguments is None or arguments in failed_arguments
    return "tool_call" if is_blind else "error_recovery"


def _answers(invocation: Invocation) -> dict[int, ToolResult]:
    """Return the result of each call by the place of the call. It has the call's id, or is the next of its tool."""
    recorded = invocation.steps or ()
    open_calls: list[tuple[int, ToolCall]] = []
    answers: dict[int, ToolResult] = {}
    for place, step in enumerate(recorded):
        if isinstance(step, ToolCall):
            open_calls.append((place, step))
        elif isinstance(step, ToolResult):
            matches = [
                (index, call)
                for index, call in open_calls
                if (call.id == step.id if step.id else call.name == step.name)
            ]
            if matches:
                answers[matches[0][0]] = step
                open_calls.remove(matches[0])
    return answers


def _text(response: Json) -> str:
    return response if isinstance(response, str) else msgspec.json.encode(response).decode()
