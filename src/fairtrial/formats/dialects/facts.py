"""What does a span say of an agent, in words that no instrumentation has of its own?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from fairtrial.formats.chats.assembly import Entry
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.spans.span import Span
from fairtrial.records.record import Record, default_values
from fairtrial.records.trace import Step, ToolResult, Usage

Kind = Literal["agent", "model", "tool", "ignored", "other"]


class Facts(Record, frozen=True):
    """What a span says. None and empty values mean "the span does not say".

    `kind`: an agent at work, one call of a model, one call of a tool, or something else.
    `ignored` is a span that looks like a call in another dialect, and is not.
    `name`: the name of the agent or of the tool. `agent` is the name of the agent that a call belongs to.
    `input`: all messages that a model or an agent got, in order. `output`: the steps that it answered with. If a model
    was asked for alternatives, only the first counts. None means that they were not recorded.
    `args` and `result` belong to a call of a tool. `call_id` is the id of the call in messages. It is "" if the dialect
    knows that the id in the span is another than the id in messages.
    `usage` is the usage of one model call. `response_id` is the same in all spans of one model call.
    `invocation` is the source's own name of the invocation. `hands_over` says that the tool passes control to another
    agent. `switch` is the setting that records contents. `missing` is a reason for absent contents that the span itself
    shows, for example a limit. `finish_reason` is why the model stopped.
    """

    kind: Kind = "other"
    name: str = ""
    agent: str = ""
    input: tuple[Entry, ...] | None = None
    output: tuple[Step, ...] | None = None
    instructions: str = ""
    declarations: tuple[dict[str, Any], ...] = ()
    args: dict[str, Any] | None = None
    result: ToolResult | None = None
    call_id: str | None = None
    usage: Usage | None = None
    model: str = ""
    response_id: str = ""
    invocation: str = ""
    hands_over: bool | None = None
    finish_reason: str = ""
    error_type: str = ""
    switch: str = ""
    missing: str = ""


NOTHING = Facts()
"""The facts of a span of no dialect, for example of a database."""


class Dialect(NamedTuple):
    """An instrumentation's way to write spans.

    `is_span` says by attributes whether a span is written in the dialect. `read` returns the facts of such a span.
    """

    name: str
    is_span: Callable[[Span], bool]
    read: Callable[[Span, Diagnostics], Facts]


def reason_of(facts: Facts) -> str:
    """Return the reason for a content that a span does not have, with the setting that records it."""
    if facts.missing:
        return facts.missing
    if not facts.switch:
        return "the spans do not hold this content"
    return f"the spans do not hold this content; set {facts.switch} where the agent runs"


def combined(first: Facts, second: Facts) -> Facts:
    """Return the facts of two readings of the same thing. The first counts, and the second fills its gaps."""
    if first is NOTHING:
        return second
    if second is NOTHING or second == NOTHING:
        return first
    gaps = {
        name: getattr(second, name)
        for name, default in default_values(Facts)
        if getattr(first, name) == default and getattr(second, name) != default
    }
    if first.usage is not None and second.usage is not None:
        gaps["usage"] = _combined_usage(first.usage, second.usage)
    return replace(first, **gaps) if gaps else first


def _combined_usage(first: Usage, second: Usage) -> Usage:
    gaps = {
        name: getattr(second, name)
        for name in ("input_tokens", "output_tokens", "reasoning_tokens", "cached_input_tokens")
        if getattr(first, name) is None
    }
    return replace(first, **gaps, model=first.model or second.model)
