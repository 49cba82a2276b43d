"""Join traces into conversations, by conversation id or by message history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fairtrial.formats.conversation.user_turns import read_turns
from fairtrial.formats.dialects.dialect_table import CONVERSATION_IDS
from fairtrial.formats.spans.span import Span, SpanItem
from fairtrial.formats.spans.span_values import structured
from fairtrial.records.trace import Invocation, Message, ToolCall, Trace

if TYPE_CHECKING:
    from fairtrial.formats.conversation.nodes import Node
    from fairtrial.records.record import Json

_ENCODER = msgspec.json.Encoder(order="deterministic")


def conversation_id(nodes: Sequence[Node], attribute: str = "") -> str:
    """Return the id of the conversation of a trace, or an empty text. The nodes are in their order.

    The outermost id counts for the whole trace, and the ids of its resources come last. `attribute` is the choice of
    the user, which counts before all others.
    """
    outermost = sorted(nodes, key=lambda node: node.depth)
    for names in ((attribute,), CONVERSATION_IDS) if attribute else (CONVERSATION_IDS,):
        for attributes in chain(
            (node.span.attributes for node in outermost), (node.span.resource for node in outermost)
        ):
            if name := _first_id(attributes, names):
                return name
    return ""


def possible_ids(item: SpanItem, attribute: str = "") -> set[str]:
    """Return the ids that the conversation of a span may have, before all spans of its trace are there."""
    sources = [item.attributes if isinstance(item, Span) else item.event.attributes, item.resource]
    choices = ((attribute,) if attribute else (), CONVERSATION_IDS)
    return {_first_id(attributes, names) for names in choices for attributes in sources} - {""}


def _first_id(attributes: Mapping[str, Json], names: Iterable[str]) -> str:
    for name in names:
        if name in attributes and attributes[name] not in (None, ""):
            return id_text(attributes[name])
    return ""


def id_text(value: Json) -> str:
    """Return an id as text. A text in quotes of JSON loses its quotes."""
    value = structured(value) if isinstance(value, str) and value[:1] == '"' else value
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


class HistoryKeys(NamedTuple):
    """The keys of the end of a conversation, and of the ends of what happened before its first call."""

    ends: tuple[bytes, ...]
    before: tuple[bytes, ...]


def history_keys(trace: Trace, nodes: Iterable[Node]) -> HistoryKeys:
    """Return the keys by which `successors` knows a trace again. They are short, however long the trace is.

    A client that is instrumented without its agent makes a trace of each call of a model. The first trace then ends
    with calls of tools, and the input of the next trace ends with their results.
    """
    invocations = (*trace.history, *trace.invocations)
    ends = [*_prefixes(invocations)][-1:]
    if invocations and not invocations[-1].reply:
        ends = [*_open_ends(invocations[:-1], invocations[-1].user, invocations[-1].tool_calls)]
    return HistoryKeys(tuple(ends), (*_prefixes(trace.history), *_ends_in_input(trace, nodes)))


def _ends_in_input(trace: Trace, nodes: Iterable[Node]) -> Iterator[bytes]:
    """Yield the keys of a conversation that ends with the calls in the input of the first call of a model."""
    first = next((node for node in nodes if node.facts.kind == "model" and node.facts.input is not None), None)
    turns = read_turns(first.facts.input or ()).turns if first is not None else ()
    if turns:
        calls = [step for step in turns[-1].steps if isinstance(step, ToolCall)]
        yield from _open_ends(trace.history, turns[-1].user, calls)


def _open_ends(before: Iterable[Invocation], user: Message, calls: Sequence[ToolCall]) -> Iterator[bytes]:
    """Yield the keys of a conversation that ends with calls of tools. The key with their ids comes last."""
    texts = [invocation.user.text for invocation in before]
    if calls and not user.withheld:
        plain_calls = [[call.name, call.args] for call in calls]
        yield _digest([texts, user.text, plain_calls])
        if all(call.id for call in calls):
            yield _digest([texts, user.text, plain_calls, [call.id for call in calls]])


def _digest(value: Json) -> bytes:
    return blake2b(_ENCODER.encode(value), digest_size=16).digest()


def successors(conversations: Iterable[HistoryKeys]) -> dict[int, int]:
    """Return for each trace that goes on with an earlier one the number of that trace.

    A trace goes on with another if its history is all of the conversation of the other: the texts of the user, the
    calls and the last reply, or the last calls. If two traces could go on with the same one, none of them does.
    """
    ends: dict[bytes, int] = {}
    followers: dict[int, list[int]] = defaultdict(list)
    for number, keys in enumerate(conversations):
        earlier = next((ends[key] for key in reversed(keys.before) if key in ends), None)
        if earlier is not None:
            followers[earlier].append(number)
        ends |= dict.fromkeys(keys.ends, number)
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
