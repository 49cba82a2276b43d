"""The contents of a trace as text for searches: agent, user and tools."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from fairtrial.records.record import Json
from fairtrial.records.trace import Invocation, Message, Thought, ToolCall, Trace


def json_of_contents(trace: Trace) -> str:
    """Return the contents of a trace as one text of JSON. A search in it is faster than a search in each content."""
    return msgspec.json.encode([*_contents(trace)]).decode()


def _contents(trace: Trace) -> Iterator[Json]:
    """Yield the contents of a trace that an agent, a user or a tool wrote."""
    yield [trace.broken, trace.extra, [message.text for message in trace.opening]]
    for invocation in (*trace.history, *trace.invocations):
        yield from _walk_contents(invocation)


def _walk_contents(invocation: Invocation) -> Iterator[Json]:
    reply = () if invocation.final_response is None else (invocation.final_response,)
    for step in (invocation.user, *(invocation.steps or ()), *reply):
        if step.beginning:
            yield step.beginning
        if step.extra is not None:
            yield step.extra
        if isinstance(step, Message | Thought):
            yield step.text
        elif isinstance(step, ToolCall):
            yield step.args
        else:
            yield step.response
            if step.inner is not None:
                yield [*_contents(step.inner)]
