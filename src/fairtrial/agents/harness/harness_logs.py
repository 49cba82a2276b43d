"""Read the log of a command-line agent: its steps and tokens, and the way in which it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from fairtrial.formats.chats.assembly import assemble, number_at, object_at, text_at
from fairtrial.formats.coding_agents import claude_stream, codex, gemini_stream, opencode_stream
from fairtrial.formats.coding_agents.stream import StreamEnd, StreamReader
from fairtrial.formats.reading import Diagnostics
from fairtrial.records.trace import Message, Usage

if TYPE_CHECKING:
    from fairtrial.agents.harness.harness_table import Log
    from fairtrial.protocols import Item

_STREAMS: dict[str, StreamReader] = {
    "claude": claude_stream.read_stream,
    "gemini": gemini_stream.read_stream,
    "opencode": opencode_stream.read_stream,
}


class HarnessLog(NamedTuple):
    """The content of a log: the steps and tokens of the agent in their order, its tools, and its end.

    `problems` are the parts of the log that are not read.
    """

    items: list[Item]
    tools: tuple[str, ...]
    end: StreamEnd
    problems: tuple[str, ...] = ()

    @property
    def is_silent(self) -> bool:
        """Whether a structured log holds no step of the model, although it has begun."""
        return not any(not isinstance(item, Usage) for item in self.items) and not self.end.is_whole


def read_log(data: bytes, kind: Log) -> HarnessLog:
    """Return the content of the output of a program. Lines that are not JSON are left out, as programs print notes."""
    if kind == "text":
        return HarnessLog([Message(data.decode(errors="replace").strip())], (), StreamEnd(is_whole=True))
    lines = [line for invocation in data.splitlines() if (line := _decode(invocation)) is not None]
    reading = Diagnostics(kind)
    if kind == "codex":
        return _codex(lines, reading)
    stream = _STREAMS[kind](lines, reading)
    invocations = assemble(stream.entries, "", ()).invocations
    usages = [entry for entry in stream.entries if isinstance(entry, Usage)]
    items = [
        item
        for invocation in invocations
        for item in (*(invocation.steps or ()), *filter(None, (invocation.final_response,)))
    ]
    opening = assemble(stream.entries, "", ()).opening
    return HarnessLog([*usages, *opening, *items], stream.tools, stream.end, tuple(reading.errors))


def _codex(lines: Sequence[dict[str, Any]], reading: Diagnostics) -> HarnessLog:
    recording = codex.read_exec(lines, reading, "codex")
    items: list[Item] = []
    for line in lines:
        if line.get("type") == "turn.completed":
            usage = object_at(line, "usage")
            cached = number_at(usage, "cached_input_tokens")
            reasoning = number_at(usage, "reasoning_output_tokens")
            tokens = number_at(usage, "input_tokens"), number_at(usage, "output_tokens")
            items.append(Usage(*tokens, reasoning, cached))
    for invocation in recording.trace.invocations:
        items += [*(invocation.steps or ()), *filter(None, (invocation.final_response,))]
    is_complete = any(line.get("type") in ("turn.completed", "turn.failed") for line in lines)
    failure = recording.trace.broken
    waiting = "" if is_complete or not lines or lines[-1].get("type") != "error" else text_at(lines[-1], "message")
    return HarnessLog(items, (), StreamEnd(is_complete, failure, bool(failure), None, waiting), tuple(reading.errors))


def _decode(line: bytes) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
