"""Read Claude Code sessions. Their lines are a tree, and sub-agent files stand beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from fairtrial.formats.accounting import with_unread
from fairtrial.formats.chats.anthropic_messages import ANTHROPIC
from fairtrial.formats.chats.assembly import (
    assemble,
    number_at,
    object_at,
    text_at,
)
from fairtrial.formats.message_entries import Entry, UserMessage
from fairtrial.formats.record_order import find_disorder
from fairtrial.formats.timestamps import read_seconds, with_durations
from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.trace import Invocation, Message, Thought, ToolCall, ToolResult, Trace, Usage, incomplete_trace
from fairtrial.text.display import count

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

KIND = "Claude Code session"
_SYNTHETIC = "<synthetic>"
"""The model of messages that Claude Code itself writes, for example about an error of the API."""
_NO_USER = (
    "<command-name>",
    "<command-message>",
    "<local-command-",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
    "[Request interrupted by user",
    "Caveat: The messages below were generated",
)
"""The beginnings of texts with the role of the user that are commands, their output, or notes."""
_BESIDE = ("<ide_opened_file>", "<ide_selection>", "<ide_diagnostics>", "<system-reminder>")
"""The beginnings of parts that Claude Code adds to a message of the user."""


class _Line(NamedTuple):
    """A line of a session, with its place among the lines."""

    place: int
    fields: dict[str, Any]

    @property
    def id(self) -> str:
        return text_at(self.fields, "uuid")

    @property
    def message(self) -> dict[str, Any]:
        return object_at(self.fields, "message")

    @property
    def parts(self) -> list[dict[str, Any]]:
        content = self.message.get("content")
        return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []

    def collect_ids(self, kind: str, key: str) -> list[str]:
        """Return the ids in parts of a type, for example of the calls in a message."""
        return [text_at(part, key) for part in self.parts if part.get("type") == kind and text_at(part, key)]


def is_line(value: Any) -> bool:
    """Whether a value is a message of a session. Other lines have no mark of their own."""
    return isinstance(value, dict) and {"sessionId", "uuid", "parentUuid", "isSidechain"} <= value.keys()


def read_session(
    lines: Sequence[Any], reading: Diagnostics, stem: str
) -> tuple[tuple[Recording, ...], tuple[Recording, ...]]:
    """Return the conversation that the last line belongs to, and the recordings of abandoned branches.

    Lines of sidechains are the work of agents that were called as tools. They are inside the results of their calls.
    """
    messages = [_Line(i, line) for i, line in enumerate(lines) if isinstance(line, dict) and text_at(line, "uuid")]
    main = [line for line in messages if line.fields.get("isSidechain") is not True]
    sidechains = [line for line in messages if line.fields.get("isSidechain") is True]
    if not main:  # the file of an agent, given alone
        main, sidechains = sidechains, []
    disorder = find_disorder(line.fields for line in messages) or _find_gap(main, messages)
    agents = _Agents(sidechains, messages, reading)
    recordings: list[Recording] = []
    for number, branch in enumerate(_branches(main)):
        session = next((text_at(line.fields, "sessionId") for line in reversed(branch)), "") or stem
        name = session if number == 0 else f"{session}-branch-{number}"
        recording = _recording(branch, name, session, agents, reading)
        recordings.append(replace(recording, trace=incomplete_trace(recording.trace, disorder)))
    if agents.groups:
        reading.warning((), f"left out {count(len(agents.groups), 'agent')} of tools without a call in this file")
    abandoned = tuple(recordings[1:])
    if abandoned:
        turns = sum(_own_turns(branch, recordings[0]) for branch in abandoned)
        branches = "1 abandoned branch" if len(abandoned) == 1 else f"{len(abandoned)} abandoned branches"
        reading.warning(
            (),
            f"holds {branches} with {count(turns, 'invocation')} outside of the conversation; "
            "with --branches all, each branch is a recording",
        )
    return tuple(recordings[:1]), abandoned


def _find_gap(main: Sequence[_Line], lines: Sequence[_Line]) -> str:
    """Return the reason if a line follows one that is missing, or that stands behind it."""
    places = {line.id: line.place for line in lines}
    for line in main:
        parent = text_at(line.fields, "parentUuid")
        if parent and places.get(parent, line.place) >= line.place:
            return f"/{line.place}/parentUuid names no line before it"
    return ""


def _own_turns(branch: Recording, main: Recording) -> int:
    """Return the number of invocations that a branch does not share with the conversation."""
    shared = set(map(_identity, main.trace.invocations))
    return sum(_identity(invocation) not in shared for invocation in branch.trace.invocations)


def _identity(invocation: Invocation) -> tuple[str, float | None, str]:
    return invocation.query, invocation.user.started, invocation.reply


def _branches(lines: Sequence[_Line]) -> list[list[_Line]]:
    """Return the branches of the tree, each from its root, the branch of the last line first.

    Calls that ran in parallel and their results lie beside the path to the root, and still belong to the branch.
    """
    by_id = {line.id: line for line in lines}
    parents = {text_at(line.fields, "parentUuid") for line in lines}
    dialogue = [line for line in lines if line.fields.get("type") in ("user", "assistant")]
    # The last line comes first, even if lines that name each other in a circle leave no line at the end.
    leaves = [*lines[-1:], *(line for line in reversed(lines) if line.id not in parents)]
    branches: list[list[_Line]] = []
    covered: set[str] = set()
    for leaf in leaves:
        if leaf.id not in covered:
            ids = _with_neighbours(_path(leaf, by_id), dialogue)
            branch = [line for line in dialogue if line.id in ids]
            if any(line.id not in covered for line in branch):
                branches.append(branch)
            covered |= ids
    return branches


def _with_neighbours(ids: set[str], dialogue: Sequence[_Line]) -> set[str]:
    """Return the ids of a path with the other lines of its messages, and with the results of their calls."""
    messages = {text_at(line.message, "id") for line in dialogue if line.id in ids} - {""}
    ids = ids | {line.id for line in dialogue if text_at(line.message, "id") in messages}
    calls = {call_id for line in dialogue if line.id in ids for call_id in line.collect_ids("tool_use", "id")}
    return ids | {line.id for line in dialogue if not calls.isdisjoint(line.collect_ids("tool_result", "tool_use_id"))}


def _path(leaf: _Line, by_id: dict[str, _Line]) -> set[str]:
    """Return the ids on the way from a line to its root. A cycle ends where it began."""
    ids: set[str] = set()
    line: _Line | None = leaf
    while line is not None and line.id not in ids:
        ids.add(line.id)
        # A compaction starts a new tree, and names the line before it.
        line = by_id.get(text_at(line.fields, "parentUuid") or text_at(line.fields, "logicalParentUuid"))
    return ids


class _Agents:
    """The sidechains that no call has taken yet, by the id of their agent or of their first line."""

    def __init__(self, sidechains: Sequence[_Line], lines: Sequence[_Line], reading: Diagnostics) -> None:
        self.groups: dict[str, list[_Line]] = {}
        self._reading = reading
        by_id = {line.id: line for line in sidechains}
        for line in sidechains:
            roots = [line_id for line_id in _path(line, by_id) if not text_at(by_id[line_id].fields, "parentUuid")]
            key = text_at(line.fields, "agentId") or (roots[0] if roots else line.id)
            self.groups.setdefault(key, []).append(line)
        self._agent_of_call = {
            call_id: text_at(object_at(line.fields, "toolUseResult"), "agentId")
            for line in lines
            for call_id in line.collect_ids("tool_result", "tool_use_id")
        }

    def inside(self, call: ToolCall) -> Trace | None:
        """Return the work of the agent that a call started, or None. Each agent belongs to one call."""
        key = self._agent_of_call.get(call.id, "")
        if key not in self.groups:
            prompt = call.args.get("prompt")
            key = next((name for name, lines in self.groups.items() if prompt and _text(lines[0]) == prompt), "")
        lines = self.groups.pop(key, None)
        return None if lines is None else _trace(lines, self, self._reading)


def _recording(branch: Sequence[_Line], name: str, session: str, agents: _Agents, reading: Diagnostics) -> Recording:
    last, first = branch[-1], branch[0]
    cause = _text(last) if last.fields.get("isApiErrorMessage") is True else ""
    extra = {key: first.fields[key] for key in ("cwd", "version", "gitBranch") if first.fields.get(key)}
    trace = with_unread(_trace(branch, agents, reading), reading)
    trace = replace(trace, session_id=session, broken=cause, extra=extra or None)
    if not cause:
        return Recording(name, trace)
    return Recording(name, trace, failure=Failure("infrastructure", cause), ended_by="failure")


def _trace(lines: Sequence[_Line], agents: _Agents, reading: Diagnostics) -> Trace:
    """Return lines as invocations, with the work of agents inside the results of their calls."""
    trace = with_durations(assemble(_entries(lines, reading), "", ()))
    invocations = []
    for invocation in trace.invocations:
        calls = {call.id: call for call in invocation.tool_calls}
        steps = tuple(
            replace(step, inner=agents.inside(calls[step.id]))
            if isinstance(step, ToolResult) and step.id in calls
            else step
            for step in invocation.steps or ()
        )
        invocations.append(replace(invocation, steps=steps))
    return replace(trace, invocations=tuple(invocations))


def _entries(lines: Sequence[_Line], reading: Diagnostics) -> Iterator[Entry]:
    """Yield the entries of lines. The lines of one message of the model have one usage: that of the last of them."""
    last_of_message = {text_at(line.message, "id"): line.place for line in lines if text_at(line.message, "id")}
    for line in lines:
        at: Place = (((), line.place), "message")
        started = read_seconds(line.fields.get("timestamp"))
        if line.fields.get("type") == "assistant":
            model = text_at(line.message, "model")
            for entry in ANTHROPIC.entries(line.message, at, reading):
                if isinstance(entry, Message | Thought | ToolCall):
                    yield replace(entry, started=started, model=model)
                elif isinstance(entry, ToolResult):  # of a tool that the provider runs
                    yield replace(entry, started=started)
            if model != _SYNTHETIC and last_of_message.get(text_at(line.message, "id")) in (None, line.place):
                yield _usage(line.message, model)
        else:
            yield from _user(line, at, started, reading)


def _user(line: _Line, at: Place, started: float | None, reading: Diagnostics) -> Iterator[Entry]:
    """Yield the results and the message of the user in a line. What Claude Code adds itself is no turn."""
    fields = line.fields
    is_turn = not any(fields.get(key) is True for key in ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"))
    for entry in ANTHROPIC.entries(_own_message(line.message), at, reading):
        if isinstance(entry, ToolResult):
            yield replace(entry, started=started)
        elif isinstance(entry, UserMessage) and is_turn and not entry.message.text.startswith(_NO_USER):
            yield UserMessage(replace(entry.message, started=started))


def _own_message(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message without the parts that Claude Code added to it."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    parts = [part for part in content if not (isinstance(part, dict) and text_at(part, "text").startswith(_BESIDE))]
    return {**message, "content": parts}


def _text(line: _Line) -> str:
    content = line.message.get("content")
    return content if isinstance(content, str) else "\n".join(text_at(part, "text") for part in line.parts)


def _usage(message: dict[str, Any], model: str) -> Usage:
    """Return the tokens of a message. Anthropic counts tokens of the cache beside the input."""
    usage = object_at(message, "usage")
    cached, created = number_at(usage, "cache_read_input_tokens"), number_at(usage, "cache_creation_input_tokens")
    tokens = number_at(usage, "input_tokens")
    total = None if tokens is None else tokens + (cached or 0) + (created or 0)
    return Usage(total, number_at(usage, "output_tokens"), cached_input_tokens=cached, model=model)
