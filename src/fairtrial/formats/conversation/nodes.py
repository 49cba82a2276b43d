"""The tree of spans. Each span becomes a node with its facts, its parent and its children."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING

from fairtrial.formats.dialects.dialect_table import read_facts
from fairtrial.formats.dialects.facts import NOTHING, Facts

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.formats.spans.span import Span

_UNKNOWN = -1
"""The depth of a node before it is known. The depth of a root is one more."""
_SIGNIFICANT = ("agent", "model", "tool")
ORDER = attrgetter("order")
"""The key of a node in the order of its conversation."""


class Node:
    """A span in its tree. `home` is the call of a tool whose inner trace the node belongs to, None for the outer trace.

    `depth` is 0 for a root. `order` is the place among all nodes: by time, then the parent before the child, then by
    the place in the data.
    """

    __slots__ = ("depth", "facts", "home", "order", "parent", "span")

    def __init__(self, span: Span, facts: Facts = NOTHING) -> None:
        self.span = span
        self.facts = facts
        self.parent: Node | None = None
        self.depth = _UNKNOWN
        self.home: Node | None = None
        self.order = (span.start, _UNKNOWN, 0)

    @property
    def is_significant(self) -> bool:
        """Whether the span is an agent, a model call or a tool."""
        return self.facts.kind in _SIGNIFICANT

    def ancestors(self) -> Iterator[Node]:
        """Yield the nodes above, from the parent to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def above(self) -> Node | None:
        """Return the nearest agent, model call or tool above, or None."""
        node = self.parent
        while node is not None and not node.is_significant:
            node = node.parent
        return node


def build_nodes(spans: Iterable[Span], reading: Diagnostics) -> list[Node]:
    """Return a node for each span, in order. A span whose parent is missing is a root."""
    nodes = {(span.trace_id, span.span_id): Node(span, read_facts(span, reading)) for span in spans}
    early_nodes: list[Node] = []
    for (trace_id, span_id), node in nodes.items():
        parent_id = node.span.parent_id
        if parent_id and parent_id != span_id:
            node.parent = nodes.get((trace_id, parent_id))
        if node.parent is None:
            node.depth = 0
        elif node.parent.depth != _UNKNOWN:  # nearly every parent starts before its children
            node.depth = node.parent.depth + 1
        else:
            early_nodes.append(node)
    _cut_cycles(early_nodes)
    _set_depths(early_nodes)
    for place, node in enumerate(nodes.values()):
        node.order = (node.span.start, node.depth, place)
    return sorted(nodes.values(), key=ORDER)


def _set_depths(nodes: Iterable[Node]) -> None:
    for start in nodes:
        path: list[Node] = []
        node: Node | None = start
        while node is not None and node.depth == _UNKNOWN:
            path.append(node)
            node = node.parent
        depth = _UNKNOWN if node is None else node.depth
        for below in reversed(path):
            depth += 1
            below.depth = depth


def _cut_cycles(nodes: list[Node]) -> None:
    """Make the span with the earliest start the root of every cycle of parents."""
    checked: set[Node] = set()
    for start in nodes:
        path: list[Node] = []
        node: Node | None = start
        while node is not None and node not in checked:
            checked.add(node)
            path.append(node)
            node = node.parent
        if node is not None and node in path:
            cycle = path[path.index(node) :]
            min(cycle, key=lambda member: (member.span.start, member.span.span_id)).parent = None
