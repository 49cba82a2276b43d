"""Account for the leaves of messages: each leaf is used, known to carry nothing, or unread.

A list of keys that must not be lost never ends. So the values decide: a leaf of a message is used if its value stands
in an entry that the reader returned. The rest was not read, unless it is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from fairtrial.formats.known_keys import KNOWN_KEYS, KNOWN_NOTES, is_expectation, is_prose, prose_leaves
from fairtrial.formats.message_entries import Entry, Instruction, UserMessage
from fairtrial.formats.reading import Diagnostics, Place, pointer
from fairtrial.formats.value_shapes import call_names, count_calls
from fairtrial.records.trace import Message, Thought, ToolCall, ToolResult, Trace, incomplete_trace

_KNOWN_TYPES = frozenset(
    (
        *("step-start", "source", "source-url", "source-document", "redacted-reasoning", "redacted_thinking"),
        *("tool-approval-request", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "compaction"),
        *("non_standard", "input_json_delta", "tool_call_chunk", "remove", "ghost_snapshot", "encrypted_content"),
    )
)
"""The types of items and parts that are neither texts nor actions."""
_NAMES = frozenset(("name", "tool_name", "toolName", "tool"))
_OPENING = frozenset("{[")
_EMPTY_JSON = 2
"""The length of `{}` and of `[]`."""
_MOST_VALUES = 50
"""So many arguments and responses of a message are compared with those that stand there again."""
_MOST_SEARCHED = 1 << 26
"""So many characters of a message are searched for parts of texts. After that, a part counts as unread."""


class Unread(NamedTuple):
    """A leaf that was not read: its place, and whether it stands inside a part or a call of the message."""

    at: Place
    is_inside: bool


class UsedValues:
    """The values of entries. `texts` are their texts, `containers` the ids of objects that they keep as they are."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.texts: set[str] = set()
        self.json_texts: set[str] = set()
        self.values: list[Any] = []
        self.containers: set[int] = set()
        self.structures: set[int] = set()
        self.has_content = False
        self._searched = 0
        self._deep: list[Any] = []
        for entry in entries:
            kind = type(entry)
            if kind is ToolCall or kind is ToolResult:
                self.texts.add(entry.name)  # type: ignore[union-attr]
                self._add(entry.args if isinstance(entry, ToolCall) else entry.response)  # type: ignore[union-attr]
                self.has_content = True
            else:
                self._add_text(entry)
                self.has_content = self.has_content or has_content(entry)

    def _add_text(self, entry: Entry) -> None:
        message = entry.message if isinstance(entry, UserMessage) else entry
        if isinstance(message, Message | Thought | Instruction):
            self.texts.add(message.text)
            if message.text[:1] in _OPENING:
                self.json_texts.add(message.text)
        if isinstance(message, Message):
            for part in message.parts:
                self.texts.update((part.uri, part.data, part.name, part.mime_type))

    def _add(self, value: Any) -> None:
        if isinstance(value, str):
            self.texts.add(value)
        elif isinstance(value, dict | list):
            if value:
                self.structures.add(id(value))
                self.values.append(value)
            self.containers.add(id(value))
            for inner in value.values() if isinstance(value, dict) else value:
                if isinstance(inner, str):
                    self.texts.add(inner)
                elif isinstance(inner, dict | list):
                    self.containers.add(id(inner))
                    self._deep.append(inner)

    def all_texts(self) -> set[str]:
        """Return the texts in the entries, however deep."""
        while self._deep:
            value = self._deep.pop()
            for inner in value.values() if isinstance(value, dict) else value:
                if isinstance(inner, str):
                    self.texts.add(inner)
                elif isinstance(inner, dict | list):
                    self._deep.append(inner)
        return self.texts

    def holds(self, text: str) -> bool:
        """Whether a text, or a text that contains it, stands in the entries, however deep."""
        if text in self.all_texts():
            return True
        bare = text.strip()
        for own_text in self.texts:
            if len(own_text) >= len(bare):
                self._searched += len(own_text)
                if self._searched <= _MOST_SEARCHED and bare in own_text:
                    return True
        return False


class LeafWalk:
    """The leaves of a message that stand in no entry.

    A JSON text and the arguments of a call are compared by their number: as many must stand in the entries.
    """

    def __init__(self, entries: Sequence[Entry], is_known: Callable[[dict[str, Any]], bool] | None) -> None:
        self.unread: list[Unread] = []
        self._found: set[str] = set()
        self._found_structures: set[int] = set()
        self._structures = 0
        self._structure_at: Place = ()
        self._used = UsedValues(entries)
        self._is_known = is_known

    def read_message(self, message: dict[str, Any], at: Place) -> None:
        """Read a message. Of a message without any content, each text is content that was not read."""
        self._read_object(message, at, is_inside=False, is_needed=not self._used.has_content)
        available = len(self._used.structures - self._found_structures) + len(self._used.json_texts - self._found)
        if self._structures > available:
            self.unread.append(Unread(self._structure_at, is_inside=True))

    def _read_object(self, value: dict[str, Any], at: Place, *, is_inside: bool, is_needed: bool) -> None:
        """Read an object.

        If it `is_needed`, as a part or a call is, a short text counts as content if no text of the object was used.
        """
        short: list[Place] = []
        has_used = False
        is_call = is_inside and "content" not in value and (not _NAMES.isdisjoint(value) or _is_tool(value))
        for key, item in value.items():
            if key in KNOWN_KEYS or not item:
                continue
            place = (at, key)
            if type(item) is str:
                is_used = self._read_text(item, place, is_inside=is_inside)
                has_used = has_used or is_used
                if not (is_used or item[0] in "{[" or is_prose(item)):
                    short.append(place)
            elif type(item) is dict or type(item) is list:
                has_used = self._read_inner(item, place, is_call=is_call) or has_used
        if short and is_needed and not has_used:
            self.unread.append(Unread(short[0], is_inside))

    def _read_text(self, text: str, at: Place, *, is_inside: bool) -> bool:
        """Read a text, and return whether it was used."""
        if text[0] in "{[" and len(text) > _EMPTY_JSON:
            if text in self._used.texts:
                self._found.add(text)
                return True
            if self._used.holds(text):
                return True
            self._structures += 1
            self._structure_at = at
            return False
        bare = text.partition(",")[2] if text.startswith("data:") else text
        if bare in self._used.texts or self._used.holds(bare):
            return True
        if is_prose(text):
            self.unread.append(Unread(at, is_inside))
        return False

    def _read_inner(self, value: Any, at: Place, *, is_call: bool) -> bool:
        """Read a list or an object inside a message, and return whether an entry keeps it as it is."""
        if id(value) in self._used.containers:
            self._found_structures.add(id(value))
            return True
        if is_call and type(value) is dict and _NAMES.isdisjoint(value):
            if any(value == own for own in self._used.values[:_MOST_VALUES]):  # a call that stands there twice
                return True
            self._structures += 1
            self._structure_at = at
            return False
        if type(value) is dict:
            if not self._is_silent(value):
                kind = value.get("type", value.get("part_kind"))
                self._read_object(value, at, is_inside=True, is_needed=kind is not None)
            return False
        for i, item in enumerate(value):
            if type(item) is str:
                if item:
                    self._read_text(item, (at, i), is_inside=True)
            elif type(item) is dict or type(item) is list:
                self._read_inner(item, (at, i), is_call=False)
        return False

    def _is_silent(self, value: dict[str, Any]) -> bool:
        """Whether an object carries nothing: by its type, or because its dialect says so."""
        kind = value.get("type")
        if isinstance(kind, str) and (kind in _KNOWN_TYPES or kind.startswith("data-")):
            return True
        return self._is_known is not None and self._is_known(value)


def _is_tool(value: dict[str, Any]) -> bool:
    """Whether a part names its tool by its type, as `tool-get_order` does."""
    kind = value.get("type")
    return isinstance(kind, str) and kind.startswith("tool-")


def has_content(entry: Entry) -> bool:
    """Whether an entry holds a call, a result, a text or a part."""
    if isinstance(entry, ToolCall | ToolResult):
        return True
    message = entry.message if isinstance(entry, UserMessage) else entry
    if isinstance(message, Message):
        return bool(message.text or message.parts)
    return isinstance(message, Thought | Instruction) and bool(message.text)


Read = Callable[[dict[str, Any], Place, Diagnostics], Sequence[Entry]]
IsKnown = Callable[[dict[str, Any]], bool]
_AnyEntry = TypeVar("_AnyEntry", bound=Entry)

_PLAIN_KEYS = KNOWN_KEYS | {"content"}
_KEYS_OF_CALLS = _PLAIN_KEYS | {"tool_calls"}
_PLAIN_CALL = frozenset(("id", "type", "index", "function"))
_PLAIN_FUNCTION = frozenset(("name", "arguments"))
_PLAIN_PART = frozenset(("type", "text"))
_MOST_BESIDE = 100
"""So many texts beside a conversation are compared with it."""


def read_and_account(
    read: Read, message: dict[str, Any], at: Place, reading: Diagnostics, is_known: IsKnown | None = None
) -> Sequence[Entry]:
    """Return the entries that a reader finds in a message, and account for each leaf of the message.

    `is_known` says which objects inside a message carry nothing, beside those of all providers.
    """
    problems = len(reading.errors)
    entries = read(message, at, reading)
    if len(reading.errors) > problems:
        return entries
    return account(message, entries, at, reading, is_known=is_known)


def account(
    message: dict[str, Any],
    entries: Sequence[Entry],
    at: Place,
    reading: Diagnostics,
    *,
    is_known: IsKnown | None = None,
) -> Sequence[Entry]:
    """Return the entries of a message. Contents of it that were not read are noted, and withheld in the entries.

    If a leaf inside a part or a call was not read, the texts of the message are withheld, because they may be a part of
    what was said. A call without arguments and a result without a response are then not known, either.
    """
    walk = LeafWalk(entries, is_known)
    walk.read_message(message, at)
    unread = walk.unread
    if not unread and any(isinstance(entry, ToolCall) and not entry.name for entry in entries):
        unread = [Unread((at, "name"), is_inside=True)]
    reason = note_unread_leaf(unread[0].at, reading) if unread else ""
    if not reason:
        return entries
    is_inside = any(leaf.is_inside for leaf in unread)
    marked_entries = [_withhold(entry, reason, texts=is_inside) for entry in entries]
    if any(has_content(entry) or _is_withheld(entry) for entry in marked_entries):
        return marked_entries
    return [*(entry for entry in marked_entries if not isinstance(entry, Message)), *_gap(message, reason)]


def account_beside(beside: dict[str, Any] | list[Any], trace: Trace, at: Place, reading: Diagnostics) -> None:
    """Note the texts beside the messages of a conversation that stand nowhere in its trace, and are no notes."""
    leaves = list(islice(prose_leaves(beside, at), _MOST_BESIDE))
    texts = "\n".join(trace_texts(trace)) if leaves else ""
    for place, text in leaves:
        if text.strip() not in texts:
            note_unread_leaf(place, reading)
            break


def account_calls(source: Any, trace: Trace, reading: Diagnostics) -> None:
    """Note a source that holds more calls than its recording."""
    own = sum(len(invocation.tool_calls) for invocation in trace.invocations)
    named_calls = count_calls(source)
    if named_calls > own:
        note_unread_leaf(((), f"{named_calls - own} of {named_calls} calls"), reading)


def account_calls_beside(beside: dict[str, Any], trace: Trace, at: Place, reading: Diagnostics) -> None:
    """Note calls beside the messages of a conversation that no message makes, and that nobody says to be expected."""
    for key, value in beside.items():
        if not isinstance(value, dict | list) or key in KNOWN_KEYS or key in KNOWN_NOTES or is_expectation(key):
            continue
        if names := list(call_names(value)):
            own = (call.name for invocation in (*trace.history, *trace.invocations) for call in invocation.tool_calls)
            if Counter(names) - Counter(own):
                note_unread_leaf((at, key), reading)
                break


def trace_texts(trace: Trace) -> Iterator[str]:
    """Yield the texts of a conversation: of its messages, calls and results, and of the agents' instructions."""
    for invocation in (*trace.history, *trace.invocations):
        reply = filter(None, [invocation.final_response])
        yield from UsedValues([UserMessage(invocation.user), *(invocation.steps or ()), *reply]).all_texts()
    yield from (agent.instructions for agent in trace.agents)
    yield from (message.text for message in trace.opening)


def is_plain(message: dict[str, Any]) -> bool:
    """Whether a message of OpenAI has only keys that its reader always uses: most messages are so."""
    content = message.get("content")
    if type(content) is not str and content is not None and not _are_plain_parts(content):
        return False
    if _PLAIN_KEYS.issuperset(message):
        return content is not None
    calls = message.get("tool_calls")
    return type(calls) is list and _KEYS_OF_CALLS.issuperset(message) and all(map(_is_plain_call, calls))


def _is_plain_call(call: Any) -> bool:
    function = call.get("function") if type(call) is dict and _PLAIN_CALL.issuperset(call) else None
    return type(function) is dict and function.keys() == _PLAIN_FUNCTION


def _are_plain_parts(content: Any) -> bool:
    if type(content) is not list:
        return False
    return all(type(part) is dict and part.keys() == _PLAIN_PART and part["type"] == "text" for part in content)


def note_unread_leaf(at: Place, reading: Diagnostics) -> str:
    """Note a content that was not read, and return the reason. It is empty if the reading is lenient."""
    place = pointer(at)
    reason = f"{place} was not read"
    key = _without_numbers(at)
    if key not in reading.unread_keys:
        reading.unread_keys.add(key)
        reading.warning(at, "holds content that is not read; nothing is said to be absent in this recording")
    if reading.lenient:
        return ""
    reading.unread = reading.unread or reason
    return reason


def _without_numbers(at: Place) -> tuple[Any, ...]:
    keys: list[Any] = []
    while at:
        at, key = at
        if not isinstance(key, int):
            keys.append(key)
    return tuple(keys)


def _is_withheld(entry: Entry) -> bool:
    message = entry.message if isinstance(entry, UserMessage) else entry
    return isinstance(message, Message) and bool(message.withheld)


def _withhold(entry: _AnyEntry, reason: str, *, texts: bool) -> _AnyEntry:
    """Return an entry whose content may be missing. With `texts`, a text may be only a part of what was said."""
    if isinstance(entry, UserMessage):
        message = _withhold(entry.message, reason, texts=texts)
        return entry if message is entry.message else replace(entry, message=message)
    if isinstance(entry, Message) and not entry.withheld and (texts or not (entry.text or entry.parts)):
        return replace(entry, text="", withheld=reason, beginning=entry.text)
    if isinstance(entry, ToolCall) and not entry.args and not entry.withheld:
        return replace(entry, withheld=reason)
    if isinstance(entry, ToolResult) and entry.response in (None, "") and not entry.withheld:
        return replace(entry, response=None, withheld=reason)
    return entry


def _gap(message: dict[str, Any], reason: str) -> list[Entry]:
    """Return the entry that stands for a message of which nothing was read."""
    role = message.get("role", message.get("type"))
    if role in ("system", "developer", "tool", "function"):
        return []
    gap = Message("", withheld=reason)
    return [UserMessage(gap)] if role in ("user", "human", "request") else [gap]


def with_unread(trace: Trace, reading: Diagnostics) -> Trace:
    """Return a trace that is incomplete if contents of its messages were not read. The next trace begins anew."""
    reason, reading.unread = reading.unread, ""
    return incomplete_trace(trace, reason)
