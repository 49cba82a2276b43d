"""Compare calls with their results. A result proves a call, so that none of them may vanish, or count twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from fairtrial.records.trace import Invocation, Step, ToolCall, ToolResult, Trace, incomplete_trace

_NO_CALL = "the messages hold the result of the call, and not the call"


def with_calls_of_results(trace: Trace) -> Trace:
    """Return a trace with a call before each result whose call is missing. Its arguments are withheld.

    If the result does not name its tool, or its call comes later, the trace is incomplete instead. So it is if the same
    call stands twice in an invocation, with one result: then one of them may be a copy.
    """
    if _are_complete(trace):
        return trace
    calls = _Calls(step.id for invocation in trace.invocations for step in invocation.tool_calls)
    invocations = tuple(
        invocation
        if invocation.steps is None
        else replace(invocation, steps=tuple(with_call for step in invocation.steps for with_call in calls.read(step)))
        for invocation in trace.invocations
    )
    problem = calls.problem or next(filter(None, map(_find_copy, trace.invocations)), "")
    return incomplete_trace(replace(trace, invocations=invocations), problem)


def _find_copy(invocation: Invocation) -> str:
    """Return the reason if a call stands twice, and its result does not."""
    counts = Counter((step.id, step.name, repr(step.args)) for step in invocation.tool_calls if step.id)
    if len(counts) == len(invocation.tool_calls):
        return ""
    results = Counter(step.id for step in invocation.steps or () if isinstance(step, ToolResult))
    copy_id = next((call[0] for call, count in counts.items() if count > max(1, results[call[0]])), "")
    return f"the call {copy_id} stands twice" if copy_id else ""


def _are_complete(trace: Trace) -> bool:
    """Whether each result follows its call, and each call of an invocation has its own id, as in most messages.

    A call without an id waits for the next result that names no call.
    """
    ids: set[str] = set()
    waiting = 0
    for invocation in trace.invocations:
        own_ids: set[str] = set()
        for step in invocation.steps or ():
            kind = type(step)
            if kind is ToolCall:
                call_id = step.id  # type: ignore[union-attr]
                if not call_id:
                    waiting += 1
                elif call_id in own_ids:
                    return False
                else:
                    own_ids.add(call_id)
            elif kind is ToolResult and step.id not in own_ids and step.id not in ids:  # type: ignore[union-attr]
                if not waiting:
                    return False
                waiting -= 1
        ids |= own_ids
    return True


class _Calls:
    """The calls that were read so far, of those with some ids.

    `problem` says which result stands before its call, or names neither its call nor its tool.
    """

    def __init__(self, ids: Iterable[str]) -> None:
        self.problem = ""
        self._all_ids = set(filter(None, ids))
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
            if step.id in self._all_ids:
                self.problem = self.problem or f"the result {step.id} stands before its call"
            elif step.name:
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
