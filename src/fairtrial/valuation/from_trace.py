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
from fairtrial.records.trace import Invocation, Message, Thought, ToolCall, ToolResult, Trace

UNKNOWN_DOMAIN = "unspecified"
_NAMESPACE = uuid.UUID("6f0d8a52-5d0e-5c3e-9d63-3f5d6f0f4b1e")
_FAILED_STATUS = frozenset({"error", "failed", "failure", "exception"})
_FAILED_START = ("error", "exception", "traceback (most recent call last)")


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
    Success is the `verdict` of a run, else what the trace's reward says, else `success`.
    CaseError where confidence or success is not known, since neither is ever invented, or where there is no objective
    or no step.
    """
    known = knowledgepulse.original(trace)
    if known is not None:
        return known
    success = next((one for one in (verdict, _rewarded(trace), success) if one is not None), None)
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


def _rewarded(trace: Trace) -> bool | None:
    """What tau-bench's reward says of success: 1 is success and 0 is none; anything else says nothing."""
    reward = (trace.extra or {}).get("reward")
    return None if isinstance(reward, bool) or reward not in (0, 1) else reward == 1


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
            yield ReasoningStep(step_id=0, type="thought", content=step.text)
        elif isinstance(step, Message):
            yield ReasoningStep(step_id=0, type="observation", content=step.text)
        elif isinstance(step, ToolCall):
            yield ReasoningStep(
                step_id=0,
                type=_kind_of_call(step, answers.get(place), failing),
                tool=ReasoningTool(name=step.name),
                input=step.args or None,
            )
        else:
            yield ReasoningStep(
                step_id=0, type="observation", content=_said(step.response), tool=ReasoningTool(name=step.name)
            )
    if invocation.final_response is not None and invocation.reply:
        yield ReasoningStep(step_id=0, type="observation", content=invocation.reply)


def _kind_of_call(call: ToolCall, answer: ToolResult | None, failing: set[str]) -> StepType:
    if answer is None:
        return "tool_call"
    if failed(answer):
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


def failed(result: ToolResult) -> bool:
    """Whether a tool's answer says itself that it failed, in one of the ways in which tools say so."""
    extra = result.extra or {}
    if extra.get("is_error") is True or extra.get("isError") is True or extra.get("status") == "error":
        return True
    response = result.response
    if isinstance(response, dict) and len(response) == 1:
        inner = next(iter(response.values()))
        response = inner if isinstance(inner, str) and "error" not in response else response
    if isinstance(response, str):
        return response.lstrip().lower().startswith(_FAILED_START)
    return isinstance(response, dict) and _says_failure(response)


def _says_failure(response: dict[str, Json]) -> bool:
    if any(response.get(key) for key in ("error", "errors", "isError", "is_error", "exception")):
        return True
    if any(response.get(key) is False for key in ("success", "ok")):
        return True
    status = response.get("status")
    return isinstance(status, str) and status.lower() in _FAILED_STATUS


def _said(response: Json) -> str:
    return response if isinstance(response, str) else msgspec.json.encode(response).decode()
