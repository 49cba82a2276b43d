"""Spans -> conversations. Nothing here knows a dialect: it reads the facts that the dialects give."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from fairtrial.formats.conversation.joining import conversation_id, successors
from fairtrial.formats.conversation.nodes import Node, nodes_of
from fairtrial.formats.conversation.options import DEFAULTS, TraceOptions
from fairtrial.formats.conversation.trace_assembly import Assembly
from fairtrial.formats.cut_off_texts import with_beginnings
from fairtrial.formats.foreign_secrets import without_secrets
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.spans.body import spans_of
from fairtrial.formats.spans.span import SpanItem
from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.trace import Trace

__all__ = ["DEFAULTS", "TraceOptions", "recordings_of"]


_Conversation = tuple[str, Sequence[Node], Trace]


def _note_rootless(nodes: Iterable[Node], warnings: list[str]) -> None:
    """Warn of traces whose root is missing, for example because only a sample of the spans was kept."""
    with_root, with_agent = set[str](), set[str]()
    for node in nodes:
        if not node.span.parent_id:
            with_root.add(node.span.trace_id)
        if node.is_significant:
            with_agent.add(node.span.trace_id)
    if rootless := with_agent - with_root:
        warnings.append(f"incomplete: {len(rootless)} traces have no root span, so that earlier spans may be missing")


def recordings_of(
    items: Iterable[SpanItem], reading: Diagnostics, options: TraceOptions = DEFAULTS
) -> tuple[Recording, ...]:
    """Return the conversations in spans and log records, in the order of their start.

    A conversation is named by its id, or by its first trace. Spans that belong to no agent are not in it.
    """
    warnings: list[str] = []
    nodes = nodes_of(spans_of(items, warnings), reading)
    _note_rootless(nodes, warnings)
    conversations: list[_Conversation] = [
        (name, members, trace)
        for name, members in _conversations(nodes, options)
        if (trace := Assembly(members, warnings, nested=options.nested).trace()) is not None
    ]
    if options.join == "history":
        conversations = _joined(conversations, warnings, options)
    reading.warnings += [f"{reading.path}: {warning}" for warning in dict.fromkeys(warnings)]
    return tuple(without_secrets(_recording(name, members, trace), reading) for name, members, trace in conversations)


def _conversations(nodes: Iterable[Node], options: TraceOptions) -> list[tuple[str, list[Node]]]:
    """Return the nodes of each conversation with its id, which is empty for a trace without an id."""
    traces: dict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        traces[node.span.trace_id].append(node)
    conversations: dict[tuple[str, str], list[Node]] = defaultdict(list)
    for trace_id, members in traces.items():
        if not any(node.is_significant for node in members):
            continue
        name = conversation_id(members, options.conversation)
        alone = not name or options.join == "none"
        conversations[name, trace_id if alone else ""] += members
    return [(name, sorted(members, key=lambda node: node.order)) for (name, _), members in conversations.items()]


def _joined(conversations: list[_Conversation], warnings: list[str], options: TraceOptions) -> list[_Conversation]:
    """Join the traces without an id that go on with each other."""
    unnamed = [conversation for conversation in conversations if not conversation[0]]
    earlier = successors([trace for _, _, trace in unnamed])
    if not earlier:
        return conversations
    groups: dict[int, list[int]] = {}
    for number in range(len(unnamed)):
        start = number
        while start in earlier:
            start = earlier[start]
        groups.setdefault(start, []).append(number)
    joined: dict[str, _Conversation | None] = {}
    for numbers in groups.values():
        first = unnamed[numbers[0]]
        members = sorted((node for number in numbers for node in unnamed[number][1]), key=lambda node: node.order)
        trace = first[2] if len(numbers) == 1 else Assembly(members, [], nested=options.nested).trace()
        for number in numbers:
            joined[_first_trace(unnamed[number][1])] = None
        if trace is not None:
            joined[_first_trace(first[1])] = ("", members, trace)
    warnings.append(f"{len(earlier)} traces without a conversation id go on with an earlier trace, by their history")
    results: list[_Conversation] = []
    for conversation in conversations:
        replaced = conversation if conversation[0] else joined[_first_trace(conversation[1])]
        if replaced is not None:
            results.append(replaced)
    return results


def _first_trace(nodes: Sequence[Node]) -> str:
    return nodes[0].span.trace_id


def _recording(name: str, nodes: Sequence[Node], trace: Trace) -> Recording:
    failure = Failure("agent", trace.broken) if trace.broken else None
    trace = replace(with_beginnings(trace), session_id=name)
    case_id = name or _first_trace(nodes)
    return Recording(case_id, trace, failure=failure, ended_by="failure" if failure else "script")
