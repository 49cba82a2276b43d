"""Read mini-swe-agent trajectories. Their observations have the role of the user."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.formats.accounting import account, note_unread_leaf, with_unread
from fairtrial.formats.chats.assembly import (
    assemble,
    object_at,
    text_at,
    thoughts,
)
from fairtrial.formats.message_entries import Entry, Instruction, UserMessage, read_arguments
from fairtrial.formats.messages import extract_text
from fairtrial.formats.tool_failures import is_failure
from fairtrial.records.attempt import EndedBy, Recording
from fairtrial.records.trace import Message, ToolCall, ToolResult

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

KIND = "mini-swe-agent trajectory"
_TOOL = "bash"
_ROLES = ("system", "user", "assistant", "tool", "exit")
_COMMAND = re.compile(r"```(?:bash|sh|mswea_bash_command)\s*\n(.*?)\n?```", re.DOTALL)
_TAGGED = re.compile(r"<mswea_bash_command>(.*?)</mswea_bash_command>", re.DOTALL)
_ASKS = re.compile(r"exactly one|format|provide|action", re.IGNORECASE)
"""The words of a message that asks for a call, because the answer of the model holds none."""
_LIMITS = "LimitsExceeded"
"""The exit status of a run that a limit ended."""


def is_trajectory(value: Any) -> bool:
    """Whether a document is a trajectory of mini-swe-agent, which names its format."""
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return False
    is_named = text_at(value, "trajectory_format").startswith("mini-swe-agent")
    return is_named or {"exit_status", "submission"} <= object_at(value, "info").keys()


def read_trajectory(whole: dict[str, Any], reading: Diagnostics, stem: str) -> Recording:
    """Return the run of the agent as one invocation. The first message of the user is the task."""
    trace = with_unread(assemble(_entries(whole["messages"], reading), "", ()), reading)
    info = object_at(whole, "info")
    kept = {key: info[key] for key in ("exit_status", "submission", "model_stats") if key in info}
    name = text_at(whole, "instance_id") or stem
    ended_by: EndedBy = "cap" if text_at(info, "exit_status") == _LIMITS else "script"
    return Recording(name, replace(trace, session_id=name, extra=kept or None), ended_by=ended_by)


def _entries(messages: Sequence[Any], reading: Diagnostics) -> Iterator[Entry]:
    waiting: list[ToolCall] = []
    has_begun = False
    for i, message in enumerate(messages):
        at: Place = (((), "messages"), i)
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            reading.wrong_type(at, f"a message with a role of {', '.join(_ROLES)}", message)
            continue
        role, text = message["role"], extract_text(message.get("content"), (at, "content"), reading)
        if role == "system":
            yield Instruction(text)
            continue
        entries: list[Entry] = []
        if role == "assistant":
            has_begun = True
            waiting = list(_calls(message, text, i))
            entries += [*(thoughts(text) if waiting else [Message(text)]), *waiting]
        elif not has_begun or "interrupt_type" in object_at(message, "extra"):
            entries.append(UserMessage(Message(text)))
        elif role != "exit":
            entries += _observation(message, text, waiting)
            if not entries and not _ASKS.search(text):
                note_unread_leaf((at, "content"), reading)
        yield from account(message, entries, at, reading) if entries else ()


def _calls(message: dict[str, Any], text: str, number: int) -> Iterator[ToolCall]:
    """Yield the commands of a message: the calls of the model, else the actions, else the block of code in the text."""
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        for call in calls:
            function = object_at(call, "function") if isinstance(call, dict) else {}
            name, call_id = text_at(function, "name") or _TOOL, text_at(call, "id") if isinstance(call, dict) else ""
            yield ToolCall(name, read_arguments(function.get("arguments")), call_id or f"step-{number}")
        return
    actions = object_at(message, "extra").get("actions")
    items = actions if isinstance(actions, list) else ()
    commands = [text_at(action, "command") for action in items if isinstance(action, dict)]
    commands = commands or _TAGGED.findall(text) or _COMMAND.findall(text)
    for place, command in enumerate(commands):
        call = ToolCall(_TOOL, {"command": command.strip()}, f"step-{number}-{place}")
        yield call if command else replace(call, args={}, withheld="the action holds no command")


def _observation(message: dict[str, Any], text: str, waiting: list[ToolCall]) -> Iterator[ToolResult]:
    """Yield the answer to the call that a message names, or else to the oldest call. Other messages ask for a call."""
    call_id = text_at(message, "tool_call_id")
    call = next((call for call in waiting if call.id == call_id), next(iter(waiting), None))
    if call is not None:
        waiting.remove(call)
        code = object_at(message, "extra").get("returncode")
        failed = is_failure(text) or (isinstance(code, int) and code != 0)
        yield ToolResult(call.name, text, call.id, is_error=failed)
