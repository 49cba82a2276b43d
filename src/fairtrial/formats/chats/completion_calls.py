"""Take the reply of an agent from the call with which it ends its work. Cline replies by `attempt_completion`."""

from __future__ import annotations

from msgspec.structs import replace

from fairtrial.records.trace import Invocation, Message, ToolCall, ToolResult, Trace

COMPLETION = "attempt_completion"
_RESULT = "result"


def with_completions(trace: Trace) -> Trace:
    """Return a trace in which the text of a completing call is the reply, and no call."""
    for invocation in trace.invocations:
        if invocation.final_response is None and _completion(invocation):
            break
    else:
        return trace
    return replace(trace, invocations=tuple(map(_with_completion, trace.invocations)))


def _completion(invocation: Invocation) -> ToolCall | None:
    """Return the call at the end of an invocation without a reply if it completes the work."""
    if invocation.final_response is not None or not invocation.steps:
        return None
    call = next((step for step in reversed(invocation.steps) if not isinstance(step, ToolResult)), None)
    if isinstance(call, ToolCall) and call.name == COMPLETION and isinstance(call.args.get(_RESULT), str):
        return call
    return None


def _with_completion(invocation: Invocation) -> Invocation:
    call = _completion(invocation)
    if call is None or invocation.steps is None:
        return invocation
    steps = tuple(
        step
        for step in invocation.steps
        if step is not call and not (isinstance(step, ToolResult) and step.name == COMPLETION)
    )
    return replace(invocation, steps=steps, final_response=Message(call.args[_RESULT], author=call.author))
