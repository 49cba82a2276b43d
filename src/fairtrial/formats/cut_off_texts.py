"""Which contents did a limit cut off? SDKs cut long attributes, and some instrumentations mark the place."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec.structs import replace

from fairtrial.formats.jsontext import decode
from fairtrial.records.record import Json
from fairtrial.records.trace import Invocation, Message, Step, Thought, ToolCall, ToolResult, Trace

LIMIT = "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"
"""The variable of OpenTelemetry that limits the length of attributes."""
_WITHHELD = f"a limit cut it off when it was recorded; raise the limit where the agent runs, for example {LIMIT}"
# The mark needs the ellipsis before it: a tool may itself answer with the word.
_MARK = re.compile(r"(?:\.\.\.|…) ?[\[(<](?:\w+ )?truncated(?: [^\])>\n]{1,40})?[\])>]\s*\Z")
_MARK_LENGTH = 80
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


def with_beginnings(trace: Trace) -> Trace:
    """Return a trace in which each content with the mark of a limit is withheld, and its beginning kept."""
    invocations = tuple(map(_invocation, trace.invocations))
    return trace if invocations == trace.invocations else replace(trace, invocations=invocations)


def _invocation(invocation: Invocation) -> Invocation:
    reply = invocation.final_response
    return replace(
        invocation,
        user=_text(invocation.user),
        steps=None if invocation.steps is None else tuple(map(_step, invocation.steps)),
        final_response=None if reply is None else _text(reply),
    )


def _step(step: Step) -> Step:
    if isinstance(step, Message):
        return _text(step)
    if isinstance(step, Thought):
        beginning = _beginning(step.text)
        return step if beginning is None else replace(step, text="", withheld=_WITHHELD, beginning=beginning)
    if isinstance(step, ToolResult):
        beginning = _beginning(step.response)
        return step if beginning is None else replace(step, response=None, withheld=_WITHHELD, beginning=beginning)
    return _call(step)


def _text(message: Message) -> Message:
    beginning = _beginning(message.text)
    return message if beginning is None else replace(message, text="", withheld=_WITHHELD, beginning=beginning)


def _call(call: ToolCall) -> ToolCall:
    if not any(_beginning(value) is not None for value in call.args.values()):
        return call
    return replace(call, args={}, withheld=_WITHHELD, beginning=msgspec.json.encode(call.args).decode())


def _beginning(value: Any) -> str | None:
    """Return the text before the mark of a limit, or None if there is no mark."""
    if not isinstance(value, str):
        return None
    # Only the end is searched, so that a long text takes no longer than a short one.
    match = _MARK.search(value, max(0, len(value) - _MARK_LENGTH))
    return None if match is None else value[: match.start()]
