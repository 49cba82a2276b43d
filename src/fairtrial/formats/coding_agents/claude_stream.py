"""Read the output of `claude -p --output-format stream-json`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.formats.chats.anthropic_messages import ANTHROPIC
from fairtrial.formats.chats.assembly import assemble, number_at, object_at, text_at
from fairtrial.formats.coding_agents.stream import Stream, StreamEnd, stream_recording
from fairtrial.formats.message_entries import Entry, UserMessage
from fairtrial.records.trace import Message, Thought, ToolCall, ToolResult, Usage

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.records.attempt import Recording

KIND = "claude -p --output-format stream-json"
_NO_PROMPT = "claude -p --output-format stream-json does not write the prompt"
_SYNTHETIC = "<synthetic>"
_BUDGET = "error_max_budget_usd"
_API_ERROR = "API Error"


def is_line(value: Any) -> bool:
    """Whether a line belongs to such an output."""
    if not isinstance(value, dict) or not isinstance(value.get("session_id"), str) or "uuid" not in value:
        return False
    kind = value.get("type")
    is_message = kind in ("assistant", "user") and "parent_tool_use_id" in value
    return (
        is_message or (kind == "system" and value.get("subtype") == "init") or (kind == "result" and "subtype" in value)
    )


def read_output(lines: Sequence[Any], reading: Diagnostics, stem: str) -> Recording:
    """Return the conversation. The work of agents that were called as tools is inside the results of their calls."""
    return stream_recording(read_stream(lines, reading), stem, _NO_PROMPT)


def read_stream(lines: Sequence[Any], reading: Diagnostics) -> Stream:
    """Return the entries, the tools and the end of an output."""
    session, waiting, end = "", "", StreamEnd()
    tools: tuple[str, ...] = ()
    own: list[tuple[int, dict[str, Any]]] = []
    inner: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for place, line in enumerate(lines):
        if not isinstance(line, dict):
            continue
        kind, parent = line.get("type"), line.get("parent_tool_use_id")
        if kind == "system" and line.get("subtype") == "init":
            session = text_at(line, "session_id")
            names = line.get("tools")
            tools = tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()
        elif kind in ("assistant", "user"):
            (inner.setdefault(parent, []) if isinstance(parent, str) else own).append((place, line))
        elif kind == "result":
            end = _end(line)
        waiting = _retry(line) if kind == "system" and line.get("subtype") == "api_retry" else ""
    if not end.is_whole and waiting:
        end = StreamEnd(waiting=waiting)
    end = replace(end, loss=_find_lost_turn(lines, [line for _, line in own]))
    entries = [_with_work(entry, inner, reading) for entry in _entries(own, reading)]
    return Stream(entries, session, tools, end)


def _find_lost_turn(lines: Sequence[Any], own: Sequence[dict[str, Any]]) -> str:
    """Return the reason if the result counts more turns than the messages show, or an empty text.

    Version 2 counts the prompt, and each message of the user behind it: a message for each result of a tool, and those
    that hooks and skills add. Earlier versions count differently. A session with several prompts has several results.
    """
    starts = [line for line in lines if isinstance(line, dict) and line.get("subtype") == "init"]
    counts = [number_at(line, "num_turns") for line in lines if isinstance(line, dict) and line.get("type") == "result"]
    if not starts or not text_at(starts[0], "claude_code_version").startswith("2.") or len(counts) != 1:
        return ""
    shown = 1 + sum(line["type"] == "user" for line in own)
    turns = counts[0] or 0
    return f"the result at the end counts {turns} turns, and the messages show {shown}" if turns > shown else ""


def _with_work(entry: Entry, inner: dict[str, list[tuple[int, dict[str, Any]]]], reading: Diagnostics) -> Entry:
    lines = inner.pop(entry.id, None) if isinstance(entry, ToolResult) else None
    if not lines or not isinstance(entry, ToolResult):
        return entry
    return replace(entry, inner=assemble(_entries(lines, reading), "", ()))


def _entries(lines: Sequence[tuple[int, dict[str, Any]]], reading: Diagnostics) -> Iterator[Entry]:
    """Yield the entries of messages. The lines of one message of the model have one usage: that of the last of them."""
    last = {text_at(object_at(line, "message"), "id"): place for place, line in lines}
    for place, line in lines:
        message = object_at(line, "message")
        at = (((), place), "message")
        is_own = line.get("isSynthetic") is True
        for entry in ANTHROPIC.entries({"role": line["type"], **message}, at, reading):
            if isinstance(entry, UserMessage):
                if not is_own:
                    yield entry
            elif isinstance(entry, Message | Thought | ToolCall):
                yield replace(entry, model=text_at(message, "model"))
            else:
                yield entry
        model = text_at(message, "model")
        if line["type"] == "assistant" and model != _SYNTHETIC and last.get(text_at(message, "id")) == place:
            yield _usage(object_at(message, "usage"), model)


def _usage(usage: dict[str, Any], model: str) -> Usage:
    """Return the tokens of a message. Anthropic counts tokens of the cache beside the input."""
    cached, created = number_at(usage, "cache_read_input_tokens"), number_at(usage, "cache_creation_input_tokens")
    tokens = number_at(usage, "input_tokens")
    total = None if tokens is None else tokens + (cached or 0) + (created or 0)
    return Usage(total, number_at(usage, "output_tokens"), cached_input_tokens=cached, model=model)


def _retry(line: dict[str, Any]) -> str:
    return f"{_API_ERROR}: {line.get('error_status') or ''} {text_at(line, 'error')}".strip()


def _end(line: dict[str, Any]) -> StreamEnd:
    cost = line.get("total_cost_usd")
    dollars = float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None
    if line.get("is_error") is not True:
        denials = line.get("permission_denials")
        ids = [
            text_at(denial, "tool_use_id")
            for denial in (denials if isinstance(denials, list) else ())
            if isinstance(denial, dict)
        ]
        return StreamEnd(is_whole=True, cost=dollars, reply=text_at(line, "result"), denied=tuple(filter(None, ids)))
    text = text_at(line, "result") or text_at(line, "subtype") or "the agent reports an error"
    is_outage = (
        line.get("subtype") == _BUDGET or text.startswith(_API_ERROR) or isinstance(line.get("api_error_status"), int)
    )
    return StreamEnd(is_whole=True, failure=text, is_outage=is_outage, cost=dollars)
