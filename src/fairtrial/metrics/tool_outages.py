"""Recognise tool outages, after which the agent could not know what the reference expects it to say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fairtrial.records.trace import Invocation, ToolResult, Trace
from fairtrial.text.display import shorten, visible_line
from fairtrial.text.lazy_pattern import LazyPattern

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase

_DOWN = LazyPattern(
    r"\b(?:Connect(?:ion)?(?:Refused|Reset|Aborted)?Error|(?:Connect|Read|Pool)Timeout|API(?:Connection|Timeout)Error"
    r"|RemoteProtocolError|gaierror|ServiceUnavailable(?:Error)?|Max retries exceeded)\b"
    r"|\bTimeoutError\W{1,4}(?:timed out|The (?:\w+ )?operation timed out|Errno \d)"
    r"|(?:^|\"|\btool_error: |\bbecause of error )(?:timed out|The (?:\w+ )?operation timed out)(?:\"|$)"
    r"|connection (?:was )?(?:refused|reset)|name or service not known|temporary failure in name resolution"
    r"|\b(?:HTTP|HTTPError|status|status code|error|error code)[\s:=]*5\d\d\b"
    r"|\b50[0234] (?:Internal Server Error|Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out)",
    flags=re.IGNORECASE,
)
"""The class of an exception of a client, the message of a system, or a status of 500 and above.

A socket says `timed out` or `The read operation timed out`. Spans of Claude Code and the Google Gen AI SDK put words
before it. A `TimeoutError` without these words may be a limit of the
agent's own.
"""
_VALUE = re.compile(r"\w*\d[\w.,:/-]*\w|\d")
"""A number, a date, an id: a word with a digit."""


class ToolOutage(NamedTuple):
    """An error of a tool whose backend was down, in the invocation of that index."""

    invocation: int
    result: ToolResult

    @property
    def text(self) -> str:
        """The tool, the invocation and the error, on a line."""
        error = shorten(visible_line(_text(self.result.response)), 200)
        return f"the tool {self.result.name!r} was down in invocation {self.invocation + 1}: {error}"


def tool_outages(trace: Trace) -> list[ToolOutage]:
    """Return the outages of tools in a conversation, except those after which the same tool answered."""
    if not [
        step for turn in trace.invocations for step in turn.steps or () if type(step) is ToolResult and step.is_error
    ]:
        return []  # most conversations
    results = [(index, step) for index, turn in enumerate(trace.invocations) for step in _results(turn)]
    last_answers = {step.name: place for place, (_, step) in enumerate(results) if not step.is_error}
    return [
        ToolOutage(index, step)
        for place, (index, step) in enumerate(results)
        if step.is_error
        and not step.injected
        and last_answers.get(step.name, -1) < place
        and _DOWN.search(_text(step.response))
    ]


def needs_result(case: EvalCase, trace: Trace, outage: ToolOutage) -> bool:
    """Return whether the reference holds a value that only the failed result would have given.

    The value is a word with a digit in an expected reply, or in an argument of an expected call of another tool, from
    that invocation on. Nothing else in the conversation holds it. If calls are expected, one is of the tool.
    """
    expected = case.conversation or ()
    calls = [call for turn in expected for call in turn.tool_calls]
    if calls and all(call.name != outage.result.name for call in calls):
        return False
    later = expected[outage.invocation :]
    wanted = [turn.reply or "" for turn in later]
    wanted += [_text(call.args) for turn in later for call in turn.tool_calls if call.name != outage.result.name]
    known = set(_VALUE.findall("\n".join(_known_texts(case, trace))))
    return any(value not in known for text in wanted for value in _VALUE.findall(text))


def _known_texts(case: EvalCase, trace: Trace) -> Iterator[str]:
    """Yield everything that the agent could know without the failed results, and what it said."""
    yield case.context
    yield _text(case.session_input)
    for turn in case.conversation or ():
        yield turn.query
    for turn in trace.invocations:
        yield turn.query
        yield _text(turn.about)
        yield from (_text(step) for step in turn.steps or () if not isinstance(step, ToolResult) or not step.is_error)
        yield turn.reply or ""


def _results(turn: Invocation) -> Iterator[ToolResult]:
    return (step for step in turn.steps or () if isinstance(step, ToolResult))


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
