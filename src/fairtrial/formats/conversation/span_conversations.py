"""Build conversations from spans. Nothing here knows a dialect: it reads the facts that the dialects give."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.formats.conversation.joining import chains, conversation_id, history_keys, successors
from fairtrial.formats.conversation.nodes import ORDER, Node, build_nodes
from fairtrial.formats.conversation.options import DEFAULTS, TraceOptions
from fairtrial.formats.conversation.trace_assembly import Assembly
from fairtrial.formats.cut_off_texts import may_be_cut_off, with_beginnings
from fairtrial.formats.dialects.fairtrial_exports import ATTEMPT, CASE_ID, with_exported_fields
from fairtrial.formats.foreign_secrets import without_secrets
from fairtrial.formats.sampling import with_span_probability
from fairtrial.formats.spans.body import make_spans
from fairtrial.formats.spans.span_values import whole_number
from fairtrial.formats.trace_contents import json_of_contents
from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.record import Record
from fairtrial.records.trace import Trace
from fairtrial.system.paused_collector import paused_collector
from fairtrial.text.display import count

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.formats.spans.span import SpanItem


class Conversation(Record, frozen=True):
    """The nodes of a conversation in their order, and its trace. `name` is its id, or empty without an id.

    `warnings` say what is missing in it.
    """

    name: str
    nodes: Sequence[Node]
    trace: Trace
    warnings: tuple[str, ...] = ()

    @property
    def trace_ids(self) -> tuple[str, ...]:
        """The ids of the traces of the conversation."""
        return tuple(dict.fromkeys(node.span.trace_id for node in self.nodes))

    def recording(self, reading: Diagnostics) -> Recording:
        """Return the recording. It is named by the id of the conversation, or by its first trace."""
        failure = Failure("agent", self.trace.broken) if self.trace.broken else None
        contents = json_of_contents(self.trace)
        trace = with_beginnings(self.trace) if may_be_cut_off(contents) else self.trace
        # Our own export names the case and the attempt. Other spans know neither.
        own = next((node.span.attributes for node in self.nodes if CASE_ID in node.span.attributes), {})
        case_id = str(own.get(CASE_ID) or self.name or self.nodes[0].span.trace_id)
        attempt = whole_number(own.get(ATTEMPT)) or 1
        named_trace = replace(trace, session_id=self.name)
        recording = Recording(case_id, named_trace, attempt, failure, "failure" if failure else "script")
        recording = with_span_probability(recording, (node.span for node in self.nodes))
        if not own and trace is self.trace:
            return without_secrets(recording, reading, contents)
        return without_secrets(with_exported_fields(recording, own), reading)


def _note_rootless(traces: Iterable[Sequence[Node]], warnings: list[str]) -> None:
    """Warn of traces whose root is missing, for example because only a sample of the spans was kept."""
    if rootless := [nodes for nodes in traces if _has_agent(nodes) and all(node.span.parent_id for node in nodes)]:
        warnings.append(
            f"incomplete: {count(len(rootless), 'trace')} without a root span, so that earlier spans may be missing"
        )


@paused_collector()
def collect_recordings(
    items: Iterable[SpanItem], reading: Diagnostics, options: TraceOptions = DEFAULTS
) -> tuple[Recording, ...]:
    """Return the conversations in spans and log records, in the order of their start.

    Spans that belong to no agent are not in it.
    """
    warnings: list[str] = []
    conversations = group_conversations(items, warnings, reading, options)
    if options.join == "history":
        conversations = _join_items(conversations, warnings, options)
    warnings += [warning for conversation in conversations for warning in conversation.warnings]
    reading.warnings += [f"{reading.path}: {warning}" for warning in dict.fromkeys(warnings)]
    return tuple([conversation.recording(reading) for conversation in conversations])


def group_conversations(
    items: Iterable[SpanItem], warnings: list[str], reading: Diagnostics, options: TraceOptions
) -> list[Conversation]:
    """Return the conversations in spans. Traces that go on with each other by their history are not joined yet."""
    traces: dict[str, list[Node]] = defaultdict(list)
    for node in build_nodes(make_spans(items, warnings), reading):
        traces[node.span.trace_id].append(node)
    _note_rootless(traces.values(), warnings)
    return [*_assemble_conversations(_group_nodes(traces, options), options)]


def _assemble_conversations(
    groups: Iterable[tuple[str, Sequence[Node]]], options: TraceOptions
) -> Iterator[Conversation]:
    for name, members in groups:
        warnings: list[str] = []
        trace = Assembly(members, warnings, nested=options.nested).trace()
        if trace is None and _is_recording(members):
            trace = Trace()  # it broke before its first invocation
        if trace is not None:
            yield Conversation(name, members, trace, tuple(warnings))


def _group_nodes(traces: Mapping[str, Sequence[Node]], options: TraceOptions) -> list[tuple[str, list[Node]]]:
    """Return the nodes of each conversation in their order, with its id, which is empty for a trace without an id."""
    conversations: dict[tuple[str, str], list[Node]] = defaultdict(list)
    for trace_id, nodes in traces.items():
        if _has_agent(nodes) or _is_recording(nodes):
            name = conversation_id(nodes, options.conversation)
            alone = not name or options.join == "none"
            conversations[name, trace_id if alone else ""] += nodes
    groups = [(name, sorted(nodes, key=ORDER)) for (name, _), nodes in conversations.items()]
    return sorted(groups, key=lambda group: group[1][0].order)


def _has_agent(nodes: Iterable[Node]) -> bool:
    """Whether a span is of an agent, a model or a tool."""
    return any(node.is_significant for node in nodes)


def _is_recording(nodes: Iterable[Node]) -> bool:
    """Whether the spans are the export of a recording, which may have no invocation."""
    return any(CASE_ID in node.span.attributes for node in nodes)


def _join_items(conversations: list[Conversation], warnings: list[str], options: TraceOptions) -> list[Conversation]:
    """Join the traces without an id that go on with each other."""
    unnamed = [conversation for conversation in conversations if not conversation.name]
    earlier = successors(history_keys(conversation.trace, conversation.nodes) for conversation in unnamed)
    if not earlier:
        return conversations
    warnings.append(joined_message(len(earlier)))
    joined: dict[str, Conversation] = {}
    for numbers in chains(earlier, len(unnamed)):
        parts = [unnamed[number] for number in numbers]
        members = sorted((node for part in parts for node in part.nodes), key=ORDER)
        whole = parts if len(parts) == 1 else _assemble_conversations([("", members)], options)
        joined |= {_first_trace(parts[0]): conversation for conversation in whole}
    return [
        conversation if conversation.name else joined[_first_trace(conversation)]
        for conversation in conversations
        if conversation.name or _first_trace(conversation) in joined
    ]


def single_conversation(
    items: Iterable[SpanItem], warnings: list[str], reading: Diagnostics, options: TraceOptions
) -> Conversation | None:
    """Return all spans as one conversation without an id, or None if they belong to no agent."""
    nodes = build_nodes(make_spans(items, warnings), reading)
    return next(_assemble_conversations([("", nodes)], options), None)


def _first_trace(conversation: Conversation) -> str:
    return conversation.nodes[0].span.trace_id


def joined_message(traces: int) -> str:
    """Return the warning about traces that were joined by their history."""
    return f"joined {count(traces, 'trace')} without a conversation id to an earlier trace, by the history"
