"""Recover calls from tool results without a call. A result proves a call, so that none of them may vanish."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from fairtrial.records.trace import Step, ToolCall, ToolResult, Trace, incomplete_trace

_NO_CALL = "the messages hold the result of the call, and not the call"


def with_calls_of_results(trace: Trace) -> Trace:
    """Return a trace with a call before each result whose call is missing. Its arguments are withheld.

    If the result does not name its tool, the trace is incomplete instead.
    """
    if _are_complete(trace):
        return trace
    calls = _Calls()
    invocations = tuple(
        invocation
        if invocation.steps is None
        else replace(invocation, steps=tuple(with_call for step in invocation.steps for with_call in calls.read(step)))
        for invocation in trace.invocations
    )
    return incomplete_trace(replace(trace, invocations=invocations), calls.problem)


def _are_complete(trace: Trace) -> bool:
    """Whether each result has the id of a call before it, as in most messages."""
    ids: set[str] = set()
    for invocation in trace.invocations:
        for step in invocation.steps or ():
            if type(step) is ToolCall:
                ids.add(step.id)
            elif type(step) is ToolResult and not (step.id and step.id in ids):
                return False
    return True


class _Calls:
    """The calls that were read so far. `problem` says which result names neither its call nor its tool."""

    def __init__(self) -> None:
        self.problem = ""
        self._ids: set[str] = set()
        self._waiting_ids: set[str] = set()
        self._waiting_without_id = 0

    def read(self, step: Step) -> Iterator[Step]:
        """Yield a step, behind the call that is missing before it."""
        if isinstance(step, ToolCall):
            if step.id:
                self._ids.add(step.id)
                self._waiting_ids.add(step.id)
            else:
                self._waiting_without_id += 1
        elif isinstance(step, ToolResult) and not self._answers(step.id):
            if step.name:
                yield ToolCall(step.name, id=step.id, author=step.author, withheld=_NO_CALL)
            else:
                self.problem = self.problem or f"the result {step.id or 'of a tool'} stands without its call"
        yield step

    def _answers(self, call_id: str) -> bool:
        """Whether a result answers a call: the call with its id, or a call that waits and does not say its id."""
        if call_id in self._ids:
            self._waiting_ids.discard(call_id)
            return True
        if self._waiting_without_id:
            self._waiting_without_id -= 1
            return True
        if not call_id and self._waiting_ids:
            self._waiting_ids.pop()
            return True
        return False
