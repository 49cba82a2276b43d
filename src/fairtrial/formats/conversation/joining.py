"""Which traces are one conversation? Traces with the same conversation id, and traces that go on with each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from fairtrial.formats.conversation.nodes import Node
from fairtrial.formats.dialects.dialect_table import CONVERSATION_IDS
from fairtrial.formats.spans.span import Span, SpanItem
from fairtrial.formats.spans.span_values import structured
from fairtrial.records.record import Json
from fairtrial.records.trace import Invocation, Trace

_ENCODER = msgspec.json.Encoder(order="deterministic")


def conversation_id(nodes: Sequence[Node], attribute: str = "") -> str:
    """Return the id of the conversation of a trace, or an empty text.

    The outermost id counts for the whole trace, and the ids of its resources come last. `attribute` is the choice of
    the user, which counts before all others.
    """
    outermost = sorted(nodes, key=lambda node: (node.depth, *node.order))
    for names in ((attribute,) if attribute else (), CONVERSATION_IDS):
        for attributes in (*(node.span.attributes for node in outermost), *(node.span.resource for node in outermost)):
            if name := _first_id(attributes, names):
                return name
    return ""


def possible_ids(item: SpanItem, attribute: str = "") -> set[str]:
    """Return the ids that the conversation of a span may have, before all spans of its trace are there."""
    sources = [item.attributes if isinstance(item, Span) else item.event.attributes, item.resource]
    choices = ((attribute,) if attribute else (), CONVERSATION_IDS)
    return {_first_id(attributes, names) for names in choices for attributes in sources} - {""}


def _first_id(attributes: Mapping[str, Json], names: Iterable[str]) -> str:
    name = next((name for name in names if attributes.get(name) not in (None, "")), None)
    return "" if name is None else _text(attributes[name])


def _text(value: Json) -> str:
    """Return an id as text. A text in quotes of JSON loses its quotes."""
    value = structured(value) if isinstance(value, str) and value[:1] == '"' else value
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


class HistoryKeys(NamedTuple):
    """The end of a conversation, or None if nobody knows it, and the ends of what happened before its first call."""

    end: bytes | None
    before: tuple[bytes, ...]


def history_keys(trace: Trace) -> HistoryKeys:
    """Return the keys by which `successors` knows a trace again. They are short, however long the trace is."""
    ends = [*_prefixes((*trace.history, *trace.invocations))]
    return HistoryKeys(ends[-1] if ends else None, tuple(_prefixes(trace.history)))


def successors(conversations: Iterable[HistoryKeys]) -> dict[int, int]:
    """Return for each trace that goes on with an earlier one the number of that trace.

    A trace goes on with another if its history is all of the conversation of the other: the texts of the user, the
    calls and the last reply. If two traces could go on with the same one, none of them does.
    """
    ends: dict[bytes, int] = {}
    followers: dict[int, list[int]] = defaultdict(list)
    numbered = list(enumerate(conversations))
    for number, keys in numbered:
        if keys.end is not None:
            ends[keys.end] = number
    for number, keys in numbered:
        earlier = next((ends[key] for key in reversed(keys.before) if key in ends and ends[key] < number), None)
        if earlier is not None:
            followers[earlier].append(number)
    return {numbers[0]: earlier for earlier, numbers in followers.items() if len(numbers) == 1}


def chains(earlier: Mapping[int, int], count: int) -> list[list[int]]:
    """Return the numbers of the traces that are one conversation, for each conversation in the order of its start."""
    groups: dict[int, list[int]] = {}
    for number in range(count):
        start = number
        while start in earlier:
            start = earlier[start]
        groups.setdefault(start, []).append(number)
    return list(groups.values())


def _prefixes(invocations: Iterable[Invocation]) -> Iterator[bytes]:
    """Yield a key for the conversation until each of its replies. It ends at a text that was not recorded."""
    conversation = blake2b(digest_size=16)
    for invocation in invocations:
        if invocation.user.withheld:
            return
        calls = [[call.name, call.args] for call in invocation.tool_calls]
        conversation.update(_ENCODER.encode([invocation.user.text, calls]))
        if invocation.reply:
            prefix = conversation.copy()
            prefix.update(_ENCODER.encode(invocation.reply))
            yield prefix.digest()
