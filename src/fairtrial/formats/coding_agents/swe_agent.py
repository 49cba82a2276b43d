"""Read SWE-agent trajectories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.formats.accounting import account, with_unread
from fairtrial.formats.chats.assembly import (
    assemble,
    object_at,
    text_at,
    thoughts,
)
from fairtrial.formats.chats.message_keys import note_held_contents
from fairtrial.formats.message_entries import Entry, Instruction, UserMessage, read_arguments
from fairtrial.formats.number_range import finite
from fairtrial.formats.tool_failures import is_failure
from fairtrial.records.attempt import EndedBy, Recording
from fairtrial.records.trace import Message, Step, ToolCall, ToolResult

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

_MARKS = frozenset(("message_type", "thought", "action", "is_demo", "agent"))
_CAPS = ("exit_cost", "exit_context")
"""The parts of an exit status that say that a limit ended the run."""


def is_trajectory(value: Any) -> bool:
    """Whether a document is a trajectory: a history of messages with actions, or a list of actions."""
    if not isinstance(value, dict):
        return False
    history, steps = value.get("history"), value.get("trajectory")
    if isinstance(history, list) and history and isinstance(history[0], dict):
        return "role" in history[0] and any(isinstance(item, dict) and item.keys() & _MARKS for item in history[:5])
    return isinstance(steps, list) and bool(steps) and isinstance(steps[0], dict) and "action" in steps[0]


def read_trajectory(whole: dict[str, Any], reading: Diagnostics, stem: str) -> Recording:
    """Return the run of the agent as one invocation. The user's message is the issue.

    Observations have the role of the user or of a tool, and demonstrations stand among the messages. Neither is a
    message of the user.
    """
    actions = reading.array(whole, "trajectory", ())
    history = reading.array(whole, "history", ())
    entries = list(_read_history(history, reading) if history else _read_actions(actions))
    info = object_at(whole, "info")
    trace = with_unread(assemble(_with_observations(entries, actions), "", ()), reading)
    kept = {key: info[key] for key in ("exit_status", "submission", "model_stats") if key in info}
    name = text_at(whole, "instance_id") or stem
    ended_by: EndedBy = "cap" if any(cap in text_at(info, "exit_status") for cap in _CAPS) else "script"
    return Recording(name, replace(trace, session_id=name, extra=kept or None), ended_by=ended_by)


def _read_history(history: Sequence[Any], reading: Diagnostics) -> Iterator[Entry]:
    open_ids: list[str] = []
    begun = False
    for i, item in enumerate(history):
        at: Place = (((), "history"), i)
        if not isinstance(item, dict):
            reading.wrong_type(at, "a message", item)
            continue
        role, text = item.get("role"), _text(item.get("content"))
        if item.get("is_demo"):
            continue
        note_held_contents(item, at, reading)
        if role == "system":
            yield Instruction(text)
        elif role == "assistant":
            begun = True
            steps: list[Entry] = [*_steps(item, text, i)]
            open_ids += [step.id for step in steps if isinstance(step, ToolCall)]
            # The action repeats the calls of the model in the words of the shell.
            own_fields = (
                {key: value for key, value in item.items() if key != "action"} if item.get("tool_calls") else item
            )
            yield from account(own_fields, steps, at, reading)
        elif begun:
            yield from _observations(item, text, open_ids)
        else:
            yield from account(item, [UserMessage(Message(text))], at, reading)


def _steps(item: dict[str, Any], text: str, number: int) -> Iterator[Step]:
    """Yield the thought and the call of a message. The call is the model's own, or else the command of the action."""
    yield from thoughts(text_at(item, "thought") or text)
    calls = item.get("tool_calls")
    calls = calls if isinstance(calls, list) else []
    functions = [(object_at(call, "function"), call) for call in calls if isinstance(call, dict)]
    if functions:
        for function, call in functions:
            name = text_at(function, "name")
            yield ToolCall(name, read_arguments(function.get("arguments")), text_at(call, "id") or f"step-{number}")
        return
    yield from _command(text_at(item, "action"), f"step-{number}")


def _command(action: str, call_id: str) -> Iterator[ToolCall]:
    words = action.split(maxsplit=1)
    if words:
        yield ToolCall(words[0], {"command": action}, call_id)


def _observations(item: dict[str, Any], text: str, open_ids: list[str]) -> Iterator[ToolResult]:
    """Yield the answer to the calls that an observation names, or else to the oldest open call."""
    ids = item.get("tool_call_ids")
    named = [call_id for call_id in ids if call_id in open_ids] if isinstance(ids, list) else []
    for call_id in named or open_ids[:1]:
        open_ids.remove(call_id)
        yield ToolResult("", text, call_id, is_error=is_failure(text))


def _read_actions(actions: Sequence[Any]) -> Iterator[Entry]:
    """Yield the steps of a trajectory without a history. It does not hold the issue."""
    yield UserMessage(Message("", withheld="the trajectory holds no history; keep the key 'history' of the file"))
    for i, action in enumerate(actions):
        if isinstance(action, dict):
            yield from thoughts(text_at(action, "thought") or text_at(action, "response"))
            yield from _command(text_at(action, "action"), f"step-{i}")


def _with_observations(entries: list[Entry], actions: Sequence[Any]) -> Iterator[Entry]:
    """Yield entries with the durations of the actions, and with the answers that the history does not have."""
    answered = {entry.id for entry in entries if isinstance(entry, ToolResult)}
    calls = [entry.id for entry in entries if isinstance(entry, ToolCall)]
    # Only if there is an action for each call, their places say which belong together.
    by_id = dict(zip(calls, actions, strict=True)) if len(calls) == len(actions) else {}
    for entry in entries:
        action = by_id.get(entry.id) if isinstance(entry, ToolCall | ToolResult) else None
        if not isinstance(action, dict):
            yield entry
            continue
        timed = finite(action.get("execution_time"))
        if isinstance(entry, ToolResult):
            yield replace(entry, seconds=timed)
            continue
        yield entry
        observation = action.get("observation")
        if isinstance(entry, ToolCall) and entry.id not in answered and isinstance(observation, str):
            yield ToolResult(entry.name, observation, entry.id, is_error=is_failure(observation), seconds=timed)


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(text_at(part, "text") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
