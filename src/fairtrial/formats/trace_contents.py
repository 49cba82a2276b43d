"""The contents of a trace as text for searches: agent, user and tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fairtrial.records.trace import Invocation, ToolCall, ToolResult, Trace

if TYPE_CHECKING:
    from fairtrial.records.record import Json


def json_of_contents(trace: Trace) -> str:
    """Return the contents of a trace as one text of JSON. A search in it is faster than a search in each content."""
    return msgspec.json.encode(_contents(trace)).decode()


def _contents(trace: Trace) -> list[Json]:
    """Return the contents of a trace that an agent, a user or a tool wrote."""
    contents: list[Json] = [[trace.broken, trace.extra, [message.text for message in trace.opening]]]
    for invocation in (*trace.history, *trace.invocations):
        _add_contents(invocation, contents)
    return contents


def _add_contents(invocation: Invocation, contents: list[Json]) -> None:
    reply = () if invocation.final_response is None else (invocation.final_response,)
    for step in (invocation.user, *(invocation.steps or ()), *reply):
        if step.beginning:
            contents.append(step.beginning)
        if step.extra is not None:
            contents.append(step.extra)
        kind = type(step)
        if kind is ToolCall:
            contents.append(step.args)
        elif kind is ToolResult:
            contents.append(step.response)
            if step.inner is not None:
                contents.append(_contents(step.inner))
        else:
            contents.append(step.text)
