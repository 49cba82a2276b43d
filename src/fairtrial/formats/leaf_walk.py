"""Walk over the leaves of a message, and find those that stand in no entry that the reader returned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fairtrial.formats.known_keys import KNOWN_KEYS, is_prose
from fairtrial.formats.message_entries import Entry, Instruction, UserMessage
from fairtrial.records.trace import Message, Thought, ToolCall, ToolResult

if TYPE_CHECKING:
    from fairtrial.formats.reading import Place

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
