"""The reading of one stream: its steps, its tokens, its cost, and the way in which it ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fairtrial.formats.chats.assembly import assemble
from fairtrial.formats.coding_agents.told_twice import find_lost_call, find_lost_text
from fairtrial.formats.message_entries import Entry, UserMessage
from fairtrial.formats.reading import Diagnostics
from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.record import Record
from fairtrial.records.trace import Message, Trace, incomplete_trace


class StreamEnd(Record, frozen=True):
    """How a stream ended.

    `is_whole` says whether its last event is there: without it, the program was cut off. `failure` is the error that
    the program reports, and `is_outage` says whether it names the provider. `cost` is in US dollars, None if unknown.
    `waiting` is the error of the provider after which the program was about to try again. `reply` is the last text of
    the agent as the end repeats it, and `denied` are the ids of the calls that were not allowed. `loss` says that
    the end counts messages that the stream does not hold.
    """

    is_whole: bool = False
    failure: str = ""
    is_outage: bool = False
    cost: float | None = None
    waiting: str = ""
    reply: str = ""
    denied: tuple[str, ...] = ()
    loss: str = ""


class Stream(NamedTuple):
    """The content of a stream: its entries in their order, the id of the session, the declared tools, and its end."""

    entries: list[Entry]
    session: str
    tools: tuple[str, ...]
    end: StreamEnd


StreamReader = Callable[[Sequence[Any], Diagnostics], Stream]
"""Reads the lines of one kind of stream."""


def stream_recording(stream: Stream, stem: str, no_prompt: str) -> Recording:
    """Return a stream as a recording. `no_prompt` says why the message of the user is missing, if it is."""
    entries = stream.entries
    if not any(isinstance(entry, UserMessage) for entry in entries):
        entries = [UserMessage(Message("", withheld=no_prompt)), *entries]
    declarations = tuple({"name": name} for name in stream.tools)
    cause = stream.end.failure or ("" if stream.end.is_whole else "the output ends before the agent's last event")
    cost = {"cost_usd": stream.end.cost} if stream.end.cost is not None else None
    trace = assemble(entries, "", declarations)
    trace = Trace(trace.invocations, stream.session, broken=cause, extra=cost, opening=trace.opening)
    denied = (("the list of denied calls", call_id) for call_id in stream.end.denied)
    reply = [("the result at the end", stream.end.reply)]
    loss = stream.end.loss or find_lost_text(trace, reply) or find_lost_call(trace, denied)
    trace = incomplete_trace(trace, loss)
    if not cause:
        return Recording(stream.session or stem, trace)
    return Recording(stream.session or stem, trace, failure=Failure("infrastructure", cause), ended_by="failure")
