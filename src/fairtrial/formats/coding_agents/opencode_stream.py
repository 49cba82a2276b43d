"""Read the output of `opencode run --format json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairtrial.formats.chats.assembly import number_at, object_at, response, result, text_at, thoughts
from fairtrial.formats.coding_agents.stream import Stream, StreamEnd, stream_recording
from fairtrial.formats.message_entries import read_arguments
from fairtrial.records.trace import Message, ToolCall, Usage

if TYPE_CHECKING:
    from fairtrial.formats.message_entries import Entry
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.records.attempt import Recording

KIND = "opencode run --format json"
_NO_PROMPT = "opencode run --format json does not write the prompt"
_SILENT = ("step_start", "start", "snapshot", "patch")
_EVENT_TYPES = ("text", "reasoning", "tool_use", "step_start", "step_finish", "error")


def is_line(value: Any) -> bool:
    """Whether a line belongs to such an output."""
    return isinstance(value, dict) and isinstance(value.get("sessionID"), str) and value.get("type") in _EVENT_TYPES


def read_output(lines: Sequence[Any], reading: Diagnostics, stem: str) -> Recording:
    """Return the conversation."""
    return stream_recording(read_stream(lines, reading), stem, _NO_PROMPT)


def read_stream(lines: Sequence[Any], reading: Diagnostics) -> Stream:
    """Return the entries and the end of an output. It is whole if its last step finished without another call."""
    entries: list[Entry] = []
    session, failure, reason, cost, priced = "", "", "", 0.0, False
    for place, line in enumerate(lines):
        if not isinstance(line, dict):
            continue
        kind, part = line.get("type"), object_at(line, "part")
        session = session or text_at(line, "sessionID")
        if kind == "text":
            entries.append(Message(text_at(part, "text")))
        elif kind == "reasoning":
            entries += thoughts(part.get("text"))
        elif kind == "tool_use":
            entries += _call(part)
        elif kind == "step_finish":
            reason = text_at(part, "reason")
            entries.append(_usage(object_at(part, "tokens")))
            if isinstance(part.get("cost"), int | float):
                cost, priced = cost + part["cost"], True
        elif kind == "error":
            error = object_at(line, "error")
            failure = (
                text_at(object_at(error, "data"), "message") or text_at(error, "name") or "an error without a text"
            )
        elif kind not in _SILENT:
            reading.error(
                ((), place), f"is an event of the type {kind!r:.40}, which is not read; known are {_EVENT_TYPES}"
            )
    is_whole = bool(failure) or reason not in ("", "tool-calls")
    return Stream(entries, session, (), StreamEnd(is_whole, failure, bool(failure), cost if priced else None))


def _call(part: dict[str, Any]) -> list[Entry]:
    state, call_id, name = object_at(part, "state"), text_at(part, "callID"), text_at(part, "tool")
    call = ToolCall(name, read_arguments(state.get("input")), call_id)
    if state.get("status") not in ("completed", "error"):
        return [call]
    failed = True if state.get("status") == "error" else None
    answer = state.get("output") if state.get("output") is not None else state.get("error")
    return [call, result(name, response(answer), call_id, stated=failed)]


def _usage(tokens: dict[str, Any]) -> Usage:
    cache = object_at(tokens, "cache")
    cache_read, cache_write, own = number_at(cache, "read"), number_at(cache, "write"), number_at(tokens, "input")
    total = None if own is None else own + (cache_read or 0) + (cache_write or 0)
    reasoning, output = number_at(tokens, "reasoning"), number_at(tokens, "output")
    return Usage(total, None if output is None else output + (reasoning or 0), reasoning, cache_read)
