"""Assign a trace to its conversation while its spans still arrive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairtrial.formats.conversation.joining import HistoryKeys, conversation_id, history_keys
from fairtrial.formats.conversation.nodes import build_nodes
from fairtrial.formats.conversation.span_conversations import single_conversation
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.spans.body import make_spans
from fairtrial.records.record import Record

if TYPE_CHECKING:
    from fairtrial.formats.conversation.options import TraceOptions
    from fairtrial.formats.spans.span import SpanItem


class TraceState(Record, frozen=True):
    """A trace so far. `conversation` is the name of its conversation: its id, or else the id of the trace.

    `history` says which other traces without an id it goes on with. It is None if the trace is not to be joined so.
    `has_agent` says whether a span is of an agent, a model or a tool. `is_complete` says whether the parent of every
    span is there.
    """

    conversation: str
    has_agent: bool
    is_complete: bool
    history: HistoryKeys | None = None


def state_of_trace(items: Sequence[SpanItem], options: TraceOptions) -> TraceState:
    """Return the state of the trace that all items belong to."""
    nodes = build_nodes(make_spans(items, []), Diagnostics(""))
    ids = {node.span.span_id for node in nodes}
    name = "" if options.join == "none" else conversation_id(nodes, options.conversation)
    history = None
    if not name and options.join == "history":
        trace = single_conversation(items, [], Diagnostics(""), options)
        history = None if trace is None else history_keys(trace.trace, trace.nodes)
    return TraceState(
        name or items[0].trace_id,
        any(node.is_significant for node in nodes),
        all(not node.span.parent_id or node.span.parent_id in ids for node in nodes),
        history,
    )
