"""What line of reasoning does a recorded conversation tell?"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from fairtrial.errors import CaseError
from fairtrial.formats import knowledgepulse
from fairtrial.records.reasoning import (
    ReasoningMetadata,
    ReasoningOutcome,
    ReasoningStep,
    ReasoningTask,
    ReasoningTool,
    ReasoningTrace,
    StepType,
)
from fairtrial.records.record import Json
from fairtrial.records.trace import Invocation, Message, Step, Thought, ToolCall, ToolResult, Trace

UNKNOWN_DOMAIN = "unspecified"
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

    A call that succeeds after the same tool failed is a recovery. What the user said, one message a line, is the
    objective; the last reply is the result. A trace that was loaded from a ReasoningTrace is that one again. The result
    is private until the user says otherwise; `name` is its id, else the session's, else one made from its content.
    Success is the `verdict` of a run, else the reward or outcome of the trace, else `success`.
    CaseError where confidence or success is not known, since neither is ever invented, or where there is no objective
    or no step.
    """
    known = knowledgepulse.original(trace)
    if known is not None:
        return known
    success = next((one for one in (verdict, _recorded_success(trace), success) if one is not None), None)
    if confidence is None or success is None:
        missing = " and ".join(
            name for name, value in (("confidence", confidence), ("success", success)) if value is None
        )
        raise CaseError(f"the trace does not say its {missing}, which has to be given; it is never guessed")
    if not 0.0 <= confidence <= 1.0:
        raise CaseError(f"confidence: must be a number from 0 to 1, got {confidence!r}")
    objective = "\n".join(one.query for one in trace.invocations if one.query.strip())
    steps = tuple(_numbered(trace))
    if not objective:
        raise CaseError("the trace has no user message, so its objective is not known")
    if not steps:
        raise CaseError("the trace has no step: no thought, no tool call, no reply")
    own = name or trace.session_id or str(uuid.uuid5(_NAMESPACE, msgspec.json.encode([objective, steps]).decode()))
    return ReasoningTrace(
        id=f"kp:trace:{own}",
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
            result_summary=next((one.reply for one in reversed(trace.invocations) if one.reply), ""),
            confidence=float(confidence),
        ),
    )


def _recorded_success(trace: Trace) -> bool | None:
    """Return whether the trace says that its goal was reached: by a reward of 1 or 0, or by its outcome."""
    if trace.reward in (0, 1):
        return trace.reward == 1
    return trace.outcome == "success" if trace.outcome else None


def _numbered(trace: Trace) -> Iterator[ReasoningStep]:
    failing: set[str] = set()
    number = 0
    for invocation in trace.invocations:
        for step in _steps(invocation, failing):
            yield msgspec.structs.replace(step, step_id=number)
            number += 1


def _steps(invocation: Invocation, failing: set[str]) -> Iterator[ReasoningStep]:
    """Yield the steps of one invocation, its reply last; `failing` are the tools whose last answer was an error."""
    recorded = invocation.steps or ()
    answers = _answers(invocation)
    for place, step in enumerate(recorded):
        if isinstance(step, Thought):
            yield ReasoningStep(step_id=0, type="thought", content=step.text, latency_ms=_latency(step))
        elif isinstance(step, Message):
            yield ReasoningStep(step_id=0, type="observation", content=step.text, latency_ms=_latency(step))
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
                content=_said(step.response),
                tool=ReasoningTool(name=step.name),
                latency_ms=_latency(step),
            )
    if invocation.final_response is not None and invocation.reply:
        yield ReasoningStep(step_id=0, type="observation", content=invocation.reply)


def _latency(step: Step) -> float | None:
    return None if step.seconds is None else step.seconds * 1000


def _kind_of_call(call: ToolCall, answer: ToolResult | None, failing: set[str]) -> StepType:
    if answer is None:
        return "tool_call"
    if answer.is_error:
        failing.add(call.name)
        return "tool_call"
    recovered = call.name in failing
    failing.discard(call.name)
    return "error_recovery" if recovered else "tool_call"


def _answers(invocation: Invocation) -> dict[int, ToolResult]:
    """Return for the place of each call its result: the one with its id, else the next unclaimed one of its name."""
    recorded = invocation.steps or ()
    open_calls: list[tuple[int, ToolCall]] = []
    answers: dict[int, ToolResult] = {}
    for place, step in enumerate(recorded):
        if isinstance(step, ToolCall):
            open_calls.append((place, step))
        elif isinstance(step, ToolResult):
            same = [one for one in open_calls if (one[1].id == step.id if step.id else one[1].name == step.name)]
            if same:
                answers[same[0][0]] = step
                open_calls.remove(same[0])
    return answers


def _said(response: Json) -> str:
    return response if isinstance(response, str) else msgspec.json.encode(response).decode()
