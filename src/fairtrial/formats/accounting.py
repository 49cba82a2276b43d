"""Account for the leaves of messages: each leaf is used, known to carry nothing, or unread.

A list of keys that must not be lost never ends. So the values decide: a leaf of a message is used if its value stands
in an entry that the reader returned. The rest was not read, unless it is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from msgspec.structs import replace

from fairtrial.formats.known_keys import KNOWN_KEYS, KNOWN_NOTES, is_expectation, prose_leaves
from fairtrial.formats.leaf_walk import LeafWalk, Unread, UsedValues, has_content
from fairtrial.formats.message_entries import Entry, UserMessage
from fairtrial.formats.reading import Diagnostics, Place, pointer
from fairtrial.formats.value_shapes import call_names, count_calls
from fairtrial.records.trace import Message, ToolCall, ToolResult, Trace, incomplete_trace

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
