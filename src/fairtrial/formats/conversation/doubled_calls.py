"""Merge spans that report the same call, and find the calls inside a tool call."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.formats.dialects.facts import NOTHING, Facts, combined
from fairtrial.formats.dialects.mcp import METHODS

if TYPE_CHECKING:
    from fairtrial.formats.conversation.nodes import Node

_HANDOVER = "transfer_to_"


def merge_calls(nodes: Sequence[Node]) -> None:
    """Leave one node for each call. A framework and a provider often both report a call.

    Two model spans are one call if one is below the other without an agent or a tool in between, or if they overlap in
    time and have the same response id. A tool span below a tool span of the same name and arguments is the same call.
    """
    models = [node for node in nodes if node.facts.kind == "model"]
    for node in models:  # parents come first
        if (above := node.above()) is not None and above.facts.kind == "model":
            _absorb(above, node)
    by_response: dict[str, list[Node]] = defaultdict(list)
    for node in models:
        if node.facts.response_id:  # one of the calls that are left
            earlier = next((other for other in by_response[node.facts.response_id] if _overlap(other, node)), None)
            if earlier is None:
                by_response[node.facts.response_id].append(node)
            else:
                _absorb(earlier, node)
    for node in nodes:
        if node.facts.kind == "tool" and (above := node.above()) is not None and _is_same_tool(above.facts, node.facts):
            _absorb(above, node)
    _merge_servers([node for node in nodes if node.facts.kind == "tool" and node.parent is not None])


def _merge_servers(tools: Sequence[Node]) -> None:
    """Merge the span of an MCP server in the process of its client with the client's span beside it.

    The server works while the client waits, and each call of the client is one call of the server.
    """
    servers = [node for node in tools if not node.span.attributes.keys().isdisjoint(METHODS)]
    clients: dict[tuple[Node | None, str], deque[Node]] = defaultdict(deque)
    for node in tools if servers else ():
        if node.span.attributes.keys().isdisjoint(METHODS):
            clients[node.parent, node.facts.name].append(node)
    for server in servers:
        waiting = clients[server.parent, server.facts.name]
        while waiting and waiting[0].span.last < server.span.start:
            waiting.popleft()
        for client in waiting:
            is_around = client.span.start <= server.span.start and server.span.last <= client.span.last
            if is_around and _is_same_tool(client.facts, server.facts):
                waiting.remove(client)
                _absorb(client, server)
                break


def _absorb(node: Node, double: Node) -> None:
    """Make two nodes one call. The facts of the node with content count, the facts of the other fill the gaps."""
    first, second = node.facts, double.facts
    if first.output is None and first.input is None and second.output is not None:
        first, second = second, first
    agent = node.facts.agent or double.facts.agent
    facts = combined(first, second)
    node.facts = facts if facts.agent == agent else replace(facts, agent=agent)
    double.facts = NOTHING


def _overlap(first: Node, second: Node) -> bool:
    return first.span.start <= second.span.last and second.span.start <= first.span.last


def _is_same_tool(first: Facts, second: Facts) -> bool:
    if first.kind != "tool" or first.name != second.name:
        return False
    return first.args is None or second.args is None or first.args == second.args


def hands_over(node: Node) -> bool:
    """Whether the call of a tool passes control to another agent, which then answers the user."""
    return node.facts.kind == "tool" and bool(node.facts.hands_over or node.facts.name.startswith(_HANDOVER))


def find_homes(nodes: Sequence[Node]) -> None:
    """Give each node that works inside the call of a tool that call as its home.

    An agent as a tool answers its caller. A handover is not such a tool: the target goes on in the outer trace.
    """
    tools = [node for node in nodes if node.facts.kind == "tool" and not hands_over(node)]
    beside: dict[Node, Node] = {}
    # A root may have very many children, so that its agents are looked up once and not for each tool.
    agents_below: dict[Node, list[Node]] = defaultdict(list)
    for node in nodes:
        if node.facts.kind == "agent" and node.parent is not None:
            agents_below[node.parent].append(node)
    for tool in tools if agents_below else ():
        for agent in _agents_beside(tool, agents_below):
            if agent not in beside or tool.span.start > beside[agent].span.start:
                beside[agent] = tool
    for node in sorted(nodes, key=lambda node: node.depth):
        if node in beside:
            node.home = beside[node]
        elif node.parent is not None:
            parent = node.parent
            node.home = parent if parent.facts.kind == "tool" and not hands_over(parent) else parent.home


def _agents_beside(tool: Node, agents_below: Mapping[Node, Sequence[Node]]) -> Iterator[Node]:
    """Yield the agents that a producer hangs beside the call of a tool, and that worked while the tool ran.

    `agents_below` are the agents among the children of each node.
    """
    for ancestor in tool.ancestors():
        for node in agents_below.get(ancestor, ()):
            if tool.span.start <= node.span.start and node.span.last <= tool.span.last and tool.parent is not node:
                yield node
