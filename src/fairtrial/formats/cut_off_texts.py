"""Recognise contents that a limit cut off. SDKs cut long attributes, and some instrumentations mark the place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from fairtrial.formats.jsontext import decode
from fairtrial.records.trace import Invocation, Message, Step, Thought, ToolCall, ToolResult, Trace

if TYPE_CHECKING:
    from fairtrial.records.record import Json

LIMIT = "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"
"""The variable of OpenTelemetry that limits the length of attributes."""
_WITHHELD = f"a limit cut it off when it was recorded; raise the limit where the agent runs, for example {LIMIT}"
# The mark needs the ellipsis before it: a tool may itself answer with the word.
_MARK = re.compile(r"(?:\.\.\.|…) ?[\[(<](?:\w+ )?truncated(?: [^\])>\n]{1,40})?[\])>]\s*\Z")
_MARK_LENGTH = 80
_WORD = "truncated"
LONGEST_TEXT = 16 << 20
"""A longer text of a trace is not read. Its beginning is kept."""
_TOO_LONG = "it holds a text that is longer than 16 MiB; record a shorter text where the agent runs"
_BEGINNING = 1000
_STRING = re.compile(r'"(?:[^"\\]|\\.)*(?:(")|\\?\Z)', re.DOTALL)
"""A string of JSON. The last one may have no end: a search for strings with an end alone would begin again inside."""
_TEXT_KEY = re.compile(r'"(?:content|text)"\s*:\s*\Z')
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_JSON_STARTS = ('{"', '[{"', '["', "[[")


def is_cut_json(value: Json) -> bool:
    """Whether a text is the beginning of JSON. A Python repr is not, because it has other quotes."""
    if not isinstance(value, str) or not value.startswith(_JSON_STARTS) or value.rstrip().endswith(("}", "]")):
        return False
    try:
        decode(value.encode("utf-8", "replace"))
    except ValueError:
        return True
    return False


def read_beginning(value: str) -> str:
    """Return the beginning of a text that is not whole, or too long."""
    return value[:_BEGINNING]


def beginning_of_text(value: str) -> str:
    """Return the beginning of the text in which a limit cut off messages as JSON, or nothing if it cut elsewhere."""
    start = next((match.start() for match in _STRING.finditer(value) if match[1] is None), -1)
    if start < 0 or not _TEXT_KEY.search(value, max(0, start - _MARK_LENGTH), start):
        return ""
    try:
        # An escape of a character may be cut off, too.
        return read_beginning(str(decode(f'{_ESCAPE.sub("", value[start:])}"'.encode("utf-8", "replace"))))
    except ValueError:
        return ""


def may_be_cut_off(contents: str) -> bool:
    """Whether `with_beginnings` may withhold a content of a trace. `contents` is the JSON of all its contents."""
    return _WORD in contents or len(contents) > LONGEST_TEXT


def with_beginnings(trace: Trace) -> Trace:
    """Return a trace in which each content with the mark of a limit is withheld, and its beginning kept.

    A text longer than `LONGEST_TEXT` is withheld, too.
    """
    return replace(trace, invocations=tuple(map(_invocation, trace.invocations)))


def _invocation(invocation: Invocation) -> Invocation:
    steps, reply = invocation.steps, invocation.final_response
    return replace(
        invocation,
        user=_text(invocation.user),
        steps=None if steps is None else tuple(map(_step, steps)),
        final_response=None if reply is None else _text(reply),
    )


def _step(step: Step) -> Step:
    if isinstance(step, Message):
        return _text(step)
    if isinstance(step, Thought):
        gap = _gap(step.text)
        return step if gap is None else replace(step, text="", withheld=gap.reason, beginning=gap.beginning)
    if isinstance(step, ToolResult):
        gap = _gap(step.response)
        step = step if step.inner is None else replace(step, inner=with_beginnings(step.inner))
        return step if gap is None else replace(step, response=None, withheld=gap.reason, beginning=gap.beginning)
    return _call(step)


def _text(message: Message) -> Message:
    gap = _gap(message.text)
    return message if gap is None else replace(message, text="", withheld=gap.reason, beginning=gap.beginning)


def _call(call: ToolCall) -> ToolCall:
    gap = next(filter(None, map(_gap, call.args.values())), None)
    if gap is None:
        return call
    beginning = "" if gap.reason == _TOO_LONG else msgspec.json.encode(call.args).decode()
    return replace(call, args={}, withheld=gap.reason, beginning=beginning)


class _Gap(NamedTuple):
    """The reason for which a content is not whole, and its beginning."""

    reason: str
    beginning: str


def _gap(value: Json) -> _Gap | None:
    """Return the gap of a content that a limit cut off, or that is too long. None for a whole content."""
    if not isinstance(value, str):
        return _Gap(_TOO_LONG, "") if _holds_long_text(value) else None
    if len(value) > LONGEST_TEXT:
        return _Gap(_TOO_LONG, read_beginning(value))
    # Only the end is searched, so that a long text takes no longer than a short one.
    if _WORD not in value[-_MARK_LENGTH:]:
        return None
    match = _MARK.search(value, max(0, len(value) - _MARK_LENGTH))
    return None if match is None else _Gap(_WITHHELD, value[: match.start()])


def _holds_long_text(value: Json) -> bool:
    todo = [value]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, list):
            todo += value
        elif isinstance(value, str) and len(value) > LONGEST_TEXT:
            return True
    return False
