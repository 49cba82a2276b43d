"""Read the output of `gemini --output-format stream-json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairtrial.formats.chats.assembly import number_at, object_at, response, result, text_at
from fairtrial.formats.coding_agents.stream import Stream, StreamEnd, stream_recording
from fairtrial.formats.message_entries import Entry, UserMessage, read_arguments
from fairtrial.records.trace import Message, ToolCall, Usage

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.records.attempt import Recording

KIND = "gemini --output-format stream-json"
_NO_PROMPT = "the output of gemini does not hold the prompt"
_EVENT_TYPES = ("init", "message", "tool_use", "tool_result", "error", "result")


def is_line(value: Any) -> bool:
    """Whether a line begins such an output, or is an event of it with a mark of its own."""
    if not isinstance(value, dict) or "timestamp" not in value:
        return False
    kind = value.get("type")
    is_init = kind == "init" and "session_id" in value and "model" in value
    return is_init or (kind in ("tool_use", "tool_result") and "tool_id" in value)


def read_output(lines: Sequence[Any], reading: Diagnostics, stem: str) -> Recording:
    """Return the conversation. The pieces of a message are joined."""
    return stream_recording(read_stream(lines, reading), stem, _NO_PROMPT)


def read_stream(lines: Sequence[Any], reading: Diagnostics) -> Stream:
    """Return the entries and the end of an output."""
    entries: list[Entry] = []
    session, model, end, failure = "", "", StreamEnd(), ""
    for place, line in enumerate(lines):
        if not isinstance(line, dict):
            continue
        kind = line.get("type")
        if kind == "init":
            session, model = text_at(line, "session_id"), text_at(line, "model")
        elif kind == "message":
            _add_message(entries, line, model)
        elif kind == "tool_use":
            args = read_arguments(line.get("parameters"))
            entries.append(ToolCall(text_at(line, "tool_name"), args, text_at(line, "tool_id"), model=model))
        elif kind == "tool_result":
            failed = True if line.get("status") == "error" else None
            answer = line.get("output") if line.get("output") is not None else line.get("error")
            entries.append(result("", response(answer), text_at(line, "tool_id"), stated=failed))
        elif kind == "error":
            failure = text_at(line, "message") if line.get("severity") != "warning" else failure
        elif kind == "result":
            end = _end(line, failure)
            entries.append(_usage(object_at(line, "stats"), model))
        else:
            reading.error(
                ((), place), f"is an event of the type {kind!r:.40}, which is not read; known are {_EVENT_TYPES}"
            )
    return Stream(entries, session, (), end)


def _add_message(entries: list[Entry], line: dict[str, Any], model: str) -> None:
    text = text_at(line, "content")
    if line.get("role") == "user":
        entries.append(UserMessage(Message(text)))
    elif line.get("delta") is True and entries and isinstance(entries[-1], Message):
        entries[-1] = Message(entries[-1].text + text, model=model)
    elif text:
        entries.append(Message(text, model=model))


def _usage(stats: dict[str, Any], model: str) -> Usage:
    return Usage(
        number_at(stats, "input_tokens"),
        number_at(stats, "output_tokens"),
        cached_input_tokens=number_at(stats, "cached"),
        model=model,
    )


def _end(line: dict[str, Any], failure: str) -> StreamEnd:
    if line.get("status") != "error":
        return StreamEnd(is_whole=True)
    cause = text_at(object_at(line, "error"), "message") or failure or "the agent reports an error"
    return StreamEnd(is_whole=True, failure=cause, is_outage=True)
