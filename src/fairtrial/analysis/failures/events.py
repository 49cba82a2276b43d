"""The steps of a conversation in one list, with their places."""

from __future__ import annotations

import re
import unicodedata
from functools import cached_property
from typing import NamedTuple

import msgspec

from fairtrial.records.failure_mode import DecisiveStep, StepKind
from fairtrial.records.trace import Message, Step, Thought, ToolCall, ToolResult, Trace
from fairtrial.text.display import call as call_text
from fairtrial.text.display import compact, shorten
from fairtrial.text.language import LATIN
from fairtrial.text.lazy_pattern import LazyPattern

_LONGEST = 300
_NUMBER = LazyPattern(rf"(?<![{LATIN}\d_.,-])\d+(?:[.,]\d+)*(?![{LATIN}\d_])")
"""A number that is no part of a word, of an id or of a longer number. Korean, Japanese and Chinese letters may stand
beside it, because units and words stand there without a space."""
_GROUPS = LazyPattern(r"(?<=\d),(?=\d{3}(?!\d))")
_MOST_CHARACTERS = 20_000
"""The beginning of a text that is searched for numbers."""


class Event(NamedTuple):
    """A message, thought, call or result. `invocation` and `step` count from 0, as in the trace."""

    kind: StepKind
    invocation: int
    step: int | None
    item: Step


class Conversation:
    """A trace as a list of events, in which places are indexes.

    `calls` are the places of the calls, and `replies` those of the replies and of the messages before them.
    """

    def __init__(self, trace: Trace) -> None:
        """List the events of a trace in their order."""
        self.trace = trace
        self.events: list[Event] = []
        self.calls: list[int] = []
        self.replies: list[int] = []
        events = self.events
        for index, invocation in enumerate(trace.invocations):
            events.append(Event("user", index, None, invocation.user))
            for place, step in enumerate(invocation.steps or ()):
                kind = _KINDS[type(step)]
                if kind == "call":
                    self.calls.append(len(events))
                elif kind == "message":
                    self.replies.append(len(events))
                events.append(Event(kind, index, place, step))
            if invocation.final_response is not None:
                self.replies.append(len(events))
                events.append(Event("reply", index, None, invocation.final_response))

    @property
    def reply_texts(self) -> list[str]:
        """The texts of the replies and of the messages before them."""
        return [item_text(self.events[place].item) for place in self.replies]

    @cached_property
    def results(self) -> dict[int, int]:
        """The places of results by the places of their calls: by id, otherwise in order among calls of one name."""
        waiting: dict[tuple[str, str], list[int]] = {}
        findings: dict[int, int] = {}
        for place, event in enumerate(self.events):
            if isinstance(event.item, ToolCall):
                waiting.setdefault((event.item.name, event.item.id), []).append(place)
            elif isinstance(event.item, ToolResult):
                own = waiting.get((event.item.name, event.item.id)) or waiting.get((event.item.name, ""))
                if own:
                    findings[own.pop(0)] = place
        return findings

    def call_at(self, place: int) -> ToolCall:
        """Return the call at a place."""
        item = self.events[place].item
        if not isinstance(item, ToolCall):
            raise TypeError(f"event {place} is no call but {type(item).__name__}")
        return item

    def find_error(self, place: int) -> ToolResult | None:
        """Return the result of the call at a place if the tool answered with an error."""
        at = self.results.get(place)
        result = None if at is None else self.events[at].item
        return result if isinstance(result, ToolResult) and is_error(result) else None

    def last_reply(self, invocation: int | None = None) -> int | None:
        """Return the place of the last reply or message of the agent, or of the last one in an invocation."""
        own = [place for place in self.replies if invocation in (None, self.events[place].invocation)]
        return own[-1] if own else None

    def find_end(self, invocation: int) -> int | None:
        """Return the place of the last event of an invocation, or None without that invocation."""
        own = [place for place, event in enumerate(self.events) if event.invocation == invocation]
        return own[-1] if own else None

    def make_step(self, place: int) -> DecisiveStep:
        """Return the event at a place as a decisive step, with the beginning of its text."""
        event = self.events[place]
        step = None if event.step is None else event.step + 1
        return DecisiveStep(event.invocation + 1, step, event.kind, place + 1, event_text(event))

    @property
    def length(self) -> int:
        """The number of characters of all texts, arguments and results."""
        total = 0
        for event in self.events:
            item = event.item
            if isinstance(item, ToolCall):
                total += len(repr(item.args))
            elif isinstance(item, ToolResult):
                total += len(repr(item.response))
            else:
                total += len(item.text)
        return total


_KINDS: dict[type, StepKind] = {Message: "message", Thought: "thought", ToolCall: "call", ToolResult: "result"}
_ERRORS = LazyPattern(r"^\W{0,3}(?:error|exception|traceback|오류|에러|エラー|错误|錯誤)", flags=re.IGNORECASE)


def is_error(result: ToolResult) -> bool:
    """Return whether a tool answered with an error: the recording says so, or its text begins with the word.

    A call that a decision rejected did not fail.
    """
    if result.is_rejected:
        return False
    return result.is_error or (isinstance(result.response, str) and _ERRORS.match(result.response[:100]) is not None)


def item_text(item: Step) -> str:
    """Return the content of an event as text."""
    if isinstance(item, Message | Thought):
        return item.text
    if isinstance(item, ToolCall):
        return json_text(item.args)
    return json_text(item.response)


def json_text(value: object) -> str:
    """Return a JSON value as text. A text stays as it is."""
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, OverflowError, UnicodeEncodeError):
        return repr(value)


def event_text(event: Event) -> str:
    """Return an event on a line, shortened."""
    item = event.item
    if isinstance(item, ToolCall):
        return shorten(call_text(item.name, item.args), _LONGEST)
    if isinstance(item, ToolResult):
        return shorten(f"{item.name}: {compact(item.response)}", _LONGEST)
    return shorten(" ".join(item.text.split()), _LONGEST)


def numbers(text: str) -> list[str]:
    """Return the numbers of a text in one form: half-width digits, no separators of groups, no zeros at the end.

    For example, "1,250.00", "１２５０" and "1250" are the same number. Numbers inside of ids are none.
    """
    plain = unicodedata.normalize("NFKC", text[:_MOST_CHARACTERS])
    return [plain_number(findings) for findings in _NUMBER.findall(plain)]


def plain_number(text: str) -> str:
    """Return a number without separators of groups, and without zeros at the end of its decimals."""
    digits: str = _GROUPS.sub("", text)
    if digits.count(".") == 1 and "," not in digits:
        digits = digits.rstrip("0").rstrip(".")
    return digits
