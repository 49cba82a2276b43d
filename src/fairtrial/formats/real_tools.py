"""Find the tool that a call really runs, if one tool passes calls on to others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.records.trace import Invocation, Step, ToolCall, ToolResult

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording


def with_real_tools(recording: Recording, tool_names: Mapping[str, str]) -> Recording:
    """Return a recording in which calls have the name of the tool behind them.

    `tool_names` gives for the name of a tool the path of the argument with the real name. For example,
    `{"exec": "command.0"}` names the call `exec` with `{"command": "git log"}` or `{"command": ["git", "log"]}` `git`.
    """
    if not tool_names:
        return recording
    invocations = tuple(_rename_tools(invocation, tool_names) for invocation in recording.trace.invocations)
    return replace(recording, trace=replace(recording.trace, invocations=invocations))


def _rename_tools(invocation: Invocation, tool_names: Mapping[str, str]) -> Invocation:
    if invocation.steps is None:
        return invocation
    steps: list[Step] = []
    open_calls: list[tuple[ToolCall, str]] = []
    for step in invocation.steps:
        if isinstance(step, ToolCall) and (name := _real_name(step, tool_names)):
            open_calls.append((step, name))
            steps.append(replace(step, name=name))
        elif isinstance(step, ToolResult) and step.name in tool_names:
            position = _find_call(step, open_calls)
            steps.append(step if position is None else replace(step, name=open_calls.pop(position)[1]))
        else:
            steps.append(step)
    return replace(invocation, steps=tuple(steps))


def _find_call(result: ToolResult, open_calls: Sequence[tuple[ToolCall, str]]) -> int | None:
    """Return the place of the call that a result answers: the call with its id, or else the oldest with its name."""
    for i, (call, _) in enumerate(open_calls):
        if call.name == result.name and (not result.id or call.id == result.id):
            return i
    return None


def _real_name(call: ToolCall, tool_names: Mapping[str, str]) -> str:
    """Return the name in the argument of a call, or an empty text. A number in the path also counts words of a text."""
    path = tool_names.get(call.name)
    if path is None:
        return ""
    value: Any = call.args
    for key in path.split("."):
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, str | list) and key.isdecimal():
            items = value.split() if isinstance(value, str) else value
            value = items[int(key)] if int(key) < len(items) else None
        else:
            return ""
    return value if isinstance(value, str) else ""
