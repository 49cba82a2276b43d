"""Recognise message contents of spans that are only marks, or that SDK limits dropped."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from fairtrial.formats.dialects.facts import Facts, find_reason
from fairtrial.formats.message_entries import Entry, UserMessage
from fairtrial.records.trace import Message, Thought, ToolCall, ToolResult

MARKS = ("__REDACTED__", "[REDACTED]", "<REDACTED>")
"""Texts that instrumentations write in place of a content. A text that only contains a mark is a content."""

_WITH_TEXT = (Message, Thought)
_AnyEntry = TypeVar("_AnyEntry", bound=Entry)


def with_withheld_contents(facts: Facts, *, has_lost_attributes: bool) -> Facts:
    """Return facts in which each hidden content is withheld, with the reason.

    If a span has lost attributes, a call without arguments may have had arguments, and an answer without steps may have
    had steps. Both are then withheld.
    """
    if not has_lost_attributes and not _hides_content(facts):
        return facts
    reason = find_reason(facts)
    entries = facts.input
    if entries is not None:
        entries = tuple(_withheld(entry, reason, has_lost_attributes) for entry in entries)
    steps = facts.output
    if steps is not None:
        steps = tuple(_withheld(step, reason, has_lost_attributes) for step in steps)
        steps = None if has_lost_attributes and not steps else steps
    result = None if facts.result is None else _withheld(facts.result, reason, has_lost_attributes)
    return replace(facts, input=entries, output=steps, result=result)


def _hides_content(facts: Facts) -> bool:
    """Whether the content of an entry, or a part of it, is only a mark."""
    for entry in (*(facts.input or ()), *(facts.output or ()), facts.result):
        if type(entry) is UserMessage:
            is_hidden = entry.message.text in MARKS
        elif type(entry) is ToolCall:
            is_hidden = _holds_mark(entry)
        elif type(entry) is ToolResult:
            is_hidden = entry.response in MARKS
        else:
            is_hidden = isinstance(entry, _WITH_TEXT) and entry.text in MARKS
        if is_hidden:
            return True
    return False


def _holds_mark(call: ToolCall) -> bool:
    """Whether an argument of a call is only a mark."""
    return any(value in MARKS for value in call.args.values())


def _withheld(entry: _AnyEntry, reason: str, has_lost_attributes: bool) -> _AnyEntry:
    """Return an entry, or the entry without its content if the content is only a mark."""
    if isinstance(entry, UserMessage):
        message = _withheld(entry.message, reason, has_lost_attributes)
        return entry if message is entry.message else replace(entry, message=message)
    if isinstance(entry, Message | Thought) and entry.text in MARKS:
        return replace(entry, text="", withheld=reason)
    if isinstance(entry, ToolResult) and entry.response in MARKS:
        return replace(entry, response=None, withheld=reason)
    if isinstance(entry, ToolCall):
        is_lost = has_lost_attributes and not entry.args
        if is_lost or _holds_mark(entry):
            return replace(entry, args={}, withheld=entry.withheld or reason)
    return entry
