"""Facts about an agent that a span states, in terms that are independent of the instrumentation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from fairtrial.formats.message_entries import Entry
from fairtrial.records.record import Record
from fairtrial.records.trace import Message, Step, ToolResult, Usage

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.formats.spans.span import Span

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
    agent. `reply` is the reply to the user if the tool gives it, as that of some frameworks does. `switch` is the
    setting that records contents. `missing` is a reason for absent contents that the span itself shows, for example a
    limit. `input_beginning` and `output_beginning` are the beginnings of arguments, of a result or of an answer that a
    limit cut off. `finish_reason` is why the model stopped. `failure` is the message of a failure that the status of
    the span does not state. `invocation_fields` are fields of the invocation that the producer knows exactly, in the
    spelling of our recordings. `unread` is the reason for which calls and texts of the span may be missing.
    `untold_requests` is the number of further calls of the model in the span, of which it does not tell the tokens.
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
    reply: Message | None = None
    finish_reason: str = ""
    error_type: str = ""
    failure: str = ""
    switch: str = ""
    missing: str = ""
    input_beginning: str = ""
    output_beginning: str = ""
    invocation_fields: dict[str, Any] | None = None
    unread: str = ""
    untold_requests: int = 0


NOTHING = Facts()
"""The facts of a span of no dialect, for example of a database."""


class Dialect(NamedTuple):
    """An instrumentation's way to write spans.

    A span is written in the dialect if it has an attribute with one of the names in `marks`. `read` returns the facts
    of such a span.
    """

    name: str
    marks: tuple[str, ...]
    read: Callable[[Span, Diagnostics], Facts]


def find_reason(facts: Facts) -> str:
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
    if second is NOTHING:
        return first
    return Facts(  # in the order of the fields, because many names of arguments take four times as long
        second.kind if first.kind == "other" else first.kind,
        first.name or second.name,
        first.agent or second.agent,
        second.input if first.input is None else first.input,
        second.output if first.output is None else first.output,
        first.instructions or second.instructions,
        first.declarations or second.declarations,
        second.args if first.args is None else first.args,
        second.result if first.result is None else first.result,
        second.call_id if first.call_id is None else first.call_id,
        _combine_usage(first.usage, second.usage),
        first.model or second.model,
        first.response_id or second.response_id,
        first.invocation or second.invocation,
        second.hands_over if first.hands_over is None else first.hands_over,
        second.reply if first.reply is None else first.reply,
        first.finish_reason or second.finish_reason,
        first.error_type or second.error_type,
        first.failure or second.failure,
        first.switch or second.switch,
        first.missing or second.missing,
        first.input_beginning or second.input_beginning,
        first.output_beginning or second.output_beginning,
        second.invocation_fields if first.invocation_fields is None else first.invocation_fields,
        first.unread or second.unread,
        first.untold_requests or second.untold_requests,
    )


def _combine_usage(first: Usage | None, second: Usage | None) -> Usage | None:
    if first is None or second is None:
        return first or second
    return Usage(
        second.input_tokens if first.input_tokens is None else first.input_tokens,
        second.output_tokens if first.output_tokens is None else first.output_tokens,
        second.reasoning_tokens if first.reasoning_tokens is None else first.reasoning_tokens,
        second.cached_input_tokens if first.cached_input_tokens is None else first.cached_input_tokens,
        first.model or second.model,
    )
