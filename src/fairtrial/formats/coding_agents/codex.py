"""Read Codex sessions, and the output of `codex exec --json`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.formats.accounting import with_unread
from fairtrial.formats.chats.assembly import (
    assemble,
    number_at,
    object_at,
    result,
    text_at,
    thoughts,
)
from fairtrial.formats.chats.responses_items import RESPONSES
from fairtrial.formats.coding_agents.told_twice import find_lost_call, find_lost_text
from fairtrial.formats.message_entries import Entry, Instruction, UserMessage, read_arguments, read_response
from fairtrial.formats.timestamps import read_seconds, with_durations
from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.trace import Invocation, Message, Step, ToolCall, ToolResult, Trace, Usage, incomplete_trace

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place
    from fairtrial.records.record import Json

_SESSION_TYPES = ("session_meta", "response_item", "turn_context", "event_msg", "compacted")
_EXEC_TYPES = ("thread.started", "turn.started", "item.started", "item.updated", "item.completed")
_SILENT = ("ghost_snapshot", "compaction", "other")
"""Items of a session that are neither messages nor actions."""
_CONTEXT = ("<environment_context>", "<user_instructions>", "<turn_aborted>", "# AGENTS.md instructions")
"""The beginnings of texts with the role of the user that Codex itself writes."""
_NO_ITEMS = "holds events of Codex and no response_item, so that its texts and calls are not whole"
_CUT = "the session of Codex has no session_meta record, so that its beginning may be missing"
_NO_TURNS = "does not say where its turns begin; each text of the user after an answer counts as a turn"
_NO_USER = UserMessage(Message("", withheld="the session of Codex does not hold the text of the user"))
_EXIT_CODE = re.compile(r"^Process exited with code (-?\d+)$", re.MULTILINE)
_NO_PROMPT = (
    "codex exec --json does not write the prompt; score the session instead, a file rollout-*.jsonl in the folder "
    "sessions of CODEX_HOME"
)


def is_session_line(value: Any) -> bool:
    """Whether a line belongs to the file of a session (`rollout-*.jsonl`)."""
    return isinstance(value, dict) and value.get("type") in _SESSION_TYPES and isinstance(value.get("payload"), dict)


def is_exec_line(value: Any) -> bool:
    """Whether a line belongs to the output of `codex exec --json`."""
    return isinstance(value, dict) and value.get("type") in _EXEC_TYPES and "payload" not in value


@dataclass
class _Turn:
    """The entries of one turn, its messages of the user, and the error that ended it, or an empty text."""

    id: str = ""
    error: str = ""
    users: list[UserMessage] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)


def read_session(lines: Sequence[Any], reading: Diagnostics, stem: str) -> Recording:
    """Return the conversation of a session. Codex names the turns, so that each turn is an invocation.

    Response items count. Events repeat them, and only give the tokens of older versions.
    """
    items = [(i, line) for i, line in enumerate(lines) if isinstance(line, dict)]
    meta = next((object_at(line, "payload") for _, line in items if line.get("type") == "session_meta"), {})
    kinds = {line.get("type") for _, line in items}
    turns = _Turns(reading, [line for _, line in items])
    if turns.texts and "response_item" not in kinds:
        reading.error((), _NO_ITEMS)
    for i, line in items:
        turns.add(line, ((), i))
    instructions = [text_at(object_at(meta, "base_instructions"), "text"), *turns.instructions]
    invocations = [invocation for turn in turns.turns for invocation in _invocations(turn)]
    broken = turns.turns[-1].error if turns.turns else ""
    if broken and invocations:
        invocations[-1] = replace(invocations[-1], final_response=None)
    trace = _with_instructions(with_durations(Trace(tuple(invocations))), "\n".join(filter(None, instructions)))
    reason = _find_lost(trace, items) or turns.find_lost_tokens() if turns.turns else ""
    trace = incomplete_trace(with_unread(trace, reading), reason)
    name = text_at(meta, "id") or stem
    extra = {key: meta[key] for key in ("cwd", "cli_version", "originator", "git") if meta.get(key)}
    trace = replace(trace, session_id=name, extra=extra or None, broken=broken)
    if "session_meta" not in kinds:
        reading.warning((), _CUT)
        trace = incomplete_trace(trace, _CUT)
    if not broken:
        return Recording(name, trace)
    return Recording(name, trace, failure=Failure("infrastructure", broken), ended_by="failure")


def _find_lost(trace: Trace, items: Sequence[tuple[int, dict[str, Any]]]) -> str:
    """Return the reason if an event holds a text or a call of the agent that no item of the session holds."""
    texts: list[tuple[str, str]] = []
    calls: list[tuple[str, str]] = []
    for i, line in items:
        if line.get("type") != "event_msg":
            continue
        payload = object_at(line, "payload")
        kind = payload.get("type")
        if kind == "agent_message":
            texts.append((f"/{i}/payload/message", text_at(payload, "message")))
        elif kind == "task_complete":
            texts.append((f"/{i}/payload/last_agent_message", text_at(payload, "last_agent_message")))
        elif kind == "item_completed" and object_at(payload, "item").get("type") == "AgentMessage":
            content = object_at(payload, "item").get("content")
            parts = [part for part in (content if isinstance(content, list) else ()) if isinstance(part, dict)]
            texts.append((f"/{i}/payload/item/content", "".join(text_at(part, "text") for part in parts)))
        elif kind == "mcp_tool_call_end":
            calls.append((f"/{i}/payload/call_id", text_at(payload, "call_id")))
    return find_lost_text(trace, texts) or find_lost_call(trace, calls)


def _invocations(turn: _Turn) -> Iterator[Invocation]:
    """Yield the invocation of a turn. If an error ended the turn, its last message is not the reply."""
    has_steps = any(not isinstance(entry, Usage) for entry in turn.entries)
    users = turn.users or ([_NO_USER] if has_steps else [])
    for invocation in assemble([*users, *turn.entries], "", ()).invocations:
        complete = replace(invocation, id=turn.id)
        if turn.error:
            messages = filter(None, [invocation.final_response])
            unknown = Message("", withheld=f"the turn ended in an error: {turn.error}")
            complete = replace(complete, steps=(*(invocation.steps or ()), *messages), final_response=unknown)
        yield complete


def _cause(error: Any) -> str:
    """Return the code and the message of an error, which is an object or a text."""
    if not isinstance(error, dict):
        return str(error)
    info = error.get("codex_error_info")
    code = info if isinstance(info, str) else ""
    return ": ".join(filter(None, (code, text_at(error, "message")))) or "an error"


def _with_instructions(trace: Trace, instructions: str) -> Trace:
    if not trace.invocations or not instructions:
        return trace
    about = assemble([Instruction(instructions), UserMessage(Message(""))], "", ()).invocations[0].about
    return replace(trace, invocations=(replace(trace.invocations[0], about=about), *trace.invocations[1:]))


class _Turns:
    """The turns of a session so far, line by line."""

    def __init__(self, reading: Diagnostics, lines: Sequence[dict[str, Any]]) -> None:
        self.turns: list[_Turn] = []
        self.instructions: list[str] = []
        self._reading = reading
        self._model = ""
        self._totals: Json = None
        self._counted = 0
        payloads = [(line.get("type"), object_at(line, "payload")) for line in lines]
        self._turn_ids = {text_at(payload, "turn_id") for kind, payload in payloads if kind == "turn_context"} - {""}
        events = [payload for kind, payload in payloads if kind == "event_msg"]
        self.texts = {text_at(event, "message").strip() for event in events if event.get("type") == "user_message"}
        starts = [event for event in events if event.get("type") == "task_started" and text_at(event, "turn_id")]
        # Older versions do not name the turns, and write the context of a turn behind the text of the user.
        self._has_ids = bool(self._turn_ids or starts)
        self._waits = bool(self._turn_ids)
        if not (self._has_ids or self.texts):
            reading.warning((), _NO_TURNS)
        self._has_records = any(line.get("type") == "token_usage_record" for line in lines)

    def add(self, line: dict[str, Any], at: Place) -> None:
        """Add a line."""
        kind, payload = line.get("type"), object_at(line, "payload")
        if kind == "turn_context":
            self._waits, self._model = False, text_at(payload, "model")
            self._turn(text_at(payload, "turn_id"))
        elif kind == "response_item":
            self._add_item(payload, (at, "payload"), read_seconds(line.get("timestamp")))
        elif kind == "token_usage_record":
            self._add_usage(object_at(payload, "usage"))
        elif kind == "event_msg":
            self._add_event(payload)

    def _turn(self, turn_id: str) -> _Turn:
        """Return the turn with an id, which is the last one, or a new one."""
        if not self.turns or (turn_id and self.turns[-1].id != turn_id):
            self.turns.append(_Turn(turn_id))
        return self.turns[-1]

    def _is_said(self, text: str) -> bool:
        """Whether the user said a text. Codex itself writes others, and older versions repeat the user's as events."""
        if self._waits or text.startswith(_CONTEXT):
            return False
        return self._has_ids or not self.texts or any(said in text for said in self.texts)

    def _turn_of_user(self) -> _Turn:
        """Return the turn of the next text of the user. Without ids, it is a new turn after an answer."""
        entries = [] if self._has_ids or not self.turns else self.turns[-1].entries
        last = next((entry for entry in reversed(entries) if not isinstance(entry, Usage)), None)
        if isinstance(last, Message):
            self.turns.append(_Turn())
        return self._turn("")

    def _add_event(self, payload: dict[str, Any]) -> None:
        if payload.get("type") == "task_started":
            # What comes before the context of the turn is written by Codex, for example a changed folder.
            turn_id = text_at(payload, "turn_id")
            self._waits = turn_id in self._turn_ids
            if turn_id and not self._waits:
                self._turn(turn_id)
        elif payload.get("type") == "error":
            self._turn("").error = _cause(payload)
        elif payload.get("type") == "task_complete":
            error = payload.get("error")
            turn = self._turn(text_at(payload, "turn_id"))
            if error:
                turn.error = _cause(error)
            elif payload.get("last_agent_message"):
                turn.error = ""  # the agent went on after an error
        elif payload.get("type") == "token_count" and not self._has_records:
            info = object_at(payload, "info")
            if info and info.get("total_token_usage") != self._totals:  # the same count is often repeated
                self._totals = info.get("total_token_usage")
                self._counted += number_at(object_at(info, "last_token_usage"), "total_tokens") or 0
                self._add_usage(object_at(info, "last_token_usage"))

    def find_lost_tokens(self) -> str:
        """Return the reason if the session counts more tokens than its model calls have, or an empty text."""
        total = number_at(self._totals, "total_tokens") if isinstance(self._totals, dict) else None
        if total is None or total <= self._counted:
            return ""
        return f"the session counts {total} tokens, and its model calls {self._counted}"

    def _add_usage(self, usage: dict[str, Any]) -> None:
        self._turn("").entries.append(_usage(usage, self._model))

    def _add_item(self, payload: dict[str, Any], at: Place, started: float | None) -> None:
        if payload.get("type") in _SILENT:
            return
        for entry in RESPONSES.entries(payload, at, self._reading):
            if isinstance(entry, Instruction):
                self.instructions.append(entry.text)
            elif isinstance(entry, UserMessage):
                if self._is_said(entry.message.text):
                    self._turn_of_user().users.append(UserMessage(replace(entry.message, started=started)))
            elif isinstance(entry, Usage):
                self._turn("").entries.append(entry)
            else:
                self._turn("").entries.append(replace(_with_exit_code(entry), started=started))


def _with_exit_code(step: Step) -> Step:
    """Return a step. The result of a command says its exit code in its text, or in older versions in its JSON."""
    if not isinstance(step, ToolResult):
        return step
    response = step.response
    code: Json = None
    if isinstance(response, str) and (match := _EXIT_CODE.search(response)) is not None:
        code = int(match.group(1))
    elif isinstance(response, dict):
        code = number_at(object_at(response, "metadata"), "exit_code")
    return step if code is None else replace(step, is_error=code != 0)


def _usage(usage: dict[str, Any], model: str) -> Usage:
    return Usage(
        number_at(usage, "input_tokens"),
        number_at(usage, "output_tokens"),
        number_at(usage, "reasoning_output_tokens"),
        number_at(usage, "cached_input_tokens"),
        model,
    )


def read_exec(lines: Sequence[Any], reading: Diagnostics, stem: str) -> Recording:
    """Return the conversation in the output of `codex exec --json`. Its prompts are not recorded.

    The tokens are those of a whole turn, so that they are not the usage of a model call. They stay in `extra`.
    """
    name, failure, tokens = stem, "", []
    turns: list[list[Entry]] = []
    for i, line in enumerate(lines):
        kind = line.get("type") if isinstance(line, dict) else None
        if kind == "thread.started":
            name = text_at(line, "thread_id") or stem
        elif kind == "turn.started":
            turns.append([UserMessage(Message("", withheld=_NO_PROMPT))])
        elif kind == "turn.completed":
            tokens.append(line.get("usage"))
        elif kind in ("turn.failed", "error"):
            failure = text_at(object_at(line, "error"), "message") or text_at(line, "message") or "the turn failed"
        elif turns and kind in ("item.started", "item.completed"):
            turns[-1] += _item(object_at(line, "item"), kind == "item.completed", ((), i), reading)
    invocations: list[Invocation] = []
    for turn in turns:
        invocations += assemble(_without_doubles(turn), "", ()).invocations
    broken = failure if failure and not (invocations and invocations[-1].final_response) else ""
    trace = Trace(tuple(invocations), name, broken=broken, extra={"usage_of_turns": tokens} if tokens else None)
    return Recording(
        name,
        trace,
        failure=Failure("infrastructure", broken) if broken else None,
        ended_by="failure" if broken else "script",
    )


def _without_doubles(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield entries with each call once: it is there when it starts, and again when it is complete."""
    places = {entry.id: place for place, entry in enumerate(entries) if isinstance(entry, ToolCall)}
    first: set[str] = set()
    for entry in entries:
        if not isinstance(entry, ToolCall):
            yield entry
        elif entry.id not in first:
            first.add(entry.id)
            complete = entries[places[entry.id]]
            yield complete if isinstance(complete, ToolCall) else entry


def _item(item: dict[str, Any], is_complete: bool, at: Place, reading: Diagnostics) -> list[Step]:
    kind, item_id = text_at(item, "type"), text_at(item, "id")
    if kind == "agent_message":
        return [Message(text_at(item, "text"))] if is_complete else []
    if kind == "reasoning":
        return thoughts(item.get("text")) if is_complete else []
    if kind in ("error", "todo_list"):
        return []
    reader = _CALLS.get(kind)
    if reader is None:
        known = ("agent_message", "reasoning", "error", "todo_list", *_CALLS)
        reading.error((at, "item"), f"is an item of the type {kind!r}, which is not read; known are {', '.join(known)}")
        return []
    name, args, response = reader(item)
    call = ToolCall(name, args, item_id)
    if not is_complete:
        return [call]
    failed = text_at(item, "status") == "failed" or bool(item.get("error")) or None
    return [call, result(name, response, item_id, stated=failed)]


def _command(item: dict[str, Any]) -> tuple[str, dict[str, Any], Json]:
    return "command_execution", {"command": item.get("command")}, text_at(item, "aggregated_output")


def _file_change(item: dict[str, Any]) -> tuple[str, dict[str, Any], Json]:
    return "file_change", {"changes": item.get("changes")}, {"status": item.get("status")}


def _tool(item: dict[str, Any]) -> tuple[str, dict[str, Any], Json]:
    answer = item.get("result") if item.get("result") is not None else item.get("error")
    content = answer.get("content") if isinstance(answer, dict) else None
    if isinstance(content, list) and content and all(isinstance(part, dict) and "text" in part for part in content):
        answer = read_response("\n".join(text_at(part, "text") for part in content))
    return text_at(item, "tool"), read_arguments(item.get("arguments")), answer


def _search(item: dict[str, Any]) -> tuple[str, dict[str, Any], Json]:
    return "web_search", {"query": item.get("query")}, item.get("results")


_CALLS = {
    "command_execution": _command,
    "file_change": _file_change,
    "mcp_tool_call": _tool,
    "web_search": _search,
}
